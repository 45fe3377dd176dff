"""AnnData and MuData files: the matrix X, or that of every modality, with the names of rows and columns."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.readers.columns import Wanted, labels_from_array, views_of_arrays
from kedge.readers.contents import DataFileError, DataFiles, FileView, Labels, checked_sparse, shown
from kedge.readers.hdf5 import Hdf5Object, Hdf5Rows, check_dataset, child_of, open_hdf5, read_whole
from kedge.readers.sparse_files import CSR_PARTS, CsrRows
from kedge.readers.stored_rows import StoredRows, ViewReader


def open_anndata(thing: Any) -> StoredRows:
    """Return a reader of X, dense or CSR, of an .h5ad file or of an AnnData object in backed mode."""
    if isinstance(thing, str | Path):
        path = Path(thing).absolute()
        with open_hdf5(path) as file:
            if "X" not in file:
                raise ValueError(f"{path} holds no matrix X")
            return _reader_of(path, "X", _names_of(file, "var", path, None))
    if thing.is_view:
        advice = "write the selection with .copy(filename), or load it with .to_memory()"
        raise ValueError(f"{thing.filename} is read through a view of an AnnData object; {advice}")
    if not thing.file.is_open:
        thing.file.open()
    return _reader_of(thing.file["X"], None, [str(name) for name in thing.var_names])


def _reader_of(source: Any, key: str | None, names: list[str] | None) -> StoredRows:
    """Return a reader of a dense dataset, or of a CSR matrix: a group with data, indices and indptr."""
    stored = Hdf5Object(source, key)
    where = f"{stored.path}, {stored.key.strip('/')}"
    with stored.opened() as group:
        if hasattr(group, "dtype"):
            return Hdf5Rows(source, key, names)
        encoding, shape = _form_of(group)
        missing = [part for part in CSR_PARTS if part not in group]
    if encoding.startswith("csc"):
        raise ValueError(f"{where} is stored by columns (CSC); write it again by rows, with adata.X = adata.X.tocsr()")
    if not encoding.startswith("csr"):
        raise ValueError(f"{where} must be a dense array or a CSR matrix: {encoding or 'unknown'}")
    if missing or len(shape) != 2:
        raise ValueError(f"{where} lacks {missing[0] if missing else 'shape'!r}, which a CSR matrix needs")
    return CsrRows(stored.path.name, where, shape, stored.opened, names)


def _form_of(group: Any) -> tuple[str, tuple[int, ...]]:
    """Return form and shape of a sparse matrix; the second names are those of files from before AnnData 0.7."""
    attributes = group.attrs
    encoding = str(attributes.get("encoding-type", attributes.get("h5sparse_format", "")))
    return encoding, tuple(int(n) for n in attributes.get("shape", attributes.get("h5sparse_shape", ())))


def read_anndata(path: Path, wanted: Wanted) -> DataFiles:
    """Read X of an AnnData file or of every modality of a MuData file, names, and a column of obs as labels."""
    with open_hdf5(path) as file:
        row_names = _index_of(file, "obs", path, wanted)
        labels = _obs_labels(file, path, wanted)
        if path.suffix.lower() == ".h5ad":
            modalities, views = [], [_read_matrix(file, "X", FileView(path.stem, path, "h5ad", None), wanted)]
        else:
            modalities, views = _modalities(file, path), []
        for name, group in modalities:
            own = _index_of(group, "obs", path, wanted)
            # Only where the modality has all observations, in their order.
            if labels is None and own is not None and row_names is not None and np.array_equal(own, row_names):
                labels = _obs_labels(group, path, wanted)
            view = _read_matrix(group, f"mod/{name}/X", FileView(name, path, "h5mu", None), wanted)
            views.append(_lined_up(view, own, row_names, wanted))
    # Labels that were found in obs are not a column of X.
    found = views_of_arrays(views, {}, path, wanted if labels is None else replace(wanted, label_column=None))
    return replace(found, row_names=row_names, labels=labels or found.labels)


def _modalities(file: Any, path: Path) -> list[tuple[str, Any]]:
    stored = child_of(file, "mod", path)
    if stored is None or not len(stored):
        raise DataFileError(f"{path} holds no modality (group 'mod'); is it a MuData file?")
    order = [str(name) for name in np.atleast_1d(stored.attrs.get("mod-order", []))]
    names = order if set(order) == set(stored) else sorted(stored)
    return [(name, child_of(stored, name, path)) for name in names]


def _read_matrix(group: Any, key: str, view: FileView, wanted: Wanted) -> FileView:
    """Return a view with the matrix X of a group: an array or a CSR array, or a reader of it if it is large."""
    path, found = view.path, child_of(group, "X", view.path)
    if found is None:
        raise DataFileError(f"{path} holds no matrix {key}")
    names = _names_of(group, "var", path, wanted)
    if hasattr(found, "dtype"):
        check_dataset(found, path, wanted)
        rows = wanted.limits.small_whole(_reader_of(path, key, names))
        return replace(view, rows=rows, feature_names=names)
    stored = {part: child_of(found, part, path) for part in CSR_PARTS}
    for part, dataset in stored.items():
        if dataset is None or not hasattr(dataset, "dtype") or dataset.ndim != 1:
            raise DataFileError(f"{path}: the sparse matrix {key} lacks {part!r}")
        check_dataset(dataset, path, wanted)
    encoding, shape = _form_of(found)
    n_bytes = sum(dataset.size * dataset.dtype.itemsize for dataset in stored.values())
    if n_bytes > wanted.limits.whole_bytes and not encoding.startswith("csc"):
        return replace(view, rows=_reader_of(path, key, names), feature_names=names)
    parts = {part: read_whole(dataset, path, wanted) for part, dataset in stored.items()}
    parts["shape"] = np.array(shape, dtype=np.int64)
    return replace(view, rows=checked_sparse(parts, encoding[:3], path, wanted.limits), feature_names=names)


def _names_of(group: Any, frame: str, path: Path, wanted: Wanted | None) -> list[str] | None:
    index = _index_of(group, frame, path, wanted)
    return None if index is None else [str(name) for name in index]


def _index_of(group: Any, frame: str, path: Path, wanted: Wanted | None) -> NDArray[Any] | None:
    """Return the index of a data frame in the file; None if there is none."""
    stored = child_of(group, frame, path)
    key = None if stored is None or hasattr(stored, "dtype") else stored.attrs.get("_index")
    return None if key is None else _column(stored, str(key), path, wanted)


def _column(frame: Any, name: str, path: Path, wanted: Wanted | None) -> NDArray[Any] | None:
    """Return a column of a data frame: plain, categories, or values with a mask."""
    column = child_of(frame, name, path)
    if column is None:
        return None
    if hasattr(column, "dtype"):
        # Files from before AnnData 0.7 keep categories beside the codes.
        before = child_of(frame, "__categories", path)
        parts = {"codes": column, "categories": None if before is None else child_of(before, name, path)}
        if parts["categories"] is None:
            return read_whole(column, path, wanted)
    else:
        parts = {part: child_of(column, part, path) for part in ("codes", "categories", "values", "mask")}
    read = {part: read_whole(stored, path, wanted) for part, stored in parts.items() if stored is not None}
    if "codes" in read and "categories" in read:
        codes, categories = read["codes"], read["categories"]
        if codes.dtype.kind not in "iu" or codes.ndim != 1 or (len(codes) and codes.max() >= len(categories)):
            raise DataFileError(f"{path}: column {shown(name)} has codes without a category")
        if not (len(codes) and codes.min() < 0):
            return np.asarray(categories[codes])
        # Observations without a category have the code -1, and take what is appended.
        is_text = np.asarray(categories).dtype.kind in "UST"
        named = np.append(categories, "") if is_text else np.append(categories.astype(float), np.nan)
        return np.asarray(named[codes])
    if "values" not in read:
        raise DataFileError(f"{path}: column {shown(name)} is of an unknown form")
    if "mask" in read and read["mask"].any():
        raise DataFileError(f"{path}: column {shown(name)} has missing values")
    return read["values"]


def _obs_labels(group: Any, path: Path, wanted: Wanted) -> Labels | None:
    obs = child_of(group, "obs", path)
    if wanted.label_column is None or obs is None or hasattr(obs, "dtype"):
        return None
    values = _column(obs, wanted.label_column, path, wanted)
    return None if values is None else labels_from_array(values, wanted.label_column, path)


def _lined_up(view: FileView, own: NDArray[Any] | None, whole: NDArray[Any] | None, wanted: Wanted) -> FileView:
    """Bring the rows of a modality into the order of all observations; those that lack it are marked."""
    if own is None or whole is None or np.array_equal(own, whole):
        return view
    places = {name: place for place, name in enumerate(own.tolist())}
    order = np.array([places.get(name, -1) for name in whole.tolist()], dtype=np.intp)
    rows = view.rows
    if isinstance(rows, ViewReader):
        wanted.limits.check_whole(rows.n_rows * rows.width * rows.dtype.itemsize, view.path, shown(view.name))
        rows = rows.read(slice(0, rows.n_rows))
    if len(own) != rows.shape[0]:
        raise DataFileError(f"{view.path}: {shown(view.name)} has {rows.shape[0]} rows but {len(own)} names of them")
    # Observations without the modality get any row of it; the mask leaves it out.
    return replace(view, rows=rows[np.maximum(order, 0)], observed=None if (order >= 0).all() else order >= 0)
