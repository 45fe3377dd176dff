"""SOBG drives a graph to exactly as many components as asked for."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning

from kedge import simplex_qp
from kedge.baselines import SOBG
from kedge.baselines.graphs import embed_graph
from kedge.baselines.sobg import SimplexSide, project_segments, structured_graph
from kedge.core.driver_step import graph_components
from kedge.metrics import clustering_accuracy


def planted_graph(seed, noise=0.3):
    rng = np.random.default_rng(seed)
    rows, columns = np.arange(120) % 4, np.arange(60) % 4
    inside = rows[:, None] == columns
    return sparse.csr_array(rng.uniform(size=inside.shape) * np.where(inside, 1.0, noise)), rows, columns


@pytest.mark.parametrize("seed", range(5))
def test_planted_blocks_are_found_in_few_updates(seed):
    graph, rows, columns = planted_graph(seed)
    assert graph_components(graph)[0] == 1
    found = structured_graph(graph, 4)
    count, of_rows, of_columns = graph_components(found.graph)
    assert found.reached
    assert count == 4
    assert clustering_accuracy(rows, of_rows) == 1
    assert clustering_accuracy(columns, of_columns) == 1
    assert len(found.history) <= 9
    # The first k singular values are one, and only they.
    assert found.history[-1, 1] == pytest.approx(4)
    assert found.history[-1, 2] < 4.999


def test_both_sides_of_the_graph_are_on_the_simplex_and_links_are_only_taken_away():
    graph, _, _ = planted_graph(0)
    graph.data[graph.data < 0.2] = 0
    graph.eliminate_zeros()
    found = structured_graph(graph, 4).graph
    # The mean of rows that sum to one and columns that sum to one.
    assert found.sum() == pytest.approx((120 + 60) / 2)
    assert found.min() >= 0
    assert not (found.toarray()[graph.toarray() == 0] > 0).any()


def test_a_graph_that_has_the_components_stays_as_it_is():
    blocks = sparse.csr_array(sparse.block_diag([np.ones((3, 2)), np.full((4, 3), 0.5)]))
    found = structured_graph(blocks, 2)
    assert found.reached
    assert not len(found.history)
    np.testing.assert_array_equal(found.graph.toarray() > 0, blocks.toarray() > 0)


def test_more_components_than_asked_for_cannot_be_joined():
    blocks = sparse.csr_array(sparse.block_diag([np.ones((3, 2))] * 4))
    assert not structured_graph(blocks, 3, max_updates=3).reached
    with pytest.raises(ValueError, match="row 1 of the graph has no weight"):
        structured_graph(sparse.csr_array(np.array([[1.0], [0.0]])), 1)


def test_an_update_that_gave_too_many_components_is_taken_back(monkeypatch):
    graph, rows, _ = planted_graph(0)
    embedded = []
    weights_of = SimplexSide.weights

    def watched(side, weight, row_points, column_points):
        embedded.append(row_points)
        return weights_of(side, weight, row_points, column_points)

    monkeypatch.setattr(SimplexSide, "weights", watched)
    found = structured_graph(graph, 4, weight=1e4)
    weights = found.history[:, 0]
    assert weights[1] == weights[0] / 2
    # Every update asks both sides.
    assert embedded[2] is embedded[0]
    assert found.reached
    assert clustering_accuracy(rows, graph_components(found.graph)[1]) > 0.9


def test_columns_without_weight_stay_so():
    graph, _, _ = planted_graph(0)
    wider = sparse.csr_array(sparse.hstack([sparse.csr_array((120, 1)), graph, sparse.csr_array((120, 2))]))
    found = structured_graph(wider, 4)
    assert found.reached
    np.testing.assert_allclose(found.graph.toarray()[:, 1:-2], structured_graph(graph, 4).graph.toarray(), atol=1e-12)
    assert not found.graph.toarray()[:, [0, -1]].any()


def test_segments_are_projected_like_rows():
    rng = np.random.default_rng(0)
    sizes = np.array([1, 4, 2, 7, 1, 30])
    values = 3 * rng.normal(size=sizes.sum())
    values[5] = -1e12
    found = np.split(project_segments(values, sizes), np.cumsum(sizes)[:-1])
    for own, projected in zip(np.split(values, np.cumsum(sizes)[:-1]), found, strict=True):
        expected = simplex_qp(np.eye(len(own)), -own[None])[0]
        np.testing.assert_allclose(projected, expected, atol=1e-13)
        np.testing.assert_array_equal(projected > 0, expected > 0)


def test_distances_of_the_embedding_add_up_to_the_cut():
    rng = np.random.default_rng(0)
    weights = rng.uniform(size=(30, 12)) * (rng.uniform(size=(30, 12)) < 0.4)
    weights[:, 0] += 0.1
    weights[:, 5] = 0
    found = embed_graph(sparse.csr_array(weights), 3)
    rows, columns = found.cut_coordinates()
    cut = (weights * ((rows[:, None] - columns) ** 2).sum(axis=2)).sum()
    sums = np.where(weights.sum(axis=0) > 0, weights.sum(axis=0), 1)
    singular = np.linalg.svd(weights / np.sqrt(weights.sum(axis=1))[:, None] / np.sqrt(sums), compute_uv=False)
    assert cut == pytest.approx(3 - singular[:3].sum())
    np.testing.assert_allclose(found.squares, singular[:4] ** 2, atol=1e-12)
    both = np.concatenate([found.row_vectors, found.column_vectors])
    np.testing.assert_allclose(both.T @ both, np.eye(3), atol=1e-10)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_blobs_and_moons_become_components(kind):
    for n_clusters, (X, y) in (
        (2, make_moons(500, noise=0.05, random_state=0)),
        (4, make_blobs(300, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], random_state=0)),
    ):
        model = SOBG(n_clusters, random_state=0).fit(kind(X))
        assert clustering_accuracy(y, model.labels_) > 0.99
        count, of_rows, _ = graph_components(model.graph_)
        assert count == model.n_components_ == n_clusters
        np.testing.assert_array_equal(of_rows, model.labels_)


def test_too_few_updates_are_told_and_rows_labelled_all_the_same():
    X, _ = make_moons(300, noise=0.2, random_state=0)
    with pytest.warns(ConvergenceWarning, match="components for 5 clusters after 1 updates"):
        model = SOBG(5, max_iter=1, random_state=0).fit(X)
    assert set(model.labels_) == set(range(5))
