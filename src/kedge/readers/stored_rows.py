"""What all readers of stored rows share: which rows to read together, and what stored rows may be."""

from collections.abc import Callable, Iterator
from threading import Lock
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.core.rows import View

# Consecutive rows, or row numbers in ascending order.
SortedRows: TypeAlias = slice | NDArray[np.intp]

# Below this distance in bytes it is faster to read what lies between two rows than to read twice.
GAP_BYTES = 1 << 16
# Bytes read in one go for rows chosen by number.
PIECE_BYTES = 1 << 23
# Chunks are read together up to this many bytes, and in parts, at the cost of decoding them again, above the other.
_SMALL_BAND = 1 << 20
_LARGE_BAND = 1 << 28
# Rows that are looked at together in search of gaps.
_ROWS_SCANNED = 8192


@runtime_checkable
class ViewReader(Protocol):
    """Rows of one view that stay where they are stored until they are asked for.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    width : int
        Number of features.
    dtype : dtype
        What `read` returns: float32 if the rows are stored so, else float64.
    name : str
        What messages call it: the name of the file, or the kind of object.
    feature_names : list of str or None
        Names of the columns, where they are stored.
    """

    n_rows: int
    width: int
    dtype: np.dtype[Any]
    name: str
    feature_names: list[str] | None

    def read(self, rows: SortedRows) -> View:
        """Return these rows as an array in C order or a CSR array; several threads may call it at once."""
        ...

    def place(self, row: int, column: int) -> str:
        """Return where an entry is, for messages."""
        ...


