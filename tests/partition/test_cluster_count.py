"""The number of clusters of a graph: exact where clusters are apart, by the information kept where they touch."""

import numpy as np
import pytest
from scipy import sparse

from kedge.partition.cluster_count import count_clusters, count_touching
from kedge.partition.communities import find_communities


def planted_graph(sizes, inside, between, seed=0):
    """Return a random graph with that many edges per pair inside clusters and between them."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    chance = np.where(labels[:, None] == labels, inside, between)
    half = np.triu(np.random.default_rng(seed).random(chance.shape) < chance, k=1)
    return sparse.csr_array((half + half.T).astype(np.float64))


@pytest.mark.parametrize("n_clusters", [2, 5, 20])
def test_separate_clusters_are_counted_exactly(n_clusters):
    graph = planted_graph([25] * n_clusters, 0.6, 0.001)
    assert count_clusters(graph, 0, None).counts[0] == n_clusters


@pytest.mark.parametrize("sizes", [[40] * 6, [80, 60, 40, 30, 20]])
def test_touching_clusters_are_counted(sizes):
    graph = planted_graph(sizes, 0.5, 0.04)
    assert count_touching(graph, 0, 1, len(graph.indptr)).counts[0] == len(sizes)


def test_many_small_clusters_are_not_taken_for_few_large_ones():
    graph = planted_graph([10] * 40, 0.9, 0.02)
    assert find_communities(graph, 1.0, 0).max() + 1 < 32
    assert 32 <= count_touching(graph, 0, 1, 400).counts[0] <= 48


def test_random_graph_is_one_cluster():
    assert count_clusters(planted_graph([300], 0.2, 0.2), 0, None).counts == [1]


def test_range_holds_and_evidence_begins_with_the_choice():
    graph = planted_graph([40] * 6, 0.5, 0.04)
    found = count_clusters(graph, 0, (2, 4))
    assert 2 <= found.counts[0] <= 4
    free = count_touching(graph, 0, 1, 240)
    assert len(free.counts) == len(free.scores) == len(set(free.counts))
    assert free.scores[0] >= 0.99 * max(free.scores)
