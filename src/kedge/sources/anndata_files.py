"""Rows of the matrix X of AnnData files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kedge.sources.csr_blocks import CsrParts
from kedge.sources.hdf5_arrays import Hdf5Object, Hdf5Rows, open_hdf5
from kedge.sources.row_ranges import check_matrix, check_numeric, float_kind, name_entry
from kedge.sources.view_reader import SortedRows, ViewReader


def open_anndata(thing: Any) -> ViewReader:
    """Return a reader of X, dense or CSR, with the names of the variables.

    Parameters
    ----------
    thing : str, Path or AnnData
        A .h5ad file, or an AnnData object in backed mode.
    """
    if isinstance(thing, str | Path):
        path = Path(thing).absolute()
        with open_hdf5(path) as file:
            if "X" not in file:
                raise ValueError(f"{path} holds no matrix X")
            is_dense, names = hasattr(file["X"], "dtype"), _variable_names(file)
        stored = Hdf5Object(path, "X")
        return Hdf5Rows(path, "X", names) if is_dense else AnndataCsr(stored, names)
    if thing.is_view:
        raise ValueError(
            f"{thing.filename} is read through a view of an AnnData object, which selects rows or variables; write the "
            "selection with .copy(filename), or load it with .to_memory()"
        )
    if not thing.file.is_open:
        thing.file.open()
    found = thing.file["X"]
    names = [str(name) for name in thing.var_names]
    if hasattr(found, "dtype"):
        return Hdf5Rows(found, feature_names=names)
    return AnndataCsr(Hdf5Object.of(found), names)


class AnndataCsr:
    """Rows of a CSR matrix in an HDF5 file, in the layout of AnnData.

    Parameters
    ----------
    stored : Hdf5Object
        The group with data, indices and indptr.
    feature_names : list of str, default=None
        Names of the columns.
    """

    def __init__(self, stored: Hdf5Object, feature_names: list[str] | None = None) -> None:
        self._stored = stored
        self.feature_names = feature_names
        self.name = stored.path.name
        with stored.opened() as group:
            shape = _csr_shape(group, self._where)
            check_matrix(shape, self._where)
            check_numeric(group["data"].dtype, self._where)
            self.n_rows, self.width = shape
            self.dtype: np.dtype[Any] = float_kind(group["data"].dtype)
        with self._opened_parts() as parts:
            parts.check_lengths()

    def read(self, rows: SortedRows) -> sparse.csr_array:
        """Return these rows as a CSR array."""
        with self._opened_parts() as parts:
            return parts.read(rows)

    def place(self, row: int, column: int) -> str:
        """Return where an entry is, for messages."""
        return name_entry(f"{self.name}, row {row}", column, self.feature_names)

    @property
    def _where(self) -> str:
        return f"{self._stored.path}, {self._stored.key.strip('/')}"

    @contextmanager
    def _opened_parts(self) -> Iterator[CsrParts]:
        with self._stored.opened() as group:
            parts = (group["data"], group["indices"], group["indptr"])
            yield CsrParts(*parts, self._where, (self.n_rows, self.width), self.dtype)


def _csr_shape(group: Any, where: str) -> tuple[int, int]:
    # The second names are those of files from before AnnData 0.7.
    encoding = group.attrs.get("encoding-type", group.attrs.get("h5sparse_format", "unknown"))
    if str(encoding).startswith("csc"):
        raise ValueError(
            f"{where} is stored by columns (CSC), so its rows are scattered over the file; write it again with "
            "adata.X = adata.X.tocsr()"
        )
    if not str(encoding).startswith("csr"):
        raise ValueError(f"{where} must be a dense array or a CSR matrix: {encoding}")
    missing = [part for part in ("data", "indices", "indptr") if part not in group]
    if missing:
        raise ValueError(f"{where} lacks {missing[0]!r}, which a CSR matrix needs")
    shape = group.attrs.get("shape", group.attrs.get("h5sparse_shape"))
    if shape is None or len(shape) != 2:
        raise ValueError(f"{where} lacks its shape")
    return int(shape[0]), int(shape[1])


def _variable_names(file: Any) -> list[str] | None:
    """Return the index of var, where the file has one."""
    var = file.get("var")
    key = None if var is None or hasattr(var, "dtype") else var.attrs.get("_index")
    index = None if key is None else var.get(key)
    # Strings that may be missing are a group of values and a mask.
    values = index if index is None or hasattr(index, "dtype") else index.get("values")
    if values is None:
        return None
    names = values.asstr()[:] if values.dtype.kind == "O" else values[:]
    return [str(name) for name in names]
