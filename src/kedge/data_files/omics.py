"""AnnData and MuData files: the matrix X, or that of every modality."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.data_files.contents import FileContents, Labels, Wanted
from kedge.data_files.hdf5_safety import check_dataset, child_of, read_whole
from kedge.data_files.matrices import NamedMatrix, contents_of_matrices, sparse_rows
from kedge.data_files.refusal import DataFileError, shown
from kedge.data_files.table_columns import labels_from_array
from kedge.sources.anndata_files import AnndataCsr
from kedge.sources.hdf5_arrays import Hdf5Object, Hdf5Rows, open_hdf5
from kedge.sources.view_reader import ViewReader


def read_hdf5(path: Path, wanted: Wanted) -> FileContents:
    """Read the one matrix of an HDF5 file."""
    reader = Hdf5Rows(path)
    with open_hdf5(path) as file:
        check_dataset(file[reader.name.partition("::")[2]], path, wanted)
    return contents_of_matrices([NamedMatrix(path.stem, _small_whole(reader, wanted))], {}, path, "hdf5", wanted)


def read_h5ad(path: Path, wanted: Wanted) -> FileContents:
    """Read an AnnData file: X, the names of rows and columns, and a column of obs as labels."""
    with open_hdf5(path) as file:
        names = _frame_index(file, "var", path, wanted)
        row_names = _frame_index(file, "obs", path, wanted)
        labels = _obs_labels(file, path, wanted)
        rows = _matrix(file, "X", path, names, wanted)
    matrix = NamedMatrix(path.stem, rows, names)
    # The labels are in obs, and not a column of X.
    plain = replace(wanted, label_column=None) if labels is not None else wanted
    contents = contents_of_matrices([matrix], {}, path, "h5ad", plain)
    return replace(contents, row_names=row_names, labels=labels)


def read_h5mu(path: Path, wanted: Wanted) -> FileContents:
    """Read a MuData file: every modality is a view; observations that lack one are marked."""
    with open_hdf5(path) as file:
        modalities = child_of(file, "mod", path)
        if modalities is None or not len(modalities):
            raise DataFileError(f"{path} holds no modality (group 'mod'); is it a MuData file?")
        row_names = _frame_index(file, "obs", path, wanted)
        labels = _obs_labels(file, path, wanted)
        matrices = []
        for name in _modality_order(modalities):
            group = child_of(modalities, name, path)
            own = _frame_index(group, "obs", path, wanted)
            # Only where the modality has all observations, in their order.
            if labels is None and _are_same(own, row_names):
                labels = _obs_labels(group, path, wanted)
            names = _frame_index(group, "var", path, wanted)
            rows = _matrix(group, f"mod/{name}/X", path, names, wanted)
            matrices.append(_lined_up(NamedMatrix(name, rows, names), own, row_names, path, wanted))
    plain = replace(wanted, label_column=None) if labels is not None else wanted
    contents = contents_of_matrices(matrices, {}, path, "h5mu", plain)
    if labels is not None and len(labels.codes) != contents.views[0].n_rows:
        raise DataFileError(f"{path}: the labels {shown(labels.column)} are not of all observations")
    return replace(contents, row_names=row_names, labels=labels)


def _modality_order(modalities: Any) -> list[str]:
    order = [str(name) for name in np.atleast_1d(modalities.attrs.get("mod-order", []))]
    return order if set(order) == set(modalities) else sorted(modalities)


def _matrix(group: Any, key: str, path: Path, names: list[str] | None, wanted: Wanted) -> Any:
    """Return X: an array or a CSR array, or a reader of it if it is large."""
    found = child_of(group, "X", path)
    if found is None:
        raise DataFileError(f"{path} holds no matrix {key}")
    if hasattr(found, "dtype"):
        check_dataset(found, path, wanted)
        return _small_whole(Hdf5Rows(path, key, names), wanted)
    for part in ("data", "indices", "indptr"):
        stored = child_of(found, part, path)
        if stored is None or not hasattr(stored, "dtype") or stored.ndim != 1:
            raise DataFileError(f"{path}: the sparse matrix {key} lacks {part!r}")
        check_dataset(stored, path, wanted)
    encoding = str(found.attrs.get("encoding-type", found.attrs.get("h5sparse_format", "")))
    if encoding.startswith("csc"):
        return _by_columns(found, path, wanted)
    reader = AnndataCsr(Hdf5Object(path, key), names)
    stored_bytes = sum(found[part].size * found[part].dtype.itemsize for part in ("data", "indices", "indptr"))
    if stored_bytes > wanted.limits.whole_bytes:
        return reader
    return sparse_rows(reader.read(slice(0, reader.n_rows)), path, wanted)


def _by_columns(group: Any, path: Path, wanted: Wanted) -> sparse.csr_array:
    parts = [read_whole(group[part], path, wanted) for part in ("data", "indices", "indptr")]
    shape = tuple(int(length) for length in group.attrs.get("shape", group.attrs.get("h5sparse_shape", ())))
    if len(shape) != 2 or min(shape) < 1 or len(parts[2]) != shape[1] + 1:
        raise DataFileError(f"{path}: the parts of a sparse matrix of shape {shape} do not fit each other")
    wanted.limits.check_rows(max(shape), path)
    return sparse_rows(sparse.csc_array(tuple(parts), shape=shape), path, wanted)


def _small_whole(reader: Any, wanted: Wanted) -> Any:
    n_bytes = reader.n_rows * reader.width * reader.dtype.itemsize
    return reader if n_bytes > wanted.limits.whole_bytes else reader.read(slice(0, reader.n_rows))


def _frame_index(group: Any, frame: str, path: Path, wanted: Wanted) -> Any:
    """Return the index of a data frame in the file: a list for columns, an array for rows; None if there is none."""
    stored = child_of(group, frame, path)
    key = None if stored is None or hasattr(stored, "dtype") else stored.attrs.get("_index")
    values = None if key is None else _text(stored, str(key), path, wanted)
    if values is None:
        return None
    return [str(value) for value in values] if frame == "var" else values


def _text(frame: Any, name: str, path: Path, wanted: Wanted) -> NDArray[Any] | None:
    """Return a column of a data frame: plain, categories, or values with a mask."""
    column = child_of(frame, name, path)
    if column is None:
        return None
    if hasattr(column, "dtype"):
        # Files from before AnnData 0.7 keep categories beside the codes.
        before = child_of(frame, "__categories", path)
        values = read_whole(column, path, wanted)
        categories = None if before is None else child_of(before, name, path)
        return values if categories is None else _of_category(values, read_whole(categories, path, wanted), name, path)
    parts = {part: child_of(column, part, path) for part in ("codes", "categories", "values", "mask")}
    if parts["codes"] is not None and parts["categories"] is not None:
        codes, categories = (read_whole(parts[part], path, wanted) for part in ("codes", "categories"))
        return _of_category(codes, categories, name, path)
    if parts["values"] is None:
        raise DataFileError(f"{path}: column {shown(name)} is of an unknown form")
    if parts["mask"] is not None and read_whole(parts["mask"], path, wanted).any():
        raise DataFileError(f"{path}: column {shown(name)} has missing values")
    return read_whole(parts["values"], path, wanted)


def _of_category(codes: NDArray[Any], categories: NDArray[Any], name: str, path: Path) -> NDArray[Any]:
    if codes.dtype.kind not in "iu" or codes.ndim != 1 or (len(codes) and codes.max() >= len(categories)):
        raise DataFileError(f"{path}: column {shown(name)} has codes that are no categories")
    if len(codes) and codes.min() < 0:
        row = int(np.argmin(codes))
        raise DataFileError(f"{path}, row {row}: no value in column {shown(name)}; fill it or leave out the option")
    return np.asarray(categories[codes])


def _obs_labels(group: Any, path: Path, wanted: Wanted) -> Labels | None:
    obs = child_of(group, "obs", path)
    if wanted.label_column is None or obs is None or hasattr(obs, "dtype"):
        return None
    values = _text(obs, wanted.label_column, path, wanted)
    return None if values is None else labels_from_array(values, wanted.label_column, path)


def _are_same(one: NDArray[Any] | None, other: NDArray[Any] | None) -> bool:
    return one is not None and other is not None and len(one) == len(other) and bool(np.all(one == other))


def _lined_up(
    matrix: NamedMatrix, own: NDArray[Any] | None, whole: NDArray[Any] | None, path: Path, wanted: Wanted
) -> NamedMatrix:
    """Bring the rows of a modality into the order of all observations; those that lack it are marked."""
    if own is None or whole is None or _are_same(own, whole):
        return matrix
    places = {name: place for place, name in enumerate(own.tolist())}
    order = np.array([places.get(name, -1) for name in whole.tolist()], dtype=np.intp)
    rows = matrix.rows
    if isinstance(rows, ViewReader):
        wanted.limits.check_whole(rows.n_rows * rows.width * rows.dtype.itemsize, path, shown(matrix.name))
        rows = rows.read(slice(0, rows.n_rows))
    if len(own) != rows.shape[0]:
        raise DataFileError(f"{path}: {shown(matrix.name)} has {rows.shape[0]} rows but {len(own)} names of them")
    # Observations without the modality get some row of it, which nobody looks at.
    return replace(matrix, rows=rows[np.maximum(order, 0)], observed=None if (order >= 0).all() else order >= 0)
