"""Readers of rows beyond those of :mod:`kedge.sources`: rows converted into a scratch file, and some of the columns."""

import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.core.rows import View
from kedge.engines.stores import disk_errors_explained
from kedge.sources.row_ranges import (
    GAP_BYTES,
    PIECE_BYTES,
    checked_numbers,
    checked_range,
    name_entry,
    nearby_groups,
    rows_of_bytes,
)
from kedge.sources.view_reader import SortedRows, ViewReader


class ConvertedRows:
    """Rows as plain float64 numbers in a scratch file without a name, which vanishes with the process.

    Parameters
    ----------
    name : str
        Name of the file that the rows come from.
    feature_names : list of str or None
        Names of the columns.
    width : int
        Number of columns.
    folder : Path or None
        Where the scratch file is; None means the folder for temporary files.
    """

    dtype: np.dtype[Any] = np.dtype(np.float64)

    def __init__(self, name: str, feature_names: list[str] | None, width: int, folder: Path | None) -> None:
        self.name, self.feature_names, self.width = name, feature_names, width
        self.n_rows = 0
        self._where = f"the scratch folder {str(folder or tempfile.gettempdir())!r}"
        with disk_errors_explained(self._where):
            self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 (closed with the reader)
        weakref.finalize(self, self._file.close)
        self._guard = threading.Lock()

    def append(self, rows: NDArray[np.float64]) -> None:
        """Write rows behind the last one."""
        rest = np.ascontiguousarray(rows).data.cast("B")
        with disk_errors_explained(self._where):
            while len(rest):
                rest = rest[self._file.write(rest) :]
        self.n_rows += len(rows)

    def read(self, rows: SortedRows) -> NDArray[Any]:
        """Return these rows as an array in C order."""
        if isinstance(rows, slice):
            return self._read_range(*checked_range(rows, self.n_rows))
        numbers = checked_numbers(rows, self.n_rows, self.name)
        gap, limit = (rows_of_bytes(size, 8 * self.width) for size in (GAP_BYTES, PIECE_BYTES))
        block = np.empty((len(numbers), self.width), dtype=self.dtype)
        for group in nearby_groups(numbers, gap, limit):
            chosen = numbers[group]
            block[group] = self._read_range(int(chosen[0]), int(chosen[-1]) + 1)[chosen - chosen[0]]
        return block

    def place(self, row: int, column: int) -> str:
        """Return where an entry is, for messages."""
        return name_entry(f"{self.name}, row {row}", column, self.feature_names)

    def close(self) -> None:
        """Free the space."""
        self._file.close()

    def _read_range(self, start: int, stop: int) -> NDArray[Any]:
        block = np.empty((stop - start, self.width), dtype=self.dtype)
        rest = block.data.cast("B") if block.size else memoryview(b"")
        with self._guard:
            self._file.seek(8 * self.width * start)
            while len(rest):
                n_read = self._file.readinto(rest)
                if not n_read:
                    raise OSError(f"the scratch file of {self.name} is shorter than it was")
                rest = rest[n_read:]
        return block


class ChosenColumns:
    """Some of the columns of another reader.

    Parameters
    ----------
    reader : ViewReader
        Where the rows are.
    columns : list of int
        Columns to keep, in this order.
    """

    def __init__(self, reader: ViewReader, columns: list[int]) -> None:
        self._reader, self._columns = reader, np.array(columns, dtype=np.intp)
        self.n_rows, self.width, self.dtype, self.name = reader.n_rows, len(columns), reader.dtype, reader.name
        names = reader.feature_names
        self.feature_names = None if names is None else [names[column] for column in columns]

    def read(self, rows: SortedRows) -> View:
        """Return these rows as an array in C order or a CSR array."""
        block = self._reader.read(rows)[:, self._columns]
        return block if sparse.issparse(block) else np.ascontiguousarray(block)

    def place(self, row: int, column: int) -> str:
        """Return where an entry is, for messages."""
        return self._reader.place(row, int(self._columns[column]))


def with_columns(reader: ViewReader, columns: list[int]) -> ViewReader:
    """Return the reader itself if all columns are kept as they are, else a reader of these."""
    return reader if columns == list(range(reader.width)) else ChosenColumns(reader, columns)
