"""``kedge fit``: cluster the rows of data files and write the results to a folder."""

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn import config_context, get_config

from kedge.classifier import SGLClassifier
from kedge.cli import run_folder
from kedge.cli.run_folder import Options
from kedge.msgl import MSGL
from kedge.optional_libraries import load_library
from kedge.planning import FitEstimate, may_take_long
from kedge.plots.fitted_model import cluster_sizes_of
from kedge.plots.layer_tree import layers_of
from kedge.progress import show_progress
from kedge.readers.contents import DataFiles
from kedge.readers.open import read_data_files
from kedge.sgl import SGL

# Seconds from which on a fit is announced.
LONG = 60.0
_MOST_SIZES = 20
_MOST_LINES = 6


def fit_files(
    data: list[Path], reading: Options, parameters: Options, *, out: Path, report: bool, as_json: bool, overwrite: bool
) -> int:
    """Read, fit, write the folder of the run, print what was found, and return the exit code."""
    out = out.absolute()
    run_folder.check_place(out, overwrite=overwrite)
    if report:
        # Before the fit, because it may not be installed.
        load_library("plotly", "report", "a report")
    started, clock = datetime.now(UTC), perf_counter()
    with show_progress(0 if as_json else 1) as progress:
        files = read_data_files(data, **reading, progress=progress)
    seconds = {"read": perf_counter() - clock}
    with config_context(working_memory=working_memory(reading["memory"])):
        planned = _planned(files, parameters)
        if planned is not None and planned.seconds > LONG and not as_json:
            print(f"kedge fit: {planned.summary()}; kedge plan shows the parts", file=sys.stderr, flush=True)
        clock = perf_counter()
        model = _fit(files, parameters, verbose=0 if as_json else 1)
    seconds["fit"], clock = perf_counter() - clock, perf_counter()
    # The folder is made after the fit, so that a fit that is killed leaves nothing.
    with run_folder.new_folder(out, overwrite=overwrite) as folder:
        layers = layers_of(model)
        run_folder.write_results(folder, files, model, layers)
        run = run_folder.describe_run(files, model, started, seconds, layers)
        if report:
            run_folder.write_page(
                folder, model, files, run, None if files.row_names is None else files.row_names.tolist()
            )
        if planned is not None:
            run["planned"] = planned.as_dict()
        run["seconds"]["write"] = round(perf_counter() - clock, 3)
        (folder / run_folder.RUN_FILE).write_text(run_folder.to_json(run, indent=2) + "\n", encoding="utf-8")
    sizes = cluster_sizes_of(model).tolist()
    if as_json:
        print(run_folder.to_json(run | {"cluster_sizes": sizes, "left_out": files.left_out, "out": str(out)}))
    else:
        lines = _summary(run, sizes, files.left_out, out)
        width = max(len(name) for name, _ in lines)
        print(*(f"{name:<{width}}  {text}" for name, text in lines), sep="\n")
    return 0


def classifier_parameters(
    parameters: Options, label_column: str | None, use_labels: bool, new_classes: bool
) -> dict[str, Any]:
    """Return the parameters of a classifier; options that only clusters have are refused."""
    if not (use_labels and label_column is not None):
        needs = "--use-labels" if use_labels else "--new-classes"
        raise ValueError(f"{needs} needs {'--label-column' if use_labels else '--use-labels'}")
    refused = [f"--{name}" for name in ("alpha", "beta", "structure") if name in parameters]
    refused += ["-k"] if parameters["n_clusters"] != "auto" else []
    if refused:
        raise ValueError(f"{refused[0]} does not go with --use-labels: classes come from the labels; leave it out")
    kept = {name: value for name, value in parameters.items() if name != "n_clusters"}
    return kept | {"new_classes": "auto" if new_classes else None}


def _planned(files: DataFiles, parameters: Options) -> FitEstimate | None:
    """Return what the fit will take, if it may be long enough for anybody to ask."""
    if "new_classes" in parameters:
        return None
    n_features = sum(view.n_columns for view in files.views)
    if not may_take_long(model_of(files, parameters), files.n_rows, n_features):
        return None
    from kedge.cli.plan import plan_run

    return plan_run(files, parameters)


def _fit(files: DataFiles, parameters: Options, *, verbose: int) -> Any:
    """Fit SGL to one view, MSGL to several, or SGLClassifier to labels; the model keeps the names of columns."""
    if "new_classes" in parameters:
        assert files.labels is not None
        known = np.where(files.labels.values == "-1", "", files.labels.values)
        model: Any = SGLClassifier(**parameters, verbose=verbose)
        model.fit(rows_of(files), known, observed=files.observed)
    elif len(files.views) > 1:
        model = model_of(files, parameters, verbose).fit(rows_of(files), observed=files.observed)
    else:
        model = model_of(files, parameters, verbose).fit(rows_of(files))
    model.set_params(verbose=0)
    names = files.feature_names
    if all(one is not None for one in names):
        model.feature_names_in_ = np.array([name for one in names for name in one or []], dtype=object)
    return model


def model_of(files: DataFiles, parameters: Options, verbose: int = 0) -> Any:
    """Return an estimator for the views of files."""
    return (MSGL if len(files.views) > 1 else SGL)(**parameters, verbose=verbose)


def rows_of(files: DataFiles) -> Any:
    """Return the rows of files: one matrix, or views by name."""
    return dict(zip(files.view_names, files.matrices, strict=True)) if len(files.views) > 1 else files.matrices[0]


def working_memory(gigabytes: float | None) -> int:
    """Return how many MiB all blocks of rows may take together: a quarter of the budget."""
    usual = int(get_config()["working_memory"])
    return usual if gigabytes is None else max(1, min(usual, int(256 * gigabytes)))


def _summary(run: Mapping[str, Any], sizes: Sequence[int], left_out: Sequence[str], out: Path) -> list[tuple[str, str]]:
    """Return lines about rows, views, clusters, scores and where the results are."""
    views = [f"{one['name']}, {one['n_columns']:,} columns, from {Path(one['path']).name}" for one in run["data"]]
    lines = [("rows", f"{run['n_rows']:,}"), *_shortened("view", views, "views")]
    shown = ", ".join(f"{size:,}" for size in sizes[:_MOST_SIZES])
    more = f" and {len(sizes) - _MOST_SIZES} more" if len(sizes) > _MOST_SIZES else ""
    lines += [("clusters", str(run["n_clusters"])), ("sizes", f"{shown}{more}")]
    if run.get("classes") is not None:
        classes = run["classes"]
        counts = ", ".join(f"{name} {count:,}" for name, count in list(classes["rows"].items())[:_MOST_SIZES])
        lines += [("labels", f"{classes['labelled']:,} rows, from {classes['column']}"), ("classes", counts)]
    elif run["labels_given"] is not None:
        scores = ", ".join(f"{name} {value:.3f}" for name, value in run["labels_given"]["scores"].items())
        lines.append((f"against {run['labels_given']['column']}", scores))
    lines += _shortened("left out", left_out, "things left out")
    lines.append(("seconds", ", ".join(f"{name} {value:.1f}" for name, value in run["seconds"].items())))
    lines.append(("written to", str(out)))
    if (out / run_folder.REPORT_FILE).exists():
        lines.append(("report", str(out / run_folder.REPORT_FILE)))
    return lines


def _shortened(name: str, texts: Sequence[str], what: str) -> list[tuple[str, str]]:
    lines = [(name, text) for text in texts[:_MOST_LINES]]
    return lines if len(texts) <= _MOST_LINES else [*lines, ("", f"and {len(texts) - _MOST_LINES} more {what}")]
