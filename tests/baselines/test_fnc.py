"""FNC: balanced anchors, and a cut that never falls."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from kedge.baselines import FNC
from kedge.baselines.fnc import balanced_groups, cut_factor, group_means, improve_cut
from kedge.metrics import clustering_accuracy


def blobs(n_rows=300, spread=1.0):
    return make_blobs(n_rows, centers=[[0, 0], [6, 0], [0, 6]], cluster_std=spread, random_state=0)


def cut(similarity, labels):
    degrees = similarity.sum(axis=1)
    parts = [labels == label for label in np.unique(labels)]
    return sum(similarity[np.ix_(part, part)].sum() / degrees[part].sum() for part in parts)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("n_rows", "n_groups"), [(203, 16), (64, 64), (100, 1), (90, 11)])
def test_groups_are_of_equal_size(kind, n_rows, n_groups):
    X = np.random.default_rng(0).normal(size=(n_rows, 4))
    groups = balanced_groups(kind(X), n_groups, np.random.RandomState(0))
    sizes = np.bincount(groups, minlength=n_groups)
    # With a power of two the sizes differ by one at most.
    assert np.ptp(sizes) <= (1 if n_groups & (n_groups - 1) == 0 else 2)
    means = group_means(kind(X), groups, n_groups)
    np.testing.assert_allclose(means[-1], X[groups == n_groups - 1].mean(axis=0))


@pytest.mark.parametrize("n_groups", [2, 3])
def test_a_split_goes_across_the_line_of_the_means(n_groups):
    X = np.random.default_rng(0).normal(size=(81, 3)) * [5, 1, 1] + 100
    # Of three groups the first is split off as a whole.
    groups = np.minimum(balanced_groups(X, n_groups, np.random.RandomState(0)), 1)
    means = group_means(X, groups, 2)
    closer = ((X - means[0]) ** 2).sum(axis=1) - ((X - means[1]) ** 2).sum(axis=1)
    assert closer[groups == 0].max() <= closer[groups == 1].min()
    assert abs(means[0, 0] - means[1, 0]) > 5


def test_similarities_of_a_row_sum_to_one_and_the_objective_is_the_normalised_cut():
    X, _ = blobs()
    model = FNC(3, random_state=0).fit(X)
    factor = cut_factor(model.graph_)
    similarity = (factor @ factor.T).toarray()
    np.testing.assert_allclose(similarity.sum(axis=1), 1)
    assert model.objective_ == pytest.approx(cut(similarity, model.labels_))
    assert model.objective_ <= 3


def test_objective_is_the_number_of_clusters_exactly_for_components():
    X, y = make_blobs(200, centers=[[0, 0], [500, 0], [0, 500], [500, 500]], random_state=0)
    model = FNC(4, n_anchors=64, random_state=0).fit(X)
    factor = cut_factor(model.graph_)
    assert improve_cut(factor, y.astype(np.int64), 4, 10)[1][0] == pytest.approx(4)
    mixed = y.astype(np.int64)
    mixed[0] = (mixed[0] + 1) % 4
    assert improve_cut(factor, mixed, 4, 0)[1][0] < 4 - 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_no_round_lowers_the_objective_from_any_start(seed):
    X, _ = blobs(spread=2.5)
    factor = cut_factor(FNC(5, random_state=0).fit(X).graph_)
    rng = np.random.default_rng(seed)
    # The last start leaves two of five clusters empty.
    start = rng.integers(0, 5 if seed < 3 else 3, 300)
    labels, history, converged = improve_cut(factor, start, 5, 100)
    assert converged
    assert (np.diff(history) > 0).all()
    assert len(set(labels)) == 5
    assert history[-1] == pytest.approx(cut((factor @ factor.T).toarray(), labels))


def test_the_rounds_hold_for_rows_of_unequal_degrees_too():
    rng = np.random.default_rng(0)
    weights = rng.uniform(size=(60, 9)) * rng.integers(1, 9, (60, 1))
    factor = sparse.csr_array(weights)
    labels, history, _ = improve_cut(factor, rng.integers(0, 3, 60), 3, 100)
    assert (np.diff(history) > 0).all()
    assert history[-1] == pytest.approx(cut(weights @ weights.T, labels))


def test_labels_are_a_fixed_point_of_k_means_on_the_factor():
    X, _ = blobs(spread=2.0)
    model = FNC(4, random_state=0).fit(X)
    factor = cut_factor(model.graph_).toarray()
    centers = np.stack([factor[model.labels_ == label].mean(axis=0) for label in range(4)])
    further = KMeans(4, init=centers, n_init=1, max_iter=1).fit(factor)
    np.testing.assert_array_equal(further.labels_, model.labels_)
    inertia = ((factor - centers[model.labels_]) ** 2).sum()
    assert model.objective_ == pytest.approx((factor**2).sum() - inertia)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_blobs_are_found(kind):
    X, y = blobs(spread=0.7)
    assert clustering_accuracy(y, FNC(3, random_state=0).fit_predict(kind(X))) == 1


def test_more_starts_are_not_worse():
    X, _ = blobs(spread=2.5)
    one, many = (FNC(6, n_init=n, random_state=0).fit(X).objective_ for n in (1, 20))
    assert many > one


def test_too_few_rounds_are_told():
    X, _ = blobs(spread=3.0)
    with pytest.warns(ConvergenceWarning, match="after max_iter=1 rounds"):
        FNC(5, max_iter=1, n_init=1, random_state=0).fit(X)
