"""Sections about the fit: graph, objective, weights of the views, scores against known classes, and parameters."""

from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.optional_libraries import CORE_LIBRARIES, installed_versions
from kedge.plots import COLOURS, SYMBOLS, colour_of, fitted_model
from kedge.plots.fitted_model import Agreement, GraphBlocks
from kedge.report.markup import CELLS, Section, axis, counted, escape, heat_map, named_axis, percent, plotly_text
from kedge.report.material import Material

# Iterations in the table: if there are more, the first and the last ones.
MOST_LISTED = 12
# With more classes or clusters the table is shorter; with more classes the heat map shows the largest.
MOST_IN_TABLE, MOST_CLASSES = 20, 60
# With more clusters, the table of the graph only lists the weight that stays inside.
MOST_SHARES = 15
# Clusters with a smaller share of the lines or columns have no number beside the graph.
LEAST_SHARE = 0.012
MEANINGS = {
    "accuracy": "share of rows in the right cluster when classes and clusters are matched one to one",
    "NMI": "shared information, from 0 to 1",
    "purity": "share of rows whose class is the most frequent in their cluster",
}


def graph(material: Material) -> Section:
    """Draw the weights of rows on anchors."""
    blocks, n_rows = fitted_model.sort_graph(material.model), len(material.labels)
    inside = percent(blocks.share_inside(), 0)
    shown = "All rows are shown" if len(blocks.rows) == n_rows else f"{len(blocks.rows):,} of {n_rows:,} rows are shown"
    columns = f"all {counted(blocks.n_anchors, 'anchor')}"
    if blocks.anchors_per_column > 1:
        columns += f" (up to {blocks.anchors_per_column} of the same cluster share a column, with their weights added)"
    # As whole thousandths, which take less space.
    thousandths = np.round(1000 * blocks.weights).astype(np.int16)
    highest = int(max(np.round(1000 * np.quantile(blocks.weights[blocks.weights > 0], 0.98)), 1))
    hover = "weight %{z} thousandths"
    layout = {
        "xaxis": _block_axis("anchors, by cluster", blocks.column_labels),
        "yaxis": _block_axis("rows, by cluster", blocks.row_labels) | {"autorange": "reversed"},
        "shapes": _borders(blocks.row_labels, "y", "x") + _borders(blocks.column_labels, "x", "y"),
    }
    return Section("graph", "The graph between rows and anchors").draw(
        [heat_map(thousandths, "sequential", "weight, in thousandths", hover, gap=0, zmin=0, zmax=highest)],
        layout,
        520,
        label=f"Heat map of the weights of rows on anchors, sorted by cluster; {inside} of it is inside clusters.",
        caption=(
            f"Each line is a row, each column an anchor; both are sorted by cluster. {shown}, and {columns}. The "
            f"clearer the blocks on the diagonal, the further apart the clusters are: on average, {inside} of the "
            f"weight of a cluster is on its own anchors. The graph has "
            f"{counted(int(material.model.n_components_), 'connected component')}."
        ),
        listed=_listed_shares(blocks),
    )


def _block_axis(title: str, labels: NDArray[np.int64]) -> dict[str, Any]:
    clusters, counts = np.unique(labels, return_counts=True)
    wide = clusters[counts >= LEAST_SHARE * len(labels)].tolist()
    places = [float(np.flatnonzero(labels == cluster).mean()) for cluster in wide]
    return axis(title, tickvals=places, ticktext=[str(cluster) for cluster in wide], **CELLS)


def _borders(labels: NDArray[np.int64], along: str, across: str) -> list[dict[str, Any]]:
    line = {"type": "line", f"{across}ref": "paper", f"{across}0": 0, f"{across}1": 1, "line": {"width": 1}}
    places = (np.flatnonzero(np.diff(labels)) + 0.5).tolist()
    return [line | {f"{along}0": place, f"{along}1": place} for place in places]


def _listed_shares(blocks: GraphBlocks) -> tuple[str, str, list[str], list[Any]]:
    shares = [[percent(share, 0) for share in line] for line in blocks.shares]
    if len(shares) <= MOST_SHARES:
        header = ["rows of cluster", *(f"on {cluster}" for cluster in range(len(shares)))]
        rows = [[cluster, *line] for cluster, line in enumerate(shares)]
    else:
        header, rows = ["rows of cluster", "own"], [[cluster, line[cluster]] for cluster, line in enumerate(shares)]
    caption = "Where the rows of each cluster put their weight, by cluster of the anchors"
    return "Weights between clusters, as a table", caption, header, rows


