"""``kedge fit``: clusters of the rows of data files, in a folder of their own."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from sklearn import config_context, get_config

from kedge.cli.run_folder import (
    MODEL_FILE,
    REPORT_FILE,
    RUN_FILE,
    check_place,
    describe_layers,
    describe_run,
    new_folder,
    to_json,
    write_columns,
    write_labels,
)
from kedge.model_files import save
from kedge.msgl import MSGL
from kedge.plots.layer_tree import Layer, layers_of
from kedge.progress import show_progress
from kedge.readers.contents import DataFiles
from kedge.readers.open import read_data_files
from kedge.sgl import SGL

_MOST_SIZES = 20
_MOST_LINES = 6


def fit_files(
    data: Sequence[Path],
    reading: dict[str, Any],
    parameters: dict[str, Any],
    *,
    out: Path,
    report: bool,
    as_json: bool,
    overwrite: bool,
) -> int:
    """Read, fit, write the folder of the run, say what was found, and return the exit code."""
    out = out.absolute()
    check_place(out, overwrite=overwrite)
    if report:
        # Before the fit: what the report needs may not be installed.
        from kedge.report import write_report
    started, clock = datetime.now(UTC), perf_counter()
    with show_progress(0 if as_json else 1) as progress:
        files = read_data_files(data, **reading, progress=progress)
    seconds, clock = {"read": perf_counter() - clock}, perf_counter()
    with config_context(working_memory=_working_memory(reading["memory"])):
        model = _fit(files, parameters, verbose=0 if as_json else 1)
    seconds["fit"], clock = perf_counter() - clock, perf_counter()
    # Not before: what is killed during the fit leaves nothing at all.
    with new_folder(out, overwrite=overwrite) as folder:
        layers = layers_of(model)
        _write_results(folder, files, model, layers)
        run = describe_run(files, model, started, seconds) | {"layers": describe_layers(model, layers)}
        if report:
            write_report(
                folder / REPORT_FILE,
                model,
                files.matrices if files.in_memory else None,
                view_names=files.view_names,
                feature_names=files.feature_names,
                row_names=None if files.row_names is None else files.row_names.tolist(),
                true_labels=None if files.labels is None else files.labels.values,
                image_shape=[view.image_shape for view in files.views],
                run=run,
            )
        run["seconds"]["write"] = round(perf_counter() - clock, 3)
        (folder / RUN_FILE).write_text(to_json(run, indent=2) + "\n", encoding="utf-8")
    sizes = np.bincount(np.asarray(model.labels_), minlength=int(model.n_clusters_)).tolist()
    if as_json:
        print(to_json(run | {"cluster_sizes": sizes, "left_out": files.left_out, "out": str(out)}))
    else:
        print_summary(run, sizes, files.left_out, out)
    return 0


def _fit(files: DataFiles, parameters: dict[str, Any], *, verbose: int) -> Any:
    """Fit SGL to one view, MSGL to several; names of columns stay with the model."""
    several = len(files.views) > 1
    estimator: Any = MSGL if several else SGL
    model = estimator(**parameters, verbose=verbose)
    if several:
        model.fit(dict(zip(files.view_names, files.matrices, strict=True)), observed=files.observed)
    else:
        model.fit(files.matrices[0])
    model.set_params(verbose=0)
    names = files.feature_names
    if all(one is not None for one in names):
        model.feature_names_in_ = np.array([name for one in names for name in one or []], dtype=object)
    return model


def _write_results(folder: Path, files: DataFiles, model: Any, layers: Sequence[Layer]) -> None:
    labels = np.asarray(model.labels_)
    confidence = None if model.confidence_ is None else np.asarray(model.confidence_)
    for suffix in (".csv", ".parquet"):
        with (folder / f"labels{suffix}").open("wb") as file:
            write_labels(file, suffix, labels, files.row_names, confidence)
        with (folder / f"layers{suffix}").open("wb") as file:
            # One column per layer, finest first.
            columns = {f"clusters_{layer.n_clusters}": layer.labels for layer in layers}
            write_columns(file, suffix, columns, files.row_names)
    save(model, folder / MODEL_FILE)


def _working_memory(gigabytes: float | None) -> int:
    """Return what blocks of rows may take together, in MiB: a quarter of the budget."""
    usual = int(get_config()["working_memory"])
    return usual if gigabytes is None else max(1, min(usual, int(256 * gigabytes)))


def print_summary(run: Mapping[str, Any], sizes: Sequence[int], left_out: Sequence[str], out: Path) -> None:
    """Print rows, views, clusters, scores and where the results are."""
    lines = [("rows", f"{run['n_rows']:,}")]
    lines += _shortened([("view", _view_words(view)) for view in run["data"]], "views")
    shown = ", ".join(f"{size:,}" for size in sizes[:_MOST_SIZES])
    more = f" and {len(sizes) - _MOST_SIZES} more" if len(sizes) > _MOST_SIZES else ""
    lines += [("clusters", str(run["n_clusters"])), ("sizes", f"{shown}{more}")]
    if run["labels_given"] is not None:
        scores = run["labels_given"]["scores"].items()
        words = ", ".join(f"{name} {value:.3f}" for name, value in scores)
        lines.append((f"against {run['labels_given']['column']}", words))
    lines += _shortened([("left out", text) for text in left_out], "things left out")
    seconds = run["seconds"]
    lines.append(("seconds", ", ".join(f"{name} {value:.1f}" for name, value in seconds.items())))
    lines.append(("written to", str(out)))
    if (out / REPORT_FILE).exists():
        lines.append(("report", str(out / REPORT_FILE)))
    _print_lines(lines)


def _print_lines(lines: Sequence[tuple[str, str]]) -> None:
    """Print a name and a text per line; folded on a terminal, in one piece where a program reads them."""
    console = Console(highlight=False)
    if not console.is_terminal:
        width = max(len(name) for name, _ in lines)
        for name, text in lines:
            print(f"{name:<{width}}  {text}")
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, text in lines:
        table.add_row(escape(name), escape(text))
    console.print(table)


def _view_words(view: Mapping[str, Any]) -> str:
    return f"{view['name']}, {view['n_columns']:,} columns, from {Path(view['path']).name}"


def _shortened(lines: list[tuple[str, str]], what: str) -> list[tuple[str, str]]:
    if len(lines) <= _MOST_LINES:
        return lines
    return [*lines[:_MOST_LINES], ("", f"and {len(lines) - _MOST_LINES} more {what}")]
