"""The folder of a run, which appears when everything is written: labels, layers, model, record in JSON, and report."""

import contextlib
import csv
import json
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kedge.model_files import load, save
from kedge.optional_libraries import CORE_LIBRARIES, installed_version, installed_versions, load_library
from kedge.plots.fitted_model import compare_with_classes
from kedge.plots.layer_tree import Layer
from kedge.readers.columns import FittedColumns
from kedge.readers.contents import DataFileError, DataFiles
from kedge.readers.open import read_data_files
from kedge.report import write_report
from kedge.whole_file import try_lock

Options: TypeAlias = dict[str, Any]
RUN_FILE = "run.json"
MODEL_FILE = "model.kedge"
REPORT_FILE = "report.html"
LABELS_FILE = "labels.csv"
_SUFFIX = ".kedge-partial"
_LOCK = ".lock"
# Waits until its input is closed, which happens when this process ends or is killed. Then it restores an earlier run
# that was being replaced, and removes what was not finished.
_CLEAN_UP = 'cat > /dev/null; [ -e "$2" ] || [ ! -e "$3" ] || mv "$3" "$2"; rm -rf "$1" "$3"'


def check_place(out: Path, *, overwrite: bool) -> None:
    """Refuse a place where the folder cannot be written, before any work is done."""
    if not out.parent.is_dir():
        raise ValueError(f"--out: there is no folder {out.parent}; make it first")
    if not os.access(out.parent, os.W_OK | os.X_OK):
        raise ValueError(f"--out: nothing can be written to {out.parent}; choose another folder")
    if not os.path.lexists(out):
        return
    if out.is_symlink() or not out.is_dir():
        raise ValueError(f"--out: {out} is not a folder; choose another name")
    is_empty = not any(out.iterdir())
    if not (overwrite or is_empty):
        raise ValueError(f"--out: {out} exists; choose another folder, or replace it with --overwrite")
    if not (is_empty or (out / RUN_FILE).is_file()):
        raise ValueError(f"--out: {out} holds other things than a run of kedge, so it is not replaced")


def checked_suffix(out: Path, suffixes: Sequence[str]) -> str:
    """Return the suffix of an output file; refuse a suffix or a folder that cannot be written to."""
    if out.suffix.lower() not in suffixes:
        raise ValueError(f"--out: the name of {out} must end in one of {', '.join(suffixes)}")
    if out.is_dir():
        raise ValueError(f"--out: {out} is a folder; give the name of a file")
    if not out.absolute().parent.is_dir():
        raise ValueError(f"--out: there is no folder {out.absolute().parent}; make it first")
    return out.suffix.lower()


