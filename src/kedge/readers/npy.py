"""Rows of .npy files and memory maps, and all arrays of .npz archives."""

import math
import mmap
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from kedge.readers.columns import Wanted, views_of_arrays
from kedge.readers.contents import SPARSE_PARTS, DataFileError, DataFiles, FileView, checked_sparse, shown
from kedge.readers.stored_rows import PIECE_BYTES, StoredRows, check_numeric, checked_range

_MOST_MEMBERS = 10_000


class NpyItems:
    """The items along the first axis of a .npy file: rows of a matrix, or entries of a vector; `dtype` is as stored.

    The file is opened for each read and not mapped: mapped pages count as memory in use, and a mapped file that is cut
    short ends the process.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        with self.path.open("rb") as file:
            self.shape, fortran, self.dtype = read_npy_header(file, str(self.path))
            self._offset = file.tell()
            size = os.fstat(file.fileno()).st_size
        check_numeric(self.dtype, str(self.path))
        if fortran and len(self.shape) > 1:
            raise ValueError(
                f"{self.path} is stored in Fortran order, so its rows are scattered over the file; write it again with "
                "np.save(path, np.ascontiguousarray(array))"
            )
        self._per_item = math.prod(self.shape[1:])
        if self.shape and size < self._start_of(self.shape[0]):
            raise self._cut_short(size)

    def __len__(self) -> int:
        """Return the number of items."""
        return self.shape[0]

    def __getitem__(self, items: slice) -> NDArray[Any]:
        """Return consecutive items as stored."""
        start, stop = checked_range(items, len(self))
        count = (stop - start) * self._per_item
        entries = np.fromfile(self.path, self.dtype, count, offset=self._start_of(start))
        if len(entries) < count:
            raise self._cut_short(self.path.stat().st_size)
        return entries.reshape(stop - start, *self.shape[1:])

    def _start_of(self, item: int) -> int:
        return self._offset + item * self._per_item * self.dtype.itemsize

    def _cut_short(self, size: int) -> ValueError:
        whole = max(0, size - self._offset) // max(1, self._per_item * self.dtype.itemsize)
        return ValueError(
            f"{self.path} is cut short: its header announces {self.shape[0]} rows, which is "
            f"{self._start_of(self.shape[0])} bytes, but the file has {size} bytes, which is {whole} whole rows; copy "
            "or write it again"
        )


def read_npy_header(file: Any, where: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and type of an array, if such an array can be."""
    try:
        version = npy_format.read_magic(file)
        if version > (2, 0):  # these differ only in the names of fields, and fields are not numbers
            raise DataFileError(
                f"{where} is of .npy version {version}, which holds fields; store a 2-D array of numbers"
            )
        read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
        shape, fortran, dtype = read(file)
    except (DataFileError, OSError):
        raise
    except Exception as error:  # damaged headers make NumPy raise errors of Python's own parser
        raise ValueError(f"{where} is not a .npy file as np.save writes it: {error}") from error
    if dtype.hasobject:
        raise DataFileError(
            f"{where}: entries are stored as objects of Python, which are never loaded because that can run code; "
            "store numbers"
        )
    apparent = math.prod(max(length, 1) for length in shape) * dtype.itemsize
    if any(length < 0 for length in shape) or len(shape) > 8 or apparent >= 2**62:
        raise DataFileError(f"{where} claims the shape {shape}, which cannot be; the file is damaged")
    return shape, fortran, dtype


class NpyFile(StoredRows):
    """Rows of a .npy file with a 2-D array in C order, as np.save writes it."""

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self._items = NpyItems(path)
        self.name = self._items.path.name
        self.set_matrix(self._items.shape, self._items.dtype, str(self._items.path))

    def _load(self, start: int, stop: int) -> NDArray[Any]:
        return self._items[start:stop].astype(self.dtype, copy=False)


