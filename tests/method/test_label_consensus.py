"""One clustering from many."""

import numpy as np
import pytest
from fuzzing import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

import kedge
from kedge.partition.consensus import company_in_own_group, nearest_groups


def noisy_votes(truth, count, share_wrong, seed=0):
    rng = np.random.default_rng(seed)
    n_clusters = truth.max() + 1
    votes = []
    for _ in range(count):
        vote = rng.permutation(n_clusters)[truth]
        wrong = rng.random(len(truth)) < share_wrong
        vote[wrong] = rng.integers(0, n_clusters, wrong.sum())
        votes.append(vote)
    return votes


@pytest.mark.parametrize("n_rows", [90, 6000])
def test_the_truth_behind_noisy_clusterings_is_found_with_and_without_sampling(n_rows):
    truth = np.random.default_rng(1).integers(0, 4, n_rows)
    votes = noisy_votes(truth, 25, 0.3)
    assert max(adjusted_rand_score(truth, vote) for vote in votes) < 0.75
    assert adjusted_rand_score(truth, kedge.consensus(votes, 4, random_state=0)) > 0.99


def test_confidence_is_low_where_clusterings_differ():
    truth = np.repeat([0, 1], 100)
    votes = [vote.copy() for vote in noisy_votes(truth, 20, 0.0)]
    rng = np.random.default_rng(0)
    for vote in votes:
        vote[:5] = rng.integers(0, 2, 5)
    labels, confidence = kedge.consensus(votes, 2, random_state=0, return_confidence=True)
    assert labels.shape == confidence.shape == (200,)
    assert confidence[:5].max() < 0.9 < confidence[5:].min()
    assert ((confidence >= 0) & (confidence <= 1)).all()
    assert (kedge.consensus([truth], 2, return_confidence=True)[1] == 1).all()


@given(st.lists(st.integers(0, 3), min_size=3, max_size=40), st.integers(0, 100))
@settings(max_examples=examples(40))
def test_equal_clusterings_come_back_whatever_their_numbers(labels, seed):
    labels = np.array(labels)
    names = np.random.default_rng(seed).permutation(4)
    found = kedge.consensus([labels, names[labels]], len(set(labels.tolist())), random_state=seed)
    assert adjusted_rand_score(labels, found) == 1
    assert found[0] == 0
    first = [int(np.flatnonzero(found == c)[0]) for c in range(found.max() + 1)]
    assert first == sorted(first)


def test_labels_of_any_kind_and_any_number_of_clusters():
    found = kedge.consensus([["x", "x", "y", "y", "z"], [5, 5, 5, 5, 9], [0, 0, 1, 1, 2]], 3)
    np.testing.assert_array_equal(found, [0, 0, 1, 1, 2])


@pytest.mark.parametrize(
    ("labels", "n_clusters", "message"),
    [
        ([], 2, "labels is empty"),
        ([[0, 1], [0, 1, 1]], 2, r"labels\[1\] has 3 rows and labels\[0\] has 2"),
        ([[0, np.nan]], 1, r"labels\[0\] has nan in row 1"),
        ([[0, 1]], 3, "n_clusters=3 is more than the 2 rows"),
        ([[0, 1]], 0, "n_clusters == 0, must be >= 1"),
        ([[0, 1]], 1.5, "n_clusters must be an instance of int"),
        ([[]], 1, r"labels\[0\] must be a list of at least one label"),
        ([[[0], [1]]], 1, r"labels\[0\] must be a list of at least one label, got shape \(2, 1\)"),
    ],
)
def test_mistakes_are_named(labels, n_clusters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        kedge.consensus(labels, n_clusters)


def test_a_row_goes_to_the_group_it_shares_most_of_not_to_the_largest():
    # The last row is in the cluster of all five small rows and of ten of the forty large ones.
    groups = np.repeat([0, 1], [40, 5])
    vote = np.concatenate([np.repeat([0, 1], [30, 10]), np.ones(5, dtype=int), [1]])
    assert nearest_groups([vote], np.arange(45), groups)[-1] == 1


def test_company_is_the_share_of_a_rows_own_cluster():
    vote, labels = np.array([0, 0, 0, 0, 1]), np.array([0, 0, 0, 1, 1])
    np.testing.assert_allclose(company_in_own_group([vote], labels), [0.75, 0.75, 0.75, 0.25, 1.0])
