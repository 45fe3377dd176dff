"""The folder of a run: labels and layers as tables, the record in JSON, and how the folder appears in one step."""

import contextlib
import json
import os
import platform
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from kedge.metrics import clustering_accuracy, nmi, purity
from kedge.optional_libraries import load_library
from kedge.plots.layer_tree import Layer
from kedge.readers.contents import DataFiles

RUN_FILE = "run.json"
MODEL_FILE = "model.kedge"
REPORT_FILE = "report.html"
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "pyarrow", "h5py")
_ROWS_AT_ONCE = 1 << 17
_SUFFIX = ".kedge-partial"
_LOCK = ".lock"
# Waits until the other end of its input is closed, as the system does when a process is killed; then puts an earlier
# run back that was being replaced, and removes what was not finished.
_CLEAN_UP = 'cat > /dev/null; [ -e "$2" ] || [ ! -e "$3" ] || mv "$3" "$2"; rm -rf "$1" "$3"'


def check_place(out: Path, *, overwrite: bool) -> None:
    """Refuse a place where the folder cannot be put, before any work is done."""
    if not out.parent.is_dir():
        raise ValueError(f"--out: there is no folder {out.parent}; make it first")
    if not os.access(out.parent, os.W_OK | os.X_OK):
        raise ValueError(f"--out: nothing can be written to {out.parent}; choose another folder")
    if not os.path.lexists(out):
        return
    if out.is_symlink() or not out.is_dir():
        raise ValueError(f"--out: {out} is no folder; choose another name")
    if not overwrite and any(out.iterdir()):
        raise ValueError(f"--out: {out} exists; choose another folder, or replace it with --overwrite")
    # Nothing but what a run left is ever removed.
    if any(out.iterdir()) and not (out / RUN_FILE).is_file():
        raise ValueError(f"--out: {out} holds other things than a run of kedge, so it is not replaced")


