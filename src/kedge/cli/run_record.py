"""What a run leaves beside its model: the record of the run, in JSON."""

import json
import platform
from collections.abc import Mapping
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from kedge.metrics import clustering_accuracy, nmi, purity
from kedge.readers.contents import DataFiles

RUN_FILE = "run.json"
MODEL_FILE = "model.kedge"
REPORT_FILE = "report.html"
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "pyarrow", "h5py")


def describe_run(files: DataFiles, model: Any, started: datetime, seconds: Mapping[str, float]) -> dict[str, Any]:
    """Return the record: versions, data, parameters, and scores where labels were kept aside."""
    labels = files.labels
    return {
        "kedge": version("kedge"),
        "versions": {"python": platform.python_version()} | _installed(),
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
        "labels_given": None
        if labels is None
        else {
            "column": labels.column,
            "scores": {
                "accuracy": float(clustering_accuracy(labels.codes, model.labels_)),
                "nmi": float(nmi(labels.codes, model.labels_)),
                "purity": float(purity(labels.codes, model.labels_)),
            },
        },
    }


def to_json(record: Mapping[str, Any], *, indent: int | None = None) -> str:
    """Return a record as JSON; numbers of NumPy become plain ones, what is no JSON becomes text."""
    return json.dumps(record, indent=indent, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def _installed() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
