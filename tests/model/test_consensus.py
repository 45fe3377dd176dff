"""Consensus of clusterings."""

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from kedge.model.consensus import agreed_groups, consensus_of_starts


def test_groups_are_those_most_clusterings_share():
    truth = np.repeat([0, 1, 2], 20)
    rng = np.random.default_rng(0)
    votes = []
    for _ in range(30):
        vote = rng.permutation(3)[truth]
        vote[rng.choice(60, 9, replace=False)] = rng.integers(0, 3, 9)
        votes.append(vote)
    assert all(adjusted_rand_score(truth, vote) < 1 for vote in votes)
    assert adjusted_rand_score(truth, agreed_groups(votes, 3)) == 1


def test_clusterings_into_different_numbers_of_clusters_and_few_rows():
    votes = [np.array([0, 0, 1, 1]), np.array([0, 0, 0, 0]), np.array([0, 1, 2, 3])]
    assert adjusted_rand_score([0, 0, 1, 1], agreed_groups(votes, 2)) == 1
    np.testing.assert_array_equal(agreed_groups([np.array([0, 0])], 3), [0, 1])


def test_a_set_that_sees_the_clusters_helps_one_that_does_not():
    points, truth = make_blobs(150, centers=3, cluster_std=0.3, random_state=2)
    blind = np.random.default_rng(0).normal(size=(150, 2))
    found = consensus_of_starts(points, [blind, points], 3, np.random.RandomState(0))
    assert adjusted_rand_score(truth, found) == 1
    again = consensus_of_starts(points, [blind, points], 3, np.random.RandomState(0))
    np.testing.assert_array_equal(found, again)
