"""Parameters, data, times and versions."""

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from scipy import sparse

from kedge.report.markup import Section, folded, paragraph, table
from kedge.report.material import Material

LIBRARIES = ("kedge", "numpy", "scipy", "scikit-learn")


def parameters(material: Material) -> Section:
    """Return what one needs to run the same again."""
    model, run = material.model, material.run
    usual = type(model)().get_params()
    given = {name: value for name, value in model.get_params().items() if not _same(value, usual[name])}
    words = f"{type(model).__name__} with these parameters; all others are the defaults."
    body = paragraph(words) if given else paragraph(f"{type(model).__name__} with default parameters.")
    if given:
        rows = [(name, in_words(value)) for name, value in given.items()]
        body += table("Parameters that were set", ("parameter", "value"), rows, numbers_from=2)
    everything = [(name, in_words(value)) for name, value in sorted(model.get_params().items())]
    body += folded("All parameters", table("All parameters", ("parameter", "value"), everything, numbers_from=2))
    if isinstance(run.get("data"), list) and run["data"]:
        rows = [tuple(one.get(key, "") for key in ("name", "path", "n_rows", "n_columns")) for one in run["data"]]
        body += table("Data", ("view", "file", "rows", "columns"), rows, numbers_from=2)
    times = _times(run)
    if times:
        body += table("Times", ("what", "when or how long"), times, numbers_from=2)
    body += table("Versions", ("library", "version"), _versions(run), numbers_from=2)
    return Section("parameters", "Parameters and versions", body)


def in_words(value: Any) -> str:
    """Return a parameter in a few words."""
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        return f"array of shape {tuple(value.shape)}"
    if isinstance(value, list) and value and all(hasattr(one, "shape") for one in value):
        return "arrays of shapes " + ", ".join(str(tuple(one.shape)) for one in value)
    return repr(value)


def _same(value: Any, usual: Any) -> bool:
    return type(value) is type(usual) and not hasattr(value, "shape") and repr(value) == repr(usual)


def _times(run: dict[str, Any]) -> list[tuple[str, str]]:
    times = [("started", str(run["started"]))] if "started" in run else []
    seconds = run.get("seconds")
    if isinstance(seconds, dict):
        times += [(str(stage), f"{value:.2f} seconds") for stage, value in seconds.items() if value is not None]
    return times


def _versions(run: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the versions of the run, or those at hand."""
    recorded = run.get("versions")
    if isinstance(recorded, dict) and recorded:
        found = {"kedge": run.get("kedge", "not recorded")} | recorded
        return [(str(name), str(number)) for name, number in found.items()]
    return [("python", platform.python_version()), *((name, _installed(name)) for name in LIBRARIES)]


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
