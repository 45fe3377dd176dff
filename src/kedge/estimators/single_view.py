"""SGL: clustering of one view through a graph between rows and anchors."""

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from kedge.kernels.simplex import solve_rows
from kedge.model.anchors import default_anchor_count, kmeans_anchors
from kedge.model.label_rows import label_anchors, label_embedding
from kedge.model.spectral_map import spectral_map


class SGL(ClusterMixin, BaseEstimator):
    """Cluster rows by the graph of weights that rebuild them from anchor points.

    Each row is written as a convex combination of m anchors, by ridge-regularised least squares over the simplex; the
    weights are a bipartite graph whose leading singular vectors, scaled to unit rows, are clustered by k-means. Time
    is O(n m d + n m s) for n rows, d features and s weights per row; memory beyond X is O(n s + m^2).

    This version has no structure penalty: it is the model of the paper at beta = 0.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_anchors : int or "auto", default="auto"
        Number of anchors; "auto" takes five per cluster. Never more than there are rows.
    alpha : float, default=0.1
        Ridge on the weights, in units of the mean squared anchor norm. Larger values spread a row over more anchors.
    random_state : int, RandomState instance or None, default=None
        Seed of the anchors and of the final k-means.
    n_jobs : int or None, default=None
        Threads for the row problems; None or -1 means every processor. Does not change the result.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, consecutive from 0.
    graph_ : CSR array of shape (n_samples, n_anchors)
        Weights of the rows on the anchors; nonnegative, rows sum to one.
    anchors_ : ndarray of shape (n_anchors, n_features)
        The anchor points.
    anchor_labels_ : ndarray of shape (n_anchors,)
        Cluster of each anchor.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Left singular vectors of the scaled graph.
    anchor_embedding_ : ndarray of shape (n_anchors, n_clusters)
        Right singular vectors of the scaled graph.
    n_features_in_ : int
        Number of features seen in fit.

    See Also
    --------
    kedge.simplex_qp : The row problem on its own.

    References
    ----------
    Kang, Lin, Zhu and Xu, "Structured Graph Learning for Scalable Subspace Clustering: From Single-view to
    Multi-view", IEEE Transactions on Cybernetics.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from kedge import SGL
    >>> X, y = make_blobs(300, centers=3, cluster_std=0.5, random_state=0)
    >>> SGL(n_clusters=3, random_state=0).fit(X).labels_.max()
    np.int64(2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_anchors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_anchors: int | str = "auto",
        alpha: float = 0.1,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.alpha = alpha
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        """Say that sparse input is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows to cluster; sparse input is never made dense.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        random_state = check_random_state(self.random_state)
        self.anchors_ = kmeans_anchors(X, self._count_anchors(X.shape[0]), random_state)
        solution = solve_rows(
            *self._row_problem(X), sparse_output=True, want_sums=True, n_threads=self._count_threads()
        )
        self.graph_ = solution.coefficients
        assert solution.sums is not None
        spectrum = spectral_map(solution.sums.gram, solution.sums.column_sums, self.n_clusters)
        self.embedding_ = self.graph_ @ spectrum.row_map
        self.anchor_embedding_ = spectrum.anchor_embedding
        self.labels_ = label_embedding(self.embedding_, self.n_clusters, random_state)
        self.anchor_labels_ = label_anchors(self.graph_, self.labels_, self.n_clusters)
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Give each row the cluster of its nearest anchor.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each row.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return np.asarray(self.anchor_labels_[pairwise_distances_argmin(X, self.anchors_)])

    def _row_problem(self, X: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        gram = self.anchors_.astype(np.float64) @ self.anchors_.T.astype(np.float64)
        # Rows that are all zero give a zero Gram; any positive ridge then makes the weights uniform.
        scale = float(gram.trace()) / len(gram) or 1.0
        hessian = 2.0 * (gram + self.alpha * scale * np.eye(len(gram)))
        return hessian, -2.0 * safe_sparse_dot(X, self.anchors_.T, dense_output=True)

    def _count_anchors(self, n_rows: int) -> int:
        if n_rows < self.n_clusters:
            raise ValueError(f"n_samples={n_rows} should be >= n_clusters={self.n_clusters}; ask for fewer clusters")
        if isinstance(self.n_anchors, str):
            return default_anchor_count(n_rows, self.n_clusters)
        if self.n_anchors < self.n_clusters:
            raise ValueError(f"n_anchors={self.n_anchors} should be >= n_clusters={self.n_clusters}")
        if self.n_anchors > n_rows:
            raise ValueError(f"n_anchors={self.n_anchors} should be <= n_samples={n_rows}")
        return int(self.n_anchors)

    def _count_threads(self) -> int | None:
        return None if self.n_jobs is None or self.n_jobs < 1 else self.n_jobs
