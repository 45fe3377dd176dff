"""Facts that the mathematics promises, on any data: the graph, the penalties, the descent, the symmetries."""

import numpy as np
import pytest
from fuzzing import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import block_diag
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from kedge import SGL, simplex_qp
from kedge.core.driver_step import anchor_components, embedding_penalty, graph_components, penalty_value, spectral_map
from kedge.core.labels import cluster_coordinates, count_directions, unit_rows
from kedge.datasets import make_union_of_subspaces
from kedge.metrics import clustering_accuracy

seeds = st.integers(0, 2**31 - 1)


def rows_of(seed, n=60, d=12):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 2 * rng.integers(0, 3, size=(n, 1))


# The claim is about weights: with a large alpha they are nearly equal, and a cluster may then hold no row.
@pytest.mark.filterwarnings("ignore:only . of n_clusters=3 clusters hold a row")
@given(seeds, st.floats(1e-3, 1e3))
@example(1930339, 506.0)
@settings(max_examples=examples(20))
def test_without_structure_penalty_the_graph_is_the_simplex_ridge_solution_of_one_pass(seed, alpha):
    X = rows_of(seed)
    options = {"n_init": 1, "locality": 0.0, "scale": "none", "penalty_scale": "absolute", "random_state": 0}
    model = SGL(3, n_anchors=9, alpha=alpha, **options).fit(X)
    gram = model.anchors_ @ model.anchors_.T
    expected = simplex_qp(2 * (gram + alpha * np.eye(9)), -2 * X @ model.anchors_.T)
    np.testing.assert_allclose(model.graph_.toarray(), expected, rtol=0, atol=1e-12)
    assert model.n_iter_ == 1
    direct = np.square(X - expected @ model.anchors_).sum() + alpha * np.square(expected).sum()
    np.testing.assert_allclose(model.objective_, [direct], rtol=1e-9)


@given(seeds, st.sampled_from(["centroid", "degree"]))
def test_penalty_at_its_own_graph_is_what_the_singular_values_say(seed, kind):
    graph = np.random.default_rng(seed).dirichlet(np.full(8, 0.4), size=50)
    sums = graph.sum(axis=0)
    spectrum = spectral_map(graph.T @ graph, sums, 3)
    embedding = graph @ spectrum.row_map
    penalty = embedding_penalty(kind, 1.0, spectrum, sums, None)
    matrix = penalty.linear_terms(slice(None), sparse.csr_array(graph)) + np.square(embedding).sum(axis=1)[:, None]
    np.testing.assert_allclose((graph * matrix).sum(), penalty_value(kind, spectrum.singular_values), atol=1e-10)


@given(
    seeds,
    st.floats(1e-4, 1e3),
    st.floats(1e-4, 1e4),
    st.sampled_from([{}, {"signed": True}, {"n_init": 3}, {"locality": 0.5}, {"n_init": 2, "signed": True}]),
    st.integers(1, 5),
)
@settings(max_examples=examples(40))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_objective_never_rises_with_the_centroid_penalty(seed, alpha, beta, options, n_clusters):
    X = rows_of(seed, n=50)
    model = SGL(n_clusters, n_anchors=10, alpha=alpha, beta=beta, max_iter=25, tol=0, random_state=0, **options).fit(X)
    steps = np.diff(model.objective_)
    assert (steps <= 1e-9 * np.abs(model.objective_[:-1])).all()


def test_a_graph_of_k_components_embeds_each_at_one_point():
    rng = np.random.default_rng(0)
    graph = block_diag(*[rng.dirichlet(np.ones(m), size=n) for m, n in [(3, 20), (5, 30), (2, 11)]])
    truth = np.repeat([0, 1, 2], [20, 30, 11])
    spectrum = spectral_map(graph.T @ graph, graph.sum(axis=0), 3)
    embedding = unit_rows(graph @ spectrum.row_map)
    for cluster in range(3):
        np.testing.assert_allclose(np.ptp(embedding[truth == cluster], axis=0), 0, atol=1e-7)
    assert anchor_components(graph.T @ graph, graph.sum(axis=0))[0] == 3
    count, rows, anchors = graph_components(sparse.csr_array(graph))
    assert count == 3
    np.testing.assert_array_equal(rows, truth)
    np.testing.assert_array_equal(anchors, np.repeat([0, 1, 2], [3, 5, 2]))


