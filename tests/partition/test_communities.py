"""``kedge.communities``: what is found, how many, and for which graphs."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.neighbors import kneighbors_graph
from threadpoolctl import threadpool_limits

import kedge
from kedge.metrics import nmi
from kedge.partition import communities
from kedge.partition.communities import (
    MERGE_SHARE,
    at_least,
    best_hierarchy,
    communities_of_starts,
    find_communities,
    modularity,
)


def ring_of_cliques(n_cliques, size):
    graph = np.kron(np.eye(n_cliques), np.ones((size, size))) - np.eye(n_cliques * size)
    last = np.arange(n_cliques) * size + size - 1
    following = (last + 1) % len(graph)
    graph[last, following] = graph[following, last] = 1
    return graph


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    near = sparse.csr_array(kneighbors_graph(X, 10))
    return sparse.csr_array(near + near.T), y


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix, sparse.coo_array, sparse.csc_array])
def test_ring_of_cliques_is_found_in_any_form(form):
    graph = ring_of_cliques(8, 6)
    np.testing.assert_array_equal(kedge.communities(form(graph), random_state=0), np.repeat(np.arange(8), 6))


@pytest.mark.parametrize("dtype", [bool, np.int32, np.float32])
def test_other_types_of_weights_give_the_same_communities(dtype):
    graph = ring_of_cliques(5, 5)
    labels = kedge.communities(graph.astype(dtype), random_state=0)
    np.testing.assert_array_equal(labels, np.repeat(np.arange(5), 5))
    assert labels.dtype == np.int64


def test_communities_of_digits_are_the_digits(digits):
    graph, y = digits
    labels = kedge.communities(graph, random_state=0)
    assert modularity(graph, labels) > 0.8
    assert nmi(y, labels) > 0.85


@pytest.mark.parametrize("k", [1, 2, 7, 10, 60, 400])
def test_number_of_clusters_is_kept_exactly(digits, k):
    labels = kedge.communities(digits[0][:400, :400], k, random_state=0)
    np.testing.assert_array_equal(np.unique(labels), np.arange(k))
    assert labels[0] == 0


def test_one_seed_gives_one_result_and_a_generator_is_taken(digits):
    first, second = (kedge.communities(digits[0], 10, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    drawn = kedge.communities(digits[0], 10, random_state=np.random.RandomState(3))
    np.testing.assert_array_equal(first, drawn)


def test_scale_of_the_weights_does_not_matter():
    graph = ring_of_cliques(8, 6)
    for scale in (1e-300, 1e-20, 1e20, 1e300):
        labels = kedge.communities(scale * graph, random_state=0)
        np.testing.assert_array_equal(labels, np.repeat(np.arange(8), 6))


def test_higher_resolution_gives_more_communities(digits):
    counts = [kedge.communities(digits[0], resolution=g, random_state=0).max() for g in (0.1, 1.0, 10.0, 100.0)]
    assert counts == sorted(set(counts))


def test_tree_merges_the_returned_clusters_to_one(digits):
    labels, tree = kedge.communities(digits[0], 12, random_state=0, return_tree=True)
    assert tree.shape == (11, 4)
    assert tree[-1, 3] == len(labels)
    loss = modularity(digits[0], labels) - modularity(digits[0], np.zeros_like(labels))
    np.testing.assert_allclose(tree[:, 2].sum(), loss, rtol=0, atol=1e-12)


def test_moves_after_merging_raise_modularity_and_nothing_is_connected_better_elsewhere(digits):
    graph = digits[0]
    labels = kedge.communities(graph, 4, random_state=0)
    score = modularity(graph, labels)
    for node in range(0, graph.shape[0], 60):
        for cluster in range(4):
            other = labels.copy()
            other[node] = cluster
            has_edge = (labels[graph[[node]].indices] == cluster).any()
            assert not has_edge or modularity(graph, other) <= score + 1e-12


@pytest.mark.parametrize("k", [None, 1, 3, 5])
def test_graphs_without_edges_work(k):
    labels = kedge.communities(sparse.csr_array((5, 5)), k, random_state=0)
    assert labels.max() + 1 == (k or 5)


def test_one_node_is_one_cluster_with_an_empty_tree():
    for graph in (np.zeros((1, 1)), np.ones((1, 1))):
        labels, tree = kedge.communities(graph, 1, return_tree=True)
        np.testing.assert_array_equal(labels, [0])
        assert tree.shape == (0, 4)


@pytest.mark.parametrize("k", range(1, 21))
def test_parts_and_single_nodes_and_explicit_zeros_give_any_number(k):
    parts = sparse.block_diag([ring_of_cliques(3, 4), np.ones((2, 2)), np.zeros((6, 6))], format="coo")
    ends = np.append(parts.row, [14, 0]), np.append(parts.col, [0, 14])
    graph = sparse.csr_array((np.append(parts.data, [0.0, 0.0]), ends), shape=parts.shape)
    assert graph.nnz == parts.nnz + 2
    assert kedge.communities(graph, k, random_state=0).max() + 1 == k


def test_parts_of_a_graph_are_never_joined():
    graph = sparse.block_diag([ring_of_cliques(3, 4), ring_of_cliques(4, 5)], format="csr")
    labels = kedge.communities(graph, random_state=0)
    assert not set(labels[:12]) & set(labels[12:])


def test_nodes_are_split_off_when_no_resolution_separates_them():
    # No resolution that is tried separates the ends of the last edge, which is so light beside the others.
    graph = sparse.block_diag([ring_of_cliques(2, 3), [[0.0, 3e-12], [3e-12, 0.0]]], format="csr")
    labels, resolution = at_least(graph, 8, 1.0, 0)
    np.testing.assert_array_equal(labels, np.arange(8))
    assert resolution > 1e9


def test_self_loops_count_in_degrees():
    graph = ring_of_cliques(4, 4)
    looped = sparse.csr_array(graph + 50 * np.eye(16))
    np.testing.assert_array_equal(kedge.communities(looped, random_state=0), np.arange(16))


def test_more_starts_are_never_worse_and_sometimes_better(digits, monkeypatch):
    graph = digits[0]

    def score(n_starts, seed):
        monkeypatch.setattr(communities, "count_starts", lambda graph: n_starts)
        return modularity(graph, best_hierarchy(graph, 10, 1.0, seed).at(10), MERGE_SHARE)

    gains = [score(8, seed) - score(1, seed) for seed in range(4)]
    assert min(gains) >= 0
    assert max(gains) > 1e-6


def test_communities_are_the_same_whatever_the_number_of_threads(digits):
    digits, _ = digits
    with threadpool_limits(1):
        alone = kedge.communities(digits, 10, random_state=0)
    for n_threads in (2, 7):
        with threadpool_limits(n_threads), ThreadPoolExecutor(n_threads) as pool:
            runs = pool.map(lambda _: kedge.communities(digits, 10, random_state=0), range(n_threads))
            assert all(np.array_equal(alone, run) for run in runs)


@pytest.mark.parametrize("n_threads", [2, 3, 7, 40])
def test_starts_side_by_side_come_in_the_order_of_their_seeds(digits, n_threads):
    digits, _ = digits
    alone = [find_communities(digits, 1.0, seed) for seed in range(5, 16)]
    together = communities_of_starts(digits, 1.0, range(5, 16), n_threads=n_threads)
    assert len({labels.tobytes() for labels in alone}) > 1
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)
