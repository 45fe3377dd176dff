"""Arrays of NumPy and sparse matrices of SciPy: .npy and .npz."""

import math
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

from kedge.data_files.contents import FileContents, Wanted
from kedge.data_files.matrices import NamedMatrix, contents_of_matrices, sparse_rows
from kedge.data_files.refusal import DataFileError, shown
from kedge.sources.npy_files import NpyFile

_MOST_MEMBERS = 10_000
_CSR_PARTS = ("data", "indices", "indptr", "shape")


def read_npy(path: Path, wanted: Wanted) -> FileContents:
    """Read one array: whole if it is small, else in parts."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        shape, fortran, dtype = _read_header(file, size, str(path))
    n_bytes = math.prod(shape) * dtype.itemsize
    name = path.stem
    if len(shape) == 2 and not fortran and n_bytes > wanted.limits.whole_bytes and dtype.kind in "biuf":
        wanted.limits.check_rows(shape[0], path)
        return contents_of_matrices([NamedMatrix(name, NpyFile(path))], {}, path, "npy", wanted)
    wanted.limits.check_whole(n_bytes, path)
    array = np.load(path, allow_pickle=False)
    if array.ndim == 1:
        raise DataFileError(f"{path} holds a vector of {len(array)} entries; a view has rows and columns")
    return contents_of_matrices([NamedMatrix(name, array)], {}, path, "npy", wanted)


def read_npz(path: Path, wanted: Wanted) -> FileContents:
    """Read all arrays of an archive: matrices are views, a vector may hold the labels."""
    arrays = _read_members(path, wanted)
    if not arrays:
        raise DataFileError(f"{path} holds no array")
    if "format" in arrays and "shape" in arrays:
        matrix = _scipy_matrix(arrays, path, wanted)
        return contents_of_matrices([NamedMatrix(path.stem, matrix)], {}, path, "npz", wanted)
    matrices: list[NamedMatrix] = []
    vectors: dict[str, NDArray[Any]] = {}
    for name, array in arrays.items():
        stem = name.removesuffix("_data")
        if stem != name and all(f"{stem}_{part}" in arrays for part in _CSR_PARTS):
            parts = {part: arrays[f"{stem}_{part}"] for part in _CSR_PARTS}
            matrices.append(NamedMatrix(stem, _compressed(parts, "csr", path, wanted)))
        elif any(name == f"{other}_{part}" and f"{other}_data" in arrays for other, part in _splits(name)):
            continue
        elif array.ndim >= 2 and name != wanted.label_column:
            matrices.append(NamedMatrix(name, array))
        else:
            vectors[name] = array
    # A single matrix is called after the file, whatever it is called in it.
    if len(matrices) == 1:
        matrices = [NamedMatrix(path.stem, matrices[0].rows)]
    return contents_of_matrices(matrices, vectors, path, "npz", wanted)


def _splits(name: str) -> list[tuple[str, str]]:
    stem, _, part = name.rpartition("_")
    return [(stem, part)] if part in _CSR_PARTS else []


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
                _read_header(file, member.file_size, f"{path}, {shown(name)}")
            with archive.open(member) as file:
                arrays[name] = npy.read_array(file, allow_pickle=False)
                # Reading to the end makes zipfile compare the checksum.
                if file.read(1):
                    raise DataFileError(f"{path}: {shown(name)} is longer than its header says")
    return arrays


def _read_header(file: Any, size: int, where: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and type of an array, if the bytes for it are there."""
    readers: dict[Any, Callable[..., Any]] = {
        (1, 0): npy.read_array_header_1_0,
        (2, 0): npy.read_array_header_2_0,
    }
    version = npy.read_magic(file)
    if version not in readers:
        raise DataFileError(f"{where} is of .npy version {version}, which holds fields; store a 2-D array of numbers")
    shape, fortran, dtype = readers[version](file)
    if dtype.hasobject:
        raise DataFileError(
            f"{where} holds Python objects, which are never loaded because that can run code; store numbers"
        )
    apparent = math.prod(max(length, 1) for length in shape) * dtype.itemsize
    if any(length < 0 for length in shape) or len(shape) > 8 or apparent >= 2**62:
        raise DataFileError(f"{where} claims the shape {shape}, which cannot be; the file is damaged")
    needed = math.prod(shape) * dtype.itemsize
    if needed > size - file.tell():
        raise DataFileError(
            f"{where} claims the shape {shape}, which is {needed:,} bytes, but has {size - file.tell():,}; it is cut "
            "short or damaged"
        )
    return shape, fortran, dtype


def _scipy_matrix(arrays: dict[str, NDArray[Any]], path: Path, wanted: Wanted) -> sparse.csr_array:
    kind = arrays["format"].item()
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
    if kind in ("csr", "csc"):
        return _compressed(arrays, kind, path, wanted)
    if kind != "coo" or not {"row", "col", "data"} <= set(arrays):
        raise DataFileError(f"{path} is a sparse matrix of the form {shown(kind)}; write it with matrix.tocsr()")
    shape = _checked_shape(arrays["shape"], path, wanted)
    row, column = arrays["row"], arrays["col"]
    if row.dtype.kind not in "iu" or column.dtype.kind not in "iu":
        raise DataFileError(f"{path}: rows and columns of a sparse matrix must be integers")
    return sparse_rows(sparse.coo_array((arrays["data"], (row, column)), shape=shape), path, wanted)


def _compressed(parts: dict[str, NDArray[Any]], kind: str, path: Path, wanted: Wanted) -> sparse.csr_array:
    lacking = [part for part in _CSR_PARTS if part not in parts]
    if lacking:
        raise DataFileError(f"{path} lacks {lacking[0]!r}, which a sparse matrix needs")
    shape = _checked_shape(parts["shape"], path, wanted)
    data, indices, indptr = (parts[part] for part in ("data", "indices", "indptr"))
    if any(part.ndim != 1 for part in (data, indices, indptr)) or {indices.dtype.kind, indptr.dtype.kind} - set("iu"):
        raise DataFileError(f"{path}: the parts of a sparse matrix must be vectors, of integers but for the data")
    length = shape[0 if kind == "csr" else 1]
    if len(indptr) != length + 1 or len(data) != len(indices):
        raise DataFileError(f"{path}: the parts of a sparse matrix of shape {shape} do not fit each other")
    form = sparse.csr_array if kind == "csr" else sparse.csc_array
    return sparse_rows(form((data, indices, indptr), shape=shape), path, wanted)


def _checked_shape(stored: NDArray[Any], path: Path, wanted: Wanted) -> tuple[int, int]:
    if stored.shape != (2,) or stored.dtype.kind not in "iu":
        raise DataFileError(f"{path}: a sparse matrix has two integers as its shape")
    n_rows, width = (int(length) for length in stored)
    if n_rows < 1 or width < 1:
        raise DataFileError(f"{path} is empty: a sparse matrix of {n_rows} rows and {width} columns")
    wanted.limits.check_rows(max(n_rows, width), path)
    return n_rows, width
