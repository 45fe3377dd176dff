"""The page: ``write_report``, the order of the sections, and the file they make with its style and its program."""

import os
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from kedge.optional_libraries import load_library
from kedge.report.clusters import cluster_count, confidence, prototypes, sizes
from kedge.report.course import objective, scores, view_weights
from kedge.report.features import features, graph
from kedge.report.markup import Section, escape
from kedge.report.material import Material
from kedge.report.overview import overview, parameters, title_of
from kedge.report.row_map import layers, row_map
from kedge.whole_file import replace_whole

# In the order of the page; a section is None where the fit has no numbers for it.
SECTIONS: tuple[Callable[[Material], Section | None], ...]
SECTIONS = (sizes, row_map, layers, features, prototypes, confidence, scores, graph)
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

    The page opens from disk without a network. Of many rows it shows samples, so that its size stays within some
    megabytes; memory beyond the model and the data is that of a block of rows and a few numbers per row.

    Parameters
    ----------
    path : path
        The file to write, whole or not at all.
    model : SGL or MSGL
        The fitted model.
    views : list of matrices, or None
        The rows of the fit, dense or CSR, one matrix per view (one in all for SGL); None if they are not at hand,
        and then the page lacks what needs them, and says so.
    view_names : list of str
        One name per view.
    feature_names : list of lists of str, or None, default=None
        Names of the columns of every view; None, for all or for one, means those that the model has seen, or numbers.
    row_names : sequence of shape (n_samples,) or None, default=None
        Names of the rows; None means numbers.
    true_labels : array-like of shape (n_samples,) or None, default=None
        Known classes, to score the clusters by.
    image_shape : (height, width), list of them with one per view, or None, default=None
        Where rows are images: the prototypes of clusters are shown as such.
    run : dict or None, default=None
        What ``run.json`` of a run folder holds: times, versions, data. With ``data_missing`` it may say why ``views``
        is None.

    Raises
    ------
    ValueError
        Something does not fit the model; the message says what.
    """
    material = Material(model, views, view_names, feature_names, row_names, true_labels, image_shape, run)
    program = load_library("plotly.offline", "report", "a report").get_plotlyjs()
    # In a script element the program would end at this.
    page = render_page(material, program.replace("</script", "<\\/script"))
    with replace_whole(Path(path)) as file:
        file.write(page.encode("utf-8", errors="replace"))


def render_page(material: Material, plotly: str) -> str:
    """Return the whole page.

    Its security policy lets it load nothing from anywhere, but evaluate: Plotly compiles its drawing of many points.
    """
    sections = [made for make in SECTIONS if (made := make(material)) is not None]
    figures = {name: data for one in sections for name, data in one.figures.items()}
    return Template(_asset("page.html")).substitute(
        title=escape(title_of(material), 200),
        style=_asset("page.css").strip(),
        overview=overview(material),
        links="".join(f'<li><a href="#{one.name}">{escape(one.title)}</a></li>' for one in sections),
        sections="".join(_render(one) for one in sections),
        data="".join(
            f'<script type="application/json" id="{name}-data">{data}</script>\n' for name, data in figures.items()
        ),
        plotly=plotly,
        program=_asset("page.js").strip(),
    )


def _render(section: Section) -> str:
    heading = f'<h2 id="{section.name}-heading">{escape(section.title)}</h2>'
    return f'<section id="{section.name}" aria-labelledby="{section.name}-heading">{heading}{section.body}</section>\n'


def _asset(name: str) -> str:
    return files("kedge.report").joinpath(name).read_text(encoding="utf-8")