def _line(values: Any, colour: str, digits: str, marker: dict[str, Any], named: str = "", **more: Any) -> Any:
    """Return a line over the iterations."""
    iterations = np.arange(1, len(values) + 1, dtype=np.int32)
    hover = {"hovertemplate": f"iteration %{{x}}: %{{y:{digits}}}<extra>{named}</extra>"}
    look = {"type": "scatter", "mode": "lines+markers", "line": {"color": colour}, "marker": marker}
    return {"x": iterations, "y": values} | look | hover | more


def _iterations(count: int) -> dict[str, Any]:
    return axis("iteration", tick0=1, dtick=max(1, count // 10))


def objective(material: Material) -> Section:
    """Draw the objective, or say that there was only one iteration."""
    values = fitted_model.objective_of(material.model)
    section = Section("objective", "How the fit went")
    first, last = _in_digits(values[0]), _in_digits(values[-1])
    if len(values) == 1:
        why = "Without a structure penalty (beta = 0) there is nothing to iterate."
        words = f"The fit took one pass over the rows and ended with the objective at {first}."
        return section.say(f"{words} {why}" if getattr(material.model, "beta", 0) == 0 else words)
    fall = (values[0] - values[-1]) / max(abs(values[0]), np.finfo(float).tiny)
    changed = f"{'fell' if fall >= 0 else 'rose'} by {100 * abs(fall):.3g} %"
    listed = [(number, _in_digits(value)) for number, value in enumerate(values.tolist(), start=1)]
    if len(listed) > MOST_LISTED:
        listed = listed[: MOST_LISTED // 2] + listed[-MOST_LISTED // 2 :]
    return section.draw(
        [_line(values, COLOURS[0], ".6g", {"size": 7})],
        {"xaxis": _iterations(len(values)), "yaxis": axis("objective")},
        label=f"Line chart of the objective, from {first} to {last} in {len(values)} iterations.",
        caption=f"The objective at the end of each iteration; it {changed} over {counted(len(values), 'iteration')}.",
        listed=("The objective as a table", "Objective by iteration", ("iteration", "objective"), listed),
    )


def _in_digits(value: float) -> str:
    """Return a number with at least seven digits; large numbers have no exponent."""
    return f"{value:,.1f}" if 1e6 <= abs(value) < 1e15 else f"{value:,.7g}"


def view_weights(material: Material) -> Section | None:
    """Draw the weights of the views; None with one view."""
    names = material.view_names
    if len(names) < 2:
        return None
    history = fitted_model.view_weights_of(material.model)[1]
    traces = []
    for view, name in enumerate(names):
        values, marker = history[:, view].astype(np.float32), {"symbol": SYMBOLS[view % len(SYMBOLS)], "size": 8}
        traces.append(_line(values, colour_of(view), ".3f", marker, "%{fullData.name}", name=plotly_text(name)))
    rows = [(name, f"{history[0, view]:.3f}", f"{history[-1, view]:.3f}") for view, name in enumerate(names)]
    header = ("view", "first iteration", "last iteration")
    most = int(history[-1].argmax())
    largest = f"{escape(names[most])} has the largest: {history[-1, most]:.3f}."
    legend = {"legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"}, "showlegend": True}
    return Section("views", "Weights of the views").draw(
        traces,
        {"xaxis": _iterations(len(history)), "yaxis": axis("weight", rangemode="tozero")} | legend,
        320,
        label=f"Line chart of the weights of {len(names)} views over {len(history)} iterations.",
        caption=f"Weights at the end of each iteration. {largest}",
        listed=("The weights as a table", "Weights of the views", header, rows),
    )


def scores(material: Material) -> Section | None:
    """List accuracy, NMI and purity, and count classes in clusters; None without classes."""
    section = Section("scores", "Comparison with known classes")
    if material.true_labels is None:
        # The classes are not at hand, but a run may have recorded the scores.
        given = material.run.get("labels_given") or {}
        found = given.get("scores")
        if not isinstance(found, dict):
            return None
        section.say(f"Scores recorded by the run, against column {escape(given.get('column', ''))}.")
        _list_scores(section, {name: float(found[name.lower()]) for name in MEANINGS if name.lower() in found})
        return section
    agreement = fitted_model.compare_with_classes(material.model, material.true_labels)
    _list_scores(section, agreement.scores)
    _draw_classes(section, agreement)
    return section


def _list_scores(section: Section, values: dict[str, float]) -> None:
    rows = [(name, f"{value:.3f}", MEANINGS[name]) for name, value in values.items()]
    section.tabulate("Scores; the fit did not use the classes", ("score", "value", "meaning"), rows, numbers_from=3)


def _draw_classes(section: Section, found: Agreement) -> None:
    shown = np.sort(np.argsort(-found.table.sum(axis=1), kind="stable")[:MOST_CLASSES])
    counts, clusters = found.table[shown], [str(cluster) for cluster in found.clusters]
    names = [found.classes[row] for row in shown]
    trace = heat_map(
        counts.astype(np.int32),
        "sequential",
        "rows",
        "class %{customdata[0]}, cluster %{customdata[1]}: %{z:,} rows",
        customdata=[[[plotly_text(name), cluster] for cluster in clusters] for name in names],
        zmin=0,
    )
    if max(counts.shape) <= MOST_IN_TABLE:
        trace["texttemplate"] = "%{z}"
    classes = named_axis("class", [plotly_text(name, 16) for name in names], autorange="reversed", **CELLS)
    caption = "Rows of each known class in each cluster."
    if len(shown) < len(found.classes):
        caption += f" The {MOST_CLASSES} largest of {len(found.classes):,} classes are shown."
    section.draw(
        [trace],
        {"xaxis": named_axis("cluster", clusters, **CELLS), "yaxis": classes},
        int(np.clip(180 + 26 * len(shown), 280, 900)),
        label=f"Heat map of {len(shown)} known classes against {counted(len(clusters), 'cluster')}, counting rows.",
        caption=caption,
        listed=_listed_classes(found),
    )


def _listed_classes(found: Agreement) -> tuple[str, str, list[str], list[Any]]:
    if max(found.table.shape) <= MOST_IN_TABLE:
        counts = [(name, *line.tolist()) for name, line in zip(found.classes, found.table, strict=True)]
        header = ["class", *(f"cluster {cluster}" for cluster in found.clusters)]
        return "The counts as a table", "Rows of each class in each cluster", header, counts
    rows = []
    for name, line in zip(found.classes[:200], found.table[:200], strict=True):
        best = int(line.argmax())
        rows.append((name, int(found.clusters[best]), f"{line[best]:,}", f"{line.sum():,}"))
    header = ["class", "cluster with most of its rows", "rows there", "rows in all"]
    return "The classes as a table", "Where the rows of each class are", header, rows


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
    section.tabulate("All parameters", ("parameter", "value"), everything, numbers_from=2, opened_by="All parameters")
    if isinstance(run.get("data"), list) and run["data"]:
        rows = [tuple(one.get(key, "") for key in ("name", "path", "n_rows", "n_columns")) for one in run["data"]]
        section.tabulate("Data", ("view", "file", "rows", "columns"), rows, numbers_from=2)
    times = [("started", str(run["started"]))] if "started" in run else []
    if isinstance(run.get("seconds"), dict):
        times += [(stage, f"{value:.2f} seconds") for stage, value in run["seconds"].items() if value is not None]
    if times:
        section.tabulate("Times", ("step", "time"), times, numbers_from=2)
    # The versions of the run; if it has no record, those that are installed now.
    versions = installed_versions("kedge", *CORE_LIBRARIES)
    if isinstance(run.get("versions"), dict) and run["versions"]:
        versions = {"kedge": run.get("kedge", "not recorded")} | run["versions"]
    return section.tabulate("Versions", ("library", "version"), versions.items(), numbers_from=2)


def _in_words(value: Any) -> str:
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        return f"array of shape {tuple(value.shape)}"
    if isinstance(value, list) and value and all(hasattr(one, "shape") for one in value):
        return "arrays of shapes " + ", ".join(str(tuple(one.shape)) for one in value)
    return repr(value)


def _same(value: Any, usual: Any) -> bool:
    return type(value) is type(usual) and not hasattr(value, "shape") and repr(value) == repr(usual)
