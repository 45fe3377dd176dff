"""Anchor points: the few prototypes from which every row is rebuilt."""

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.cluster import KMeans

# k-means on more rows than this per anchor moves the centres little and costs in proportion.
ROWS_PER_ANCHOR = 50
LEAST_SAMPLE = 5_000


def default_anchor_count(n_rows: int, n_clusters: int) -> int:
    """Five per cluster, and never more than the rows allow."""
    return max(n_clusters, min(5 * n_clusters, n_rows))


def kmeans_anchors(X: Any, n_anchors: int, random_state: RandomState) -> NDArray[Any]:
    """Return the k-means centres of a bounded sample of the rows, shape (n_anchors, n_features).

    Cost O(sample * n_anchors * n_features) per k-means round, with a sample of at most
    ``max(5000, 50 * n_anchors)`` rows, whatever the number of rows.
    """
    n_rows = X.shape[0]
    size = max(LEAST_SAMPLE, ROWS_PER_ANCHOR * n_anchors)
    if n_rows > size:
        X = X[np.sort(random_state.choice(n_rows, size, replace=False))]
    seed = int(random_state.randint(np.iinfo(np.int32).max))
    model = KMeans(n_anchors, n_init=1, max_iter=30, random_state=seed).fit(X)
    return np.asarray(model.cluster_centers_)
