"""KMM: its graph has one component per cluster; as published it follows recorded runs of the authors' release."""

import numpy as np
import pytest
from conftest import find_published
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from kedge import simplex_qp
from kedge.baselines import KMM, graphs
from kedge.baselines.graphs import weigh_neighbors
from kedge.baselines.kmm import _forcing_problem, _moved_prototypes, weigh_both_ways
from kedge.core.driver_step import graph_components
from kedge.metrics import clustering_accuracy

RUNS = [f"{name}_s{seed}" for name in ("moons", "blobs", "orl10", "ba4") for seed in (1, 2, 3)]
# Runs that another rounding does not lead astray.
STABLE = ["blobs_s1", "blobs_s2", "orl10_s2", "orl10_s3", "ba4_s2", "ba4_s3"]


@pytest.fixture(scope="module")
def release():
    with np.load(find_published("kmm_small.npz"), allow_pickle=False) as file:
        return dict(file)


def rows_of(release, run):
    name = run.split("_")[0]
    return release[f"{name}_X"] / float(release.get(f"{name}_X_divide_by", 1)), int(release[f"{name}_c"])


@pytest.fixture(scope="module")
def fitted(release):
    models = {}
    for run in RUNS:
        X, n_clusters = rows_of(release, run)
        first = X[release[f"{run}_init_idx0"]]
        models[run] = KMM(n_clusters, recipe="published", prototypes=first, max_iter=31).fit(X)
    return models


@pytest.mark.needs("published")
def test_first_graph_and_first_weight_equal_the_release(subtests, release):
    for run in RUNS:
        with subtests.test(run=run):
            X, _ = rows_of(release, run)
            first = X[release[f"{run}_init_idx0"]]
            _, graph, weight = _forcing_problem(weigh_both_ways(X, first, 5), published=True)
            np.testing.assert_allclose(graph.toarray(), release[f"{run}_Sinit"], atol=1e-10)
            assert weight == pytest.approx(release[f"{run}_hist_outer_inner_m_lambda_fn1_fn2"][0, 3], rel=1e-10)


@pytest.mark.needs("published")
def test_published_recipe_follows_the_release_step_by_step(subtests, release, fitted):
    for run in RUNS:
        with subtests.test(run=run):
            count = int(release[f"{run}_n_steps_reproduced_by_independent_numpy"])
            recorded = release[f"{run}_hist_outer_inner_m_lambda_fn1_fn2"][:, [0, 2, 3, 4, 5]]
            np.testing.assert_allclose(fitted[run].history_[:count], recorded[:count], rtol=1e-6)


@pytest.mark.needs("published")
def test_published_recipe_ends_like_the_release(subtests, release, fitted):
    for run in STABLE:
        with subtests.test(run=run):
            model = fitted[run]
            assert len(model.history_) == len(release[f"{run}_hist_outer_inner_m_lambda_fn1_fn2"])
            assert adjusted_rand_score(release[f"{run}_labels"], model.labels_) == 1
            np.testing.assert_allclose(model.graph_.toarray(), release[f"{run}_Z"], atol=1e-8)


def test_weights_are_projections_of_distances_with_as_many_entries_as_neighbours():
    rng = np.random.default_rng(0)
    X, targets = rng.normal(size=(60, 3)), rng.normal(size=(20, 3))
    found = weigh_neighbors(X, targets, 5)
    squares = ((X[:, None] - targets) ** 2).sum(axis=2)
    expected = simplex_qp(np.eye(squares.shape[1]), squares / (2 * found.ridges[:, None]))
    np.testing.assert_allclose(found.as_graph(20).toarray(), expected, atol=1e-12)
    assert ((found.as_graph(20) > 0).sum(axis=1) == 5).all()


def test_of_equally_near_targets_the_first_win():
    targets = np.array([[3.0], [-1.0], [1.0], [-1.0], [1.0], [1.0], [-1.0], [5.0]])
    np.testing.assert_array_equal(weigh_neighbors(np.zeros((1, 1)), targets, 2).indices, [[1, 2]])


