"""One way to read any data file."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from kedge.data_files.column_choice import AskedColumns, ColumnChoice
from kedge.data_files.contents import DataFiles, FileContents, FileView, Wanted
from kedge.data_files.delimited import DELIMITERS, read_delimited
from kedge.data_files.limits import Limits
from kedge.data_files.matlab import read_matlab
from kedge.data_files.matrices import NamedMatrix, contents_of_matrices
from kedge.data_files.numpy_arrays import read_npy, read_npz
from kedge.data_files.omics import read_h5ad, read_h5mu, read_hdf5
from kedge.data_files.refusal import DataFileError, one_kind_of_error
from kedge.data_files.tables import TABLE_SUFFIXES, read_table
from kedge.loop import Progress, Silence
from kedge.sources.csr_files import CsrFiles, is_csr_folder
from kedge.sources.row_ranges import name_entry
from kedge.sources.stored_view import refuse_not_finite

_READERS: dict[str, Callable[[Path, Wanted], FileContents]] = {
    **dict.fromkeys(DELIMITERS, read_delimited),
    **dict.fromkeys(TABLE_SUFFIXES, read_table),
    ".npy": read_npy,
    ".npz": read_npz,
    ".mat": read_matlab,
    ".h5ad": read_h5ad,
    ".h5mu": read_h5mu,
    ".h5": read_hdf5,
    ".hdf5": read_hdf5,
}


def read_data_files(
    paths: Sequence[str | Path],
    *,
    columns: str | ColumnChoice | None = None,
    drop: str | None = None,
    label_column: str | None = None,
    memory: float | None = None,
    scratch_folder: Path | None = None,
    progress: Progress | None = None,
) -> DataFiles:
    """Read one file or several, of any kind that is known; several are several views of the same rows.

    Small matrices are read whole. Large ones in .npy, Parquet, Arrow, .h5ad and HDF5 stay where they are and are read
    in parts by ``fit``; large CSV and TSV files are converted batch by batch into a scratch file that vanishes with
    the process.

    Parameters
    ----------
    paths : sequence of paths
        Files, or a folder of files; also a folder written by ``save_csr``.
    columns : str, ColumnChoice or None, default=None
        Columns to use: names, numbers from 0 or ranges such as 3-7, with commas between them; None means all.
    drop : str or None, default=None
        Columns to leave out, likewise.
    label_column : str or None, default=None
        Column (or array, or column of obs) with known classes, which is kept aside.
    memory : float or None, default=None
        GiB that may be used; None means what the machine has.
    scratch_folder : Path or None, default=None
        Where large text files are converted; None means the folder for temporary files.
    progress : Progress or None, default=None
        Is told how many rows were read.

    Returns
    -------
    files : DataFiles
        Views, names and labels.

    Raises
    ------
    DataFileError
        A file is missing, damaged, hostile, too large, or does not fit the others.
    """
    choice = AskedColumns(columns, drop) if columns is None or isinstance(columns, str) else columns
    wanted = Wanted(choice, label_column, Limits.for_memory(memory), scratch_folder, progress or Silence())
    found = [_read_one(path, wanted) for path in _listed(paths)]
    choice.check_all_found()
    views = _with_different_names([view for contents in found for view in contents.views])
    _check_row_counts(views, found)
    labels = next((contents.labels for contents in found if contents.labels is not None), None)
    if label_column is not None and labels is None:
        raise DataFileError(f"--label-column: no data file has a column or array {label_column!r}")
    _check_finite(views)
    row_names = next((contents.row_names for contents in found if contents.row_names is not None), None)
    return DataFiles(views, row_names, labels, [text for contents in found for text in contents.left_out])


def _listed(paths: Sequence[str | Path]) -> list[Path]:
    """Return all files, those of folders in the order of their names."""
    files: list[Path] = []
    for path in (Path(path).absolute() for path in paths):
        if not path.is_dir() or is_csr_folder(path):
            files.append(path)
            continue
        with one_kind_of_error(path):
            inside = sorted(file for file in path.iterdir() if not file.name.startswith((".", "_")))
        known = [file for file in inside if file.is_file() and file.suffix.lower() in _READERS]
        if not known:
            raise DataFileError(f"the folder {path} holds no data file; {_accepted()}")
        unknown = [file for file in inside if file not in known]
        if unknown:
            raise DataFileError(f"{unknown[0]} is no data file; move it out of the folder, or list the files to read")
        files += known
    if not files:
        raise DataFileError("no data file was given")
    double = [path for path, count in Counter(files).items() if count > 1]
    if double:
        raise DataFileError(f"{double[0]} was given twice; every file is a view of its own")
    return files


def _read_one(path: Path, wanted: Wanted) -> FileContents:
    with one_kind_of_error(path):
        if path.is_dir():
            return contents_of_matrices([NamedMatrix(path.stem, CsrFiles(path))], {}, path, "csr", wanted)
        if not path.exists():
            raise DataFileError(f"there is no file {path}")
        if not path.is_file():
            raise DataFileError(f"{path} is no plain file")
        if not path.stat().st_size:
            raise DataFileError(f"{path} is empty")
        reader = _READERS.get(path.suffix.lower())
        if reader is None:
            raise DataFileError(f"{path} is of an unknown kind; {_accepted()}")
        contents = reader(path, wanted)
        for view in contents.views:
            if contents.row_names is not None and len(contents.row_names) != view.n_rows:
                raise DataFileError(f"{path} has {len(contents.row_names)} names of rows for {view.n_rows} rows")
        return contents


def _accepted() -> str:
    return f"names of data files end in one of {', '.join(sorted(_READERS))}"


def _with_different_names(views: list[FileView]) -> list[FileView]:
    """Tell views of one name apart by their files, and where that does not do, by their numbers."""
    counts = Counter(view.name for view in views)
    named = [replace(v, name=f"{v.path.name}:{v.name}") if counts[v.name] > 1 else v for v in views]
    counts = Counter(view.name for view in named)
    return [
        replace(view, name=f"{view.name} ({number})") if counts[view.name] > 1 else view
        for number, view in enumerate(named)
    ]


def _check_row_counts(views: list[FileView], found: Sequence[FileContents]) -> None:
    first = views[0]
    for view in views[1:]:
        if view.n_rows != first.n_rows:
            raise DataFileError(
                f"{view.path} has {view.n_rows} rows in {view.name!r}, but {first.path} has {first.n_rows} in "
                f"{first.name!r}; all views must have the same rows in the same order"
            )
    for contents in found:
        if contents.labels is not None and len(contents.labels.codes) != first.n_rows:
            count = len(contents.labels.codes)
            where = f"{contents.views[0].path}: {contents.labels.column!r}"
            raise DataFileError(f"{where} has {count} labels, but there are {first.n_rows} rows")
    _check_row_names(found)


def _check_row_names(found: Sequence[FileContents]) -> None:
    """Refuse files that name the same rows otherwise, or in another order."""
    named = [(contents.views[0].path, contents.row_names) for contents in found if contents.row_names is not None]
    for path, names in named[1:]:
        first_path, first_names = named[0]
        differ = np.flatnonzero(names != first_names)
        if len(differ):
            row = int(differ[0])
            raise DataFileError(
                f"row {row} is {str(names[row])!r} in {path}, but {str(first_names[row])!r} in {first_path}; bring the "
                "rows into one order"
            )


def _check_finite(views: list[FileView]) -> None:
    """Refuse missing values and infinity; readers look at their rows themselves, as they read them."""
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