@contextmanager
def new_folder(out: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield an empty folder beside ``out`` that takes its place at the end; after an error nothing of it is left."""
    check_place(out, overwrite=overwrite)
    _remove_stale(out)
    partial = out.with_name(f".{out.name}.{secrets.token_hex(6)}{_SUFFIX}")
    with watched(partial, out, _replaced(partial)):
        partial.mkdir()
        try:
            with (partial / _LOCK).open("w") as lock:
                _try_lock(lock.fileno())
                yield partial
                check_place(out, overwrite=overwrite)
                (partial / _LOCK).unlink()
                _put_in_place(partial, out)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def watched(partial: Path, out: Path, old: Path) -> Iterator[None]:
    """Have another process clear up after this one if it is killed; where there is no shell, the next run does."""
    shell = shutil.which("sh")
    if shell is None or sys.platform == "win32":
        yield
        return
    command = [shell, "-c", _CLEAN_UP, "kedge-clean-up", *(str(path.absolute()) for path in (partial, out, old))]
    # In a session of its own, so that what ends this process by the group or the terminal does not end it as well.
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    ):
        yield


def _replaced(partial: Path) -> Path:
    return partial.with_name(f"{partial.name}-old")


def _put_in_place(partial: Path, out: Path) -> None:
    if not out.exists():
        partial.rename(out)
        return
    old = _replaced(partial)
    out.rename(old)
    try:
        partial.rename(out)
    except OSError:
        old.rename(out)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _remove_stale(out: Path) -> None:
    """Remove what runs left that were killed: their locks are free."""
    for partial in out.parent.glob(f".{out.name}.*{_SUFFIX}"):
        lock = partial / _LOCK
        if not lock.is_file():
            continue
        with contextlib.suppress(OSError), lock.open("r+") as file:
            if _try_lock(file.fileno()):
                shutil.rmtree(partial, ignore_errors=True)


if sys.platform == "win32":

    def _try_lock(descriptor: int) -> bool:
        """Without such locks nothing is known to be stale."""
        return False

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        """Take the lock, which the system frees when the process ends, however it ends."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


def describe_run(files: DataFiles, model: Any, started: datetime, seconds: Mapping[str, float]) -> dict[str, Any]:
    """Return the record: versions, data, parameters, and scores where labels were kept aside."""
    labels, given = files.labels, None
    if labels is not None:
        scores = {"accuracy": clustering_accuracy, "nmi": nmi, "purity": purity}
        found = {name: float(score(labels.codes, model.labels_)) for name, score in scores.items()}
        given = {"column": labels.column, "scores": found}
    versions = {name: installed(name) for name in _LIBRARIES if installed(name) is not None}
    return {
        "kedge": version("kedge"),
        "versions": {"python": platform.python_version()} | versions,
        "started": started.isoformat(timespec="seconds"),
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
        "data": [
            {
                "name": view.name,
                "path": str(view.path),
                "kind": view.kind,
                "n_rows": view.n_rows,
                "n_columns": view.n_columns,
                "feature_names": view.feature_names,
                "image_shape": None if view.image_shape is None else list(view.image_shape),
            }
            for view in files.views
        ],
        "estimator": type(model).__name__,
        "parameters": model.get_params(deep=False),
        "n_rows": files.n_rows,
        "n_clusters": int(model.n_clusters_),
        "labels_given": given,
    }


def to_json(record: Mapping[str, Any], *, indent: int | None = None) -> str:
    """Return a record as JSON; numbers of NumPy become plain ones, what is no JSON becomes text."""

    def plain(value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)

    return json.dumps(record, indent=indent, ensure_ascii=False, default=plain)


def installed(name: str) -> str | None:
    """Return the version of a library; None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def write_labels(
    file: BinaryIO,
    suffix: str,
    labels: NDArray[np.int64],
    row_names: NDArray[Any] | None,
    confidence: NDArray[np.floating[Any]] | None = None,
) -> None:
    """Write a table with the columns row and label, and confidence where there is any; .npy takes the labels alone.

    Without names of the rows, their numbers are written.
    """
    if suffix == ".npy":
        np.save(file, labels)
        return
    columns: dict[str, NDArray[Any]] = {"label": np.asarray(labels, dtype=np.int64)}
    if confidence is not None:
        columns["confidence"] = np.asarray(confidence, dtype=np.float64)
    write_columns(file, suffix, columns, row_names)


def write_columns(
    file: BinaryIO, suffix: str, columns: Mapping[str, NDArray[Any]], row_names: NDArray[Any] | None
) -> None:
    """Write a table with the names of the rows, or their numbers, and one or more columns of numbers."""
    pa = load_library("pyarrow", "cli", "writing labels")
    fields = {"row": pa.int64() if row_names is None else pa.string()}
    schema = pa.schema(fields | {name: pa.from_numpy_dtype(values.dtype) for name, values in columns.items()})
    if suffix == ".parquet":
        opened = load_library("pyarrow.parquet", "cli", "writing labels").ParquetWriter(file, schema)
    else:
        csv = load_library("pyarrow.csv", "cli", "writing labels")
        opened = csv.CSVWriter(file, schema, write_options=csv.WriteOptions(quoting_style="needed"))
    n_rows = len(next(iter(columns.values())))
    with opened as writer:
        for start in range(0, n_rows, _ROWS_AT_ONCE):
            rows = slice(start, min(start + _ROWS_AT_ONCE, n_rows))
            names: Any = np.arange(rows.start, rows.stop) if row_names is None else row_names[rows].tolist()
            piece = {"row": names} | {name: values[rows] for name, values in columns.items()}
            writer.write_table(pa.table(piece, schema=schema))


def describe_layers(model: Any, layers: Sequence[Layer]) -> dict[str, Any]:
    """Return the record of the layers: which clusters become one from each layer to the next coarser one."""
    merges = []
    for layer, coarser in pairwise(layers):
        groups = [np.flatnonzero(layer.parents == cluster).tolist() for cluster in range(coarser.n_clusters)]
        joined = [{"clusters": group, "into": cluster} for cluster, group in enumerate(groups) if len(group) > 1]
        merges.append({"from": layer.n_clusters, "to": coarser.n_clusters, "joined": joined, "loss": layer.loss})
    return {"n_communities": int(model.n_communities_), "merges": merges}
