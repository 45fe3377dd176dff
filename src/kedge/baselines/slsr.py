"""SLSR: LSR on a sample of rows; all others join the cluster that rebuilds them best."""

from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from kedge.baselines.clusterer import SingleViewBaseline
from kedge.baselines.coefficients.residual_classes import classify_by_residual
from kedge.baselines.coefficients.ridge_representation import ridge_coefficients
from kedge.baselines.graphs.spectral_clustering import cluster_affinity
from kedge.core.labels import number_by_first_rows
from kedge.core.rows import View
from kedge.kernels.selection import one_thread_per_library
from kedge.parameters import BASELINE_RULES, COUNT, POSITIVE, one_of


class SLSR(SingleViewBaseline):
    """Scalable least squares regression: LSR on a sample, and classification of the other rows by their residuals.

    A random sample of p rows is clustered as :class:`LSR` does, no row rebuilding itself. Every other row is rebuilt
    from the whole sample by ridge regression and joins the cluster whose rows alone rebuild it best; so do new rows.
    O(p^3 + n p min(p, d)) time and three p x p matrices of memory, linear in the rows: what fits is a matter of X
    itself, which is scaled into a copy; about 29 million rows of 100 features on 24 GB.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_in_sample : int, default=1000
        Rows in the sample, at most all; the authors use 1000 or 2000.
    ridge : float, default=0.1
        Weight of the squared coefficients between rows of the sample, for rows of unit length. The authors try 1e-4 to
        1.
    coding_ridge : float, default=1e-6
        Weight of the squared coefficients that rebuild the other rows from the sample.
    residual : {"plain", "regularised"}, default="plain"
        Whether the residual of a cluster is compared as it is, as in the authors' program, or divided by the squared
        length of the coefficients on the cluster, which is our reconstruction of what their paper describes.
    scale : {"l2", "none", "zscore", "minmax", "zscore_l2", "auto"}, default="l2"
        How X is scaled before; unit rows are customary for subspaces.
    memory_limit : float or None, default=None
        Bytes that the fit may use; None means the memory of the machine.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample and of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, numbered by their first rows. ``predict`` of the rows of the sample may differ.
    in_sample_indices_ : ndarray of shape (n_in_sample,)
        Rows of the sample, ascending.
    in_sample_rows_ : ndarray or CSR array of shape (n_in_sample, n_features)
        The sample, scaled.
    coefficients_ : ndarray of shape (n_in_sample, n_in_sample)
        Row i holds the coefficients that rebuild row i of the sample.
    embedding_ : ndarray of shape (n_in_sample, n_clusters)
        Leading eigenvectors of the normalised graph between rows of the sample.

    References
    ----------
    Peng, Tang, Zhang, Yi and Xiao, "A unified framework for representation-based subspace clustering of out-of-sample
    and large-scale data", IEEE Transactions on Neural Networks and Learning Systems 27 (2016).

    Examples
    --------
    >>> from kedge.baselines import SLSR
    >>> from kedge.datasets import make_union_of_subspaces
    >>> X, y = make_union_of_subspaces(90, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> model = SLSR(2, n_in_sample=40, random_state=0).fit(X[:60])
    >>> sorted(set(model.predict(X[60:]).tolist()))
    [0, 1]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = BASELINE_RULES | {
        "n_in_sample": [COUNT],
        "ridge": [POSITIVE],
        "coding_ridge": [POSITIVE],
        "residual": [one_of("plain", "regularised")],
    }

    in_sample_indices_: NDArray[np.intp]
    in_sample_rows_: View

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_in_sample: int = 1000,
        ridge: float = 0.1,
        coding_ridge: float = 1e-6,
        residual: str = "plain",
        scale: str = "l2",
        memory_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, scale, memory_limit, random_state)
        self.n_in_sample = n_in_sample
        self.ridge = ridge
        self.coding_ridge = coding_ridge
        self.residual = residual

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # The scaled rows and three matrices of the sample's order.
        in_sample = min(self.n_in_sample, n_samples)
        batches = min(2**21, 2 * n_samples * max(in_sample, n_features))
        of_sample = 2 * in_sample**2 + max(in_sample**2, batches) + 2 * in_sample * n_features
        return 8 * (n_samples * (n_features + 3) + of_sample)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Put rows into the cluster whose rows of the sample rebuild them best.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, scaled as in fit before anything else.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Their clusters.
        """
        rows = self._read_new_rows(X)
        with one_thread_per_library():
            return self._classify(rows, self.in_sample_rows_, self.labels_[self.in_sample_indices_])

    def _cluster(self, X: View, random_state: RandomState) -> dict[str, Any]:
        n_rows = X.shape[0]
        if self.n_clusters > self.n_in_sample:
            raise ValueError(
                f"n_in_sample={self.n_in_sample} should be >= n_clusters={self.n_clusters}; the sample has to hold a "
                "row of every cluster"
            )
        chosen = np.sort(random_state.permutation(n_rows)[: self.n_in_sample])
        sample = X[chosen]
        coefficients = ridge_coefficients(sample, self.ridge, own_row=False)
        affinity = abs(coefficients)
        affinity += affinity.T.copy()
        sample_labels, embedding = cluster_affinity(affinity, self.n_clusters, random_state)
        # All rows are classified where there are others, rather than the others copied.
        labels = self._classify(X, sample, sample_labels) if n_rows > len(chosen) else np.empty(n_rows, dtype=np.int64)
        labels[chosen] = sample_labels
        return {
            "labels_": number_by_first_rows(labels),
            "in_sample_indices_": chosen,
            "in_sample_rows_": sample,
            "coefficients_": coefficients,
            "embedding_": embedding,
        }

    def _classify(self, rows: View, sample: View, sample_labels: NDArray[np.int64]) -> NDArray[np.int64]:
        return classify_by_residual(
            rows, sample, sample_labels, self.coding_ridge, regularised=self.residual == "regularised"
        )
