"""SLSR: LSR on a sample of rows; all others join the cluster that rebuilds them best."""

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np
from numpy.random import RandomState
from scipy import linalg

from kedge.baselines.base import (
    Array,
    Indices,
    Labels,
    LabelsNewRows,
    SingleViewBaseline,
    as_dense,
    baseline,
    parameter,
)
from kedge.baselines.lsr import ridge_coefficients
from kedge.baselines.spectral_clustering import cluster_affinity, symmetric_graph
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
class SLSR(LabelsNewRows, SingleViewBaseline):
    """Scalable least squares regression: LSR on a sample, and classification of the other rows by their residuals.

    A random sample of p rows is clustered as :class:`LSR` does, no row rebuilding itself. Every other row is rebuilt
    from the whole sample by ridge regression and joins the cluster whose rows alone rebuild it best; so do new rows.
    O(p^3 + n p min(p, d)) time and three p x p matrices of memory, linear in the rows: what fits is a matter of X
    itself, which is scaled into a copy; about 29 million rows of 100 features on 24 GB.

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
    >>> from kedge.baselines import SLSR
    >>> from kedge.datasets import make_union_of_subspaces
    >>> X, y = make_union_of_subspaces(90, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> model = SLSR(2, n_in_sample=40, random_state=0).fit(X[:60])
    >>> sorted(set(model.predict(X[60:]).tolist()))
    [0, 1]
    """

    n_in_sample: int = parameter(COUNT, default=1000)
    ridge: float = parameter(POSITIVE, default=0.1)
    coding_ridge: float = parameter(POSITIVE, default=1e-6)
    residual: str = parameter(one_of("plain", "regularised"), default="plain")
    scale: Any = parameter(default="l2")

    in_sample_indices_: Indices = field(init=False)

    in_sample_rows_: View = field(init=False)

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # The scaled rows and three matrices of the sample's order.
        in_sample = min(self.n_in_sample, n_samples)
        batches = min(2**21, 2 * n_samples * max(in_sample, n_features))
        of_sample = 2 * in_sample**2 + max(in_sample**2, batches) + 2 * in_sample * n_features
        return 8 * (n_samples * (n_features + 3) + of_sample)

    def _label(self, rows: View) -> Labels:
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
        sample_labels, embedding = cluster_affinity(symmetric_graph(coefficients), self.n_clusters, random_state)
        # All rows are classified where there are others, rather than the others copied.
        labels = self._classify(X, sample, sample_labels) if n_rows > len(chosen) else np.empty(n_rows, dtype=np.int64)
        labels[chosen] = sample_labels
        return {
            "labels_": labels,
            "in_sample_indices_": chosen,
            "in_sample_rows_": sample,
            "coefficients_": coefficients,
            "embedding_": embedding,
        }

    def _classify(self, rows: View, sample: View, sample_labels: Labels) -> Labels:
        return classify_by_residual(
            rows, sample, sample_labels, self.coding_ridge, regularised=self.residual == "regularised"
        )


def classify_by_residual(
    rows: Any, known_rows: Any, known_labels: Labels, ridge: float, *, regularised: bool = False
) -> Labels:
    """Label rows by ridge regression on all labelled rows together.

    A row y is rebuilt as ``c K`` from the labelled rows K, with c minimising |y - c K|^2 + ridge |c|^2. Its label is
    that of the class whose part of c alone leaves the smallest squared residual; ``regularised``, of the smallest
    residual divided by the squared length of that part. The first class wins a tie. Rows that all labelled rows are
    orthogonal to, zero rows above all, get the label of most labelled rows.

    O(n_rows n_known s + n_known s^2), where s is the smaller of n_known and n_features, in batches of rows: up to as
    many features as labelled rows, regression is done on the features and residuals are formed; with more features,
    Gram matrices of the labelled rows take their place.
    """
    if rows.shape[0] == 0:
        return np.empty(0, dtype=np.int64)
    classes, places = np.unique(known_labels, return_inverse=True)
    # Rows of one class side by side, so that classes are slices.
    order = np.argsort(places, kind="stable")
    ends = np.cumsum(np.bincount(places))
    parts = [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    measure = _measure(known_rows[order], parts, ridge)
    most = int(np.bincount(places).argmax())
    size = max(1, _BATCH_ENTRIES // max(known_rows.shape))
    found = np.empty(rows.shape[0], dtype=np.intp)
    for start in range(0, len(found), size):
        residuals, lengths = measure(rows[start : start + size])
        found[start : start + size] = _best_class(residuals, lengths, most, regularised)
    return np.asarray(classes[found], dtype=np.int64)


def _best_class(residuals: Array, lengths: Array, most: int, regularised: bool) -> Indices:
    unused = ~lengths.any(axis=1)
    if regularised:
        residuals = np.divide(residuals, lengths, out=np.full_like(residuals, np.inf), where=lengths > 0)
    return np.where(unused, most, residuals.argmin(axis=1))


def _measure(known: Any, parts: list[slice], ridge: float) -> Callable[[Any], tuple[Array, Array]]:
    """Return a function from rows to squared residuals and squared lengths of the coefficients, per class."""
    n_known, n_features = known.shape
    if n_features <= n_known:
        dense = as_dense(known)
        inverse = _inverse(dense.T @ dense, ridge)

        def from_features(rows: Any) -> tuple[Array, Array]:
            wanted = as_dense(rows)
            codes = (wanted @ inverse) @ dense.T
            residuals = [_squares(wanted - codes[:, part] @ dense[part]) for part in parts]
            return np.column_stack(residuals), _lengths(codes, parts)

        return from_features

    gram = as_dense(known @ known.T)
    inverse = _inverse(gram, ridge)
    blocks = [np.ascontiguousarray(gram[part, part]) for part in parts]

    def from_products(rows: Any) -> tuple[Array, Array]:
        # |y - c K|^2 = |y|^2 - 2 c K y' + c K K' c', for the rows and coefficients of one class.
        products = as_dense(rows @ known.T)
        codes = products @ inverse
        squares = np.asarray((rows * rows).sum(axis=1)).ravel()
        residuals = [
            squares + np.einsum("ij,ij->i", codes[:, part] @ block - 2.0 * products[:, part], codes[:, part])
            for part, block in zip(parts, blocks, strict=True)
        ]
        return np.column_stack(residuals), _lengths(codes, parts)

    return from_products


def _inverse(gram: Array, ridge: float) -> Array:
    shifted = gram + ridge * np.eye(len(gram))
    return np.asarray(linalg.inv(shifted, overwrite_a=True, check_finite=False))


def _lengths(codes: Array, parts: list[slice]) -> Array:
    return np.column_stack([_squares(codes[:, part]) for part in parts])


def _squares(matrix: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", matrix, matrix))