def test_permuted_rows_give_permuted_labels():
    X, _ = make_blobs(200, centers=4, n_features=6, cluster_std=1.0, center_box=(-20, 20), random_state=3)
    order = np.random.default_rng(0).permutation(200)
    anchors = X[::10]
    one = SGL(4, anchors=anchors, beta=0.1, random_state=0).fit(X)
    other = SGL(4, anchors=anchors, beta=0.1, random_state=0).fit(X[order])
    np.testing.assert_allclose(one.graph_.toarray()[order], other.graph_.toarray(), atol=1e-9)
    assert adjusted_rand_score(one.labels_[order], other.labels_) == 1


@pytest.mark.parametrize("factor", [1e-3, 7.0, 1e4])
def test_scaled_rows_with_penalties_scaled_by_the_square_give_the_same_graph(factor):
    X, _ = make_blobs(150, centers=3, n_features=6, cluster_std=2.0, random_state=3)
    absolute = {"penalty_scale": "absolute", "max_iter": 20, "random_state": 0}
    one = SGL(3, anchors=X[::10], alpha=2.0, beta=30.0, **absolute).fit(X)
    scaled = SGL(3, anchors=factor * X[::10], alpha=2.0 * factor**2, beta=30.0 * factor**2, **absolute).fit(factor * X)
    np.testing.assert_allclose(one.graph_.toarray(), scaled.graph_.toarray(), atol=1e-8)
    relative = SGL(3, anchors=factor * X[::10], alpha=0.1, beta=0.5, random_state=0).fit(factor * X)
    unscaled = SGL(3, anchors=X[::10], alpha=0.1, beta=0.5, random_state=0).fit(X)
    np.testing.assert_allclose(relative.graph_.toarray(), unscaled.graph_.toarray(), atol=1e-8)


def test_orthonormal_anchors_make_the_row_problem_a_projection():
    rng = np.random.default_rng(1)
    anchors = np.linalg.qr(rng.normal(size=(8, 4)))[0].T
    X = rng.normal(size=(40, 8))
    alpha = 0.7
    options = {"alpha": alpha, "locality": 0.0, "penalty_scale": "absolute", "random_state": 0}
    graph = SGL(2, anchors=anchors, **options).fit(X).graph_.toarray()
    target = (X @ anchors.T) / (1 + alpha)
    descending = -np.sort(-target, axis=1)
    thresholds = (np.cumsum(descending, axis=1) - 1) / np.arange(1, 5)
    last = (descending > thresholds).sum(axis=1) - 1
    projected = np.maximum(target - thresholds[np.arange(40), last][:, None], 0)
    np.testing.assert_allclose(graph, projected, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.1, 1.0])
@pytest.mark.parametrize("beta", [0.0, 0.1])
def test_separated_blobs_are_found(alpha, beta):
    centers = 8.0 * np.eye(4, 6)
    X, y = make_blobs(400, centers=centers, cluster_std=0.7, random_state=0)
    model = SGL(4, n_anchors=8, alpha=alpha, beta=beta, random_state=0).fit(X)
    assert clustering_accuracy(y, model.labels_) == 1


@pytest.mark.parametrize(("nonnegative", "n_anchors"), [(True, 9), (False, 30)])
def test_orthogonal_subspaces_are_found(nonnegative, n_anchors):
    X, y = make_union_of_subspaces(
        600, n_subspaces=3, dim=3, ambient_dim=9, orthogonal=True, nonnegative=nonnegative, random_state=0
    )
    model = SGL(3, n_anchors=n_anchors, random_state=0).fit(X)
    assert clustering_accuracy(y, model.labels_) == 1