class MappedRows(StoredRows):
    """Rows of a memory map or a part of it; blocks are copied and their pages given back, so memory stays bounded."""

    def __init__(self, array: "np.memmap[Any, Any]") -> None:
        path = None if array.filename is None else Path(array.filename)
        pages = find_map(array)
        if pages is None:
            raise TypeError("this memmap is an array in memory and no longer a part of a file; pass np.asarray(array)")
        # Pages of a copy-on-write map may hold changes that exist nowhere else.
        self._set(np.asarray(array), pages, path, array.offset, array.mode != "c")

    def _set(self, array: NDArray[Any], pages: mmap.mmap, path: Path | None, offset: int, shared: bool) -> None:
        super().__init__()
        self._array, self._pages, self._path, self._shared = array, pages, path, shared
        self.name = "memory map" if path is None else path.name
        self.set_matrix(array.shape, array.dtype, self.name)
        self._address = np.frombuffer(pages, dtype=np.uint8, count=1).__array_interface__["data"][0]
        # A map starts where a page of the file does.
        self._file_offset = offset - offset % mmap.ALLOCATIONGRANULARITY

    def _load(self, start: int, stop: int) -> NDArray[Any]:
        self._check_file()
        block = np.empty((stop - start, self.width), dtype=self.dtype)
        step = max(1, PIECE_BYTES // (self.width * self._array.itemsize))
        for first in range(start, stop, step):
            touched = self._array[first : min(first + step, stop)]
            block[first - start : first - start + len(touched)] = touched
            self._give_back(touched)
        return block

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
        start = self._file_offset + low - self._address
        return {"path": self._path, "start": start, "n_bytes": high - low, "layout": {**layout, "offset": first - low}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Map the same part of the file again."""
        part = np.memmap(state["path"], np.uint8, "r", offset=state["start"], shape=(state["n_bytes"],))
        pages = find_map(part)
        assert pages is not None
        array: NDArray[Any] = np.ndarray(buffer=part, **state["layout"])
        self._set(array, pages, state["path"], state["start"], shared=True)


def find_map(array: NDArray[Any]) -> mmap.mmap | None:
    """Return the map below an array and the views of it; None if there is none, as in copies of maps."""
    below: Any = array
    while below is not None and not isinstance(below, mmap.mmap):
        below = getattr(below, "base", None)
    return below


def read_npy(path: Path, wanted: Wanted) -> DataFiles:
    """Read one array: whole if it is small, else in parts."""
    with path.open("rb") as file:
        shape, fortran, dtype = _header_with_content(file, path.stat().st_size, str(path))
    n_bytes = math.prod(shape) * dtype.itemsize
    rows: Any
    if len(shape) == 2 and not fortran and n_bytes > wanted.limits.whole_bytes:
        rows = NpyFile(path)
    else:
        wanted.limits.check_whole(n_bytes, path)
        rows = np.load(path, allow_pickle=False)
        if rows.ndim == 1:
            raise DataFileError(f"{path} holds a vector of {len(rows)} entries; a view has rows and columns")
    return views_of_arrays([FileView(path.stem, path, "npy", rows)], {}, path, wanted)


def read_npz(path: Path, wanted: Wanted) -> DataFiles:
    """Read all arrays of an archive: matrices are views, a vector may hold the labels."""
    arrays = _read_members(path, wanted)
    if not arrays:
        raise DataFileError(f"{path} holds no array")
    if "format" in arrays and "shape" in arrays:
        # A matrix as scipy.sparse.save_npz writes it.
        kind = arrays["format"].item()
        kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
        view = FileView(path.stem, path, "npz", checked_sparse(arrays, kind, path, wanted.limits))
        return views_of_arrays([view], {}, path, wanted)
    # Several sparse matrices may be stored as NAME_data, NAME_indices, NAME_indptr and NAME_shape.
    stems = [name.removesuffix("_data") for name in arrays if name.endswith("_data")]
    parts = {stem: {part: f"{stem}_{part}" for part in SPARSE_PARTS["csr"]} for stem in stems}
    parts = {stem: names for stem, names in parts.items() if set(names.values()) <= set(arrays)}
    taken = {name for names in parts.values() for name in names.values()}
    found: dict[str, Any] = {}
    vectors: dict[str, NDArray[Any]] = {}
    for name, array in arrays.items():
        stem = name.removesuffix("_data")
        if stem != name and stem in parts:
            found[stem] = checked_sparse(
                {part: arrays[parts[stem][part]] for part in parts[stem]}, "csr", path, wanted.limits
            )
        elif array.ndim >= 2 and name != wanted.label_column:
            found[name] = array
        elif name not in taken:
            vectors[name] = array
    # A single matrix is called after the file, whatever it is called in it.
    views = [FileView(name if len(found) > 1 else path.stem, path, "npz", rows) for name, rows in found.items()]
    return views_of_arrays(views, vectors, path, wanted)


def _read_members(path: Path, wanted: Wanted) -> dict[str, NDArray[Any]]:
    """Return the arrays in their order; nothing is unpacked before all sizes are known, and nothing to disk."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if len(members) > _MOST_MEMBERS:
            raise DataFileError(f"{path} holds {len(members):,} members, at most {_MOST_MEMBERS:,} are read")
        wanted.limits.check_whole(sum(member.file_size for member in members), path, "its unpacked content")
        arrays: dict[str, NDArray[Any]] = {}
        for member in members:
            name = member.filename.removesuffix(".npy")
            if name == member.filename or name in arrays:
                raise DataFileError(f"{path} holds {shown(member.filename)}, which is no array or is there twice")
            with archive.open(member) as file:
                _header_with_content(file, member.file_size, f"{path}, {shown(name)}")
            with archive.open(member) as file:
                arrays[name] = npy_format.read_array(file, allow_pickle=False)
                # Reading to the end makes zipfile compare the checksum.
                if file.read(1):
                    raise DataFileError(f"{path}: {shown(name)} is longer than its header says")
    return arrays


def _header_with_content(file: Any, size: int, where: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read a header; an error unless the bytes that it announces are there."""
    shape, fortran, dtype = read_npy_header(file, where)
    needed, there = math.prod(shape) * dtype.itemsize, size - file.tell()
    if needed > there:
        raise DataFileError(
            f"{where} claims the shape {shape}, which is {needed:,} bytes, but has {there:,}; it is cut short or "
            "damaged"
        )
    return shape, fortran, dtype
