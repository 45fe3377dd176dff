"""k-means of embedded rows."""

import warnings
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning


def cluster_points(
    points: NDArray[Any], n_clusters: int, random_state: RandomState, n_starts: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return labels and centres of the best of several starts; some centres coincide if too few points differ."""
    seed = int(random_state.randint(np.iinfo(np.int32).max))
    points = points.astype(np.float64, copy=False)
    with warnings.catch_warnings():
        # The caller says how many clusters hold rows, and what to do.
        warnings.filterwarnings("ignore", "Number of distinct clusters", ConvergenceWarning)
        model = KMeans(min(n_clusters, len(points)), n_init=n_starts, max_iter=100, random_state=seed).fit(points)
    return model.labels_.astype(np.int64), model.cluster_centers_.astype(np.float64)
