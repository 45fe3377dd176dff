"""Rows of .npy files and memory maps, and all arrays of .npz archives."""

import math
import mmap
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from kedge.readers.columns import Wanted, views_of_arrays
from kedge.readers.contents import SPARSE_PARTS, DataFileError, DataFiles, FileView, checked_sparse, shown
from kedge.readers.stored_rows import PIECE_BYTES, StoredRows, checked_range

_MOST_MEMBERS = 10_000
MOST_DIMENSIONS = 16


class NpyItems:
    """The rows of a matrix or entries of a vector in a .npy file, with `dtype` as stored.

    The file is not mapped: mapped pages count as memory in use, and a mapped file that is cut short ends the process.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        with self.path.open("rb") as file:
            self.shape, fortran, self.dtype = _read_header(file, self.path.stat().st_size, str(self.path))
            self._offset = file.tell()
        if fortran and len(self.shape) > 1:
            again = "write it again with np.save(path, np.ascontiguousarray(array))"
            raise ValueError(f"{self.path} is stored in Fortran order, so its rows are not in one piece; {again}")

    def __len__(self) -> int:
        """Return the number of items."""
        return self.shape[0]

    def __getitem__(self, items: slice) -> NDArray[Any]:
        """Return consecutive items as stored."""
        start, stop = checked_range(items, len(self))
        per_item = math.prod(self.shape[1:])
        offset = self._offset + start * per_item * self.dtype.itemsize
        entries = np.fromfile(self.path, self.dtype, (stop - start) * per_item, offset=offset)
        if len(entries) < (stop - start) * per_item:
            _check_length(self.shape, self.dtype, self._offset, self.path.stat().st_size, str(self.path))
        return entries.reshape(stop - start, *self.shape[1:])


def _read_header(file: Any, size: int, where: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and type of an array; an error unless it can exist and a file of this size holds it."""
    try:
        version = npy_format.read_magic(file)
        if version > (2, 0):  # these differ only in the names of fields, and fields are not numbers
            raise DataFileError(f"{where} has .npy version {version}, which holds fields; store a 2-D array of numbers")
        read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
        shape, fortran, dtype = read(file)
    except (DataFileError, OSError):
        raise
    except Exception as error:  # damaged headers make NumPy raise errors of Python's own parser
        raise ValueError(f"{where} is not a .npy file as np.save writes it: {error}") from error
    if dtype.hasobject:
        raise DataFileError(f"{where}: entries are stored as objects, and loading them could run code; store numbers")
    apparent = math.prod(max(length, 1) for length in shape) * dtype.itemsize
    if any(length < 0 for length in shape) or len(shape) > MOST_DIMENSIONS or apparent >= 2**62:
        raise DataFileError(f"{where} claims the impossible shape {shape}; the file is damaged")
    _check_length(shape, dtype, file.tell(), size, where)
    return shape, fortran, dtype


def _check_length(shape: tuple[int, ...], dtype: np.dtype[Any], offset: int, size: int, where: str) -> None:
    needed = offset + math.prod(shape) * dtype.itemsize
    if size < needed:
        whole = max(0, size - offset) // max(1, math.prod(shape[1:]) * dtype.itemsize)
        announced = f"its header announces the shape {shape}, which is {needed} bytes"
        found = f"it has {size} bytes, which is {whole} whole rows"
        raise DataFileError(f"{where} is cut short or damaged: {announced}, but {found}; copy or write it again")


class NpyFile(StoredRows):
    """Rows of a .npy file with a 2-D array in C order, as np.save writes it."""

    def __init__(self, path: str | Path) -> None:
        self._items = NpyItems(path)
        self.name = self._items.path.name
        self.set_matrix(self._items.shape, self._items.dtype, str(self._items.path))

    def _load(self, start: int, stop: int) -> NDArray[Any]:
        return self._items[start:stop].astype(self.dtype, copy=False)


