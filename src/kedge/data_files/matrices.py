"""Matrices found in a file, brought to views: columns chosen, labels kept aside, the rest named."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.data_files.column_choice import column_place
from kedge.data_files.contents import FileContents, FileView, Labels, Wanted
from kedge.data_files.refusal import DataFileError, shown
from kedge.data_files.row_readers import with_columns
from kedge.data_files.table_columns import labels_from_array
from kedge.sources.row_ranges import check_matrix, check_numeric, float_kind
from kedge.sources.view_reader import ViewReader

_ROWS_AT_ONCE = 8192


@dataclass(frozen=True)
class NamedMatrix:
    """A matrix as it was found: an array of two dimensions (or of pictures), a sparse matrix, or a reader of rows."""

    name: str
    rows: Any
    feature_names: list[str] | None = None
    observed: NDArray[np.bool_] | None = None


def contents_of_matrices(
    matrices: list[NamedMatrix], vectors: Mapping[str, Any], path: Path, kind: str, wanted: Wanted
) -> FileContents:
    """Return the views of a file that holds arrays.

    Parameters
    ----------
    matrices : list of NamedMatrix
        What can be a view.
    vectors : mapping of str to arrays
        What else the file holds, among it perhaps the labels.
    path, kind
        The file and its kind.
    wanted : Wanted
        What the user asked for.
    """
    labels: Labels | None = None
    asked = wanted.label_column
    if asked is not None and asked in vectors:
        labels = labels_from_array(vectors[asked], asked, path)
    if not matrices:
        listed = ", ".join(shown(name) for name in list(vectors)[:8])
        raise DataFileError(f"{path} holds no matrix with rows and columns, but {listed or 'nothing'}")
    views = []
    for matrix in matrices:
        view, own = _view_of(matrix, path, kind, wanted, look_for_label=labels is None)
        views.append(view)
        labels = labels if own is None else own
    left_out = [f"{shown(name)} of {path.name}, which is no matrix" for name in vectors if name != asked]
    return FileContents(views, None, labels, left_out)


def _view_of(
    matrix: NamedMatrix, path: Path, kind: str, wanted: Wanted, *, look_for_label: bool
) -> tuple[FileView, Labels | None]:
    where = f"{path}, {shown(matrix.name)}"
    rows, image_shape = matrix.rows, None
    if isinstance(rows, ViewReader):
        n_rows, width = rows.n_rows, rows.width
    else:
        if rows.ndim == 3 and not sparse.issparse(rows):
            image_shape = (int(rows.shape[1]), int(rows.shape[2]))
            rows = rows.reshape(rows.shape[0], -1)
        check_matrix(rows.shape, where)
        check_numeric(rows.dtype, where)
        n_rows, width = rows.shape
    wanted.limits.check_rows(int(n_rows), path)
    names, labels, kept_aside = matrix.feature_names, None, []
    if look_for_label and wanted.label_column is not None:
        place = column_place(wanted.label_column, names, width)
        if place is not None and image_shape is None:
            labels = labels_from_array(_column(rows, int(n_rows), place), wanted.label_column, path)
            kept_aside = [place]
    chosen = [c for c in wanted.columns.choose(matrix.name, names, width, path, kept_aside) if c not in kept_aside]
    if not chosen:
        raise DataFileError(f"{where} has no column to cluster by besides the labels")
    kept_whole = chosen == list(range(width))
    if isinstance(rows, ViewReader):
        rows = with_columns(rows, chosen)
    else:
        rows = rows if kept_whole else rows[:, chosen]
        rows = rows.astype(float_kind(rows.dtype), copy=False)
        rows = rows if sparse.issparse(rows) else np.ascontiguousarray(rows)
    chosen_names = None if names is None else [names[place] for place in chosen]
    shape = image_shape if kept_whole else None
    return FileView(matrix.name, path, kind, rows, chosen_names, shape, matrix.observed), labels


def _column(rows: Any, n_rows: int, place: int) -> NDArray[Any]:
    """Return one column, read in parts."""
    parts = []
    for start in range(0, n_rows, _ROWS_AT_ONCE):
        piece = slice(start, min(start + _ROWS_AT_ONCE, n_rows))
        block = rows.read(piece) if isinstance(rows, ViewReader) else rows[piece]
        column = block[:, [place]]
        parts.append(column.toarray() if sparse.issparse(column) else np.asarray(column))
    return np.concatenate(parts)[:, 0]


def sparse_rows(matrix: Any, path: Path, wanted: Wanted) -> sparse.csr_array:
    """Return a sparse matrix by rows, after a look at every index."""
    check_numeric(matrix.dtype, str(path))
    n_bytes = matrix.nnz * (matrix.dtype.itemsize + 16) + 8 * sum(matrix.shape)
    wanted.limits.check_whole(n_bytes, path)
    if hasattr(matrix, "check_format"):
        if len(matrix.indptr) and matrix.indptr[-1] != len(matrix.indices):
            raise DataFileError(f"{path}: the parts of a sparse matrix do not fit each other")
        matrix.check_format(full_check=True)
    rows = sparse.csr_array(matrix)
    rows.sum_duplicates()
    return rows
