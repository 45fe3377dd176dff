"""The compiled kernel and its NumPy twin find the same communities, merge the same pairs, move the same nodes."""

import numpy as np
from fuzzing import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from kedge.kernels import choose_kernel
from kedge.partition.communities import cut_tree, prepare_graph

KERNELS = [choose_kernel("compiled"), choose_kernel("reference")]


@st.composite
def problems(draw):
    """Draw a graph (with ties, self loops, single nodes, several parts, zeros), labels, a resolution and masses."""
    n_nodes = draw(st.integers(1, 50))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    has_edge = rng.random((n_nodes, n_nodes)) < draw(st.sampled_from([0.0, 0.03, 0.15, 0.6]))
    weights = np.triu(has_edge * (rng.random((n_nodes, n_nodes)) if draw(st.booleans()) else 1.0))
    weights += np.triu(weights, k=1).T
    if not draw(st.booleans()):
        np.fill_diagonal(weights, 0.0)
    graph = sparse.csr_array(weights)
    if draw(st.booleans()):
        graph.data[rng.random(graph.nnz) < 0.1] = 0.0
        graph = sparse.csr_array(graph.minimum(graph.T))
    masses = rng.random(n_nodes) * (rng.random(n_nodes) < 0.9) if draw(st.booleans()) else None
    labels = np.unique(rng.integers(draw(st.integers(1, n_nodes)), size=n_nodes), return_inverse=True)[1]
    return graph, labels, draw(st.sampled_from([0.2, 1.0, 3.0, 1e6])), masses


def modularity(graph, labels, resolution, masses):
    masses = np.asarray(graph.sum(axis=1)).ravel() if masses is None else masses
    same = labels[:, None] == labels
    inside, squares = graph.toarray()[same].sum(), (np.bincount(labels, masses) ** 2).sum()
    return (inside - resolution * squares / (masses.sum() or 1.0)) / (graph.sum() or 1.0)


@given(problems(), st.integers(0, 2**64 - 1))
@settings(max_examples=examples(80))
def test_both_find_the_same_communities_numbered_by_their_first_nodes(problem, seed):
    graph, _, resolution, masses = problem
    prepared = prepare_graph(graph, resolution, masses)
    found, expected = (kernel.find_communities(prepared, seed) for kernel in KERNELS)
    np.testing.assert_array_equal(found, expected)
    seen = np.unique(found, return_index=True)[1]
    assert (np.diff(seen) > 0).all()
    np.testing.assert_array_equal(found[seen], np.arange(len(seen)))


@given(problems())
@settings(max_examples=examples(80))
def test_both_merge_the_same_pairs_with_losses_that_are_differences_of_modularity(problem):
    graph, _, resolution, masses = problem
    n_nodes = graph.shape[0]
    prepared = prepare_graph(graph, resolution, masses)
    (pairs, losses), expected = (kernel.merge_communities(prepared) for kernel in KERNELS)
    np.testing.assert_array_equal(pairs, expected[0])
    np.testing.assert_array_equal(losses, expected[1])
    assert pairs.shape == (n_nodes - 1, 2)
    scores = [modularity(graph, cut_tree(pairs, n_nodes, k), resolution, masses) for k in range(n_nodes, 0, -1)]
    # Rounding of the scores, which grow with the resolution.
    np.testing.assert_allclose(-np.diff(scores), losses, rtol=0, atol=1e-10 * (1 + np.abs(scores).max()))


@given(problems())
@settings(max_examples=examples(80))
def test_both_move_the_same_nodes_and_modularity_never_falls(problem):
    graph, labels, resolution, masses = problem
    prepared = prepare_graph(graph, resolution, masses)
    moved, expected = (kernel.move_nodes(prepared, labels) for kernel in KERNELS)
    np.testing.assert_array_equal(moved, expected)
    np.testing.assert_array_equal(np.unique(moved), np.unique(labels))
    before = modularity(graph, labels, resolution, masses)
    assert modularity(graph, moved, resolution, masses) >= before - 1e-10 * (1 + abs(before))
