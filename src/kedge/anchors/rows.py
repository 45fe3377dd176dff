"""Rows that differ from each other, to choose anchors from."""

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse

from kedge.anchors.lines import SAME_LINE, cosines, distinct_lines, unit_rows
from kedge.core.rows import dense_rows, row_blocks

# Rows compared at a time; lines are compared pair by pair, so their blocks are small.
_BLOCK_ROWS = 1 << 14
_BLOCK_LINES = 1 << 10


def fill_up(
    X: Any, anchors: NDArray[Any], n_anchors: int, random_state: RandomState, *, signed: bool = False
) -> NDArray[Any]:
    """Drop repeated anchors, then add rows of X in random order that are not among them yet.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n_samples, n_features)
        The rows to draw from.
    anchors : ndarray of shape (any, n_features)
        Anchors found so far, maybe none.
    n_anchors : int
        Number wanted.
    random_state : RandomState
        Orders the rows; untouched if no anchor is missing.
    signed : bool, default=False
        Compare and return lines: anchors at unit length, a and -a the same, zero rows left out.

    Returns
    -------
    anchors : ndarray of shape (at most n_anchors, n_features)
        Fewer only if X has no further distinct row.

    Notes
    -----
    Nothing is read from X if no anchor is missing, and only as many rows as needed otherwise: O(nnz) at worst, plus
    O(n_samples * n_anchors * n_features) at worst for lines.
    """
    anchors = _drop_repeated(anchors, signed)[:n_anchors]
    if len(anchors) == n_anchors:
        return anchors
    order = random_state.permutation(X.shape[0])
    for rows in row_blocks(X, _BLOCK_LINES if signed else _BLOCK_ROWS):
        block = X[order[rows]]
        fresh = _fresh_lines(block, anchors) if signed else _fresh_rows(block, anchors)
        found = dense_rows(block, fresh[: n_anchors - len(anchors)])
        anchors = np.vstack([anchors, _at_unit_length(found) if signed else found])
        if len(anchors) == n_anchors:
            break
    return anchors


def row_fingerprints(X: Any) -> NDArray[np.uint64]:
    """Return one 64-bit number per row, equal for equal rows, dense or sparse. Cost O(nnz).

    Unequal rows share a number with odds of about 2^-64 a pair; the loss is then one candidate row. A sparse X must
    list each column of a row once (see ``canonical_rows``).
    """
    multipliers = _scramble(np.arange(1, X.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
    prints = np.zeros(X.shape[0], dtype=np.uint64)
    if sparse.issparse(X):
        owner = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        np.add.at(prints, owner, _scramble(_bits(X.data)) * multipliers[X.indices])
        return prints
    for rows in row_blocks(X, _BLOCK_ROWS):
        prints[rows] = (_scramble(_bits(X[rows])) * multipliers).sum(axis=1, dtype=np.uint64)
    return prints


def _drop_repeated(anchors: NDArray[Any], signed: bool) -> NDArray[Any]:
    if signed:
        units, _ = unit_rows(anchors)
        return np.asarray(units[distinct_lines(units)], dtype=anchors.dtype)
    kept = np.sort(np.unique(row_fingerprints(anchors), return_index=True)[1])
    return anchors[kept]


def _fresh_rows(block: Any, anchors: NDArray[Any]) -> NDArray[np.intp]:
    prints = row_fingerprints(block)
    first = np.sort(np.unique(prints, return_index=True)[1])
    return np.asarray(first[~np.isin(prints[first], row_fingerprints(anchors))])


def _fresh_lines(block: Any, anchors: NDArray[Any]) -> NDArray[np.intp]:
    units, nonzero = unit_rows(block)
    known, _ = unit_rows(anchors)
    fresh = np.flatnonzero(np.abs(cosines(units, known)).max(axis=1, initial=0.0) <= 1.0 - SAME_LINE)
    return np.asarray(nonzero[fresh[distinct_lines(units[fresh])]])


def _at_unit_length(rows: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(unit_rows(rows)[0], dtype=rows.dtype)


def _bits(values: NDArray[Any]) -> NDArray[np.uint64]:
    # Adding zero turns -0.0 into 0.0, which equals it.
    unsigned = np.uint32 if values.dtype == np.float32 else np.uint64
    return np.ascontiguousarray(values + values.dtype.type(0)).view(unsigned).astype(np.uint64)


def _scramble(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix all bits into all bits (the finaliser of splitmix64); zero stays zero, as sparse rows need."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
