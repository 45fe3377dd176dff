"""Rows of .npy files, and of memory maps."""

import mmap
import os
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from kedge.sources.row_ranges import (
    GAP_BYTES,
    PIECE_BYTES,
    check_matrix,
    check_numeric,
    checked_numbers,
    checked_range,
    float_kind,
    name_entry,
    nearby_groups,
    rows_of_bytes,
)
from kedge.sources.view_reader import SortedRows


class NpyItems:
    """The items along the first axis of a .npy file: rows of a matrix, or entries of a vector.

    The file is opened for each read and not mapped: mapped pages count as memory in use, and a mapped file that is cut
    short ends the process.

    Parameters
    ----------
    path : str or Path
        The file.

    Attributes
    ----------
    path : Path
        The file.
    shape : tuple of int
        Shape of the stored array.
    dtype : dtype
        As stored.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        with self.path.open("rb") as file:
            self.shape, fortran, self.dtype = _read_header(file, self.path)
            self._offset = file.tell()
            size = os.fstat(file.fileno()).st_size
        check_numeric(self.dtype, str(self.path))
        if fortran and len(self.shape) > 1:
            raise ValueError(
                f"{self.path} is stored in Fortran order, so its rows are scattered over the file; write it again with "
                "np.save(path, np.ascontiguousarray(array))"
            )
        self._item_bytes = self.dtype.itemsize * int(np.prod(self.shape[1:], dtype=np.int64))
        if self.shape and size < self._offset + self.shape[0] * self._item_bytes:
            raise self._cut_short(size)

    def __len__(self) -> int:
        """Return the number of items."""
        return self.shape[0]

    def __getitem__(self, items: slice) -> NDArray[Any]:
        """Return consecutive items as stored."""
        [block] = self.pieces([checked_range(items, len(self))])
        return block

    def pieces(self, ranges: Iterable[tuple[int, int]]) -> Iterator[NDArray[Any]]:
        """Yield the items from start to stop, for each pair of these."""
        with FileIO(self.path, "rb") as file:
            for start, stop in ranges:
                block = np.empty((stop - start, *self.shape[1:]), dtype=self.dtype)
                self._fill(file, self._offset + start * self._item_bytes, block)
                yield block

    def _fill(self, file: FileIO, offset: int, block: NDArray[Any]) -> None:
        if not block.size:
            return
        file.seek(offset)
        rest: Any = block.reshape(-1).view(np.uint8)
        # One call may return less than was asked for.
        while len(rest):
            n_read = file.readinto(rest)
            if not n_read:
                raise self._cut_short(os.fstat(file.fileno()).st_size)
            rest = rest[n_read:]

    def _cut_short(self, size: int) -> ValueError:
        whole = max(0, size - self._offset) // max(1, self._item_bytes)
        return ValueError(
            f"{self.path} is cut short: its header announces {self.shape[0]} rows, which is "
            f"{self._offset + self.shape[0] * self._item_bytes} bytes, but the file has {size} bytes, which is {whole} "
            "whole rows; copy or write it again"
        )


def _read_header(file: Any, path: Path) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        version = npy_format.read_magic(file)
        if version == (1, 0):
            return npy_format.read_array_header_1_0(file)
        if version == (2, 0):
            return npy_format.read_array_header_2_0(file)
    except ValueError as error:
        raise ValueError(f"{path} is not a .npy file as np.save writes it: {error}") from error
    # Later versions differ only in the names of fields, and fields are not numbers.
    raise ValueError(f"{path}: a .npy file of version {version}, which holds fields; store a 2-D array of numbers")


class NpyFile:
    """Rows of a .npy file with a 2-D array in C order.

    Parameters
    ----------
    path : str or Path
        The file, as np.save writes it.
    """

    feature_names: list[str] | None = None

    def __init__(self, path: str | Path) -> None:
        self._items = NpyItems(path)
        check_matrix(self._items.shape, str(self._items.path))
        self.n_rows, self.width = self._items.shape
        self.dtype: np.dtype[Any] = float_kind(self._items.dtype)
        self.name = self._items.path.name

    def read(self, rows: SortedRows) -> NDArray[Any]:
        """Return these rows as an array in C order."""
        if isinstance(rows, slice):
            return self._items[slice(*checked_range(rows, self.n_rows))].astype(self.dtype, copy=False)
        numbers = checked_numbers(rows, self.n_rows, self.name)
        row_bytes = self.width * self._items.dtype.itemsize
        groups = list(
            nearby_groups(numbers, rows_of_bytes(GAP_BYTES, row_bytes), rows_of_bytes(PIECE_BYTES, row_bytes))
        )
        ranges = [(int(numbers[group][0]), int(numbers[group][-1]) + 1) for group in groups]
        block = np.empty((len(numbers), self.width), dtype=self.dtype)
        for group, (start, _), piece in zip(groups, ranges, self._items.pieces(ranges), strict=True):
            block[group] = piece[numbers[group] - start]
        return block

    def place(self, row: int, column: int) -> str:
        """Return where an entry is, for messages."""
        return name_entry(f"{self.name}, row {row}", column, None)


class MappedRows:
    """Rows of a memory map; blocks are copied and their pages given back, so memory in use stays bounded.

    Parameters
    ----------
    array : memmap of shape (n_rows, n_features)
        The map or a part of it, in any order.
    """

    feature_names: list[str] | None = None

    def __init__(self, array: "np.memmap[Any, Any]") -> None:
        path = None if array.filename is None else Path(array.filename)
        self.name = "memory map" if path is None else path.name
        check_matrix(array.shape, self.name)
        check_numeric(array.dtype, self.name)
        pages = find_map(array)
        if pages is None:
            raise TypeError("this memmap is an array in memory and no longer a part of a file; pass np.asarray(array)")
        # Pages of a copy-on-write map may hold changes that exist nowhere else.
        self._set(np.asarray(array), pages, path, array.offset, array.mode != "c")

    def _set(self, array: NDArray[Any], pages: mmap.mmap, path: Path | None, offset: int, shared: bool) -> None:
        self._array, self._pages, self._path, self._shared = array, pages, path, shared
        self.n_rows, self.width = array.shape
        self.dtype: np.dtype[Any] = float_kind(array.dtype)
        self._address = np.frombuffer(pages, dtype=np.uint8, count=1).__array_interface__["data"][0]
        # A map starts where a page of the file does.
        self._file_offset = offset - offset % mmap.ALLOCATIONGRANULARITY

    def read(self, rows: SortedRows) -> NDArray[Any]:
        """Return a copy of these rows in C order."""
        self._check_file()
        row_bytes = self.width * self._array.itemsize
        parts: list[tuple[int, int, Any]]
        if isinstance(rows, slice):
            start, stop = checked_range(rows, self.n_rows)
            step = rows_of_bytes(PIECE_BYTES, row_bytes)
            parts = [(first, min(first + step, stop), slice(None)) for first in range(start, stop, step)]
            block = np.empty((stop - start, self.width), dtype=self.dtype)
        else:
            numbers = checked_numbers(rows, self.n_rows, self.name)
            # The kernel maps pages around every one that is touched.
            step = rows_of_bytes(PIECE_BYTES, row_bytes + GAP_BYTES)
            pieces = [numbers[done : done + step] for done in range(0, len(numbers), step)]
            parts = [(int(piece[0]), int(piece[-1]) + 1, piece - piece[0]) for piece in pieces]
            block = np.empty((len(numbers), self.width), dtype=self.dtype)
        done = 0
        for first, last, inside in parts:
            touched = self._array[first:last]
            chosen = touched[inside]
            block[done : done + len(chosen)] = chosen
            done += len(chosen)
            self._give_back(touched)
        return block

    def place(self, row: int, column: int) -> str:
        """Return where an entry is, for messages."""
        return name_entry(f"{self.name}, row {row}", column, None)

    def _give_back(self, touched: NDArray[Any]) -> None:
        if not self._shared or not hasattr(mmap, "MADV_DONTNEED"):
            return
        low, high = (bound - self._address for bound in byte_bounds(touched))
        low -= low % mmap.PAGESIZE
        self._pages.madvise(mmap.MADV_DONTNEED, low, high - low)

    def _check_file(self) -> None:
        # Touching a mapped page past the end of the file would end the process.
        if self._path is None or not self._path.exists():
            return
        needed = self._file_offset + byte_bounds(self._array)[1] - self._address
        size = self._path.stat().st_size
        if size < needed:
            raise ValueError(f"{self._path} became shorter than its memory map: {size} bytes of {needed}; map it again")

    def __getstate__(self) -> dict[str, Any]:
        """Keep the place in the file and not the rows."""
        if self._path is None or not self._shared:
            raise TypeError(f"{self.name}: a memory map without a file, or in mode 'c', cannot be sent elsewhere")
        low, high = byte_bounds(self._array)
        first = self._array.__array_interface__["data"][0]
        layout = {"shape": self._array.shape, "dtype": self._array.dtype, "strides": self._array.strides}
        return {
            "path": self._path,
            "start": self._file_offset + low - self._address,
            "n_bytes": high - low,
            "layout": {**layout, "offset": first - low},
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Map the same part of the file again."""
        part = np.memmap(state["path"], np.uint8, "r", offset=state["start"], shape=(state["n_bytes"],))
        self.name = state["path"].name
        array = np.ndarray(buffer=part, **state["layout"])
        pages = find_map(part)
        assert pages is not None
        self._set(array, pages, state["path"], state["start"], shared=True)


def find_map(array: NDArray[Any]) -> mmap.mmap | None:
    """Return the map below an array and the views of it; None if there is none, as in copies of maps."""
    below: Any = array
    while below is not None and not isinstance(below, mmap.mmap):
        below = getattr(below, "base", None)
    return below
