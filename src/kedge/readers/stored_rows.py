"""What readers share: rows by range or by number, and rows in bands, such as the row groups of Parquet."""

from collections.abc import Iterator
from threading import Lock
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kedge.core.rows import Rows, View

# Below this distance in bytes it is faster to read what lies between two rows than to read twice.
_GAP_BYTES = 1 << 16
# Bytes read in one go for rows chosen by number.
PIECE_BYTES = 1 << 23
# Chunks are read together up to this many bytes. Above the other, they are read in parts and decoded again.
_SMALL_BAND = 1 << 20
_LARGE_BAND = 1 << 28


@runtime_checkable
class ViewReader(Protocol):
    """Rows of one view that stay where they are stored until they are asked for."""

    n_rows: int
    width: int  # Number of features.
    dtype: np.dtype[Any]  # What `read` returns: float32 if the rows are stored so, else float64.
    name: str  # What messages call it: the name of the file, or the kind of object.
    feature_names: list[str] | None  # Names of the columns, where they are stored.

    def read(self, rows: Rows) -> View:
        """Return a range of rows, or rows by ascending number, dense in C order or CSR. Several threads may call it."""
        ...

    def place(self, row: int, column: int) -> str:
        """Return where an entry is, for messages."""
        ...


class StoredRows(ViewReader):
    """Base of the readers: a subclass sets the attributes and loads consecutive rows in `_load`."""

    feature_names: list[str] | None = None

    def set_matrix(self, shape: tuple[int, ...], stored: np.dtype[Any], where: str) -> None:
        """Take over shape and type of a stored array; an error unless it is a matrix of numbers."""
        check_matrix(shape, stored, where)
        self.n_rows, self.width = (int(length) for length in shape)
        self.dtype = float_kind(stored)

    def read(self, rows: Rows) -> Any:
        """Return these rows as an array in C order, or as a CSR array."""
        if isinstance(rows, slice):
            return self._load(*checked_range(rows, self.n_rows))
        return self._read_numbers(_checked_numbers(rows, self.n_rows, self.name))

    def place(self, row: int, column: int) -> str:
        """Return where an entry is, for messages."""
        return name_entry(f"{self.name}, row {row}", column, self.feature_names)

    def rows_together(self) -> int:
        """Return how many consecutive rows are read in one go where many are needed."""
        return rows_of_bytes(PIECE_BYTES, self.row_bytes())

    def _load(self, start: int, stop: int) -> Any:
        """Return consecutive rows."""
        raise NotImplementedError

    def row_bytes(self) -> float:
        """Return the memory of a row, on average."""
        return self.width * self.dtype.itemsize

    def _read_numbers(self, numbers: NDArray[np.intp]) -> Any:
        block = np.empty((len(numbers), self.width), dtype=self.dtype)
        for group, first, rows in self._pieces(numbers):
            block[group] = rows[numbers[group] - first]
        return block

    def _pieces(self, numbers: NDArray[np.intp]) -> Iterator[tuple[slice, int, Any]]:
        """Yield positions in `numbers`, the first row read for them, and the rows from there on, in small pieces."""
        gap, limit = (rows_of_bytes(n_bytes, self.row_bytes()) for n_bytes in (_GAP_BYTES, PIECE_BYTES))
        ends = np.append(np.flatnonzero(np.diff(numbers) > gap) + 1, len(numbers))
        start = 0
        for end in ends.tolist():
            while start < end:
                first = int(numbers[start])
                stop = start + int(np.searchsorted(numbers[start:end], first + limit))
                yield slice(start, stop), first, self._load(first, int(numbers[stop - 1]) + 1)
                start = stop


def checked_range(rows: slice, n_rows: int) -> tuple[int, int]:
    """Return start and stop of consecutive rows, cut at the ends as in NumPy."""
    if rows.step not in (None, 1):
        raise ValueError(f"rows must be consecutive, without a step: {rows}")
    start, stop, _ = rows.indices(n_rows)
    return start, max(start, stop)


