"""SGL: clustering of one view through a graph between rows and anchors."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from kedge.estimators.parameter_rules import SGL_RULES, checked_fit, threads_for
from kedge.kernels import PreparedHessian, solve_rows
from kedge.model.anchors import default_anchor_count, kmeans_anchors
from kedge.model.label_rows import label_anchors, label_embedding
from kedge.model.spectral_map import spectral_map

# Entries of the linear term held at a time: 32 MiB in double precision.
BLOCK_ENTRIES = 1 << 22


class SGL(ClusterMixin, BaseEstimator):
    """Cluster rows by the graph of weights that rebuild them from anchor points.

    Each row is written as a convex combination of m anchors, by ridge-regularised least squares over the simplex; the
    weights are a bipartite graph whose leading singular vectors, scaled to unit rows, are clustered by k-means. Time
    is O(n m d + n m s) for n rows, d features and s weights per row; memory beyond X is O(n s + m^2), plus blocks of
    bounded size.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = SGL_RULES

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

    @checked_fit
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
        self.graph_, gram, column_sums = self._build_graph(X)
        spectrum = spectral_map(gram, column_sums, self.n_clusters)
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

    def _build_graph(self, X: Any) -> tuple[Any, NDArray[np.float64], NDArray[np.float64]]:
        """Solve all rows, a block at a time; return the weights, their Gram matrix and their column sums."""
        hessian = self._hessian()
        n_anchors = hessian.n_anchors
        gram, column_sums, blocks = np.zeros((n_anchors, n_anchors)), np.zeros(n_anchors), []
        for rows in gen_batches(X.shape[0], max(1, BLOCK_ENTRIES // n_anchors)):
            linear = -2.0 * safe_sparse_dot(X[rows], self.anchors_.T, dense_output=True)
            solution = solve_rows(
                hessian, linear, sparse_output=True, want_sums=True, n_threads=threads_for(self.n_jobs)
            )
            assert solution.sums is not None
            gram += solution.sums.gram
            column_sums += solution.sums.column_sums
            blocks.append(solution.coefficients)
        return sparse.vstack(blocks, format="csr"), gram, column_sums

    def _hessian(self) -> PreparedHessian:
        anchors = self.anchors_.astype(np.float64)
        gram = anchors @ anchors.T
        # Rows that are all zero give a zero Gram; any positive ridge then makes the weights uniform.
        scale = float(gram.trace()) / len(gram) or 1.0
        return PreparedHessian(2.0 * (gram + self.alpha * scale * np.eye(len(gram))))

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