def test_very_large_alpha_makes_all_weights_equal():
    X = rows_of(5)
    options = {"n_anchors": 10, "n_init": 1, "alpha": 1e12, "penalty_scale": "absolute", "random_state": 0}
    for partition in ("communities", "spectral"):
        with pytest.warns(UserWarning, match="alpha"):
            model = SGL(3, partition=partition, **options).fit(X)
        np.testing.assert_allclose(model.graph_.toarray(), 0.1, atol=1e-6)


def test_large_alpha_with_exact_structure_does_not_become_k_means():
    """Each row is then rebuilt by the mean of the anchors of its cluster, which is not the mean of its rows."""
    X, y = make_blobs(150, centers=8.0 * np.eye(3, 4), cluster_std=0.7, random_state=0)
    anchors = np.vstack([X[y == c][:3] for c in range(3)])
    with pytest.warns(UserWarning, match="alpha"):
        model = SGL(3, anchors=anchors, alpha=1e9, structure="exact", random_state=0).fit(X)
    assert clustering_accuracy(y, model.labels_) == 1
    rebuilt = model.graph_ @ model.anchors_
    for cluster in range(3):
        own = model.labels_ == cluster
        expected = model.anchors_[model.anchor_labels_ == cluster].mean(axis=0)
        np.testing.assert_allclose(rebuilt[own], np.tile(expected, (own.sum(), 1)), atol=1e-6)
        assert np.abs(expected - X[own].mean(axis=0)).max() > 0.05
    # The ridge term depends on the partition: n_p / m_p summed over clusters, not k.
    squares = np.square(model.graph_.toarray()).sum()
    np.testing.assert_allclose(squares, 3 * 50 / 3, rtol=1e-6)


def test_relative_penalties_are_in_units_of_the_spread_of_the_anchors_and_of_rows_per_cluster():
    X = rows_of(7)
    anchors = X[::5]
    unit = np.square(anchors - anchors.mean(axis=0)).sum(axis=1).mean()
    relative = SGL(3, anchors=anchors, alpha=0.1, beta=0.3, random_state=0).fit(X)
    absolute = SGL(
        3, anchors=anchors, alpha=0.1 * unit, beta=0.3 * unit * 60 / 3, penalty_scale="absolute", random_state=0
    ).fit(X)
    assert relative.n_iter_ > 1
    np.testing.assert_allclose(relative.graph_.toarray(), absolute.graph_.toarray(), atol=1e-10)
    np.testing.assert_allclose(relative.objective_, absolute.objective_, rtol=1e-10)


def test_an_anchor_that_lost_its_last_row_keeps_its_target():
    graph = np.random.default_rng(0).dirichlet(np.ones(5), size=30)
    before = embedding_penalty(
        "centroid", 1.0, spectral_map(graph.T @ graph, graph.sum(axis=0), 3), graph.sum(axis=0), None
    )
    graph[:, 2] = 0
    graph /= graph.sum(axis=1, keepdims=True)
    sums = graph.sum(axis=0)
    after = embedding_penalty("centroid", 1.0, spectral_map(graph.T @ graph, sums, 3), sums, before)
    np.testing.assert_array_equal(after.targets[2], before.targets[2])
    assert not after.unused.any()
    never_used = embedding_penalty("centroid", 1.0, spectral_map(graph.T @ graph, sums, 3), sums, None)
    np.testing.assert_array_equal(never_used.unused, [False, False, True, False, False])


def test_rows_are_compared_in_damped_directions_at_unit_length():
    points = cluster_coordinates(np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([1.0, 0.5]))
    np.testing.assert_allclose(points, [[3 / np.sqrt(10), 1 / np.sqrt(10)], [0, 0]])
    assert [count_directions(k) for k in (1, 2, 10, 36)] == [2, 3, 12, 44]
