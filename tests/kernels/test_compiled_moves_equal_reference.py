"""The compiled kernel and its NumPy twin move the same rows."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from kedge.model.local_moves import raise_modularity


@st.composite
def clustered_graphs(draw):
    """Draw a symmetric graph, with equal weights now and then so that gains are tied, and labels."""
    n_rows, n_clusters = draw(st.integers(2, 60)), draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    half = np.triu(rng.random((n_rows, n_rows)) < draw(st.sampled_from([0.02, 0.2, 0.9])), k=1)
    weights = half * (1.0 if draw(st.booleans()) else rng.random((n_rows, n_rows)))
    labels = rng.integers(min(n_clusters, n_rows), size=n_rows)
    return sparse.csr_array(weights + weights.T), np.unique(labels, return_inverse=True)[1].astype(np.int64)


@given(clustered_graphs())
@settings(max_examples=150)
def test_both_kernels_make_the_same_moves(problem):
    graph, labels = problem
    moved = raise_modularity(graph, labels, "compiled")
    np.testing.assert_array_equal(moved, raise_modularity(graph, labels, "reference"))
    assert len(np.unique(moved)) == len(np.unique(labels))


def test_wide_indices_float32_weights_and_read_only_labels_are_taken():
    rng = np.random.default_rng(0)
    half = np.triu(rng.random((40, 40)) < 0.2, k=1).astype(np.float32)
    graph = sparse.csr_array(half + half.T)
    wide = sparse.csr_array((graph.data, graph.indices.astype(np.int64), graph.indptr.astype(np.int64)), (40, 40))
    labels = np.arange(40) % 4
    labels.flags.writeable = False
    expected = raise_modularity(graph, labels, "reference")
    np.testing.assert_array_equal(raise_modularity(wide, labels, "compiled"), expected)
