"""Votes of the nearest anchors."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kedge.core.labels import majority, nearest_columns, vote_of_anchors

COARSE = st.integers(0, 5).map(float)


@given(arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(1, 9)), elements=COARSE), st.integers(1, 10))
def test_nearest_columns_are_those_of_a_stable_sort(distances, count):
    expected = np.argsort(distances, axis=1, kind="stable")[:, :count]
    np.testing.assert_array_equal(nearest_columns(distances.copy(), count), expected)


def test_a_tie_goes_to_the_cluster_that_is_nearest():
    votes = np.array([[4, 7, 7], [4, 7, 9], [3, 3, 1]])
    assert majority(votes).tolist() == [7, 4, 3]


def test_anchors_vote_by_their_distance():
    anchors = np.array([[0.0], [1.0], [2.0], [10.0]])
    labels = np.array([0, 1, 1, 2])
    rows = np.array([[0.1], [9.0]])
    assert vote_of_anchors(rows, anchors, labels, 1).tolist() == [0, 2]
    assert vote_of_anchors(rows, anchors, labels, 3).tolist() == [1, 1]