@contextmanager
def new_folder(out: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield an empty folder beside ``out`` that takes its place at the end; an error removes it."""
    check_place(out, overwrite=overwrite)
    _remove_stale(out)
    partial = out.with_name(f".{out.name}.{secrets.token_hex(6)}{_SUFFIX}")
    old = partial.with_name(f"{partial.name}-old")
    with watched(partial, out, old):
        partial.mkdir()
        try:
            with (partial / _LOCK).open("w") as lock:
                try_lock(lock)
                yield partial
                check_place(out, overwrite=overwrite)
                (partial / _LOCK).unlink()
                if out.exists():
                    out.rename(old)
                partial.rename(out)
        finally:
            if old.exists() and not out.exists():
                old.rename(out)
            for folder in (partial, old):
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def watched(partial: Path, out: Path, old: Path) -> Iterator[None]:
    """Let another process clean up if this one is killed; without a shell, the next run cleans up."""
    shell = shutil.which("sh")
    if shell is None or sys.platform == "win32":
        yield
        return
    command = [shell, "-c", _CLEAN_UP, "kedge-clean-up", *(str(path.absolute()) for path in (partial, out, old))]
    # In its own session, so that a signal to the group or the terminal does not end it too.
    silent: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **silent, cwd="/", start_new_session=True):
        yield


def _remove_stale(out: Path) -> None:
    """Remove what killed runs left behind; their locks are free. Without locks, nothing counts as left behind."""
    for lock in out.parent.glob(f".{out.name}.*{_SUFFIX}/{_LOCK}"):
        with contextlib.suppress(OSError), lock.open("r+") as file:
            if try_lock(file):
                shutil.rmtree(lock.parent, ignore_errors=True)


def describe_run(
    files: DataFiles, model: Any, started: datetime, seconds: Mapping[str, float], layers: Sequence[Layer]
) -> dict[str, Any]:
    """Return the record: versions, data, parameters, layers, and scores if labels were given."""
    given, classes = None, None
    if files.labels is not None and hasattr(model, "classes_"):
        names, counts = np.unique(model.transduction_, return_counts=True)
        rows = dict(zip(map(str, names.tolist()), counts.tolist(), strict=True))
        classes = {"column": files.labels.column, "labelled": len(model.labelled_rows_), "rows": rows}
    elif files.labels is not None:
        scores = compare_with_classes(model, files.labels.codes).scores
        given = {"column": files.labels.column, "scores": {name.lower(): value for name, value in scores.items()}}
    own = ("name", "kind", "n_rows", "n_columns", "feature_names", "image_shape")
    return {
        "kedge": installed_version("kedge"),
        "versions": installed_versions(*CORE_LIBRARIES, "pyarrow", "h5py"),
        "started": started.isoformat(timespec="seconds"),
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
        "data": [{name: getattr(view, name) for name in own} | {"path": str(view.path)} for view in files.views],
        "estimator": type(model).__name__,
        "parameters": model.get_params(deep=False),
        "n_rows": files.n_rows,
        "n_clusters": int(model.n_clusters_),
        "labels_given": given,
        "classes": classes,
        "layers": _describe_layers(model, layers),
    }


def _describe_layers(model: Any, layers: Sequence[Layer]) -> dict[str, Any]:
    """Return which clusters merge from each layer to the next coarser one, and the modularity that is lost."""
    merges = []
    for layer, coarser in pairwise(layers):
        groups = [np.flatnonzero(layer.parents == cluster).tolist() for cluster in range(coarser.n_clusters)]
        joined = [{"clusters": group, "into": cluster} for cluster, group in enumerate(groups) if len(group) > 1]
        merges.append({"from": layer.n_clusters, "to": coarser.n_clusters, "joined": joined, "loss": layer.loss})
    return {"n_communities": int(model.n_communities_), "merges": merges}


def to_json(record: Mapping[str, Any], *, indent: int | None = None) -> str:
    """Return a record as JSON; NumPy values become plain ones, and what JSON does not know becomes text."""

    def plain(value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)

    return json.dumps(record, indent=indent, ensure_ascii=False, default=plain)


def write_results(folder: Path, files: DataFiles, model: Any, layers: Sequence[Layer]) -> None:
    """Write the labels, the layers (one column each, finest first) and the model."""
    tables = {
        "labels": class_columns(model.transduction_, model.label_distributions_)
        if hasattr(model, "classes_")
        else label_columns(model.labels_, model.confidence_),
        "layers": {f"clusters_{layer.n_clusters}": layer.labels for layer in layers},
    }
    for name, columns in tables.items():
        for suffix in (".csv", ".parquet"):
            with (folder / f"{name}{suffix}").open("wb") as file:
                write_table(file, suffix, columns, files.row_names)
    save(model, folder / MODEL_FILE)


def label_columns(labels: Any, confidence: Any) -> dict[str, NDArray[Any]]:
    """Return the columns of a table of labels, with the confidence unless it is None."""
    columns: dict[str, NDArray[Any]] = {"label": np.asarray(labels, dtype=np.int64)}
    if confidence is not None:
        columns["confidence"] = np.asarray(confidence, dtype=np.float64)
    return columns


def class_columns(classes: Any, chances: NDArray[Any]) -> dict[str, Any]:
    """Return the columns of a table of classes, with the probability of each."""
    return {
        "label": np.asarray(classes).astype(str).tolist(),
        "confidence": np.asarray(chances.max(axis=1), np.float64),
    }


def write_table(file: BinaryIO, suffix: str, columns: Mapping[str, Any], row_names: NDArray[Any] | None) -> None:
    """Write a CSV or Parquet table with the names of the rows, or their numbers, and columns of numbers."""
    pa = load_library("pyarrow", "cli", "writing labels")
    n_rows = len(next(iter(columns.values())))
    rows = np.arange(n_rows) if row_names is None else pa.array(row_names, pa.string())
    table = pa.table({"row": rows, **columns})
    if suffix == ".parquet":
        load_library("pyarrow.parquet", "cli", "writing labels").write_table(table, file)
    else:
        pa_csv = load_library("pyarrow.csv", "cli", "writing labels")
        pa_csv.write_csv(table, file, pa_csv.WriteOptions(quoting_style="needed"))


def write_run_report(run_dir: Path) -> int:
    """Write ``report.html`` into the folder of a run; if the data are gone or changed, the page does without them."""
    run = _read_record(run_dir)
    model_path = run_dir / MODEL_FILE
    if not model_path.is_file():
        raise ValueError(f"{run_dir} holds no {MODEL_FILE}; give a folder that kedge fit wrote")
    model = load(model_path)
    files, reason = _read_data_again(run)
    if files is None:
        print(f"kedge report: the data are not used: {reason}", file=sys.stderr)
        run = run | {"data_missing": reason}
    write_page(run_dir, model, files, run, read_row_names(run_dir, int(run["n_rows"])))
    print(f"report: {run_dir / REPORT_FILE}")
    return 0


def write_page(folder: Path, model: Any, files: DataFiles | None, run: dict[str, Any], row_names: Any) -> None:
    """Write ``report.html`` into a folder, from a model, its data if they are at hand, and the record of the run."""
    labels = None if files is None else files.labels
    if files is not None and not all(view.in_memory for view in files.views):
        files, run = None, run | {"data_missing": "the data are larger than memory"}
    write_report(
        folder / REPORT_FILE,
        model,
        None if files is None else files.matrices,
        view_names=[str(one["name"]) for one in run["data"]],
        feature_names=None if files is None else files.feature_names,
        row_names=row_names,
        true_labels=None if labels is None or hasattr(model, "classes_") else labels.values,
        image_shape=[one.get("image_shape") for one in run["data"]],
        run=run,
    )


def _read_record(run_dir: Path) -> dict[str, Any]:
    path = run_dir / RUN_FILE
    if not path.is_file():
        raise ValueError(f"{run_dir} holds no {RUN_FILE}; give a folder that kedge fit wrote")
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not valid JSON: {error}; fit again") from None
    if not (isinstance(run, dict) and isinstance(run.get("data"), list) and isinstance(run.get("n_rows"), int)):
        raise ValueError(f"{path} is not the record of a run: it lacks 'data' or 'n_rows'; fit again")
    for number, one in enumerate(run["data"]):
        if not (isinstance(one, dict) and isinstance(one.get("name"), str) and isinstance(one.get("path"), str)):
            lacks = f"entry {number} of 'data' lacks 'name' or 'path'"
            raise ValueError(f"{path} is not the record of a run: {lacks}; fit again")
    return run


def _read_data_again(run: dict[str, Any]) -> tuple[DataFiles | None, str]:
    """Return the data of a run, or None and why not."""
    paths = [Path(path) for path in dict.fromkeys(one["path"] for one in run["data"])]
    gone = [path for path in paths if not path.exists()]
    if gone:
        return None, f"{gone[0]} is no longer there"
    named = {one["name"]: one["feature_names"] for one in run["data"] if one.get("feature_names")}
    labels = (run.get("classes") or run.get("labels_given") or {}).get("column")
    options: dict[str, Any] = {"label_column": labels, "all_labelled": run.get("classes") is None}
    try:
        files = read_data_files(paths, columns=FittedColumns(named) if named else None, **options)
    except DataFileError as error:
        return None, str(error)
    found = [(view.n_rows, view.n_columns) for view in files.views]
    recorded = [(one.get("n_rows"), one.get("n_columns")) for one in run["data"]]
    if found != recorded:
        return None, f"{paths[0]} has changed since: rows and columns of the views are {found}, but were {recorded}"
    return files, ""


def read_row_names(run_dir: Path, n_rows: int) -> list[str] | None:
    """Return the names of the rows from the table of labels; None if they are only numbers, or the table is gone."""
    path = run_dir / LABELS_FILE
    if not path.is_file():
        return None
    with path.open(newline="", encoding="utf-8") as file:
        names = [line[0] for line in csv.reader(file) if line][1:]
    if len(names) != n_rows or all(name == str(row) for row, name in enumerate(names)):
        return None
    return names
