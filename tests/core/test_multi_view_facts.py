"""Facts about the multi-view model that can be checked directly."""

import numpy as np
import pytest

from kedge import MSGL, SGL
from kedge.anchors.several_views import _matched, choose_view_anchors, incomplete_kmeans
from kedge.core.block_step import PassState, RowBlock, solve_block
from kedge.core.labels import vote_over_views
from kedge.core.rows import build_row_problem
from kedge.datasets import make_multiview

rng = np.random.default_rng(0)
VIEWS = [rng.normal(size=(70, 5)), rng.normal(size=(70, 9)), rng.normal(size=(70, 3))]
ANCHORS = [view[::7] for view in VIEWS]
WEIGHTS = [0.2, 1.7, 0.6]


def coefficients(views, anchors, weights, ridge, **options):
    state = PassState((build_row_problem(anchors, weights=weights, ridge=ridge, **options),))
    return solve_block(state, RowBlock(slice(0, 70), views))


@pytest.mark.parametrize("locality", [0.0, 0.7])
def test_for_fixed_weights_the_rows_are_those_of_the_joined_views(locality):
    found, _ = coefficients(VIEWS, ANCHORS, WEIGHTS, 0.4, locality=locality)
    roots = np.sqrt(WEIGHTS)
    joined = [np.hstack([r * part for r, part in zip(roots, parts, strict=True)]) for parts in (VIEWS, ANCHORS)]
    alone, _ = coefficients(joined[:1], joined[1:], [1.0], 0.4, locality=locality)
    np.testing.assert_allclose(found.toarray(), alone.toarray(), atol=1e-12)


def test_values_of_views_are_their_squared_errors():
    found, summary = coefficients(VIEWS, ANCHORS, WEIGHTS, 0.4)
    Z = found.toarray()
    errors = [np.square(x - Z @ a).sum() for x, a in zip(VIEWS, ANCHORS, strict=True)]
    np.testing.assert_allclose(summary.view_values[0] + summary.squared_norms, errors, rtol=1e-10)


def test_values_of_views_with_gaps_are_over_the_rows_that_have_them():
    observed = rng.uniform(size=(70, 3)) > 0.4
    observed[:, 0] |= ~observed.any(axis=1)
    holes = [np.where(observed[:, [v]], view, 0.0) for v, view in enumerate(VIEWS)]
    state = PassState((build_row_problem(ANCHORS, weights=WEIGHTS, ridge=0.4, locality=0.3),))
    found, summary = solve_block(state, RowBlock(slice(0, 70), holes, observed=observed))
    Z = found.toarray()
    for v, (x, a) in enumerate(zip(VIEWS, ANCHORS, strict=True)):
        rows = observed[:, v]
        distances = np.square(x[rows][:, None] - a).sum(axis=2)
        direct = np.square(x - Z @ a)[rows].sum() + 0.3 * (Z[rows] * distances).sum()
        np.testing.assert_allclose(summary.view_values[0, v] + 1.3 * summary.squared_norms[v], direct, rtol=1e-10)
    np.testing.assert_array_equal(summary.row_counts, observed.sum(axis=0))
    np.testing.assert_allclose(summary.gram, Z.T @ Z, atol=1e-12)


def test_anchors_permuted_in_all_views_permute_the_columns_and_in_one_view_change_the_graph():
    order = rng.permutation(10)
    base, _ = coefficients(VIEWS, ANCHORS, WEIGHTS, 0.4)
    moved, _ = coefficients(VIEWS, [a[order] for a in ANCHORS], WEIGHTS, 0.4)
    np.testing.assert_allclose(moved.toarray(), base.toarray()[:, order], atol=1e-12)
    broken, _ = coefficients(VIEWS, [ANCHORS[0][order], *ANCHORS[1:]], WEIGHTS, 0.4)
    assert np.abs(broken.toarray() - base.toarray()).max() > 0.1


def test_scaling_views_and_penalties_together_changes_nothing():
    base, _ = coefficients(VIEWS, ANCHORS, WEIGHTS, 0.4)
    scaled, _ = coefficients([9 * x for x in VIEWS], [9 * a for a in ANCHORS], WEIGHTS, 81 * 0.4)
    np.testing.assert_allclose(scaled.toarray(), base.toarray(), atol=1e-12)