def _checked_numbers(rows: NDArray[np.intp], n_rows: int, name: str) -> NDArray[np.intp]:
    given = np.asarray(rows)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise TypeError(f"rows must be a slice or a vector of row numbers: {given.dtype} of shape {given.shape}")
    numbers = given.astype(np.intp, copy=False)
    if (np.diff(numbers) < 0).any():
        raise ValueError(f"{name}: row numbers must be in ascending order; sort them")
    if len(numbers) and (numbers[0] < 0 or numbers[-1] >= n_rows):
        wrong = numbers[0] if numbers[0] < 0 else numbers[-1]
        raise IndexError(f"{name} has rows 0 to {n_rows - 1}, but row {wrong} was asked for")
    return numbers


def rows_of_bytes(n_bytes: int, row_bytes: float) -> int:
    """Return how many rows fit into that many bytes, at least one."""
    return max(1, int(n_bytes // max(row_bytes, 1)))


def float_kind(stored: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which stored numbers are read."""
    return np.dtype(np.float32) if stored == np.float32 else np.dtype(np.float64)


def check_matrix(shape: tuple[int, ...], stored: np.dtype[Any], where: str) -> None:
    """Raise an error unless this is a matrix of numbers with rows and columns."""
    if len(shape) != 2:
        raise ValueError(f"{where}: a view has rows and columns, but the array has shape {shape}; store it as 2-D")
    if min(shape) < 1:
        raise ValueError(f"{where}: there are no rows or no columns: shape {shape}")
    if stored.kind not in "biuf":
        raise ValueError(f"{where}: entries must be real numbers, but they are stored as {stored}; convert them first")


def name_entry(where: str, column: int, feature_names: list[str] | None) -> str:
    """Return a place in words, with the name of the column where it has one."""
    return f"{where}, column {column if feature_names is None else repr(feature_names[column])}"


class BandedRows(StoredRows):
    """Base of readers that decode whole bands: a subclass sets `_edges`. The last band read in part is kept."""

    # The first row of every band, then the number of rows; empty if there are no bands.
    _edges: NDArray[np.intp] = np.empty(0, dtype=np.intp)
    _kept: tuple[int, NDArray[Any]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock and the band in memory."""
        return {key: value for key, value in self.__dict__.items() if key not in ("_lock", "_kept")}

    def set_chunks(self, chunk_rows: int) -> None:
        """Make bands of whole chunks, or of parts of a chunk where chunks are very large."""
        row_bytes = self.row_bytes()
        together = rows_of_bytes(_SMALL_BAND, chunk_rows * row_bytes)
        band_rows = min(chunk_rows * together, rows_of_bytes(_LARGE_BAND, row_bytes))
        self._edges = np.append(np.arange(0, self.n_rows, band_rows, dtype=np.intp), np.intp(self.n_rows))

    def rows_together(self) -> int:
        """Return how many rows are decoded together: those of a band, or of several small ones."""
        largest = int(np.diff(self._edges).max()) if len(self._edges) else 1
        return max(largest, super().rows_together() // largest * largest)

    def read(self, rows: Rows) -> Any:
        """Return these rows as an array in C order."""
        if len(self._edges) and isinstance(rows, slice):
            rows = np.arange(*checked_range(rows, self.n_rows))
        return super().read(rows)

    def _pieces(self, numbers: NDArray[np.intp]) -> Iterator[tuple[slice, int, Any]]:
        if not len(self._edges):
            yield from super()._pieces(numbers)
            return
        # What follows consecutive rows is often asked for next.
        is_range = len(numbers) > 0 and numbers[-1] - numbers[0] == len(numbers) - 1
        done = 0
        while done < len(numbers):
            band = self._band_of(int(numbers[done]))
            low, high = self._edges[band : band + 2].tolist()
            group = slice(done, int(np.searchsorted(numbers, high)))
            yield group, low, self._band(low, high, keep=is_range and group.stop - done < high - low)
            done = group.stop

    def _band_of(self, row: int) -> int:
        return int(np.searchsorted(self._edges, row, side="right")) - 1

    def _band(self, low: int, high: int, keep: bool) -> NDArray[Any]:
        kept = self._kept
        if kept is not None and kept[0] == low:
            return kept[1]
        if not keep:
            return self._load(low, high)  # type: ignore[no-any-return]
        with self.__dict__.setdefault("_lock", Lock()):
            if self._kept is None or self._kept[0] != low:
                # Dropped first, so that two bands are not in memory together.
                kept = self._kept = None
                self._kept = (low, self._load(low, high))
            return self._kept[1]
