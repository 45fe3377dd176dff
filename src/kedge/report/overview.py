"""The opening paragraphs, with what was found and how sure it is; and the section of parameters, data and versions."""

import platform
from inspect import signature
from typing import Any

import numpy as np
from scipy import sparse

from kedge.optional_libraries import installed_version
from kedge.plots.fitted_model import DOUBTFUL, cluster_sizes_of
from kedge.report.markup import Section, counted, escape, folded, percent, table
from kedge.report.material import Material

LIBRARIES = ("kedge", "numpy", "scipy", "scikit-learn")


def overview(material: Material) -> str:
    """Return the opening paragraphs."""
    opening = f"<p>{_what_was_found(material)} {_how_sure(material)}</p>"
    if material.views is not None:
        return opening
    reason = material.run.get("data_missing")
    why = f" ({escape(reason, 300)})" if reason else ""
    return (
        f'{opening}<p class="note" role="note">The data was not at hand when this page was written{why}, so it does '
        f"not show which features distinguish the clusters, nor images or features of single rows. Everything else "
        f"comes from the model.</p>"
    )


def _what_was_found(material: Material) -> str:
    model, sizes = material.model, cluster_sizes_of(material.model)
    described = counted(int(model.n_features_in_), "feature")
    if len(material.view_names) > 1:
        names = ", ".join(escape(name) for name in material.view_names)
        described = f"{described} in {counted(len(material.view_names), 'view')} ({names})"
    spread = f" The smallest holds {counted(int(sizes.min()), 'row')} and the largest {sizes.max():,}."
    who = "chosen from the data" if model.n_clusters == "auto" else "as requested"
    return (
        f"{type(model).__name__} put {counted(len(material.labels), 'row')} with {described} into "
        f"<strong>{counted(material.n_clusters, 'cluster')}</strong> ({who}), using the weights between each row "
        f"and {counted(len(model.anchor_labels_), 'anchor')}.{spread if material.n_clusters > 1 else ''}"
    )


def _how_sure(material: Material) -> str:
    if material.confidence is None:
        return "The confidence of the labels is not known: a fit as published does not measure it."
    doubtful = int((material.confidence < DOUBTFUL).sum())
    if doubtful == 0:
        return f"No row has a confidence below {DOUBTFUL:g}: no other cluster comes close among the rows around it."
    return (
        f"<strong>{percent(doubtful / len(material.labels))} of the rows</strong> ({doubtful:,}) "
        f"{'has' if doubtful == 1 else 'have'} a confidence below {DOUBTFUL:g}: another cluster holds more than half "
        f"as much of the rows around them as their own. These labels are worth a look."
    )


def parameters(material: Material) -> Section:
    """List what it takes to run the same fit again."""
    model, run, name = material.model, material.run, type(material.model).__name__
    own, usual = model.get_params(), signature(type(model)).parameters
    given = [(key, _in_words(value)) for key, value in own.items() if not _same(value, usual[key].default)]
    section = Section("parameters", "Parameters and versions")
    if given:
        section.say(f"{name} with these parameters; all others have their defaults.")
        section.tabulate("Parameters that were set", ("parameter", "value"), given, numbers_from=2)
    else:
        section.say(f"{name} with default parameters.")
    everything = [(key, _in_words(value)) for key, value in sorted(own.items())]
    listed = table("All parameters", ("parameter", "value"), everything, numbers_from=2)
    section.body += folded("All parameters", listed)
    if isinstance(run.get("data"), list) and run["data"]:
        rows = [tuple(one.get(key, "") for key in ("name", "path", "n_rows", "n_columns")) for one in run["data"]]
        section.tabulate("Data", ("view", "file", "rows", "columns"), rows, numbers_from=2)
    times = [("started", str(run["started"]))] if "started" in run else []
    if isinstance(run.get("seconds"), dict):
        times += [(stage, f"{value:.2f} seconds") for stage, value in run["seconds"].items() if value is not None]
    if times:
        section.tabulate("Times", ("step", "time"), times, numbers_from=2)
    # The versions of the run; if it has no record, those that are installed now.
    versions = [("python", platform.python_version()), *((name, installed_version(name)) for name in LIBRARIES)]
    if isinstance(run.get("versions"), dict) and run["versions"]:
        versions = list(({"kedge": run.get("kedge", "not recorded")} | run["versions"]).items())
    return section.tabulate("Versions", ("library", "version"), versions, numbers_from=2)


def _in_words(value: Any) -> str:
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        return f"array of shape {tuple(value.shape)}"
    if isinstance(value, list) and value and all(hasattr(one, "shape") for one in value):
        return "arrays of shapes " + ", ".join(str(tuple(one.shape)) for one in value)
    return repr(value)


def _same(value: Any, usual: Any) -> bool:
    return type(value) is type(usual) and not hasattr(value, "shape") and repr(value) == repr(usual)
