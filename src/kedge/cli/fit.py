"""``kedge fit``: clusters of the rows of data files, in a folder of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn import config_context, get_config

from kedge.cli.label_tables import describe_layers, write_labels, write_layers
from kedge.cli.run_folder import check_place, new_folder
from kedge.cli.run_record import MODEL_FILE, REPORT_FILE, RUN_FILE, describe_run, to_json
from kedge.cli.summary import print_summary
from kedge.data_files import DataFiles, read_data_files
from kedge.model_files import save
from kedge.msgl import MSGL
from kedge.plots.numbers.layers import Layer, layers_of
from kedge.progress import show_progress
from kedge.sgl import SGL


@dataclass(frozen=True)
class FitOptions:
    """What the command line says about a fit, as it was typed."""

    k: str = "auto"
    columns: str | None = None
    drop: str | None = None
    label_column: str | None = None
    alpha: str | None = None
    beta: str | None = None
    anchors: str | None = None
    structure: str | None = None
    seed: int = 0
    memory: float | None = None
    threads: int | None = None


def fit_files(
    data: Sequence[Path], options: FitOptions, *, out: Path, report: bool, as_json: bool, overwrite: bool
) -> int:
    """Read, fit, write the folder of the run, say what was found, and return the exit code."""
    out = out.absolute()
    check_place(out, overwrite=overwrite)
    write_report = _report_writer() if report else None
    parameters = _parameters(options)
    started, clock = datetime.now(UTC), perf_counter()
    with show_progress(0 if as_json else 1) as progress:
        files = read_data_files(
            data,
            columns=options.columns,
            drop=options.drop,
            label_column=options.label_column,
            memory=options.memory,
            progress=progress,
        )
    seconds, clock = {"read": perf_counter() - clock}, perf_counter()
    with config_context(working_memory=_working_memory(options.memory)):
        model = _fit(files, parameters, verbose=0 if as_json else 1)
    seconds["fit"], clock = perf_counter() - clock, perf_counter()
    # Not before: what is killed during the fit leaves nothing at all.
    with new_folder(out, overwrite=overwrite) as folder:
        layers = layers_of(model)
        _write_results(folder, files, model, layers)
        run = describe_run(files, model, started, seconds) | {"layers": describe_layers(model, layers)}
        if write_report is not None:
            write_report(
                folder / REPORT_FILE,
                model,
                files.matrices if files.in_memory else None,
                view_names=files.view_names,
                feature_names=files.feature_names,
                row_names=files.row_names,
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


def _parameters(options: FitOptions) -> dict[str, Any]:
    """Return the parameters of the estimator that were given."""
    given: dict[str, Any] = {
        "n_clusters": _count_or_auto(options.k, "-k"),
        "random_state": options.seed,
        "n_jobs": options.threads,
    }
    if options.alpha is not None:
        given["alpha"] = _number_or_auto(options.alpha, "--alpha")
    if options.beta is not None:
        given["beta"] = _number_or_auto(options.beta, "--beta")
    if options.anchors is not None:
        given["n_anchors"] = _count_or_auto(options.anchors, "--anchors")
    if options.structure is not None:
        if options.structure not in ("soft", "exact"):
            raise ValueError(f"--structure must be soft or exact: {options.structure!r}")
        given["structure"] = options.structure
    if not 0 <= options.seed < 2**32:
        raise ValueError(f"--seed must be a whole number from 0 to {2**32 - 1}: {options.seed}")
    return given


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
            write_layers(file, suffix, layers, files.row_names)
    save(model, folder / MODEL_FILE)


def _working_memory(gigabytes: float | None) -> int:
    """Return what blocks of rows may take together, in MiB: a quarter of the budget."""
    usual = int(get_config()["working_memory"])
    return usual if gigabytes is None else max(1, min(usual, int(256 * gigabytes)))


def _count_or_auto(text: str, option: str) -> int | str:
    if text == "auto":
        return text
    if not (text.isdecimal() and text.isascii() and len(text) < 10 and int(text) > 0):
        raise ValueError(f"{option} must be a whole number above zero, or auto: {text!r}")
    return int(text)


def _number_or_auto(text: str, option: str) -> float | str:
    if text == "auto":
        return text
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not (np.isfinite(number) and number >= 0):
        raise ValueError(f"{option} must be a number that is not negative, or auto: {text!r}")
    return number


def _report_writer() -> Any:
    from kedge.report import write_report

    return write_report
