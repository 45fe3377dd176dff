"""``kedge predict``: labels of new rows, and how sure they are."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.cli.run_folder import MODEL_FILE, write_labels
from kedge.model_files import load
from kedge.readers.columns import FittedColumns
from kedge.readers.contents import DataFileError, DataFiles
from kedge.readers.open import read_data_files
from kedge.whole_file import replace_whole

_SUFFIXES = (".csv", ".parquet", ".npy")


def predict_files(
    model_path: Path,
    data: Sequence[Path],
    *,
    out: Path | None,
    columns: str | None,
    drop: str | None,
    memory: float | None,
) -> int:
    """Label the rows of data files by a model, write the labels, and return the exit code."""
    suffix = ".csv" if out is None else _label_suffix(out)
    model = _load_model(model_path)
    by_name = _fitted_columns(model) if columns is None and drop is None else None
    files = read_data_files(data, columns=by_name or columns, drop=drop, memory=memory)
    rows = _rows_for(model, files)
    observed = _observed_by_view(model, files)
    labels, confidence = _label(model, rows, {} if observed is None else {"observed": observed})
    if out is None:
        write_labels(sys.stdout.buffer, suffix, labels, files.row_names, confidence)
        sys.stdout.flush()
        return 0
    with replace_whole(out) as file:
        write_labels(file, suffix, labels, files.row_names, confidence)
    print(f"{len(labels):,} labels written to {out}")
    return 0


def _label_suffix(path: Path) -> str:
    """Return the format that a name asks for; an error if it is none of those that are written."""
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise ValueError(f"--out: {path} must end in one of {', '.join(_SUFFIXES)}")
    if not path.parent.is_dir():
        raise ValueError(f"--out: there is no folder {path.parent.absolute()}; make it first")
    return suffix


def _label(model: Any, rows: Any, options: dict[str, Any]) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Return labels, and confidence from models that have any."""
    if getattr(model, "confidence_", None) is None:
        return np.asarray(model.predict(rows, **options)), None
    labels, confidence = model.predict(rows, return_confidence=True, **options)
    return np.asarray(labels), np.asarray(confidence)


def _load_model(path: Path) -> Any:
    """Load a model, given by its file or by the folder of its run."""
    file = path / MODEL_FILE if path.is_dir() else path
    if not file.exists():
        raise ValueError(f"there is no model {file}; give the folder of a run, or a file that kedge.save wrote")
    model = load(file)
    if not hasattr(model, "labels_"):
        raise ValueError(f"{file} holds a {type(model).__name__} that was not fitted")
    if not hasattr(model, "predict"):
        raise ValueError(f"{file} holds a {type(model).__name__}, which cannot label new rows")
    return model


def _fitted_columns(model: Any) -> FittedColumns | None:
    """Return the names of the columns of the fit by view; None if the fit saw no names."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return None
    names = [str(name) for name in names]
    if not _has_separate_views(model):
        return FittedColumns({"X": names})
    ends = np.cumsum(model.view_widths_).tolist()
    starts = [0, *ends[:-1]]
    views = zip(model.view_names_, starts, ends, strict=True)
    return FittedColumns({view: names[start:end] for view, start, end in views})


def _has_separate_views(model: Any) -> bool:
    return hasattr(model, "view_widths_") and not hasattr(model, "view_columns_")


def _rows_for(model: Any, files: DataFiles) -> Any:
    """Return the views in the form that the model was fitted on; an error names the file that does not fit."""
    if not _has_separate_views(model):
        if len(files.views) > 1:
            raise DataFileError(f"{files.views[1].path}: the model was fitted on one view; give one file")
        _check_width(files.views[0], int(model.n_features_in_))
        return files.matrices[0]
    known = list(model.view_names_)
    if all(name in known for name in files.view_names):
        for view in files.views:
            _check_width(view, model.view_widths_[known.index(view.name)])
        return dict(zip(files.view_names, files.matrices, strict=True))
    if len(files.views) != len(known):
        raise DataFileError(
            f"the model was fitted on {len(known)} views ({', '.join(map(repr, known))}), but {files.views[0].path} "
            f"and the other files hold {len(files.views)}; give all of them in the same order"
        )
    for view, width in zip(files.views, model.view_widths_, strict=True):
        _check_width(view, width)
    return files.matrices


def _observed_by_view(model: Any, files: DataFiles) -> NDArray[np.bool_] | None:
    """Return which views of the fit each row has; None if that can be told from the views alone."""
    given = files.observed
    if given is None:
        return None
    known = list(model.view_names_)
    places = [known.index(name) for name in files.view_names] if set(files.view_names) <= set(known) else None
    mask = np.zeros((files.n_rows, len(known)), dtype=bool)
    mask[:, slice(None) if places is None else places] = given
    return mask


def _check_width(view: Any, width: int) -> None:
    if view.n_columns != width:
        raise DataFileError(
            f"{view.path} has {view.n_columns} columns, but the model was fitted on {width}; choose them with "
            "--columns or --drop"
        )
