"""Rows of CSR matrices whose three parts are stored apart, as in a folder of .npy files."""

import shutil
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.readers.npy import NpyItems
from kedge.readers.stored_rows import StoredRows, check_matrix

CSR_PARTS = ("data", "indices", "indptr")
# What opens the three parts, by name; any slice of them can then be read.
OpenParts: TypeAlias = Callable[[], AbstractContextManager[Any]]


class CsrRows(StoredRows):
    """Rows of a CSR matrix; `where` is what messages call it."""

    def __init__(
        self, name: str, where: str, shape: tuple[int, ...], opened: OpenParts, feature_names: list[str] | None = None
    ) -> None:
        self.name, self._where, self._opened, self.feature_names = name, where, opened, feature_names
        with opened() as parts:
            data, indices, indptr = (parts[part] for part in CSR_PARTS)
            self.set_matrix(shape, data.dtype, where)
            n_entries = self._n_entries = len(data)
            if len(indptr) != self.n_rows + 1:
                needed = self.n_rows + 1
                raise ValueError(f"{where}: indptr has {len(indptr)} entries, but {self.n_rows} rows need {needed}")
            if len(indices) != n_entries:
                raise ValueError(f"{where}: data has {n_entries} entries, but indices has {len(indices)}")
            first, last = int(indptr[0:1][0]), int(indptr[self.n_rows : self.n_rows + 1][0])
        if first != 0 or last != n_entries:
            raise ValueError(f"{where}: indptr must go from 0 to {n_entries} entries, but goes from {first} to {last}")

    def row_bytes(self) -> float:
        """Return the memory of a row, on average."""
        return self._n_entries * (self.dtype.itemsize + 8) / self.n_rows + 8

    def _read_numbers(self, numbers: NDArray[np.intp]) -> sparse.csr_array:
        with self._opened():  # kept open for all pieces
            pieces = [rows[numbers[group] - first] for group, first, rows in self._pieces(numbers)]
        return sparse.vstack([self._load(0, 0), *pieces], format="csr", dtype=self.dtype)

    def _load(self, start: int, stop: int) -> sparse.csr_array:
        shape = (stop - start, self.width)
        if start == stop:
            return sparse.csr_array(shape, dtype=self.dtype)
        with self._opened() as parts:
            indptr = np.asarray(parts["indptr"][start : stop + 1]).astype(np.int64, copy=False)
            wrong = (np.diff(indptr) < 0) | (indptr[:-1] < 0) | (indptr[1:] > self._n_entries)
            if wrong.any():
                row = int(np.argmax(wrong))
                ends = f"from {indptr[row]} to {indptr[row + 1]} of {self._n_entries}"
                self._refuse(start + row, f"indptr says that its entries go {ends}")
            data = np.asarray(parts["data"][indptr[0] : indptr[-1]]).astype(self.dtype, copy=False)
            indices = np.asarray(parts["indices"][indptr[0] : indptr[-1]])
        starts = indptr - indptr[0]
        if len(indices) and (indices.min() < 0 or indices.max() >= self.width):
            entry = int(np.argmax((indices < 0) | (indices >= self.width)))
            row = start + int(np.searchsorted(starts, entry, side="right")) - 1
            self._refuse(row, f"an entry is in column {indices[entry]}, but there are {self.width} columns")
        return sparse.csr_array((data, indices, starts), shape=shape)

    def _refuse(self, row: int, problem: str) -> None:
        raise ValueError(f"{self._where}, row {row}: {problem}; the matrix is damaged, write it again")


def open_csr(folder: str | Path) -> CsrRows:
    """Open a folder with data.npy, indices.npy, indptr.npy and shape.npy, as `save_csr` writes it."""
    root = Path(folder).absolute()
    parts = {}
    for part in (*CSR_PARTS, "shape"):
        path = root / f"{part}.npy"
        if not path.is_file():
            raise ValueError(f"{root} lacks {path.name}; save_csr(folder, matrix) writes such folders")
        items = NpyItems(path)
        if len(items.shape) != 1:
            raise ValueError(f"{path} must be a vector, but it has shape {items.shape}")
        if part != "data" and items.dtype.kind not in "iu":
            raise ValueError(f"{path}: entries must be integers, but they are stored as {items.dtype}")
        parts[part] = items
    return CsrRows(root.name, str(root), tuple(parts["shape"][:].tolist()), partial(nullcontext, parts))


def save_csr(folder: str | Path, matrix: Any) -> None:
    """Write a sparse matrix to a folder whose path `fit` accepts; the folder appears when all of it is written.

    Parameters
    ----------
    folder : str or Path
        The folder to make; it must not exist yet.
    matrix : sparse matrix or array of shape (n_rows, n_features)
        The matrix, of any format. Entries given twice are added up.
    """
    root = Path(folder).absolute()
    if root.exists():
        raise FileExistsError(f"{root} exists; remove it first or choose another name")
    rows = sparse.csr_array(matrix)
    check_matrix(rows.shape, rows.dtype, "matrix")
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    # Beside the folder, so that the last step is a rename within one disk.
    unfinished = root.with_name(f".{root.name}-{uuid.uuid4().hex}")
    unfinished.mkdir()
    try:
        for part in CSR_PARTS:
            np.save(unfinished / f"{part}.npy", getattr(rows, part))
        np.save(unfinished / "shape.npy", np.array(rows.shape, dtype=np.int64))
        unfinished.rename(root)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
