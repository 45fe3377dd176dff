"""MATLAB files: version 5 by SciPy, version 7.3, which is HDF5, by h5py."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import io, sparse

from kedge.data_files.contents import FileContents, Wanted
from kedge.data_files.hdf5_safety import child_of, read_whole
from kedge.data_files.matlab_elements import check_matlab_elements
from kedge.data_files.matrices import NamedMatrix, contents_of_matrices, sparse_rows
from kedge.data_files.refusal import DataFileError, shown
from kedge.optional_libraries import load_library
from kedge.sources.hdf5_arrays import open_hdf5

_HDF5_MARK = b"\x89HDF\r\n\x1a\n"
# Where the mark stands: MATLAB puts 512 bytes of its own before it.
_HDF5_PLACES = (0, 512)
# Classes of variables that can hold matrices; the others (structures, functions, objects) are not read at all.
_READ = {"double", "single", "logical", "sparse", "cell", "char"} | {
    f"{s}int{b}" for s in ("", "u") for b in (8, 16, 32, 64)
}


def read_matlab(path: Path, wanted: Wanted) -> FileContents:
    """Read all matrices of a file, also those in cells; a vector may hold the labels."""
    with path.open("rb") as file:
        start = file.read(_HDF5_PLACES[-1] + len(_HDF5_MARK))
    is_hdf5 = any(start[place : place + len(_HDF5_MARK)] == _HDF5_MARK for place in _HDF5_PLACES)
    variables = _read_version_73(path, wanted) if is_hdf5 else _read_version_5(path, wanted)
    matrices: list[NamedMatrix] = []
    vectors: dict[str, NDArray[Any]] = {}
    for name, value in variables.items():
        _sort_in(name, value, matrices, vectors, path, wanted)
    if len(matrices) == 1:
        matrices = [NamedMatrix(path.stem, matrices[0].rows)]
    return contents_of_matrices(matrices, vectors, path, "mat", wanted)


def _sort_in(
    name: str,
    value: Any,
    matrices: list[NamedMatrix],
    vectors: dict[str, NDArray[Any]],
    path: Path,
    wanted: Wanted,
) -> None:
    """Take a variable for a view, for several, or for something else."""
    if sparse.issparse(value):
        matrices.append(NamedMatrix(name, sparse_rows(value, path, wanted)))
    elif isinstance(value, np.ndarray) and value.dtype == object:
        cells = [cell for cell in value.reshape(-1, order="F")]
        is_text = all(isinstance(cell, np.ndarray) and cell.dtype.kind == "U" for cell in cells)
        if is_text:
            vectors[name] = np.array([str(cell.reshape(-1)[0]) if cell.size else "" for cell in cells])
            return
        for number, cell in enumerate(cells):
            if not isinstance(cell, np.ndarray) or cell.dtype != object:
                _sort_in(f"{name}{number + 1}", cell, matrices, vectors, path, wanted)
    elif isinstance(value, np.ndarray) and value.ndim == 2 and min(value.shape) > 1 and value.dtype.kind in "biuf":
        if name == wanted.label_column:
            raise DataFileError(f"{path}: {shown(name)} is a matrix of shape {value.shape}, so it cannot be the labels")
        matrices.append(NamedMatrix(name, value))
    elif isinstance(value, np.ndarray):
        vectors[name] = value


def _read_version_5(path: Path, wanted: Wanted) -> dict[str, Any]:
    check_matlab_elements(path, wanted)
    listed = io.whosmat(str(path))
    names = [name for name, _, kind in listed if kind in _READ]
    # Read only what can be a matrix, and never follow a name that comes twice.
    if len({name for name, _, _ in listed}) < len(listed):
        raise DataFileError(f"{path} has two variables of one name")
    if not names:
        raise DataFileError(f"{path} holds no matrix")
    found = io.loadmat(str(path), variable_names=names, spmatrix=False)
    return {name: found[name] for name in names if name in found}


def _read_version_73(path: Path, wanted: Wanted) -> dict[str, Any]:
    load_library("h5py", "hdf5", "reading MATLAB files of version 7.3")
    with open_hdf5(path) as file:
        found = {name: _read_stored(child_of(file, name, path), file, path, wanted) for name in file if name[:1] != "#"}
    return {name: value for name, value in found.items() if value is not None}


def _read_stored(stored: Any, file: Any, path: Path, wanted: Wanted, *, in_cell: bool = False) -> Any:
    """Return one variable; None if it can be neither a matrix nor labels. MATLAB stores columns one after another."""
    if not hasattr(stored, "dtype"):
        return _read_sparse(stored, path, wanted) if "MATLAB_sparse" in stored.attrs else None
    kind = stored.attrs.get("MATLAB_class", b"")
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
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
    parts = [child_of(group, part, path) for part in ("data", "ir", "jc")]
    if parts[2] is None:
        raise DataFileError(f"{path}: a sparse matrix lacks its columns ('jc')")
    indptr = read_whole(parts[2], path, wanted).astype(np.int64)
    # A matrix of zeros has neither of the others.
    data, indices = (np.empty(0) if part is None else read_whole(part, path, wanted) for part in parts[:2])
    n_rows, width = int(group.attrs["MATLAB_sparse"]), len(indptr) - 1
    if n_rows < 1 or width < 1:
        return None
    wanted.limits.check_rows(max(n_rows, width), path)
    return sparse.csc_array((data, indices.astype(np.int64), indptr), shape=(n_rows, width))
