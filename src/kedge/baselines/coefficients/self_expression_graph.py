"""From coefficients that rebuild rows from each other to a symmetric graph between rows."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]


def symmetric_graph(coefficients: Any, norm: Literal["l2", "max"]) -> Any:
    """Return ``|C| + |C|'`` with every row of C at unit length first; a row without coefficients adds nothing.

    Parameters
    ----------
    coefficients : ndarray or CSR array of shape (n, n)
        Row i rebuilds row i. Not changed.
    norm : {"l2", "max"}
        Whether the sum of squares or the largest absolute entry of a row becomes one.
    """
    magnitudes = abs(coefficients)
    if norm == "l2":
        squares = magnitudes**2
        sizes = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
    else:
        largest = magnitudes.max(axis=1)
        sizes = np.asarray(largest.toarray() if sparse.issparse(largest) else largest).ravel()
    factors = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    if sparse.issparse(magnitudes):
        magnitudes.data *= np.repeat(factors, np.diff(magnitudes.indptr))
        return sparse.csr_array(magnitudes + magnitudes.T)
    magnitudes *= factors[:, None]
    magnitudes += magnitudes.T.copy()
    return magnitudes


def keep_largest_share(coefficients: sparse.csr_array, share: float) -> sparse.csr_array:
    """Return coefficients without the smallest, so that each row keeps this share of its absolute sum.

    Parameters
    ----------
    coefficients : CSR array of shape (n, n)
        Not changed.
    share : float
        Positive; as few entries as possible are kept, and from 1 on all.
    """
    if share >= 1:
        return coefficients
    n_rows = coefficients.shape[0]
    rows = np.repeat(np.arange(n_rows), np.diff(coefficients.indptr))
    sizes = np.abs(coefficients.data)
    order = np.lexsort((-sizes, rows))
    sums = np.cumsum(sizes[order])
    starts = np.concatenate([[0.0], sums])[coefficients.indptr]
    before = sums - sizes[order] - starts[rows]
    is_kept = np.zeros(len(rows), dtype=bool)
    # Sums over all rows leave rounding, which must not decide between equal shares.
    is_kept[order] = before < (share - 1e-12) * (starts[1:] - starts[:-1])[rows]
    entries = (coefficients.data[is_kept], (rows[is_kept], coefficients.indices[is_kept]))
    return sparse.csr_array(entries, shape=coefficients.shape)


def keep_largest_entries(coefficients: sparse.csr_array, n_kept: int) -> sparse.csr_array:
    """Return the largest absolute entries of each row, at most ``n_kept``."""
    rows = np.repeat(np.arange(coefficients.shape[0]), np.diff(coefficients.indptr))
    order = np.lexsort((-np.abs(coefficients.data), rows))
    is_kept = np.zeros(len(rows), dtype=bool)
    is_kept[order] = np.arange(len(rows)) - coefficients.indptr[rows] < n_kept
    entries = (coefficients.data[is_kept], (rows[is_kept], coefficients.indices[is_kept]))
    return sparse.csr_array(entries, shape=coefficients.shape)
