"""Consensus of clusterings: average linkage on shared votes, cut at exactly the number asked for."""

import warnings

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score

import kedge
from kedge.partition import consensus as module
from kedge.partition.consensus import agreed_groups


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
    np.testing.assert_array_equal(agreed_groups([np.array([0, 1])], 3), [0, 1])


def test_groups_are_those_of_average_linkage_where_nothing_is_tied():
    rng = np.random.default_rng(3)
    compared = 0
    for _ in range(20):
        votes = [rng.integers(4, size=5) for _ in range(5000)]
        apart = squareform(1 - np.mean([vote[:, None] == vote for vote in votes], axis=0), checks=False)
        tree = linkage(apart, "average")
        if len(np.unique(apart.round(6))) == len(apart) and np.diff(tree[:, 2]).min() > 1e-6:
            compared += 1
            for count in range(1, 6):
                expected = fcluster(tree, count, "maxclust")
                assert adjusted_rand_score(expected, agreed_groups(votes, count)) == 1.0
    assert compared >= 5


def random_votes(rng):
    n_rows, n_votes = int(rng.integers(2, 40)), int(rng.integers(1, 6))
    return [rng.integers(int(rng.integers(1, 6)), size=n_rows) for _ in range(n_votes)]


@pytest.mark.parametrize("most_voters", [5, 2_000])
@pytest.mark.parametrize("seed", range(10))
def test_there_are_exactly_as_many_clusters_as_asked_for_or_a_warning(seed, most_voters, monkeypatch):
    monkeypatch.setattr(module, "MOST_VOTERS", most_voters)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        votes = random_votes(rng)
        distinct, kinds = np.unique(np.column_stack(votes), axis=0, return_inverse=True)
        n_clusters = int(rng.integers(1, len(votes[0]) + 1))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = kedge.consensus(votes, n_clusters, random_state=seed)
        assert len(set(found.tolist())) == found.max() + 1 == min(n_clusters, len(distinct))
        assert len(caught) == (n_clusters > len(distinct))
        if caught:
            assert f"only {len(distinct)} groups of rows apart, so n_clusters={n_clusters}" in str(caught[0].message)
        # Rows that no clustering separates are in one cluster.
        assert len(set(zip(kinds.ravel().tolist(), found.tolist(), strict=True))) == len(distinct)


def test_ties_in_the_linkage_do_not_cost_clusters():
    # Every two rows are together in one of six clusterings, so all merges of single rows are equally high.
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    votes = [[min(a, b) if row in (a, b) else row for row in range(4)] for a, b in pairs]
    for n_clusters in (1, 2, 3, 4):
        assert len(set(kedge.consensus(votes, n_clusters).tolist())) == n_clusters
