"""Rows: what a source of them offers, and how parts of a matrix are taken."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches
from sklearn.utils.random import sample_without_replacement

from kedge.core.row_problem import View

# Consecutive rows, or the numbers of rows in any order.
Rows: TypeAlias = slice | NDArray[np.intp]


class RowSource(Protocol):
    """Rows of one or several views, in one order."""

    n_rows: int
    dtype: np.dtype[Any]  # Of every block that is read, float32 or float64.
    view_names: tuple[str, ...]  # Names used in messages.
    in_memory: bool  # Whether all rows are in memory.
    on_dask: bool  # Whether the rows are those of Dask arrays.
    bytes_per_row: int  # What a row of all views takes in memory once read, about.

    def read(self, rows: Rows) -> Sequence[View]:
        """Return these rows of every view, scaled; rows that lack a view are zero there."""
        ...

    def observed(self, rows: Rows) -> NDArray[np.bool_] | None:
        """Return which views these rows have, shape (n_rows, n_views); None if no row of the source lacks any."""
        ...


# Entries of a block held at a time: 8 MiB in double precision.
BLOCK_ENTRIES = 1 << 20


def canonical_rows(X: Any) -> Any:
    """Return X as an ndarray or as a CSR array whose rows list each column once, without changing X.

    Repeated entries of a CSR matrix stand for their sum; comparing rows by their entries needs the sum itself. Cost
    O(nnz) for sparse X, and a copy only where entries are repeated or unsorted.
    """
    if not sparse.issparse(X):
        return np.asarray(X)
    rows = sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def sample_rows(n_rows: int, size: int, random_state: RandomState) -> NDArray[np.intp]:
    """Return at most ``size`` distinct row numbers, ascending; all of them, and no draw, if there are no more."""
    if n_rows <= size:
        return np.arange(n_rows)
    chosen = sample_without_replacement(n_rows, size, random_state=random_state)
    return np.sort(np.asarray(chosen, dtype=np.intp))


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return the given rows; X itself, uncopied, if they are all of its rows in order."""
    if len(rows) == X.shape[0] and np.array_equal(rows, np.arange(len(rows))):
        return X
    return X[rows]


def dense_rows(X: Any, rows: NDArray[np.intp]) -> NDArray[Any]:
    """Return a dense copy of the given rows, in C order and of the dtype of X."""
    chosen = X[rows]
    return np.ascontiguousarray(chosen.toarray() if sparse.issparse(chosen) else chosen)


def row_blocks(X: Any, most_rows: int) -> Iterator[slice]:
    """Yield slices over the rows, each of at most ``most_rows`` rows and of bounded memory."""
    width = X.nnz // max(X.shape[0], 1) + 1 if sparse.issparse(X) else X.shape[1]
    if X.shape[0]:
        yield from gen_batches(X.shape[0], max(1, min(most_rows, BLOCK_ENTRIES // max(width, 1))))


def side_by_side(views: Sequence[Any]) -> Any:
    """Return the views as one matrix: as it is if there is one, CSR if any of several is sparse."""
    if len(views) == 1:
        return views[0]
    if any(sparse.issparse(view) for view in views):
        return sparse.csr_array(sparse.hstack(views, format="csr"))
    return np.hstack(views)