class StoredRows:
    """Base of the readers: a subclass sets the attributes of a `ViewReader` and loads consecutive rows in `_load`.

    Where rows are stored in bands that are decoded whole (row groups, chunks), it also sets `_edges`. `_load` is then
    called for whole bands only. The last band that was read in part is kept, so small blocks do not decode it again.
    """

    n_rows: int
    width: int
    dtype: np.dtype[Any]
    name: str
    feature_names: list[str] | None = None
    # The first row of every band, then the number of rows; empty if there are no bands.
    _edges: NDArray[np.intp] = np.empty(0, dtype=np.intp)

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: tuple[int, NDArray[Any]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock and the band in memory."""
        return {key: value for key, value in self.__dict__.items() if key not in ("_lock", "_kept")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Start with no band in memory."""
        StoredRows.__init__(self)
        self.__dict__.update(state)

    def set_matrix(self, shape: tuple[int, ...], stored: np.dtype[Any], where: str) -> None:
        """Take over shape and type of a stored array; an error unless it is a matrix of numbers."""
        check_matrix(shape, where)
        check_numeric(stored, where)
        self.n_rows, self.width = (int(length) for length in shape)
        self.dtype = float_kind(stored)

    def set_chunks(self, chunk_rows: int) -> None:
        """Make bands of whole chunks, or of parts of a chunk where chunks are very large."""
        row_bytes = self.width * self.dtype.itemsize
        together = max(1, _SMALL_BAND // max(1, chunk_rows * row_bytes))
        band_rows = min(chunk_rows * together, _rows_of_bytes(_LARGE_BAND, row_bytes))
        self._edges = np.append(np.arange(0, self.n_rows, band_rows, dtype=np.intp), np.intp(self.n_rows))

    def read(self, rows: SortedRows) -> Any:
        """Return these rows as an array in C order, or as a CSR array."""
        if isinstance(rows, slice):
            start, stop = checked_range(rows, self.n_rows)
            return self._read_bands(start, stop) if len(self._edges) else self._load(start, stop)
        return self._read_numbers(checked_numbers(rows, self.n_rows, self.name))

    def place(self, row: int, column: int) -> str:
        """Return where an entry is, for messages."""
        return name_entry(f"{self.name}, row {row}", column, self.feature_names)

    def _load(self, start: int, stop: int) -> Any:
        """Return consecutive rows."""
        raise NotImplementedError

    def _row_bytes(self) -> float:
        return self.width * self.dtype.itemsize

    def _read_bands(self, start: int, stop: int) -> NDArray[Any]:
        block = np.empty((stop - start, self.width), dtype=self.dtype)
        here = start
        while here < stop:
            low, high = self._band_around(here)
            end = min(stop, high)
            in_part = here > low or end < high
            block[here - start : end - start] = self._band(low, high, keep=in_part)[here - low : end - low]
            here = end
        return block

    def _read_numbers(self, numbers: NDArray[np.intp]) -> Any:
        block = np.empty((len(numbers), self.width), dtype=self.dtype)
        for group, first, rows in self._pieces(numbers):
            block[group] = rows[numbers[group] - first]
        return block

    def _pieces(self, numbers: NDArray[np.intp]) -> Iterator[tuple[slice, int, Any]]:
        """Yield positions in `numbers`, the first row read for them, and the rows from there on."""
        if not len(self._edges):
            row_bytes = self._row_bytes()
            gap, limit = _rows_of_bytes(GAP_BYTES, row_bytes), _rows_of_bytes(PIECE_BYTES, row_bytes)
            for group in nearby_groups(numbers, gap, limit):
                first, last = int(numbers[group][0]), int(numbers[group][-1])
                yield group, first, self._load(first, last + 1)
            return
        done = 0
        while done < len(numbers):
            low, high = self._band_around(int(numbers[done]))
            group = slice(done, int(np.searchsorted(numbers, high)))
            yield group, low, self._band(low, high, keep=False)
            done = group.stop

    def _band_of(self, row: int) -> int:
        return int(np.searchsorted(self._edges, row, side="right")) - 1

    def _band_around(self, row: int) -> tuple[int, int]:
        band = self._band_of(row)
        return int(self._edges[band]), int(self._edges[band + 1])

    def _band(self, low: int, high: int, keep: bool) -> NDArray[Any]:
        kept = self._kept
        if kept is not None and kept[0] == low:
            return kept[1]
        if not keep:
            return self._load(low, high)  # type: ignore[no-any-return]
        with self._lock:
            if self._kept is None or self._kept[0] != low:
                # Dropped first, so that two bands are not in memory together.
                kept = self._kept = None
                self._kept = (low, self._load(low, high))
            return self._kept[1]


class ChosenColumns:
    """Some of the columns of another reader, in the order given."""

    def __init__(self, reader: ViewReader, columns: list[int]) -> None:
        self._reader, self._columns = reader, np.array(columns, dtype=np.intp)
        self.n_rows, self.width, self.dtype, self.name = reader.n_rows, len(columns), reader.dtype, reader.name
        names = reader.feature_names
        self.feature_names = None if names is None else [names[column] for column in columns]

    def read(self, rows: SortedRows) -> View:
        """Return these rows as an array in C order or a CSR array."""
        return columns_of_block(self._reader.read(rows), self._columns)

    def place(self, row: int, column: int) -> str:
        """Return where an entry is, for messages."""
        return self._reader.place(row, int(self._columns[column]))


def columns_of_block(block: View, columns: NDArray[np.intp]) -> View:
    """Return some columns, in C order or as CSR."""
    chosen = block[:, columns]
    return chosen if sparse.issparse(chosen) else np.ascontiguousarray(chosen)


class StoredView:
    """Rows of a reader, checked as they are read; ``view[rows]`` is an array or a CSR array.

    `columns` are those that belong to the view; None means all. With `gaps_allowed` a row may be NaN throughout, which
    then stands for a view that the row lacks.
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
            block = columns_of_block(block, self.columns)
        refuse_not_finite(block, rows, self._place, gaps_allowed=self.gaps_allowed)
        return block

    def part(self, columns: Any) -> "StoredView":
        """Return some of the columns as a view of their own, whose rows may be NaN throughout."""
        return StoredView(self.reader, self._numbers[columns], gaps_allowed=True)

    def rows_of_nan(self) -> NDArray[np.bool_]:
        """Go over all rows and return which are NaN throughout."""
        if hasattr(self.reader, "rows_of_nan"):  # a reader that knows a better way
            return np.asarray(self.reader.rows_of_nan(self.columns))
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
    """Raise an error that names the first entry that is not finite; with `gaps_allowed` a row may be NaN throughout.

    `rows` says where the rows of the block stand in the whole, and `place` puts a row and a column of it into words.
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


def checked_range(rows: slice, n_rows: int) -> tuple[int, int]:
    """Return start and stop of consecutive rows, cut at the ends as in NumPy."""
    if rows.step not in (None, 1):
        raise ValueError(f"rows must be consecutive, without a step: {rows}")
    start, stop, _ = rows.indices(n_rows)
    return start, max(start, stop)


def checked_numbers(rows: NDArray[np.intp], n_rows: int, name: str) -> NDArray[np.intp]:
    """Return row numbers; an error if they are not in ascending order or not rows of the view."""
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


def nearby_groups(numbers: NDArray[np.intp], gap: int, limit: int) -> Iterator[slice]:
    """Yield positions of ascending numbers to read together.

    Neighbours further apart than `gap` are read apart, and no group spans more than `limit` rows.
    """
    ends = np.append(np.flatnonzero(np.diff(numbers) > gap) + 1, len(numbers))
    start = 0
    for end in ends.tolist():
        while start < end:
            reach = int(np.searchsorted(numbers[start:end], numbers[start] + limit))
            yield slice(start, start + reach)
            start += reach


def _rows_of_bytes(n_bytes: int, row_bytes: float) -> int:
    """Return how many rows fit, at least one."""
    return max(1, int(n_bytes // max(row_bytes, 1)))


def float_kind(stored: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which stored numbers are read."""
    return np.dtype(np.float32) if stored == np.float32 else np.dtype(np.float64)


def check_numeric(stored: np.dtype[Any], where: str) -> None:
    """Raise an error unless the entries are real numbers or truth values."""
    if stored.kind not in "biuf":
        raise ValueError(f"{where}: entries must be real numbers, but they are stored as {stored}; convert them first")


def check_matrix(shape: tuple[int, ...], where: str) -> None:
    """Raise an error unless this is the shape of a matrix with rows and columns."""
    if len(shape) != 2:
        raise ValueError(f"{where}: a view has rows and columns, but the array has shape {shape}; store it as 2-D")
    if min(shape) == 0:
        raise ValueError(f"{where}: there are no rows or no columns: shape {shape}")


def name_entry(where: str, column: int, feature_names: list[str] | None) -> str:
    """Return a place in words, with the name of the column where it has one."""
    return f"{where}, column {column if feature_names is None else repr(feature_names[column])}"
