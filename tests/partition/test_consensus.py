"""Consensus of clusterings."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score

from kedge.metrics import nmi
from kedge.partition.consensus import agreed_groups, shared_information


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


def test_company_is_the_cosine_between_rows_of_the_table_of_pairs():
    rng = np.random.default_rng(1)
    votes = [rng.integers(4, size=25) for _ in range(7)]
    # Clusterings that count differently leave no two pairs equally close.
    weights = rng.uniform(0.5, 1.5, size=7)
    together = np.average([vote[:, None] == vote for vote in votes], axis=0, weights=weights)
    unit = together / np.linalg.norm(together, axis=1, keepdims=True)
    for share, differs in ((0.0, False), (0.7, True)):
        close = (1 - share) * together + share * (unit @ unit.T)
        tree = linkage(squareform(1 - close, checks=False), "average")
        expected = fcluster(tree, 4, "maxclust")
        found = agreed_groups(votes, 4, weights, company_share=share)
        assert adjusted_rand_score(expected, found) == 1.0
        assert (adjusted_rand_score(found, agreed_groups(votes, 4, weights)) < 1.0) is differs


def test_a_share_of_company_leaves_clear_groups_as_they_are():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1, 2], 15)
    votes = [np.where(rng.random(45) < 0.9, groups, rng.integers(3, size=45)) for _ in range(20)]
    for share in (0.0, 0.5, 1.0):
        assert adjusted_rand_score(groups, agreed_groups(votes, 3, company_share=share)) == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_shared_information_is_that_of_the_metric(seed):
    random = np.random.default_rng(seed)
    one, other = random.integers(0, 5, 200), random.integers(0, 3, 200)
    other[:120] = one[:120] % 3
    assert shared_information(one, other) == pytest.approx(nmi(one, other), abs=1e-12)
    assert shared_information(one, one) == pytest.approx(1.0)
    assert shared_information(np.zeros(4, dtype=int), np.zeros(4, dtype=int)) == 1.0
