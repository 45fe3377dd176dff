"""MATLAB files: version 5 by SciPy, version 7.3, which is HDF5, by h5py."""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.readers.columns import Wanted, views_of_arrays
from kedge.readers.contents import SPARSE_PARTS, DataFileError, DataFiles, FileView, checked_sparse, shown
from kedge.readers.hdf5 import child_of, open_hdf5, read_whole

_HDF5_MARK = b"\x89HDF\r\n\x1a\n"
# Classes of variables that can hold matrices; the others (structures, functions, objects) are not read at all.
_READ = {"double", "single", "logical", "sparse", "cell", "char"} | {
    f"{s}int{b}" for s in ("", "u") for b in (8, 16, 32, 64)
}
# Files of version 5 are made of parts, each with a mark: vectors of numbers or text, matrices, compressed matrices.
_HEADER_BYTES = 128
_VECTORS = {1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 16, 17, 18}
_MATRIX, _COMPRESSED = 14, 15
# Classes of matrices: those that hold other matrices (cells, structures, objects), and those that hold vectors.
_NESTED, _PLAIN = range(1, 4), range(4, 16)
_MOST_NESTED = 20


def read_matlab(path: Path, wanted: Wanted) -> DataFiles:
    """Read all matrices of a file, also those in cells; a vector may hold the labels."""
    with path.open("rb") as file:
        start = file.read(520)
    # MATLAB puts 512 bytes of its own before the mark.
    is_hdf5 = _HDF5_MARK in (start[:8], start[512:])
    if is_hdf5:
        with open_hdf5(path) as file:
            names = [name for name in file if not name.startswith("#")]
            variables = {name: _read_stored(child_of(file, name, path), file, path, wanted) for name in names}
    else:
        variables = _read_version_5(path, wanted)
    views: list[FileView] = []
    vectors: dict[str, NDArray[Any]] = {}
    for name, value in variables.items():
        if name == wanted.label_column and _is_matrix(value):
            raise DataFileError(f"{path}: {shown(name)} is a matrix of shape {value.shape}, so it cannot be the labels")
        for part, rows in _matrices_in(name, value, vectors):
            if sparse.issparse(rows):
                parts = {part: np.asarray(getattr(rows, part)) for part in SPARSE_PARTS[rows.format]}
                rows = checked_sparse(parts, rows.format, path, wanted.limits)
            views.append(FileView(part, path, "mat", rows))
    if len(views) == 1:
        views = [replace(views[0], name=path.stem)]
    return views_of_arrays(views, vectors, path, wanted)


