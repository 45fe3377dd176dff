"""The spectral map equals the singular value decomposition it stands for."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import block_diag

from kedge.core.driver_step import spectral_map


def random_graph(n, m, rng):
    return rng.dirichlet(np.full(m, 0.4), size=n)


def test_equals_the_singular_value_decomposition():
    graph = random_graph(60, 8, np.random.default_rng(0))
    sums = graph.sum(axis=0)
    left, values, right = np.linalg.svd(graph / np.sqrt(sums), full_matrices=False)
    result = spectral_map(graph.T @ graph, sums, 4)
    np.testing.assert_allclose(result.singular_values, values[:4], atol=1e-12)
    embedding = graph @ result.row_map
    np.testing.assert_allclose(embedding @ embedding.T, left[:, :4] @ left[:, :4].T / 2, atol=1e-12)
    anchors = result.anchor_embedding
    np.testing.assert_allclose(anchors @ anchors.T, right[:4].T @ right[:4] / 2, atol=1e-12)


def test_as_many_ones_as_components():
    rng = np.random.default_rng(1)
    graph = block_diag(*[random_graph(20, 4, rng) for _ in range(3)])
    result = spectral_map(graph.T @ graph, graph.sum(axis=0), 5)
    np.testing.assert_allclose(result.singular_values[:3], 1.0, atol=1e-12)
    assert result.singular_values[3] < 0.99


def test_dead_anchors_embed_at_zero():
    graph = random_graph(30, 5, np.random.default_rng(2))
    padded = np.column_stack([graph, np.zeros(30)])
    result = spectral_map(padded.T @ padded, padded.sum(axis=0), 3)
    alone = spectral_map(graph.T @ graph, graph.sum(axis=0), 3)
    np.testing.assert_allclose(result.singular_values, alone.singular_values, atol=1e-12)
    np.testing.assert_array_equal(result.row_map[5], 0.0)


def test_graph_of_low_rank_has_no_wild_columns():
    graph = np.tile(np.random.default_rng(3).dirichlet(np.ones(6)), (40, 1))
    result = spectral_map(graph.T @ graph, graph.sum(axis=0), 4)
    assert np.isfinite(result.row_map).all()
    assert np.abs(graph @ result.row_map).max() <= 1


@pytest.mark.parametrize("n_blocks", [1, 4])
def test_large_graphs_have_the_singular_vectors_of_small_ones(n_blocks):
    """Above 600 anchors another eigensolver is used, which could miss parts of a multiple eigenvalue."""
    rng = np.random.default_rng(4)
    graph = block_diag(*[rng.dirichlet(np.full(700 // n_blocks, 0.02), size=400) for _ in range(n_blocks)])
    sums = graph.sum(axis=0)
    used = sums > 0
    _, values, right = np.linalg.svd(graph[:, used] / np.sqrt(sums[used]), full_matrices=False)
    result = spectral_map(graph.T @ graph, sums, 6)
    np.testing.assert_allclose(result.singular_values, values[:6], atol=1e-10)
    found = result.anchor_embedding[used]
    np.testing.assert_allclose(found @ found.T, right[:6].T @ right[:6] / 2, atol=1e-7)
    embedding = graph @ result.row_map
    np.testing.assert_allclose(embedding.T @ embedding, np.eye(6) / 2, atol=1e-8)


def test_close_eigenvalues_need_no_full_decomposition(monkeypatch):
    # Rows between neighbours on a line: the leading eigenvalues crowd together below one.
    n_anchors = 700
    left = np.arange(n_anchors - 1)
    ends = np.column_stack([left, left + 1]).ravel()
    rows = sparse.csr_array((np.full(len(ends), 0.5), (np.repeat(left, 2), ends)), shape=(len(left), n_anchors))
    gram, sums = sparse.csr_array(rows.T @ rows), np.asarray(rows.sum(axis=0))
    expected = spectral_map(gram.toarray(), sums, 100)  # so many are computed by the full decomposition
    monkeypatch.setattr("kedge.core.driver_step.linalg.eigh", None)
    found = spectral_map(gram, sums, 8)
    np.testing.assert_allclose(found.singular_values, expected.singular_values[:8], atol=1e-9)
