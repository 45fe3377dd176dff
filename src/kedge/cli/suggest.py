"""``kedge suggest``: the rows of a run whose classes are worth asking for."""

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np

from kedge.cli.predict import load_fitted
from kedge.cli.run_folder import read_row_names


def suggest_rows(run_dir: Path, n_rows: int) -> int:
    """Print the rows with what the model takes them for, as CSV, and return the exit code."""
    model = load_fitted(run_dir)
    if not hasattr(model, "rows_to_label"):
        raise ValueError(f"{run_dir} holds a {type(model).__name__}, which cannot tell which rows are worth a label")
    rows = model.rows_to_label(n_rows)
    names = read_row_names(run_dir, len(model.labels_)) if run_dir.is_dir() else None
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["row", "label", "confidence"])
    labels, confidence = _guesses(model)
    for row in rows.tolist():
        table.writerow([row if names is None else names[row], labels[row], f"{confidence[row]:.3f}"])
    return 0


def _guesses(model: Any) -> tuple[Any, Any]:
    """Return the class or cluster of each row, and how sure it is."""
    if hasattr(model, "classes_"):
        return model.transduction_, model.label_distributions_.max(axis=1)
    return np.asarray(model.labels_), np.asarray(model.confidence_)
