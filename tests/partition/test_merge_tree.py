"""The tree of merges: whole, greedy, and quick where most communities have no edge between them."""

import time

import numpy as np
import pytest
from scipy import sparse

from kedge.partition.communities import MERGE_SHARE, cut_tree, find_communities, merge_tree


def random_graph(n_nodes, seed):
    half = np.triu(np.random.default_rng(seed).random((n_nodes, n_nodes)), k=1)
    half[half < 0.8] = 0.0
    return sparse.csr_array(half + half.T)


def pair_losses(graph, labels, resolution=1.0):
    """Return what modularity loses by each merge of two clusters, from the definition."""
    members = np.eye(labels.max() + 1)[labels]
    dense = graph.toarray()
    between, degrees = members.T @ dense @ members, members.T @ dense.sum(axis=1)
    losses = -2 * (between - resolution * np.outer(degrees, degrees) / dense.sum()) / dense.sum()
    return losses[np.triu_indices(len(losses), k=1)]


def test_every_community_and_union_is_merged_once():
    graph = random_graph(60, 0)
    tree = merge_tree(graph, np.arange(60), 1.0)
    np.testing.assert_array_equal(np.sort(tree[:, :2].ravel()), np.arange(2 * 60 - 2))
    assert (tree[:, 0] < tree[:, 1]).all()
    assert (tree[:, 1] < 60 + np.arange(59)).all()
    assert tree[-1, 3] == 60


def test_each_merge_loses_least_of_all_pairs_at_the_resolution_of_merging():
    graph, labels = random_graph(40, 1), np.arange(40) // 2
    tree = merge_tree(graph, labels, 1.0)
    for k in range(20, 1, -1):
        clusters = cut_tree(tree, 20, k)[labels]
        chosen = pair_losses(graph, clusters, MERGE_SHARE).argmin()
        np.testing.assert_allclose(tree[20 - k, 2], pair_losses(graph, clusters)[chosen], rtol=0, atol=1e-14)


def test_parts_of_a_large_cluster_merge_before_two_small_clusters():
    # Masses 4, 4, 1, 1: the halves of the large cluster are joined twice as densely as the two small clusters, but
    # modularity charged in full would merge the small ones first.
    between = np.array([[25.0, 14.0, 0.2, 0.2], [14.0, 25.0, 0.2, 0.2], [0.2, 0.2, 9.0, 0.4], [0.2, 0.2, 0.4, 9.0]])
    graph = sparse.csr_array(between)
    losses = pair_losses(graph, np.arange(4))
    assert losses[0] > losses[-1]
    tree = merge_tree(graph, np.arange(4), 1.0)
    np.testing.assert_array_equal(tree[0, :2], [0, 1])


@pytest.mark.parametrize("k", [1, 3, 20])
def test_cut_gives_that_many_clusters_and_counts_their_nodes(k):
    graph, labels = random_graph(40, 2), np.arange(40) // 2
    tree = merge_tree(graph, labels, 1.0)
    cut = cut_tree(tree, 20, k)
    np.testing.assert_array_equal(np.unique(cut), np.arange(k))
    assert cut[0] == 0


def test_hundred_thousand_communities_without_edges_between_them_merge_in_seconds():
    first = np.arange(0, 200_000, 2)
    half = sparse.coo_array((np.ones(len(first)), (first, first + 1)), shape=(210_000, 210_000))
    graph = sparse.csr_array(half + half.T)
    labels = find_communities(graph, 1.0, 0)
    assert labels.max() + 1 == 110_000  # pairs and nodes without any edge
    begin = time.process_time()
    tree = merge_tree(graph, labels, 1.0)
    assert time.process_time() - begin < 10
    assert tree[-1, 3] == 210_000


def test_star_of_many_communities_merges_in_seconds():
    leaves = np.arange(1, 30_000)
    half = sparse.coo_array((np.ones(len(leaves)), (np.zeros_like(leaves), leaves)), shape=(30_000, 30_000))
    begin = time.process_time()
    tree = merge_tree(sparse.csr_array(half + half.T), np.arange(30_000), 100.0)
    assert time.process_time() - begin < 10
    assert len(tree) == 29_999
