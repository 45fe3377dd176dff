"""Spectral clustering, as scikit-learn has it."""

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn import cluster
from sklearn.neighbors import kneighbors_graph

from kedge.baselines.base import SingleViewBaseline, baseline, parameter
from kedge.core.rows import View
from kedge.parameters import COUNT, POSITIVE, one_of
from kedge.user_warnings import warn_convergence


@baseline("spectral clustering of scikit-learn", cost="n^2 d")
class SpectralClustering(SingleViewBaseline):
    """Spectral clustering of a neighbour graph or a Gaussian kernel; scikit-learn's, with the interface of the others.

    k-means clusters the eigenvectors of the normalised graph between all rows. With neighbours it takes at most
    O(n^2 d) time, for the search, and memory in proportion to n; with the kernel two n x n matrices, so about 38,000
    rows on 24 GB. If the graph is in pieces, scikit-learn may mix their eigenvectors; a warning says so.

    Parameters
    ----------
    affinity : {"nearest_neighbors", "rbf"}, default="nearest_neighbors"
        The graph: an edge to each of the nearest rows, or exp(-gamma |x - y|^2) between all.
    n_neighbors : int, default=10
        Neighbours of a row, including itself; at most the number of rows.
    gamma : float or None, default=None
        Of the kernel; None means one over twice the mean squared distance between rows.
    n_init : int, default=10
        Starts of k-means.

    Attributes
    ----------
    n_features_in_ : int
        Features of X.

    References
    ----------
    Ng, Jordan and Weiss, "On spectral clustering: analysis and an algorithm", NIPS 2001.

    Examples
    --------
    >>> from kedge.baselines import SpectralClustering
    >>> SpectralClustering(2, affinity="rbf", random_state=0).fit_predict([[0.0], [1.0], [9.0], [8.0]])
    array([0, 0, 1, 1])
    """

    affinity: str = parameter(one_of("nearest_neighbors", "rbf"), default="nearest_neighbors")
    n_neighbors: int = parameter(COUNT, default=10)
    gamma: float | None = parameter(POSITIVE, None, default=None)
    n_init: int = parameter(COUNT, default=10)

    _one_thread: ClassVar[bool] = False

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # The graph, its normalised copy and the eigenvectors.
        edges = n_samples**2 if self.affinity == "rbf" else 4 * n_samples * self.n_neighbors
        return 8 * (2 * edges + n_samples * (n_features + 4 * self.n_clusters))

    def _cluster(self, X: View, random_state: np.random.RandomState) -> dict[str, Any]:
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
            warn_convergence(
                "the graph between rows is not connected, and eigenvectors of its pieces may be mixed: let rows have "
                "more neighbours, or use affinity='rbf'"
            )
        return {"labels_": model.labels_}

    def _width(self, X: View) -> float:
        if self.gamma is not None:
            return float(self.gamma)
        # The mean squared distance of two rows is twice the mean squared distance to the mean.
        mean = np.asarray(X.mean(axis=0)).ravel()
        squares = float((X * X).sum()) / X.shape[0]
        spread = 2.0 * (squares - float(mean @ mean))
        return 0.5 / spread if spread > 0 else 1.0
