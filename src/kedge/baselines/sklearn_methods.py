"""k-means, on one matrix or on all views side by side, and spectral clustering, as scikit-learn has them."""

import warnings
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn import cluster
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import StandardScaler

from kedge.baselines import base
from kedge.baselines.base import baseline, parameter
from kedge.core.labels import nearest_center, number_by_first_rows
from kedge.core.rows import View, side_by_side
from kedge.parameters import COUNT, POSITIVE, one_of
from kedge.user_warnings import warn_convergence


@baseline("k-means of scikit-learn", cost="n k d per round")
class KMeans(base.LabelsNewRows, base.SingleViewBaseline):
    """k-means: every row belongs to the nearest of k means; scikit-learn's, with the interface of the other baselines.

    O(n k d) time per round for n rows of d features, on as many threads as scikit-learn takes; one more copy of X.

    Parameters
    ----------
    n_init : int, default=10
        Starts; the one with the least sum of squared distances is kept.
    max_iter : int, default=300
        Most rounds of a start.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters found, n_features)
        The means, of scaled rows.
    inertia_ : float
        Sum of the squared distances to the means.
    n_iter_ : int
        Rounds of the start that was kept.

    References
    ----------
    Lloyd, "Least squares quantization in PCM", IEEE Transactions on Information Theory 1982.

    Examples
    --------
    >>> from kedge.baselines import KMeans
    >>> KMeans(2, random_state=0).fit_predict([[0.0], [1.0], [9.0], [8.0]])
    array([0, 0, 1, 1])
    """

    n_init: int = parameter(COUNT, default=10)
    max_iter: int = parameter(COUNT, default=300)

    _one_thread: ClassVar[bool] = False

    cluster_centers_: base.Array = field(init=False)

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # A centred copy, and some numbers per row.
        return 8 * (n_samples * (n_features + 4) + self.n_clusters * n_features)

    def _label(self, rows: View) -> base.Labels:
        return nearest_center(rows, self.cluster_centers_)

    def _cluster(self, X: View, random_state: np.random.RandomState) -> dict[str, Any]:
        return run_kmeans(X, self.n_clusters, n_init=self.n_init, max_iter=self.max_iter, random_state=random_state)


def run_kmeans(X: View, n_clusters: int, **options: Any) -> dict[str, Any]:
    """Return the attributes of a fit of scikit-learn's k-means."""
    model = cluster.KMeans(n_clusters, **options).fit(X)
    labels = number_by_first_rows(model.labels_)
    # Centre j is that of the rows numbered j. A centre without rows is dropped; k-means warns of it.
    first = np.unique(labels, return_index=True)[1]
    return {
        "labels_": labels,
        "cluster_centers_": np.ascontiguousarray(model.cluster_centers_[model.labels_[first]]),
        "inertia_": float(model.inertia_),
        "n_iter_": int(model.n_iter_),
    }


@baseline("k-means of the scaled views side by side", cost="n k d per round")
class JoinedKMeans(base.LabelsNewRows, base.MultiViewBaseline):
    """k-means on the scaled views side by side.

    On some data no method for several views does better. O(n d k) time per round for n rows, d features in all and k
    clusters; memory for three or four copies of X, so 24 GB hold about ten million rows of 100 features. If a view is
    sparse, all views are joined to a sparse matrix.

    Parameters
    ----------
    n_init : int, default=10
        Starts of k-means; the one with the least sum of squared distances is kept.
    max_iter : int, default=300
        Most rounds of a start.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centres of the clusters in the scaled views side by side; fewer where too few rows differ.
    inertia_ : float
        Sum of squared distances of the rows to their centres.
    n_iter_ : int
        Rounds of the start that was kept.

    References
    ----------
    Lloyd, "Least squares quantization in PCM", IEEE Transactions on Information Theory 28, 1982.

    Examples
    --------
    >>> from kedge import baselines, datasets
    >>> views, y = datasets.make_multiview(90, n_clusters=3, random_state=0)
    >>> model = baselines.JoinedKMeans(3, random_state=0).fit(views)
    >>> bool((model.predict(views) == model.labels_).all())
    True
    """

    n_init: int = parameter(COUNT, default=10)
    max_iter: int = parameter(COUNT, default=300)

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # Scaling holds two copies at a time, joining makes one, unless there is one view, and k-means another.
        copies = 3 if self._count_views() == 1 else 4
        return 8 * n_samples * (copies * n_features + 3)

    def _cluster(self, views: list[View], random_state: np.random.RandomState) -> dict[str, Any]:
        joined = _with_short_indices(side_by_side(views))
        seed = int(random_state.randint(np.iinfo(np.int32).max))
        return run_kmeans(joined, self.n_clusters, n_init=self.n_init, max_iter=self.max_iter, random_state=seed)

    def _label(self, views: list[View]) -> base.Labels:
        return nearest_center(side_by_side(views), self.cluster_centers_)


def _with_short_indices(X: View) -> View:
    """Return sparse rows with 32-bit indices; k-means takes no others."""
    if not sparse.issparse(X) or X.indices.dtype == X.indptr.dtype == np.int32:
        return X
    if X.nnz > np.iinfo(np.int32).max:
        raise ValueError(
            f"k-means takes at most 2^31 - 1 stored entries, X has {X.nnz}; pass fewer rows, or dense ones"
        )
    return sparse.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


@baseline("spectral clustering of scikit-learn", cost="n^2 d")
class SpectralClustering(base.SingleViewBaseline):
    """Spectral clustering of a neighbour graph or a Gaussian kernel; scikit-learn's, with the interface of the others.

    With neighbours it takes at most O(n^2 d) time and memory in proportion to n; with the kernel two n x n matrices, so
    about 38,000 rows on 24 GB. If the graph is in pieces, scikit-learn may mix their eigenvectors; a warning says so.

    Parameters
    ----------
    affinity : {"nearest_neighbors", "rbf"}, default="nearest_neighbors"
        The graph: an edge to each of the nearest rows, or exp(-gamma |x - y|^2) between all.
    n_neighbors : int, default=10
        Neighbours of a row, including itself; at most the number of rows.
    gamma : float or None, default=None
        Of the kernel; None means one over twice the mean squared distance between rows.
    eigen_solver : {"arpack", "lobpcg"}, default="arpack"
        "arpack" factors the graph, which can take hours with tens of thousands of rows; "lobpcg" does not.
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
    eigen_solver: str = parameter(one_of("arpack", "lobpcg"), default="arpack")
    n_init: int = parameter(COUNT, default=10)

    _one_thread: ClassVar[bool] = False

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # The graph, its normalised copy and the eigenvectors.
        edges = n_samples**2 if self.affinity == "rbf" else 4 * n_samples * self.n_neighbors
        return 8 * (2 * edges + n_samples * (n_features + 4 * self.n_clusters))

    def _cluster(self, X: View, random_state: np.random.RandomState) -> dict[str, Any]:
        model = cluster.SpectralClustering(
            self.n_clusters,
            gamma=self._width(X),
            eigen_solver=self.eigen_solver,
            n_init=self.n_init,
            random_state=random_state,
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
        spread = 2.0 * float(StandardScaler(with_mean=False).fit(X).var_.sum())
        return 0.5 / spread if spread > 0 else 1.0
