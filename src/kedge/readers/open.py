"""From what a user gives to its rows: `open_rows` for the estimators, `read_data_files` for the command line."""

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kedge.progress import Progress
from kedge.readers.anndata_files import open_anndata, read_anndata
from kedge.readers.arrays import refuse_not_finite
from kedge.readers.columns import AskedColumns, ColumnChoice, Wanted, views_of_arrays
from kedge.readers.contents import DataFileError, DataFiles, FileView, Limits, one_kind_of_error, shown
from kedge.readers.dask_arrays import DaskReader
from kedge.readers.delimited import DELIMITERS, RepeatedRows, read_delimited
from kedge.readers.hdf5 import DATASET_MARK, HDF5_SUFFIXES, Hdf5Rows, ZarrRows, read_hdf5
from kedge.readers.matlab import read_matlab
from kedge.readers.npy import MappedRows, NpyFile, find_map, read_npy, read_npz
from kedge.readers.sparse_files import open_csr
from kedge.readers.stored_rows import ViewReader, name_entry
from kedge.readers.tables import TABLE_SUFFIXES, ParquetRows, read_table

# All formats, by the ending of the file name, each with two functions. The first opens a path for `fit`, which reads
# rows in blocks. The second reads a file for the command line, with labels and names. None means: not supported there.
_FORMATS: dict[str, tuple[Callable[[Path], ViewReader] | None, Callable[[Path, Wanted], DataFiles] | None]] = {
    ".npy": (NpyFile, read_npy),
    **dict.fromkeys(TABLE_SUFFIXES, (ParquetRows, read_table)),
    **dict.fromkeys(HDF5_SUFFIXES, (Hdf5Rows, read_hdf5)),
    ".h5ad": (open_anndata, read_anndata),
    ".h5mu": (None, read_anndata),
    ".zarr": (ZarrRows, None),
    ".npz": (None, read_npz),
    ".mat": (None, read_matlab),
    **dict.fromkeys(DELIMITERS, (None, read_delimited)),
}
_OBJECTS = (("dask.array", "Array", DaskReader), ("zarr", "Array", ZarrRows), ("h5py", "Dataset", Hdf5Rows))
_ACCEPTED = (
    f"a file {', '.join(suffix for suffix, (opens, _) in _FORMATS.items() if opens)} (HDF5 with '::group/dataset' if "
    "it holds several), a folder of Parquet or Arrow files, or a folder written by save_csr"
)
_SUFFIXES = sorted(suffix for suffix, (_, reads) in _FORMATS.items() if reads)
_NAMES_END = f"names of data files end in one of {', '.join(_SUFFIXES)}"


def open_rows(thing: Any) -> ViewReader | None:
    """Return a reader of rows that are not in memory, such as those of a path; None if they are in memory."""
    if isinstance(thing, str | Path):
        return _open_path(thing)
    if isinstance(thing, ViewReader):
        return thing
    if isinstance(thing, np.memmap):
        # A copy of a map is of this class too, but has no file.
        return None if find_map(thing) is None else MappedRows(thing)
    for library, kind, opens in _OBJECTS:
        if _is_a(thing, library, kind):
            return opens(thing)
    return open_anndata(thing) if _is_a(thing, "anndata", "AnnData") and thing.isbacked else None


def _is_a(thing: Any, library: str, kind: str) -> bool:
    """Return whether a thing is of a class of a library, which is not imported: no object exists before its import."""
    found = getattr(sys.modules.get(library), kind, None)
    return isinstance(found, type) and isinstance(thing, found)


