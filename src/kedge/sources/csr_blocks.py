"""Rows of a CSR matrix whose three parts are stored apart."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.sources.row_ranges import (
    GAP_BYTES,
    PIECE_BYTES,
    checked_numbers,
    checked_range,
    nearby_groups,
    rows_of_bytes,
)
from kedge.sources.view_reader import SortedRows


@dataclass(frozen=True)
class CsrParts:
    """The parts of a CSR matrix, each of which gives its items from start to stop as ``part[start:stop]``."""

    # Entries, their columns, and where each row starts.
    data: Any
    indices: Any
    indptr: Any
    where: str  # What messages call the matrix.
    shape: tuple[int, int]  # Rows and columns.
    dtype: np.dtype[Any]  # Of the blocks that are read.

    def check_lengths(self) -> None:
        """Raise an error unless the parts fit each other."""
        n_rows, n_entries = self.shape[0], len(self.data)
        if len(self.indptr) != n_rows + 1:
            raise ValueError(
                f"{self.where}: indptr has {len(self.indptr)} entries, but {n_rows} rows need {n_rows + 1}"
            )
        if len(self.indices) != n_entries:
            raise ValueError(f"{self.where}: data has {n_entries} entries, but indices has {len(self.indices)}")
        first, last = int(self.indptr[0:1][0]), int(self.indptr[n_rows : n_rows + 1][0])
        if first != 0 or last != n_entries:
            raise ValueError(
                f"{self.where}: indptr must go from 0 to {n_entries}, the number of entries, but goes from {first} to "
                f"{last}"
            )

    def read(self, rows: SortedRows) -> sparse.csr_array:
        """Return these rows as a CSR array."""
        if isinstance(rows, slice):
            return self._read_range(*checked_range(rows, self.shape[0]))
        numbers = checked_numbers(rows, self.shape[0], self.where)
        row_bytes = len(self.data) * (self.data.dtype.itemsize + self.indices.dtype.itemsize) / self.shape[0] + 8
        gap, limit = rows_of_bytes(GAP_BYTES, row_bytes), rows_of_bytes(PIECE_BYTES, row_bytes)
        blocks = [self._read_range(0, 0)]
        for group in nearby_groups(numbers, gap, limit):
            chosen = numbers[group]
            blocks.append(self._read_range(int(chosen[0]), int(chosen[-1]) + 1)[chosen - chosen[0]])
        return sparse.vstack(blocks, format="csr", dtype=self.dtype)

    def _read_range(self, start: int, stop: int) -> sparse.csr_array:
        shape = (stop - start, self.shape[1])
        if start == stop:
            return sparse.csr_array(shape, dtype=self.dtype)
        indptr = np.asarray(self.indptr[start : stop + 1]).astype(np.int64, copy=False)
        self._check_starts(indptr, start)
        data = np.asarray(self.data[indptr[0] : indptr[-1]]).astype(self.dtype, copy=False)
        indices = np.asarray(self.indices[indptr[0] : indptr[-1]])
        starts = indptr - indptr[0]
        self._check_columns(indices, starts, start)
        return sparse.csr_array((data, indices, starts), shape=shape)

    def _check_starts(self, indptr: NDArray[np.int64], first_row: int) -> None:
        wrong = (np.diff(indptr) < 0) | (indptr[:-1] < 0) | (indptr[1:] > len(self.data))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"{self.where}, row {first_row + row}: indptr says that its entries go from {indptr[row]} to "
                f"{indptr[row + 1]} of {len(self.data)}; the matrix is damaged, write it again"
            )

    def _check_columns(self, indices: NDArray[Any], starts: NDArray[np.int64], first_row: int) -> None:
        if not len(indices) or (indices.min() >= 0 and indices.max() < self.shape[1]):
            return
        entry = int(np.argmax((indices < 0) | (indices >= self.shape[1])))
        row = first_row + int(np.searchsorted(starts, entry, side="right")) - 1
        raise ValueError(
            f"{self.where}, row {row}: an entry is in column {indices[entry]}, but there are {self.shape[1]} columns; "
            "the matrix is damaged, write it again"
        )