@pytest.mark.parametrize(
    ("n_rows", "n_targets", "spread"), [(500, 40, 1.0), (10, 300, 1.0), (3000, 60, 1e-3), (300, 7, 1)]
)
def test_search_in_parts_finds_the_neighbours_of_all_distances(monkeypatch, n_rows, n_targets, spread):
    rng = np.random.default_rng(0)
    X = 100 * rng.normal(size=(3, 5))[rng.integers(0, 3, n_rows)] + spread * rng.normal(size=(n_rows, 5))
    targets = X[rng.integers(0, n_rows, n_targets)] + spread * rng.normal(size=(n_targets, 5))
    monkeypatch.setattr(graphs, "_PART_TARGETS", 50)
    monkeypatch.setattr(graphs, "_BLOCK_ENTRIES", 1000)
    both = weigh_both_ways(X, targets, 5)
    for side, points, others in ((both.ahead, X, targets), (both.back, targets, X)):
        squares = ((points[:, None] - others) ** 2).sum(axis=2)
        order = np.argsort(squares, axis=1, kind="stable")
        np.testing.assert_array_equal(side.indices, order[:, :5])
        np.testing.assert_allclose(
            side.squared_distances, np.take_along_axis(squares, order[:, :6], axis=1), rtol=1e-12
        )


@pytest.mark.parametrize("first", ["random", "kmeans"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_every_component_holds_rows_and_prototypes_and_far_blobs_are_found(first, kind):
    X, y = make_blobs(300, centers=[[0, 0], [30, 0], [0, 30], [30, 30]], random_state=0)
    model = KMM(4, prototypes=first, random_state=0).fit(kind(X))
    count, of_rows, of_prototypes = graph_components(model.graph_)
    assert count == model.n_components_ == len(set(of_rows)) == len(set(of_prototypes)) == 4
    assert clustering_accuracy(y, model.labels_) == 1
    np.testing.assert_allclose(model.graph_.sum(axis=1), 1)
    np.testing.assert_array_equal(of_rows, model.labels_)


def test_two_moons_are_found_where_k_means_fails():
    X, y = make_moons(1000, noise=0.05, random_state=0)
    model = KMM(2, random_state=0).fit(X)
    assert clustering_accuracy(y, model.labels_) > 0.95
    assert clustering_accuracy(y, KMeans(2, n_init=5, random_state=0).fit_predict(X)) < 0.9
    assert len(model.prototypes_) <= int(np.sqrt(2 * 1000))


def test_the_unit_of_the_rows_does_not_matter():
    X, _ = make_moons(200, noise=0.05, random_state=0)
    first = X[::10]
    one, other = (KMM(2, prototypes=scale * first).fit(scale * X) for scale in (1.0, 64.0))
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(one.graph_.toarray(), other.graph_.toarray(), atol=1e-12)


def test_prototypes_are_means_of_all_rows_with_weight_or_of_those_nearest():
    rng = np.random.default_rng(0)
    X, prototypes = rng.normal(size=(50, 3)), rng.normal(size=(8, 3))
    neighbors = weigh_both_ways(X, prototypes, 4)
    graph = neighbors.ahead.as_graph(8)
    dense = graph.toarray()
    np.testing.assert_allclose(
        _moved_prototypes(X, neighbors, graph, owned_rows_only=False), dense.T @ X / dense.sum(axis=0)[:, None]
    )
    moved = _moved_prototypes(X, neighbors, graph, owned_rows_only=True)
    for number in np.unique(neighbors.owners):
        own = neighbors.owners == number
        np.testing.assert_allclose(moved[number], dense[own, number] @ X[own] / dense[own, number].sum())


def test_more_separate_groups_than_clusters_are_joined():
    X = np.concatenate([np.random.default_rng(i).normal(size=(200, 2)) + 200 * i for i in range(6)])
    model = KMM(3, random_state=0).fit(X)
    groups = np.repeat(np.arange(6), 200)
    assert model.n_components_ == 3
    # Groups stay whole.
    assert len(set(zip(groups, model.labels_, strict=True))) == 6


def test_without_enough_rounds_a_warning_says_so():
    X, _ = make_moons(300, noise=0.1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="prototypes still moved after max_iter=1 rounds"):
        model = KMM(2, max_iter=1, tol=0, random_state=0).fit(X)
    assert model.n_components_ == 2
    with pytest.warns(ConvergenceWarning, match="no graph with 3 components was found"):
        labels = KMM(3, max_updates=1, random_state=0).fit_predict(X)
    assert set(labels) == {0, 1, 2}


def test_given_prototypes_need_the_features_of_the_rows():
    with pytest.raises(ValueError, match="prototypes have 2 features, but X has 3"):
        KMM(2, prototypes=np.ones((4, 2))).fit(np.eye(10)[:, :3])