def _open_path(given: str | Path) -> ViewReader:
    path = Path(given)
    file, _, dataset = str(given).partition(DATASET_MARK)
    if dataset and Path(file).suffix.lower() in HDF5_SUFFIXES:
        return Hdf5Rows(file, dataset)
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {str(path.absolute())!r}")
    suffix = path.suffix.lower()
    if path.is_dir() and suffix not in (".zarr", ".npz"):
        return _open_folder(path)
    if suffix == ".npz":
        folder = "write it once as a folder with kedge.readers.sparse_files.save_csr(folder, matrix)"
        raise ValueError(f"{path}: a .npz file can only be read whole; pass scipy.sparse.load_npz(path), or {folder}")
    opens, _ = _FORMATS.get(suffix, (None, None))
    if opens is None:
        raise ValueError(f"{str(path)!r} is of an unknown kind; accepted are {_ACCEPTED}")
    return opens(path)


def _open_folder(folder: Path) -> ViewReader:
    if _is_csr_folder(folder):
        return open_csr(folder)
    if (folder / "zarr.json").is_file() or (folder / ".zarray").is_file():
        return ZarrRows(folder)
    inside = list(folder.iterdir())
    if any(path.suffix.lower() in TABLE_SUFFIXES or (path.is_dir() and "=" in path.name) for path in inside):
        return ParquetRows(folder)
    raise ValueError(f"the folder {str(folder)!r} holds nothing that is known; accepted are {_ACCEPTED}")


def _is_csr_folder(folder: Path) -> bool:
    return (folder / "indptr.npy").is_file()


def read_data_files(
    paths: Sequence[str | Path],
    *,
    columns: str | ColumnChoice | None = None,
    drop: str | None = None,
    label_column: str | None = None,
    all_labelled: bool = True,
    memory: float | None = None,
    text_bytes: int | None = None,
    progress: Progress | None = None,
) -> DataFiles:
    """Read files and folders, each a view of the same rows; what is wrong with one of them is a DataFileError.

    Small matrices are read whole; large ones stay on disk where their format allows it, and ``fit`` reads them in
    parts. `columns` and `drop` list columns as :class:`AskedColumns` says. `label_column` names a column or array with
    known classes, which is kept aside; a row without a class is an error if `all_labelled`. `memory` is how many GiB
    may be used; None means what the machine has. With `text_bytes`, only so much of a large text file is read, and
    its rows stand for the others (:class:`RepeatedRows`).
    """
    choice = AskedColumns(columns, drop) if columns is None or isinstance(columns, str) else columns
    wanted = Wanted(choice, label_column, Limits.for_memory(memory), progress or Progress(), text_bytes)
    found = [_read_one(path, wanted) for path in _listed(paths)]
    guessed = _guess_alike(found)
    if isinstance(choice, AskedColumns):
        choice.check_all_found()
    views = _with_different_names([view for contents in found for view in contents.views])
    _check_row_counts(views, found)
    labels = next((contents.labels for contents in found if contents.labels is not None), None)
    if label_column is not None and labels is None and not any(rows.has_labels for rows in guessed):
        raise DataFileError(f"--label-column: no data file has a column or array {label_column!r}")
    if labels is not None and all_labelled and (labels.codes < 0).any():
        place = f"{labels.path}, row {int(np.argmax(labels.codes < 0))}: no label in {shown(labels.column)}"
        raise DataFileError(f"{place}; fill it, use the labels you have with --use-labels, or leave out the option")
    _check_finite(views)
    row_names = next((contents.row_names for contents in found if contents.row_names is not None), None)
    return DataFiles(views, row_names, labels, [text for contents in found for text in contents.left_out])


def _guess_alike(found: Sequence[DataFiles]) -> list[RepeatedRows]:
    """Where numbers of rows are guessed from the sizes of text files, take that of another file, or of the first."""
    guessed = [view.rows for contents in found for view in contents.views if isinstance(view.rows, RepeatedRows)]
    counted = [contents.n_rows for contents in found if not isinstance(contents.views[0].rows, RepeatedRows)]
    for rows in guessed:
        rows.n_rows = counted[0] if counted else guessed[0].n_rows
    return guessed


