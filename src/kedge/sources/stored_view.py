"""A view that stays where it is stored, with the looks of an array."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.sources.dask_rows import DaskReader
from kedge.sources.view_reader import ViewReader

# Rows that are looked at together in search of gaps.
_ROWS_SCANNED = 8192


class StoredView:
    """Rows of a reader, checked as they are read; ``view[rows]`` is an array or a CSR array.

    Parameters
    ----------
    reader : ViewReader
        Where the rows are.
    columns : array of int, default=None
        Columns that belong to the view; None means all.
    gaps_allowed : bool, default=False
        Whether a row may be NaN throughout, which then stands for a view that the row lacks.
    """

    ndim = 2

    def __init__(self, reader: ViewReader, columns: NDArray[np.intp] | None = None, gaps_allowed: bool = False) -> None:
        self.reader, self.columns, self.gaps_allowed = reader, columns, gaps_allowed
        self._numbers = np.arange(reader.width) if columns is None else columns
        self.shape = (reader.n_rows, len(self._numbers))
        self.dtype = reader.dtype

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> Any:
        """Read consecutive rows, or rows by number, and check that they are finite."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(self.shape[0])
            rows = slice(start, max(start, stop))
        block = self.reader.read(rows)
        if self.columns is not None:
            block = block[:, self.columns]
            block = block if sparse.issparse(block) else np.ascontiguousarray(block)
        refuse_not_finite(block, rows, self._place, gaps_allowed=self.gaps_allowed)
        return block

    def part(self, columns: Any) -> "StoredView":
        """Return some of the columns as a view of their own, whose rows may be NaN throughout."""
        return StoredView(self.reader, self._numbers[columns], gaps_allowed=True)

    def rows_of_nan(self) -> NDArray[np.bool_]:
        """Go over all rows and return which are NaN throughout."""
        if isinstance(self.reader, DaskReader):
            return self.reader.rows_of_nan(self.columns)
        found = np.zeros(self.shape[0], dtype=bool)
        for start in range(0, self.shape[0], _ROWS_SCANNED):
            rows = slice(start, start + _ROWS_SCANNED)
            block = self[rows]
            if not sparse.issparse(block):
                found[rows] = np.isnan(block).all(axis=1)
        return found

    def _place(self, row: int, column: int) -> str:
        return self.reader.place(row, int(self._numbers[column]))


def refuse_not_finite(
    block: Any, rows: slice | NDArray[np.intp], place: Callable[[int, int], str], *, gaps_allowed: bool
) -> None:
    """Raise an error that names the first entry that is not finite; rows of NaN may be allowed.

    Parameters
    ----------
    block : array or CSR array
        Rows of a view.
    rows : slice or array of int
        Where they stand in the whole.
    place : callable
        Returns where an entry is, in words, from its row in the whole and its column.
    gaps_allowed : bool
        Whether a row may be NaN throughout.
    """
    values = block.data if sparse.issparse(block) else block
    # A sum is the cheapest test; it may overflow for finite entries, which the second look clears.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):
            return
    if sparse.issparse(block):
        entries = block.tocoo()
        bad = ~np.isfinite(entries.data)
        found = np.column_stack([entries.coords[0][bad], entries.coords[1][bad]])
    else:
        wrong = ~np.isfinite(block)
        if gaps_allowed:
            wrong[np.isnan(block).all(axis=1)] = False
        found = np.argwhere(wrong)
    if not len(found):
        return
    row, column = (int(number) for number in found[0])
    what = "NaN" if np.isnan(block[row, column]) else "infinity"
    number = rows.start + row if isinstance(rows, slice) else int(rows[row])
    advice = "; a row that lacks the view is NaN in all of its features" if gaps_allowed else ""
    raise ValueError(f"{place(number, column)}: {what}; fill or drop such rows first{advice}")
