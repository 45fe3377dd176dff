"""Spectral clustering, as scikit-learn has it."""

import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from sklearn import cluster
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import kneighbors_graph

from kedge.baselines.clusterer import SingleViewBaseline
from kedge.core.labels import number_by_first_rows
from kedge.core.rows import View
from kedge.parameters import BASELINE_RULES, COUNT, POSITIVE, one_of


class SpectralClustering(SingleViewBaseline):
    """Spectral clustering of a neighbour graph or of a Gaussian kernel; scikit-learn's, under the terms of the others.

    The eigenvectors of the normalised graph between all rows are clustered by k-means. With neighbours O(n^2 d) time at
    worst, for the search, and memory in proportion to n; with the kernel two n x n matrices, so some 38,000 rows on
    24 GB. Where the graph is in pieces, scikit-learn may mix their eigenvectors; a warning says so.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    affinity : {"nearest_neighbors", "rbf"}, default="nearest_neighbors"
        The graph: an edge to each of the nearest rows, or exp(-gamma |x - y|^2) between all.
    n_neighbors : int, default=10
        Neighbours of a row, itself among them; capped by the number of rows.
    gamma : float or None, default=None
        Of the kernel; None means one over twice the mean squared distance between rows.
    n_init : int, default=10
        Starts of k-means.
    scale : {"none", "l2", "zscore", "minmax", "zscore_l2", "auto"}, default="none"
        How X is scaled before.
    memory_limit : float or None, default=None
        Bytes that the fit may use; None means the memory of the machine.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, numbered by their first rows.

    References
    ----------
    Ng, Jordan and Weiss, "On spectral clustering: analysis and an algorithm", NIPS 2001.

    Examples
    --------
    >>> from kedge.baselines import SpectralClustering
    >>> SpectralClustering(2, affinity="rbf", random_state=0).fit_predict([[0.0], [1.0], [9.0], [8.0]])
    array([0, 0, 1, 1])
    """

    _one_thread: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = BASELINE_RULES | {
        "affinity": [one_of("nearest_neighbors", "rbf")],
        "n_neighbors": [COUNT],
        "gamma": [POSITIVE, None],
        "n_init": [COUNT],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        affinity: str = "nearest_neighbors",
        n_neighbors: int = 10,
        gamma: float | None = None,
        n_init: int = 10,
        scale: str = "none",
        memory_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, scale, memory_limit, random_state)
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.n_init = n_init

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # The graph, its normalised copy and the eigenvectors.
        edges = n_samples**2 if self.affinity == "rbf" else 4 * n_samples * self.n_neighbors
        return 8 * (2 * edges + n_samples * (n_features + 4 * self.n_clusters))

    def _cluster(self, X: View, random_state: RandomState) -> dict[str, Any]:
        model = cluster.SpectralClustering(
            self.n_clusters, gamma=self._width(X), n_init=self.n_init, random_state=random_state
        )
        if self.affinity == "nearest_neighbors":
            neighbors = kneighbors_graph(X, min(self.n_neighbors, X.shape[0] - 1), include_self=True)
            model.set_params(affinity="precomputed")
            X = 0.5 * (neighbors + neighbors.T)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X)
        for message in caught:
            if "not fully connected" not in str(message.message):
                warnings.warn_explicit(message.message, message.category, message.filename, message.lineno)
                continue
            warnings.warn(
                "the graph between rows is not connected, and eigenvectors of its pieces may be mixed: let rows have "
                "more neighbours, or use affinity='rbf'",
                ConvergenceWarning,
                stacklevel=3,
            )
        return {"labels_": number_by_first_rows(model.labels_)}

    def _width(self, X: View) -> float:
        if self.gamma is not None:
            return float(self.gamma)
        # The mean squared distance of two rows is twice the mean squared distance to the mean.
        mean = np.asarray(X.mean(axis=0)).ravel()
        squares = float((X.multiply(X) if hasattr(X, "multiply") else X * X).sum()) / X.shape[0]
        spread = 2.0 * (squares - float(mean @ mean))
        return 0.5 / spread if spread > 0 else 1.0
