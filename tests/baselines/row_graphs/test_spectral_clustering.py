"""Embedding of graphs between rows: eigenvectors, pieces, lone rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from kedge.baselines.affinity import cluster_affinity, embed_affinity

KINDS = [np.asarray, sparse.csr_array]


def random_graph(sizes, seed=0, share=0.3):
    rng = np.random.default_rng(seed)
    blocks = [np.triu(rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < share), 1) for n in sizes]
    ring = [np.eye(n, k=1) for n in sizes]
    upper = sparse.block_diag([block + chain for block, chain in zip(blocks, ring, strict=True)]).toarray()
    return upper + upper.T


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_rows", [60, 700])
def test_vectors_are_the_leading_eigenvectors(kind, n_rows):
    graph = random_graph([n_rows])
    vectors, values, components = embed_affinity(kind(graph), 5)
    degrees = graph.sum(axis=1)
    expected, basis = np.linalg.eigh(graph / np.sqrt(np.outer(degrees, degrees)))
    np.testing.assert_allclose(values, expected[::-1][:5], atol=1e-10)
    np.testing.assert_allclose(vectors @ vectors.T, basis[:, -5:] @ basis[:, -5:].T, atol=1e-8)
    assert not components.any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", [[30, 20, 25], [300, 400, 250, 2]])
def test_pieces_as_many_as_clusters_are_the_clusters(kind, sizes):
    graph, y = random_graph(sizes), np.repeat(np.arange(len(sizes)), sizes)
    found = cluster_affinity(kind(graph), len(sizes), np.random.RandomState(0))
    assert adjusted_rand_score(y, found["labels_"]) == 1
    np.testing.assert_allclose(found["embedding_"].T @ found["embedding_"], np.eye(len(sizes)), atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_fewer_pieces_than_vectors_leave_the_rest_to_eigenvectors(kind):
    graph = random_graph([300, 280])
    vectors, values, components = embed_affinity(kind(graph), 6)
    degrees = graph.sum(axis=1)
    expected = np.linalg.eigvalsh(graph / np.sqrt(np.outer(degrees, degrees)))
    np.testing.assert_allclose(values, expected[::-1][:6], atol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(6), atol=1e-9)
    np.testing.assert_array_equal(components, np.repeat([0, 1], [300, 280]))


@pytest.mark.parametrize("kind", KINDS)
def test_more_pieces_than_clusters_are_said_aloud_and_the_largest_stay_apart(kind):
    sizes = [40, 3, 35, 3, 30, 2]
    graph, y = random_graph(sizes), np.repeat(np.arange(6), sizes)
    with pytest.warns(ConvergenceWarning, match="6 connected components for 3 clusters"):
        found = cluster_affinity(kind(graph), 3, np.random.RandomState(0))
    large = np.isin(y, [0, 2, 4])
    assert adjusted_rand_score(y[large], found["labels_"][large]) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_lone_rows_and_empty_graphs_embed_at_zero(kind):
    graph = np.pad(random_graph([30]), (0, 2))
    vectors, _, components = embed_affinity(kind(graph), 3)
    assert not vectors[-2:, 0].any()
    np.testing.assert_allclose(vectors[:-2, 0] ** 2, graph[:-2].sum(axis=1) / graph.sum())
    np.testing.assert_array_equal(components, [0] * 30 + [-1, -1])
    found = cluster_affinity(kind(np.zeros((8, 8))), 2, np.random.RandomState(0))
    assert np.isfinite(found["embedding_"]).all()
    assert set(found["labels_"]) <= {0, 1}
