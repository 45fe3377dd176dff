"""Anchors by the thousand."""

import numpy as np
import pytest
from scipy import sparse

from kedge.anchors.sets import fine_anchors

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 5)) + 10 * rng.integers(0, 4, size=(600, 1))


def distance_to_nearest(rows, anchors):
    return np.square(rows[:, None] - anchors).sum(axis=2).min(axis=1).mean()


@pytest.mark.parametrize("n_anchors", [1, 6, 60, 600])
def test_there_are_as_many_as_asked_for(n_anchors):
    (anchors,) = fine_anchors([X], None, n_anchors, np.random.RandomState(0))
    assert anchors.shape == (n_anchors, 5)
    assert len(np.unique(anchors, axis=0)) == n_anchors


def test_they_are_nearer_to_the_rows_than_random_rows():
    (anchors,) = fine_anchors([X], None, 60, np.random.RandomState(0))
    drawn = [X[np.random.RandomState(seed).choice(600, 60, replace=False)] for seed in range(5)]
    assert distance_to_nearest(X, anchors) < 0.9 * min(distance_to_nearest(X, rows) for rows in drawn)


def test_repeated_rows_give_as_many_anchors_as_there_are_distinct_rows():
    rows = np.repeat(X[:7], 50, axis=0)
    (anchors,) = fine_anchors([rows], None, 40, np.random.RandomState(0))
    np.testing.assert_allclose(np.sort(anchors, axis=0), np.sort(np.unique(rows, axis=0), axis=0), atol=1e-12)


def test_sparse_and_dense_rows_have_the_same_anchors():
    counts = np.maximum(X, 0)
    (dense,) = fine_anchors([counts], None, 40, np.random.RandomState(0))
    (in_csr,) = fine_anchors([sparse.csr_array(counts)], None, 40, np.random.RandomState(0))
    np.testing.assert_allclose(in_csr, dense, atol=1e-9)


def test_anchors_of_rows_with_gaps_are_means_of_what_is_there():
    other = 3.0 * X[:, :2] + 1.0
    observed = np.ones((600, 2), dtype=bool)
    observed[::4, 0] = False
    observed[2::4, 1] = False
    views = [np.where(observed[:, [0]], X, 0.0), np.where(observed[:, [1]], other, 0.0)]
    first, second = fine_anchors(views, observed, 40, np.random.RandomState(0))
    assert first.shape == (40, 5)
    assert second.shape == (40, 2)
    # Anchor j of both views is one prototype: it obeys the relation of the rows, up to its own spread.
    assert np.abs(second - (3.0 * first[:, :2] + 1.0)).mean() < 0.2 * other.std()


def test_float32_is_kept():
    (anchors,) = fine_anchors([X.astype(np.float32)], None, 10, np.random.RandomState(0))
    assert anchors.dtype == np.float32