def _is_matrix(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind in "biuf" and min(value.shape) > 1


def _matrices_in(name: str, value: Any, vectors: dict[str, NDArray[Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the matrices of a variable, several if it is a cell; put anything else into the vectors."""
    if sparse.issparse(value) or _is_matrix(value):
        yield name, value
    elif isinstance(value, np.ndarray) and value.dtype == object:
        cells = list(value.reshape(-1, order="F"))
        if all(isinstance(cell, np.ndarray) and cell.dtype.kind == "U" for cell in cells):
            vectors[name] = np.array([str(cell.reshape(-1)[0]) if cell.size else "" for cell in cells])
            return
        for number, cell in enumerate(cells):
            if not isinstance(cell, np.ndarray) or cell.dtype != object:
                yield from _matrices_in(f"{name}{number + 1}", cell, vectors)
    elif isinstance(value, np.ndarray):
        vectors[name] = value


def _read_version_5(path: Path, wanted: Wanted) -> dict[str, Any]:
    from scipy import io

    _check_parts_of_file(path, wanted)
    listed = io.whosmat(str(path))
    names = [name for name, _, kind in listed if kind in _READ]
    # Read only what can be a matrix, and never follow a repeated name.
    if len({name for name, _, _ in listed}) < len(listed):
        raise DataFileError(f"{path} has two variables of one name")
    if not names:
        raise DataFileError(f"{path} holds no matrix")
    found = io.loadmat(str(path), variable_names=names, spmatrix=False)
    return {name: found.get(name) for name in names}


def _check_parts_of_file(path: Path, wanted: Wanted) -> None:
    """Refuse a file of version 5 that is too large in memory, or damaged: wrong marks make SciPy end the process."""
    total = path.stat().st_size
    wanted.limits.check_whole(total, path, "its content")
    content = path.read_bytes()
    order = {b"IM": "<", b"MI": ">"}.get(content[_HEADER_BYTES - 2 : _HEADER_BYTES])
    if order is None:
        raise DataFileError(f"{path} is not a MATLAB file of version 5 or later; save it again with -v7")
    try:
        for kind, part in _parts(content[_HEADER_BYTES:], order):
            if kind == _COMPRESSED:
                unpacker = zlib.decompressobj()
                unpacked = unpacker.decompress(part, wanted.limits.most_bytes // 2 + 1)
                total += len(unpacked)
                wanted.limits.check_whole(total, path, "its unpacked content")
                if not unpacker.eof:
                    raise ValueError("cut short")
                [(kind, part)] = _parts(unpacked, order)
            if kind != _MATRIX:
                raise ValueError("not a matrix")
            _check_matrix(part, order, 0)
    except DataFileError:
        raise
    except (ValueError, struct.error, zlib.error) as error:
        raise DataFileError(f"{path} is damaged or cut short: its parts do not fit into each other") from error


def _check_matrix(content: memoryview, order: str, depth: int) -> None:
    if not len(content):
        return
    parts = list(_parts(content, order))
    mark, flags = parts[0]
    if depth > _MOST_NESTED or len(parts) < 3 or mark != 6 or len(flags) != 8:
        raise ValueError("not a matrix")
    kind = struct.unpack(f"{order}I", flags[:4])[0] & 0xFF
    for mark, inside in parts:
        # What is neither plain nor nested (functions and the like) is not read.
        if mark == _MATRIX and kind in _NESTED:
            _check_matrix(inside, order, depth + 1)
        elif mark not in _VECTORS and (kind in _PLAIN or kind in _NESTED):
            raise ValueError("not a vector")


def _parts(content: bytes | memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Yield mark and content of the parts that stand one after another."""
    rest = memoryview(content)
    while len(rest):
        kind, length = struct.unpack(f"{order}II", rest[:8])
        start = 8
        if kind >> 16:  # up to four bytes stand beside the mark itself
            kind, length, start = kind & 0xFFFF, kind >> 16, 4
        if start + length > (8 if start == 4 else len(rest)):
            raise ValueError("cut short")
        yield kind, rest[start : start + length]
        padding = 0 if kind in (_MATRIX, _COMPRESSED) else -(start + length) % 8
        rest = rest[start + length + padding :]


def _read_stored(stored: Any, file: Any, path: Path, wanted: Wanted, *, in_cell: bool = False) -> Any:
    """Return one variable; None if it can be neither a matrix nor labels. MATLAB stores columns one after another."""
    if not hasattr(stored, "dtype"):
        return _read_sparse(stored, path, wanted) if "MATLAB_sparse" in stored.attrs else None
    kind = np.asarray(stored.attrs.get("MATLAB_class", b"")).astype(str).item()
    if kind == "cell" and not in_cell:
        references = read_whole(stored, path, wanted).reshape(-1)
        cells = np.empty(len(references), dtype=object)
        for number, reference in enumerate(references):
            cells[number] = _read_stored(file[reference], file, path, wanted, in_cell=True)
        return cells
    # Without a class it was not written by MATLAB, and its rows may not be columns.
    if not kind or stored.dtype.kind not in "biuf" or "MATLAB_empty" in stored.attrs:
        return None
    values = read_whole(stored, path, wanted).T
    if kind == "char":
        return np.array(["".join(chr(int(code)) for code in line) for line in np.atleast_2d(values)])
    return values


def _read_sparse(group: Any, path: Path, wanted: Wanted) -> sparse.csc_array | None:
    stored = [child_of(group, part, path) for part in ("data", "ir", "jc")]
    if stored[2] is None:
        raise DataFileError(f"{path}: a sparse matrix lacks its columns ('jc')")
    # A matrix of zeros has neither of the others.
    data, indices, indptr = (np.empty(0) if part is None else read_whole(part, path, wanted) for part in stored)
    shape = (int(group.attrs["MATLAB_sparse"]), len(indptr) - 1)
    if min(shape) < 1:
        return None
    return sparse.csc_array((data, indices.astype(np.int64), indptr.astype(np.int64)), shape=shape)
