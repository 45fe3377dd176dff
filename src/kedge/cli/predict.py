"""``kedge predict``: labels of new rows, and how sure they are."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from kedge.cli.run_folder import MODEL_FILE, Options, checked_suffix, class_columns, label_columns, write_table
from kedge.model_files import load
from kedge.readers.columns import FittedColumns
from kedge.readers.contents import DataFileError, DataFiles
from kedge.readers.open import read_data_files
from kedge.whole_file import replace_whole


def predict_files(model_path: Path, data: list[Path], reading: Options, out: Path | None) -> int:
    """Label the rows of data files with a model, write the labels, and return the exit code."""
    suffix = ".csv" if out is None else checked_suffix(out, (".csv", ".parquet", ".npy"))
    model = load_fitted(model_path)
    if reading["columns"] is None and reading["drop"] is None:
        reading = reading | {"columns": _fitted_columns(model)}
    files = read_data_files(data, **reading)
    rows, options = _arguments(model, files)
    columns: dict[str, Any]
    if hasattr(model, "classes_"):
        chances = model.predict_proba(rows, **options)
        labels = model.classes_[chances.argmax(axis=1)]
        columns = class_columns(labels, chances)
    elif getattr(model, "confidence_", None) is None:
        labels = model.predict(rows, **options)
        columns = label_columns(labels, None)
    else:
        labels, confidence = model.predict(rows, return_confidence=True, **options)
        columns = label_columns(labels, confidence)
    with nullcontext(sys.stdout.buffer) if out is None else replace_whole(out) as file:
        if suffix == ".npy":
            np.save(file, labels)
        else:
            write_table(file, suffix, columns, files.row_names)
        file.flush()
    if out is not None:
        print(f"{len(labels):,} labels written to {out}")
    return 0


def load_fitted(path: Path) -> Any:
    """Load a model from its file or from the folder of its run."""
    file = path / MODEL_FILE if path.is_dir() else path
    if not file.exists():
        raise ValueError(f"there is no model {file}; give the folder of a run, or a file that kedge.save wrote")
    model = load(file)
    if not hasattr(model, "labels_"):
        raise ValueError(f"{file} holds a {type(model).__name__} that was not fitted")
    if not hasattr(model, "predict"):
        raise ValueError(f"{file} holds a {type(model).__name__}, which cannot label new rows")
    return model


def _has_separate_views(model: Any) -> bool:
    return hasattr(model, "view_widths_") and not hasattr(model, "view_columns_")


def _fitted_columns(model: Any) -> FittedColumns | None:
    """Return the names of the columns of the fit by view; None if the fit saw no names."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return None
    views, widths = (model.view_names_, model.view_widths_) if _has_separate_views(model) else (["X"], [len(names)])
    by_view = np.split(np.asarray(names, dtype=object), np.cumsum(widths)[:-1])
    return FittedColumns({view: list(map(str, own)) for view, own in zip(views, by_view, strict=True)})


def _arguments(model: Any, files: DataFiles) -> tuple[Any, dict[str, Any]]:
    """Return X and further arguments of ``predict``; views go by name, or by place if a name is new to the model."""
    is_single = not _has_separate_views(model)
    if is_single and len(files.views) > 1:
        raise DataFileError(f"{files.views[1].path}: the model was fitted on one view; give one file")
    known, widths = (["X"], [model.n_features_in_]) if is_single else (list(model.view_names_), model.view_widths_)
    names = files.view_names if set(files.view_names) <= set(known) else known
    if len(names) != len(files.views):
        raise DataFileError(
            f"the model was fitted on {len(known)} views ({', '.join(map(repr, known))}), but {files.views[0].path} "
            f"and the other files hold {len(files.views)}; give all of them in the same order"
        )
    places = [known.index(name) for name in names]
    for view, place in zip(files.views, places, strict=True):
        if view.n_columns != widths[place]:
            raise DataFileError(
                f"{view.path} has {view.n_columns} columns, but the model was fitted on {widths[place]}; choose them "
                "with --columns or --drop"
            )
    if is_single:
        return files.matrices[0], {}
    rows = dict(zip(names, files.matrices, strict=True))
    if files.observed is None:
        return rows, {}
    observed = np.zeros((files.n_rows, len(known)), dtype=bool)
    observed[:, places] = files.observed
    return rows, {"observed": observed}
