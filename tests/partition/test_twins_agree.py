"""The compiled kernel and its NumPy twin find the same communities, merge the same pairs, move the same nodes."""

import numpy as np
from fuzzing import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from kedge.partition.communities import cut_tree, find_communities, merge_tree, modularity, move_at_fixed_k


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


@given(problems(), st.integers(0, 2**64 - 1))
@settings(max_examples=examples(80))
def test_both_find_the_same_communities_numbered_by_their_first_nodes(problem, seed):
    graph, _, resolution, masses = problem
    found = find_communities(graph, resolution, seed, masses, "compiled")
    np.testing.assert_array_equal(found, find_communities(graph, resolution, seed, masses, "reference"))
    seen = np.unique(found, return_index=True)[1]
    assert (np.diff(seen) > 0).all()
    np.testing.assert_array_equal(found[seen], np.arange(len(seen)))


@given(problems())
@settings(max_examples=examples(80))
def test_both_merge_the_same_pairs_with_losses_that_are_differences_of_modularity(problem):
    graph, labels, resolution, masses = problem
    tree = merge_tree(graph, labels, resolution, masses, "compiled")
    np.testing.assert_array_equal(tree, merge_tree(graph, labels, resolution, masses, "reference"))
    n_communities = labels.max() + 1
    assert tree.shape == (n_communities - 1, 4)
    scores = [
        modularity(graph, cut_tree(tree, n_communities, k)[labels], resolution, masses)
        for k in range(n_communities, 0, -1)
    ]
    # Rounding of the scores, which grow with the resolution.
    np.testing.assert_allclose(-np.diff(scores), tree[:, 2], rtol=0, atol=1e-10 * (1 + np.abs(scores).max()))


@given(problems())
@settings(max_examples=examples(80))
def test_both_move_the_same_nodes_and_modularity_never_falls(problem):
    graph, labels, resolution, masses = problem
    moved = move_at_fixed_k(graph, labels, resolution, masses, "compiled")
    np.testing.assert_array_equal(moved, move_at_fixed_k(graph, labels, resolution, masses, "reference"))
    np.testing.assert_array_equal(np.unique(moved), np.unique(labels))
    before = modularity(graph, labels, resolution, masses)
    assert modularity(graph, moved, resolution, masses) >= before - 1e-10 * (1 + abs(before))