def _listed(paths: Sequence[str | Path]) -> list[Path]:
    """Return all files, those of folders in the order of their names."""
    files: list[Path] = []
    for path in (Path(path).absolute() for path in paths):
        if not path.is_dir() or _is_csr_folder(path):
            files.append(path)
            continue
        with one_kind_of_error(path):
            inside = sorted(file for file in path.iterdir() if not file.name.startswith((".", "_")))
        known = [file for file in inside if file.is_file() and file.suffix.lower() in _SUFFIXES]
        if not known:
            raise DataFileError(f"the folder {path} holds no data file; {_NAMES_END}")
        unknown = [file for file in inside if file not in known]
        if unknown:
            raise DataFileError(f"{unknown[0]} is not a data file; move it elsewhere, or list the files to read")
        files += known
    if not files:
        raise DataFileError("no data file was given")
    double = [path for path, count in Counter(files).items() if count > 1]
    if double:
        raise DataFileError(f"{double[0]} was given twice; every file is a view of its own")
    return files


def _read_one(path: Path, wanted: Wanted) -> DataFiles:
    with one_kind_of_error(path):
        if path.is_dir():
            return views_of_arrays([FileView(path.stem, path, "csr", open_csr(path))], {}, path, wanted)
        if not path.exists():
            raise DataFileError(f"there is no file {path}")
        if not path.is_file():
            raise DataFileError(f"{path} is not a plain file")
        if not path.stat().st_size:
            raise DataFileError(f"{path} is empty")
        _, reads = _FORMATS.get(path.suffix.lower(), (None, None))
        if reads is None:
            raise DataFileError(f"{path} is of an unknown kind; {_NAMES_END}")
        return reads(path, wanted)


def _with_different_names(views: list[FileView]) -> list[FileView]:
    """Tell views of one name apart by their files, or by their numbers if those are equal too."""
    for form in ("{view.path.name}:{view.name}", "{view.name} ({number})"):
        counts = Counter(view.name for view in views)
        names = [form.format(view=v, number=n) if counts[v.name] > 1 else v.name for n, v in enumerate(views)]
        views = [replace(view, name=name) for view, name in zip(views, names, strict=True)]
    return views


def _check_row_counts(views: list[FileView], found: Sequence[DataFiles]) -> None:
    first = views[0]
    for view in views[1:]:
        if view.n_rows != first.n_rows:
            other = f"{first.path} has {first.n_rows} in {first.name!r}"
            same = "all views must have the same rows in the same order"
            raise DataFileError(f"{view.path} has {view.n_rows} rows in {view.name!r}, but {other}; {same}")
    for contents in found:
        names, labels = contents.row_names, contents.labels
        counts = {} if names is None else {"names of rows": len(names)}
        counts |= {} if labels is None else {f"labels in {labels.column!r}": len(labels.codes)}
        for what, count in counts.items():
            if count != first.n_rows:
                raise DataFileError(f"{contents.views[0].path} has {count} {what}, but there are {first.n_rows} rows")
    # Files must not give the same rows other names, or another order.
    named = [(contents.views[0].path, contents.row_names) for contents in found if contents.row_names is not None]
    for path, names in named[1:]:
        first_path, first_names = named[0]
        differ = np.flatnonzero(names != first_names)
        if len(differ):
            row = int(differ[0])
            here, other = f"{str(names[row])!r} in {path}", f"{str(first_names[row])!r} in {first_path}"
            raise DataFileError(f"row {row} is {here}, but {other}; bring the rows into one order")


def _check_finite(views: list[FileView]) -> None:
    """Refuse missing values and infinity in memory; stored rows are checked as they are read."""
    for view in views:
        if not view.in_memory:
            continue

        def place(row: int, column: int, view: FileView = view) -> str:
            where = f"{view.path}" if len(views) == 1 else f"{view.path}, view {view.name!r}"
            return name_entry(f"{where}, row {row}", column, view.feature_names)

        here = slice(0, view.n_rows) if view.observed is None else np.flatnonzero(view.observed)
        try:
            # With several views, a row that is NaN throughout lacks the view.
            refuse_not_finite(view.rows[here], here, place, gaps_allowed=len(views) > 1)
        except ValueError as error:
            raise DataFileError(str(error)) from error
