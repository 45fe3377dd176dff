"""Anchors by k-means on a sample that grows slowly with their number, for methods that take many."""

from typing import Any

from numpy.random import RandomState
from numpy.typing import NDArray

from kedge.anchors.kmeans import kmeans_anchors
from kedge.core.rows import sample_rows, take_rows

# Rows per anchor that k-means looks at, and at least.
ROWS_PER_ANCHOR, LEAST_SAMPLE = 10, 5_000


def sampling_memory(n_rows: int, n_anchors: int, n_features: int) -> int:
    """Return about how many bytes finding the anchors takes: two and a half copies of the sample."""
    return 20 * _sample_size(n_rows, n_anchors) * n_features


def sampled_anchors(X: Any, n_anchors: int, random_state: RandomState) -> NDArray[Any]:
    """Return the k-means centres of a sample of ten rows per anchor, at most ``n_anchors`` distinct ones.

    At most 20 rounds of O(max(5000, 10 m) m d) for m anchors of d features.
    """
    rows = sample_rows(X.shape[0], _sample_size(X.shape[0], n_anchors), random_state)
    return kmeans_anchors(take_rows(X, rows), n_anchors, random_state)


def _sample_size(n_rows: int, n_anchors: int) -> int:
    return min(n_rows, max(LEAST_SAMPLE, ROWS_PER_ANCHOR * n_anchors))
