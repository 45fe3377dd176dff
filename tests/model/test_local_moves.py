"""Rows move to where their near rows are."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from kedge.model.local_moves import raise_modularity
from kedge.model.neighborhood import join_nearest, modularity


@pytest.fixture
def two_rings():
    """Two rings of six rows each, joined by one edge."""
    ends = [(i, (i + 1) % 6) for i in range(6)] + [(6 + i, 6 + (i + 1) % 6) for i in range(6)] + [(0, 6)]
    rows, columns = np.array(ends).T
    half = sparse.coo_array((np.ones(len(ends)), (rows, columns)), shape=(12, 12))
    return sparse.csr_array(half + half.T)


def test_misplaced_rows_join_their_ring(two_rings):
    labels = np.repeat([0, 1], 6)
    labels[[2, 9]] = 1 - labels[[2, 9]]
    np.testing.assert_array_equal(raise_modularity(two_rings, labels), np.repeat([0, 1], 6))


def test_the_labels_given_are_left_as_they_are(two_rings):
    labels = np.tile([0, 1], 6)
    before = labels.copy()
    raise_modularity(two_rings, labels)
    np.testing.assert_array_equal(labels, before)


def test_modularity_does_not_fall_and_no_cluster_is_lost():
    rows, _ = make_blobs(300, 5, centers=4, cluster_std=2.0, random_state=0)
    graph = join_nearest(rows, 10)
    rng = np.random.default_rng(0)
    for n_clusters in (2, 4, 9, 40):
        labels = rng.integers(n_clusters, size=300)
        labels[:n_clusters] = np.arange(n_clusters)
        moved = raise_modularity(graph, labels)
        assert modularity(graph, moved) > modularity(graph, labels)
        assert len(np.unique(moved)) == n_clusters


def test_every_single_move_that_is_left_would_not_help():
    rows, labels = make_blobs(120, 3, centers=3, cluster_std=2.0, random_state=1)
    graph = join_nearest(rows, 5)
    settled = raise_modularity(graph, labels)
    reached = modularity(graph, settled)
    for row in range(120):
        for cluster in range(3):
            other = settled.copy()
            other[row] = cluster
            assert modularity(graph, other) <= reached + 1e-9