@pytest.mark.parametrize("gamma", [-0.3, -1.0, -5.0])
def test_the_first_row_step_of_one_view_is_that_of_sgl(gamma):
    X, anchors = VIEWS[1], ANCHORS[1]
    options = {"alpha": 0.5, "beta": 0.2, "random_state": 0, "max_iter": 1, "tol": 0}
    with pytest.warns(UserWarning, match="did not settle"):
        several = MSGL.as_published(3, 10, gamma=gamma, anchors=[anchors], **options).fit([X])
    with pytest.warns(UserWarning, match="did not settle"):
        single = SGL.as_published(3, 10, anchors=anchors, **options).fit(X)
    np.testing.assert_allclose(several.graph_.toarray(), single.graph_.toarray(), atol=1e-10)


def test_joint_anchors_of_copies_are_the_same_and_separate_ones_are_not():
    views, _ = make_multiview(200, n_clusters=4, n_views=1, n_features=6, noise=0.5, random_state=0)
    copies = [views[0], views[0]]
    joint = choose_view_anchors(copies, None, 8, "kmeans", "joint", np.random.RandomState(0))
    np.testing.assert_array_equal(joint[0], joint[1])
    apart = choose_view_anchors(copies, None, 8, "kmeans", "per_view", np.random.RandomState(0))
    assert np.abs(apart[0] - apart[1]).max() > 1e-3


def test_matching_undoes_a_permutation():
    views, y = make_multiview(200, n_clusters=5, n_views=2, n_features=(6, 8), noise=0.2, random_state=0)
    means = [np.array([view[y == cluster].mean(axis=0) for cluster in range(5)]) for view in views]
    order = np.array([3, 0, 4, 1, 2])
    for observed in (None, rng.uniform(size=(200, 2)) > 0.2):
        holes = views if observed is None else [np.where(observed[:, [v]], x, 0.0) for v, x in enumerate(views)]
        first, second = _matched(holes, observed, [means[0], means[1][order]], signed=False)
        together = np.hstack([first, second])
        expected = np.hstack(means)
        np.testing.assert_allclose(together[np.lexsort(together.T)], expected[np.lexsort(expected.T)])


def test_incomplete_kmeans_without_gaps_reaches_the_means_of_its_rows():
    views, y = make_multiview(200, n_clusters=3, n_views=2, n_features=(4, 5), noise=0.05, random_state=0)
    centers = incomplete_kmeans(views, np.ones((200, 2), dtype=bool), 3, np.random.RandomState(0))
    expected = np.array([np.hstack(views)[y == cluster].mean(axis=0) for cluster in range(3)])
    found = np.hstack(centers)
    distance = np.abs(found[:, None] - expected).max(axis=2).min(axis=1)
    assert (distance < 1e-9 * np.abs(expected).max()).all()


def test_incomplete_kmeans_has_a_centre_near_every_cluster_in_every_view():
    views, y = make_multiview(120, n_clusters=3, n_views=3, n_features=(4, 5, 6), noise=0.1, random_state=1)
    views = [(view - view.mean(axis=0)) / view.std() for view in views]
    observed = np.zeros((120, 3), dtype=bool)
    observed[np.arange(120), np.arange(120) % 3] = True
    observed[:40] = True
    holes = [np.where(observed[:, [v]], view, 0.0) for v, view in enumerate(views)]
    centers = incomplete_kmeans(holes, observed, 6, np.random.RandomState(0))
    for view, center in zip(views, centers, strict=True):
        expected = np.array([view[y == cluster].mean(axis=0) for cluster in range(3)])
        spread = np.abs(expected[:, None] - expected).max()
        assert (np.abs(center[:, None] - expected).max(axis=2).min(axis=0) < 0.3 * spread).all()


def test_nearest_anchors_are_by_weighted_distances_over_the_views_there():
    views = [np.array([[0.0], [0.0]]), np.array([[1.0], [1.0]])]
    anchors = [np.array([[0.0], [1.0]]), np.array([[0.0], [1.0]])]
    labels = np.array([4, 7])
    observed = np.array([[True, True], [False, True]])
    for weights, expected in (([10.0, 1.0], [4, 7]), ([1.0, 10.0], [7, 7])):
        np.testing.assert_array_equal(vote_over_views(views, observed, anchors, weights, labels, 1), expected)


def test_joint_anchors_follow_the_view_that_counts():
    sides = np.repeat([-1.0, 1.0], 50)
    views = [np.c_[sides] + 0.01 * rng.normal(size=(100, 1)), np.c_[np.tile([-1.0, 1.0], 50)]]
    for heavy in (0, 1):
        prior = [1e-3, 1e-3]
        prior[heavy] = 1.0
        model = MSGL(2, n_anchors=2, n_init=1, scale="none", view_prior=prior, random_state=0).fit(views)
        np.testing.assert_allclose(np.sort(model.anchors_[heavy].ravel()), [-1, 1], atol=0.05)
        assert np.abs(model.anchors_[1 - heavy]).max() < 0.5
