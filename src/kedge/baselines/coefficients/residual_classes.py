"""New rows put into the class of labelled rows that rebuilds them best."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

# Entries of the largest temporary array of one batch of rows.
_BATCH_ENTRIES = 2**20


def classify_by_residual(
    rows: Any, known_rows: Any, known_labels: Labels, ridge: float, *, regularised: bool = False
) -> Labels:
    """Label rows by ridge regression on all labelled rows together.

    A row y is rebuilt as ``c K`` from the labelled rows K, with c minimising |y - c K|^2 + ridge |c|^2. Its label is
    that of the class whose part of c alone leaves the smallest squared residual; ``regularised``, of the smallest
    residual divided by the squared length of that part. The first class wins a tie. Rows that all labelled rows are
    orthogonal to, zero rows above all, get the label of most labelled rows.

    Parameters
    ----------
    rows : ndarray or CSR array of shape (n_rows, n_features)
        Rows to label.
    known_rows : ndarray or CSR array of shape (n_known, n_features)
        Labelled rows.
    known_labels : array of shape (n_known,)
        Their labels, not negative.
    ridge : float
        Positive.
    regularised : bool, default=False
        Which residual counts.

    Notes
    -----
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


def _best_class(residuals: Array, lengths: Array, most: int, regularised: bool) -> NDArray[np.intp]:
    unused = ~lengths.any(axis=1)
    if regularised:
        residuals = np.divide(residuals, lengths, out=np.full_like(residuals, np.inf), where=lengths > 0)
    return np.where(unused, most, residuals.argmin(axis=1))


def _measure(known: Any, parts: list[slice], ridge: float) -> Callable[[Any], tuple[Array, Array]]:
    """Return a function from rows to squared residuals and squared lengths of the coefficients, per class."""
    n_known, n_features = known.shape
    if n_features <= n_known:
        dense = _dense(known)
        inverse = _inverse(dense.T @ dense, ridge)

        def from_features(rows: Any) -> tuple[Array, Array]:
            wanted = _dense(rows)
            codes = (wanted @ inverse) @ dense.T
            residuals = [_squares(wanted - codes[:, part] @ dense[part]) for part in parts]
            return np.column_stack(residuals), _lengths(codes, parts)

        return from_features

    gram = _dense(known @ known.T)
    inverse = _inverse(gram, ridge)
    blocks = [np.ascontiguousarray(gram[part, part]) for part in parts]

    def from_products(rows: Any) -> tuple[Array, Array]:
        # |y - c K|^2 = |y|^2 - 2 c K y' + c K K' c', for the rows and coefficients of one class.
        products = _dense(rows @ known.T)
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


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)
