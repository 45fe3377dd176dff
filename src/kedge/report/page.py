"""The page: ``write_report``, the opening paragraphs, the order of the sections, and how they become one HTML file."""

import os
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from kedge.optional_libraries import load_library
from kedge.plots.fitted_model import DOUBTFUL, cluster_sizes_of
from kedge.report.clusters import cluster_count, confidence, features, layers, prototypes, sizes
from kedge.report.fit_details import graph, objective, parameters, scores, view_weights
from kedge.report.labels import classes, worth_a_label
from kedge.report.markup import Section, counted, escape, percent
from kedge.report.material import Material
from kedge.report.row_map import row_map
from kedge.whole_file import replace_whole

# In the order of the page; a section is None if the fit has no numbers for it.
SECTIONS: tuple[Callable[[Material], Section | None], ...]
SECTIONS = (classes, worth_a_label, sizes, row_map, layers, features, prototypes, confidence, scores, graph)
SECTIONS += (view_weights, objective, cluster_count, parameters)


def write_report(
    path: str | os.PathLike[str],
    model: Any,
    views: Sequence[Any] | None,
    *,
    view_names: Sequence[str],
    feature_names: Sequence[Sequence[str] | None] | None = None,
    row_names: Sequence[Any] | None = None,
    true_labels: Any = None,
    image_shape: Any = None,
    run: dict[str, Any] | None = None,
) -> None:
    """Write one self-contained HTML page about a fitted model.

    The page opens from disk without a network. It shows samples of many rows, so its size stays within some megabytes.

    Parameters
    ----------
    path : path
        The file to write.
    model : SGL, MSGL or SGLClassifier
        The fitted model.
    views : list of matrices, or None
        The rows of the fit, dense or CSR, one matrix per view (a single one for SGL). With None, the page leaves out
        what needs them, and says so.
    view_names : list of str
        One name per view.
    feature_names : list of lists of str, or None, default=None
        Names of the columns of every view; None, for all or for one, means the names seen in fit, or numbers.
    row_names : sequence of shape (n_samples,) or None, default=None
        Names of the rows; None means numbers.
    true_labels : array-like of shape (n_samples,) or None, default=None
        Known classes, to score the clusters by.
    image_shape : (height, width), list of them with one per view, or None, default=None
        If rows are images: show the typical rows of each cluster as images.
    run : dict or None, default=None
        The content of ``run.json`` in a run folder: times, versions, data. Its entry ``data_missing`` may say why
        ``views`` is None.

    Raises
    ------
    ValueError
        If something does not match the model.
    """
    material = Material(model, views, view_names, feature_names, row_names, true_labels, image_shape, run)
    program = load_library("plotly.offline", "report", "a report").get_plotlyjs()
    # This would end the script element.
    page = render_page(material, program.replace("</script", "<\\/script"))
    with replace_whole(Path(path)) as file:
        file.write(page.encode("utf-8", errors="replace"))


def render_page(material: Material, plotly: str) -> str:
    """Return the whole page; its security policy forbids loading, but allows "eval", which Plotly uses to draw fast."""

    def asset(name: str) -> str:
        return files("kedge.report").joinpath(name).read_text(encoding="utf-8").strip()

    sections = [made for make in SECTIONS if (made := make(material)) is not None]
    figures = {name: data for one in sections for name, data in one.figures.items()}
    return Template(asset("page.html") + "\n").substitute(
        title=f"{counted(material.n_clusters, 'cluster')} in {counted(len(material.labels), 'row')}",
        style=asset("page.css"),
        overview=_overview(material),
        links="".join(f'<li><a href="#{one.name}">{escape(one.title)}</a></li>' for one in sections),
        sections="".join(
            f'<section id="{one.name}" aria-labelledby="{one.name}-heading">'
            f'<h2 id="{one.name}-heading">{escape(one.title)}</h2>{one.body}</section>\n'
            for one in sections
        ),
        data="".join(
            f'<script type="application/json" id="{name}-data">{data}</script>\n' for name, data in figures.items()
        ),
        plotly=plotly,
        program=asset("page.js"),
    )


def _overview(material: Material) -> str:
    """Return the opening paragraphs."""
    model, counts = material.model, cluster_sizes_of(material.model)
    described = counted(int(model.n_features_in_), "feature")
    if len(material.view_names) > 1:
        names = ", ".join(escape(name) for name in material.view_names)
        described = f"{described} in {counted(len(material.view_names), 'view')} ({names})"
    spread = f" The smallest holds {counted(int(counts.min()), 'row')} and the largest {counts.max():,}."
    asked = getattr(model, "n_clusters", None)
    who = "as there are classes" if asked is None else "chosen from the data" if asked == "auto" else "as requested"
    opening = (
        f"<p>{type(model).__name__} put {counted(len(material.labels), 'row')} with {described} into "
        f"<strong>{counted(material.n_clusters, 'cluster')}</strong> ({who}), using the weights between each row "
        f"and {counted(len(model.anchor_labels_), 'anchor')}.{spread if material.n_clusters > 1 else ''} "
        f"{_how_sure(material)}</p>"
    )
    if material.views is not None:
        return opening
    reason = material.run.get("data_missing")
    why = f" ({escape(reason, 300)})" if reason else ""
    return (
        f'{opening}<p class="note" role="note">The data was not at hand when this page was written{why}, so it does '
        f"not show which features distinguish the clusters, nor images or features of single rows. Everything else "
        f"comes from the model.</p>"
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
