"""ALRR for many rows: the graph of squared cosines is never formed, and the leading directions are found."""

import tracemalloc

import numpy as np
import pytest
from scipy import linalg, sparse

from kedge.baselines import ALRR, alrr
from kedge.baselines.affinity import embed_affinity, lanczos_pairs
from kedge.baselines.alrr import cluster_squared_cosines, leading_row_space, multiply_squared_cosines
from kedge.baselines.lrr import graph_points, whole_row_space
from kedge.core.labels import unit_rows
from kedge.datasets import make_union_of_subspaces
from kedge.metrics import clustering_accuracy

RANDOM = np.random.default_rng(0)


def test_product_with_squared_cosines_needs_no_graph():
    points, vector = RANDOM.normal(size=(1500, 7)), RANDOM.normal(size=1500)
    expected = (points @ points.T) ** 2 @ vector
    np.testing.assert_allclose(multiply_squared_cosines(points, vector), expected, rtol=1e-10)


def test_embedding_equals_that_of_the_formed_graph():
    points = unit_rows(RANDOM.normal(size=(700, 6)))
    points[3] = 0.0
    found = cluster_squared_cosines(points, 4, np.random.RandomState(0))["embedding_"]
    expected = embed_affinity((points @ points.T) ** 2, 4)[0]
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-7)
    assert not found[3].any()


def test_parts_of_a_graph_are_all_found():
    # Eight parts without edges between them: the eigenvalue one is there eight times.
    parts = np.repeat(np.arange(8), 100)
    points = np.zeros((800, 16))
    points[np.arange(800), 2 * parts] = 1.0
    points[np.arange(800), 2 * parts + 1] = RANDOM.uniform(-0.1, 0.1, 800)
    labels = cluster_squared_cosines(unit_rows(points), 8, np.random.RandomState(0))["labels_"]
    assert clustering_accuracy(parts, labels) == 1


def test_a_vector_that_the_search_misses_is_found_in_the_next_search(monkeypatch):
    points = unit_rows(RANDOM.normal(size=(300, 4)))
    expected = embed_affinity((points @ points.T) ** 2, 4)[0]
    searches = []

    def miss_the_largest_at_first(multiply, order, count, *, tol):
        searches.append(count)
        values, vectors = lanczos_pairs(multiply, order, count + 1, tol=tol)
        return (values[:-1], vectors[:, :-1]) if len(searches) == 1 else (values[1:], vectors[:, 1:])

    monkeypatch.setattr(alrr, "lanczos_pairs", miss_the_largest_at_first)
    found = cluster_squared_cosines(points, 4, np.random.RandomState(0))["embedding_"]
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-7)
    assert searches == [3, 1, 1]


def test_rows_that_are_zero_but_for_rounding_have_no_edges():
    basis = linalg.orth(RANDOM.normal(size=(20, 3)))
    basis[4] = 1e-17
    points = graph_points(basis, np.eye(3))
    assert not points[4].any()
    np.testing.assert_allclose(np.linalg.norm(np.delete(points, 4, axis=0), axis=1), 1)


@pytest.mark.parametrize(
    ("shape", "kind"),
    [((300, 40), np.asarray), ((300, 40), sparse.csr_array), ((40, 300), sparse.csr_array), ((2300, 2100), np.asarray)],
)
def test_leading_directions_are_those_of_the_singular_value_decomposition(shape, kind):
    # A spectrum that falls fast, so that random projection finds the leading part accurately.
    left, right = RANDOM.normal(size=(shape[0], 30)), RANDOM.normal(size=(30, shape[1]))
    X = (linalg.qr(left, mode="economic")[0] * 0.7 ** np.arange(30)) @ linalg.qr(right.T, mode="economic")[0].T
    found = leading_row_space(kind(X), 12, np.random.RandomState(0))
    np.testing.assert_allclose(found.singular_values, 0.7 ** np.arange(12), atol=1e-9)
    np.testing.assert_allclose(found.basis.T @ found.basis, np.eye(12), atol=1e-10)
    outside = X - found.basis @ (found.basis.T @ X)
    np.testing.assert_allclose(found.remainder, np.linalg.norm(outside, axis=1), atol=1e-7)


def test_whole_row_space_rebuilds_the_gram_matrix():
    for shape in [(30, 50), (50, 30)]:
        X = RANDOM.normal(size=shape)
        X[:, 1] = X[:, 0]
        for rows in (X, sparse.csr_array(X)):
            found = whole_row_space(rows)
            np.testing.assert_allclose((found.basis * found.singular_values**2) @ found.basis.T, X @ X.T, atol=1e-10)
            assert len(found.singular_values) == min(30, shape[1] - 1)


def test_both_graphs_separate_independent_subspaces():
    X, y = make_union_of_subspaces(900, n_subspaces=3, dim=3, ambient_dim=12, random_state=0)
    for graph in ("squares", "fourth_powers"):
        assert clustering_accuracy(y, ALRR(3, graph=graph, random_state=0).fit_predict(X)) == 1


def test_many_rows_are_clustered_without_a_matrix_of_their_order():
    X, y = make_union_of_subspaces(12_000, n_subspaces=3, dim=2, ambient_dim=12, noise=0.02, random_state=0)
    model = ALRR(3, rank=8, random_state=0)
    tracemalloc.start()
    labels = model.fit_predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert clustering_accuracy(y, labels) > 0.98
    assert peak < 1.3 * model.memory_needed(*X.shape) < 8 * 12_000**2 / 20


def test_rank_is_bounded_by_the_parameter_and_by_x():
    X = RANDOM.normal(size=(50, 20))
    assert ALRR(2, rank=5, random_state=0).fit(X).core_.shape == (5, 5)
    assert ALRR(2, random_state=0).fit(X).core_.shape == (20, 20)
