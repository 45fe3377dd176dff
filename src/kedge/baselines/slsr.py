"""SLSR: LSR on a sample of rows; all others join the cluster that rebuilds them best."""

from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from kedge.baselines.affinity import cluster_affinity, symmetric_graph
from kedge.baselines.base import Array, Labels, LabelsNewRows, RowGraphBaseline, as_dense, baseline, parameter
from kedge.baselines.lsr import ridge_coefficients
from kedge.core.rows import View
from kedge.kernels.selection import one_thread_per_library
from kedge.parameters import COUNT, POSITIVE, one_of

# Entries of the largest temporary array of one batch of rows.
_BATCH_ENTRIES = 2**20


@baseline(
    "least squares regression on some rows, all others classified by it",
    cost="p^3 + n p d",
    grid={"ridge": [1e-4, 1e-3, 1e-2, *(round(0.1 * i, 1) for i in range(1, 11))]},
    grid_source="the authors' programs",
)
class SLSR(LabelsNewRows, RowGraphBaseline):
    """Scalable least squares regression: LSR on a sample, and classification of the other rows by their residuals.

    A random sample of p rows is clustered as :class:`LSR` does, with ``own_row=False``. Every other row is rebuilt from
    the whole sample by ridge regression and joins the cluster whose rows alone rebuild it best; so do new rows.
    O(p^3 + n p d) time and three p x p matrices of memory beside a scaled copy of X: about 29 million rows of
    100 features on 24 GB.

    Parameters
    ----------
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

    Attributes
    ----------
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
    >>> from kedge import baselines, datasets
    >>> X, y = datasets.make_union_of_subspaces(90, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> model = baselines.SLSR(2, n_in_sample=40, random_state=0).fit(X[:60])
    >>> sorted(set(model.predict(X[60:]).tolist()))
    [0, 1]
    """

    n_in_sample: int = parameter(COUNT, default=1000)
    ridge: float = parameter(POSITIVE, default=0.1)
    coding_ridge: float = parameter(POSITIVE, default=1e-6)
    residual: str = parameter(one_of("plain", "regularised"), default="plain")

    _has_embedding: ClassVar[bool] = False

    in_sample_indices_: NDArray[np.intp] = field(init=False)
    in_sample_rows_: View = field(init=False)

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # The scaled rows and three matrices of the sample's order.
        in_sample = min(self.n_in_sample, n_samples)
        batches = min(2**21, 2 * n_samples * max(in_sample, n_features))
        of_sample = 2 * in_sample**2 + max(in_sample**2, batches) + 2 * in_sample * n_features
        return 8 * (n_samples * (n_features + 3) + of_sample)

    def _cluster(self, X: View, random_state: np.random.RandomState) -> dict[str, Any]:
        n_rows = X.shape[0]
        if self.n_clusters > self.n_in_sample:
            raise ValueError(
                f"n_in_sample={self.n_in_sample} should be >= n_clusters={self.n_clusters}; the sample has to hold a "
                "row of every cluster"
            )
        chosen = np.sort(random_state.permutation(n_rows)[: self.n_in_sample])
        sample = X[chosen]
        coefficients = ridge_coefficients(sample, self.ridge, own_row=False)
        found = cluster_affinity(symmetric_graph(coefficients), self.n_clusters, random_state)
        # If there are others, all rows are classified, which needs no copy of the others.
        labels = np.empty(n_rows, dtype=np.int64)
        if n_rows > len(chosen):
            labels = self._classify(X, sample, found["labels_"])
        labels[chosen] = found["labels_"]
        sample_parts = {"in_sample_indices_": chosen, "in_sample_rows_": sample, "coefficients_": coefficients}
        return found | sample_parts | {"labels_": labels}

    def _label(self, rows: View) -> Labels:
        with one_thread_per_library():
            return self._classify(rows, self.in_sample_rows_, self.labels_[self.in_sample_indices_])

    def _classify(self, rows: View, sample: View, labels: Labels) -> Labels:
        return classify_by_residual(rows, sample, labels, self.coding_ridge, regularised=self.residual == "regularised")


def classify_by_residual(
    rows: Any, known_rows: Any, known_labels: Labels, ridge: float, *, regularised: bool = False
) -> Labels:
    """Label rows by ridge regression on all labelled rows together.

    A row y is rebuilt as ``c K`` from the labelled rows K, with c minimising |y - c K|^2 + ridge |c|^2. It gets the
    class whose part of c alone leaves the smallest squared residual, which ``regularised`` divides by the squared
    length of that part. Ties go to the first class. Rows orthogonal to all labelled rows get the most frequent label.
    """
    classes, places = np.unique(known_labels, return_inverse=True)
    # Rows of one class are side by side, so that classes are slices.
    order = np.argsort(places, kind="stable")
    ends = np.cumsum(np.bincount(places))
    parts = [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    known = known_rows[order]
    code = _coder(known, ridge)
    most = int(np.bincount(places).argmax())
    found = np.empty(rows.shape[0], dtype=np.intp)
    for batch in gen_batches(len(found), max(1, _BATCH_ENTRIES // max(known_rows.shape))):
        wanted, codes = as_dense(rows[batch]), code(rows[batch])
        misses = (row_norms(wanted - as_dense(codes[:, part] @ known[part]), squared=True) for part in parts)
        residuals = np.column_stack(list(misses))
        lengths = np.column_stack([row_norms(codes[:, part], squared=True) for part in parts])
        if regularised:
            residuals = np.divide(residuals, lengths, out=np.full_like(residuals, np.inf), where=lengths > 0)
        found[batch] = np.where(lengths.any(axis=1), residuals.argmin(axis=1), most)
    return np.asarray(classes[found], dtype=np.int64)


def _coder(known: Any, ridge: float) -> Callable[[Any], Array]:
    """Return a function from rows to the coefficients c, by the smaller of two Gram matrices."""
    if known.shape[1] <= known.shape[0]:
        dense = as_dense(known)
        by_features = _inverse(dense.T @ dense, ridge)
        return lambda rows: np.asarray((as_dense(rows) @ by_features) @ dense.T)
    by_rows = _inverse(as_dense(known @ known.T), ridge)
    return lambda rows: np.asarray(as_dense(rows @ known.T) @ by_rows)


def _inverse(gram: Array, ridge: float) -> Array:
    shifted = gram + ridge * np.eye(len(gram))
    return np.asarray(linalg.inv(shifted, overwrite_a=True, check_finite=False))