class MappedRows(StoredRows):
    """Rows of a memory map or a part of it; blocks are copied and the pages given back, so memory stays bounded."""

    def __init__(self, array: "np.memmap[Any, Any]") -> None:
        self._array, self._pages = np.asarray(array), find_map(array)
        self._path = None if array.filename is None else Path(array.filename)
        # Pages of a copy-on-write map may hold changes that exist nowhere else.
        self._gives_back = array.mode != "c" and hasattr(mmap, "MADV_DONTNEED")
        # A map starts where a page of the file does.
        self._file_bytes = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY + len(self._pages)
        self.name = "memory map" if self._path is None else self._path.name
        self.set_matrix(array.shape, array.dtype, self.name)

    def _load(self, start: int, stop: int) -> NDArray[Any]:
        # Touching a mapped page past the end of the file would end the process.
        if self._path is not None and self._path.exists():
            size = self._path.stat().st_size
            if size < self._file_bytes:
                missing = f"{size} of {self._file_bytes} bytes"
                raise ValueError(f"{self._path} became shorter than its memory map: {missing}; map it again")
        block = np.empty((stop - start, self.width), dtype=self.dtype)
        step = max(1, PIECE_BYTES // (self.width * self._array.itemsize))
        for first in range(0, stop - start, step):
            piece = block[first : first + step]
            piece[:] = self._array[start + first : start + first + len(piece)]
            if self._gives_back:
                self._pages.madvise(mmap.MADV_DONTNEED)
        return block


def find_map(array: NDArray[Any]) -> Any:
    """Return the map below an array and its views; None if there is none, as in copies of maps."""
    below: Any = array
    while below is not None and not isinstance(below, mmap.mmap):
        below = getattr(below, "base", None)
    return below


def read_npy(path: Path, wanted: Wanted) -> DataFiles:
    """Read one array: whole if it is small, else in parts."""
    with path.open("rb") as file:
        shape, fortran, dtype = _read_header(file, path.stat().st_size, str(path))
    n_bytes = math.prod(shape) * dtype.itemsize
    rows: Any
    if len(shape) == 2 and not fortran and n_bytes > wanted.limits.whole_bytes:
        rows = NpyFile(path)
    else:
        wanted.limits.check_whole(n_bytes, path)
        rows = np.load(path, allow_pickle=False)
    return views_of_arrays([FileView(path.stem, path, "npy", rows)], {}, path, wanted)


def read_npz(path: Path, wanted: Wanted) -> DataFiles:
    """Read all arrays of an archive: matrices are views, a vector may hold the labels."""
    arrays = _read_members(path, wanted)
    if "format" in arrays and "shape" in arrays:
        # A matrix as scipy.sparse.save_npz writes it.
        rows = checked_sparse(arrays, arrays["format"].astype(str).item(), path, wanted.limits)
        return views_of_arrays([FileView(path.stem, path, "npz", rows)], {}, path, wanted)
    # Several sparse matrices may be stored as NAME_data, NAME_indices, NAME_indptr and NAME_shape.
    found: dict[str, Any] = {}
    vectors = dict(arrays)
    for name, array in arrays.items():
        stem = name.removesuffix("_data")
        parts = {part: f"{stem}_{part}" for part in SPARSE_PARTS["csr"]}
        if stem != name and set(parts.values()) <= set(arrays):
            stored = {part: vectors.pop(whole_name) for part, whole_name in parts.items()}
            found[stem] = checked_sparse(stored, "csr", path, wanted.limits)
        elif array.ndim >= 2 and name != wanted.label_column:
            found[name] = vectors.pop(name)
    # A single matrix is named after the file.
    views = [FileView(name if len(found) > 1 else path.stem, path, "npz", rows) for name, rows in found.items()]
    return views_of_arrays(views, vectors, path, wanted)


def _read_members(path: Path, wanted: Wanted) -> dict[str, NDArray[Any]]:
    """Return the arrays in their order; nothing is unpacked before all sizes are known, and nothing to disk."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if not 0 < len(members) <= _MOST_MEMBERS:
            raise DataFileError(f"{path} holds {len(members):,} arrays; between 1 and {_MOST_MEMBERS:,} are read")
        wanted.limits.check_whole(sum(member.file_size for member in members), path, "its unpacked content")
        arrays: dict[str, NDArray[Any]] = {}
        for member in members:
            name = member.filename.removesuffix(".npy")
            if name == member.filename or name in arrays:
                raise DataFileError(f"{path} holds {shown(member.filename)}, which is not an array or is there twice")
            arrays[name] = read_member(archive, member, f"{path}, {shown(name)}")
    return arrays


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, where: str) -> NDArray[Any]:
    """Return the array of a .npy member; nothing is allocated before its header fits the size of the member."""
    with archive.open(member) as file:
        _read_header(file, member.file_size, where)
    with archive.open(member) as file:
        array: NDArray[Any] = npy_format.read_array(file, allow_pickle=False)
        # Reading to the end makes zipfile compare the checksum.
        if file.read(1):
            raise DataFileError(f"{where} is longer than its header says")
    return array
