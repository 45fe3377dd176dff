"""Rows of a CSR matrix stored as a folder of .npy files."""

import shutil
import uuid
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kedge.sources.csr_blocks import CsrParts
from kedge.sources.npy_files import NpyItems
from kedge.sources.row_ranges import check_matrix, check_numeric, float_kind, name_entry
from kedge.sources.view_reader import SortedRows

_PARTS = ("data", "indices", "indptr")
_SHAPE = "shape.npy"


class CsrFiles:
    """Rows of a CSR matrix in a folder with data.npy, indices.npy, indptr.npy and shape.npy, as `save_csr` writes it.

    Parameters
    ----------
    folder : str or Path
        The folder.
    """

    feature_names: list[str] | None = None

    def __init__(self, folder: str | Path) -> None:
        root = Path(folder).absolute()
        if root.suffix == ".npz":
            raise ValueError(
                f"{root}: a .npz file can only be read whole; pass scipy.sparse.load_npz(path), or write it once as a "
                "folder with kedge.sources.csr_files.save_csr(folder, matrix)"
            )
        if not root.exists():
            raise FileNotFoundError(f"there is no folder {root}")
        for file in (*(f"{part}.npy" for part in _PARTS), _SHAPE):
            if not (root / file).is_file():
                raise ValueError(f"{root} lacks {file}; save_csr(folder, matrix) writes such folders")
        self.name = root.name
        shape = _read_shape(root / _SHAPE)
        data, indices, indptr = (_open_vector(root / f"{part}.npy") for part in _PARTS)
        for part in (indices, indptr):
            if part.dtype.kind not in "iu":
                raise ValueError(f"{part.path}: entries must be integers, but they are stored as {part.dtype}")
        self.n_rows, self.width = shape
        self.dtype: np.dtype[Any] = float_kind(data.dtype)
        self._parts = CsrParts(data, indices, indptr, str(root), shape, self.dtype)
        self._parts.check_lengths()

    def read(self, rows: SortedRows) -> sparse.csr_array:
        """Return these rows as a CSR array."""
        return self._parts.read(rows)

    def place(self, row: int, column: int) -> str:
        """Return where an entry is, for messages."""
        return name_entry(f"{self.name}, row {row}", column, None)


def save_csr(folder: str | Path, matrix: Any) -> None:
    """Write a sparse matrix so that `CsrFiles` can read its rows; the folder appears when all of it is written.

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
    check_matrix(rows.shape, "matrix")
    check_numeric(rows.dtype, "matrix")
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    # Beside the folder, so that the last step is a rename within one disk.
    unfinished = root.with_name(f".{root.name}-{uuid.uuid4().hex}")
    unfinished.mkdir()
    try:
        for part in _PARTS:
            np.save(unfinished / f"{part}.npy", getattr(rows, part))
        np.save(unfinished / _SHAPE, np.array(rows.shape, dtype=np.int64))
        unfinished.rename(root)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def is_csr_folder(folder: Path) -> bool:
    """Return whether a folder looks like one that `save_csr` wrote."""
    return (folder / "indptr.npy").is_file()


def _open_vector(path: Path) -> NpyItems:
    items = NpyItems(path)
    if len(items.shape) != 1:
        raise ValueError(f"{path} must be a vector, but it has shape {items.shape}")
    return items


def _read_shape(path: Path) -> tuple[int, int]:
    numbers = _open_vector(path)
    if len(numbers) != 2 or numbers.dtype.kind not in "iu":
        raise ValueError(f"{path} must hold two integers, rows and columns: {numbers.dtype} of shape {numbers.shape}")
    shape = tuple(numbers[0:2].tolist())
    check_matrix(shape, str(path.parent))
    return shape[0], shape[1]
