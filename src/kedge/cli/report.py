"""``kedge report``: the page about a run, from the folder of the run."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

from kedge.cli.run_folder import LABELS_FILE, MODEL_FILE, REPORT_FILE, RUN_FILE
from kedge.model_files import load
from kedge.readers.columns import FittedColumns
from kedge.readers.contents import DataFileError, DataFiles
from kedge.readers.open import read_data_files
from kedge.report import write_report


def write_run_report(run_dir: Path) -> int:
    """Write ``report.html`` into the folder of a run, say where it is, and return the exit code.

    The data are read again from where they were; if they are gone or have changed, the page does without and says so.
    """
    run = _read_record(run_dir)
    model_path = run_dir / MODEL_FILE
    if not model_path.is_file():
        raise ValueError(f"{run_dir} holds no {MODEL_FILE}; give a folder that kedge fit wrote")
    model = load(model_path)
    files, reason = _read_data_again(run)
    if files is None:
        print(f"kedge report: the data are not used: {reason}", file=sys.stderr)
        run = run | {"data_missing": reason}
    write_page(run_dir, model, files, run, _row_names(run_dir, int(run["n_rows"])))
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
        true_labels=None if labels is None else labels.values,
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
    labels = (run.get("labels_given") or {}).get("column")
    try:
        files = read_data_files(paths, columns=FittedColumns(named) if named else None, label_column=labels)
    except DataFileError as error:
        return None, str(error)
    found = [(view.n_rows, view.n_columns) for view in files.views]
    recorded = [(one.get("n_rows"), one.get("n_columns")) for one in run["data"]]
    if found != recorded:
        return None, f"{paths[0]} has changed since: rows and columns of the views are {found}, but were {recorded}"
    return files, ""


def _row_names(run_dir: Path, n_rows: int) -> list[str] | None:
    """Return the names of the rows from the table of labels; None if they are only numbers, or the table is gone."""
    path = run_dir / LABELS_FILE
    if not path.is_file():
        return None
    with path.open(newline="", encoding="utf-8") as file:
        names = [line[0] for line in csv.reader(file) if line][1:]
    if len(names) != n_rows or all(name == str(row) for row, name in enumerate(names)):
        return None
    return names
