"""How the fit went: the objective, the weights of the views, and scores where classes are known."""

from typing import Any

import numpy as np

from kedge.plots.colours import COLOURS, SYMBOLS, colour_of
from kedge.plots.fitted_model import Agreement, compare_with_classes, objective_of, view_weights_of
from kedge.report.markup import CELLS, Section, axis, counted, escape, heat_map, named_axis, plotly_text
from kedge.report.material import Material

# Iterations in the table; of more, the first and the last.
MOST_LISTED = 12
# Classes and clusters that the table and the heat map take; of more classes, the largest.
MOST_IN_TABLE, MOST_CLASSES = 20, 60
MEANINGS = {
    "accuracy": "share of rows in the right cluster when classes and clusters are matched one to one",
    "NMI": "shared information, from 0 to 1",
    "purity": "share of rows whose class is the most frequent one of their cluster",
}


def _line(values: Any, colour: str, digits: str, marker: dict[str, Any], named: str = "", **more: Any) -> Any:
    """Return a line over the iterations."""
    iterations = np.arange(1, len(values) + 1, dtype=np.int32)
    hover = {"hovertemplate": f"iteration %{{x}}: %{{y:{digits}}}<extra>{named}</extra>"}
    look = {"type": "scatter", "mode": "lines+markers", "line": {"color": colour}, "marker": marker}
    return {"x": iterations, "y": values} | look | hover | more


def _iterations(count: int) -> dict[str, Any]:
    return axis("iteration", tick0=1, dtick=max(1, count // 10))


def objective(material: Material) -> Section:
    """Draw the objective, or say in a sentence that one iteration was the whole fit."""
    values = objective_of(material.model)
    section = Section("objective", "The course of the fit")
    first, last = _in_digits(values[0]), _in_digits(values[-1])
    if len(values) == 1:
        words = f"The fit ended after one pass over the rows, with the objective at {first}."
        if material.model.beta == 0:
            words = (
                f"One pass over the rows was the whole fit, with the objective at {first}: without a structure penalty "
                f"(beta = 0) there is nothing to repeat."
            )
        section.say(words)
        return section
    fall = (values[0] - values[-1]) / max(abs(values[0]), np.finfo(float).tiny)
    changed = f"{'fell' if fall >= 0 else 'rose'} by {100 * abs(fall):.3g} %"
    listed = [(number, _in_digits(value)) for number, value in enumerate(values.tolist(), start=1)]
    if len(listed) > MOST_LISTED:
        listed = listed[: MOST_LISTED // 2] + listed[-MOST_LISTED // 2 :]
    title = "Objective at the end of iterations"
    section.draw(
        [_line(values, COLOURS[0], ".6g", {"size": 7})],
        {"xaxis": _iterations(len(values)), "yaxis": axis("objective")},
        300,
        label=f"Line chart of the objective, from {first} to {last} in {len(values)} iterations.",
        caption=f"The objective at the end of each iteration; it {changed} over {counted(len(values), 'iteration')}.",
        listed=("The objective as a table", title, ("iteration", "objective"), listed),
    )
    return section


def _in_digits(value: float) -> str:
    """Return a number with at least seven digits, large ones without an exponent."""
    return f"{value:,.1f}" if 1e6 <= abs(value) < 1e15 else f"{value:,.7g}"


def view_weights(material: Material) -> Section | None:
    """Draw the weights of the views; None with one view."""
    names = material.view_names
    if len(names) < 2:
        return None
    history = view_weights_of(material.model)[1]
    traces = []
    for view, name in enumerate(names):
        values, marker = history[:, view].astype(np.float32), {"symbol": SYMBOLS[view % len(SYMBOLS)], "size": 8}
        traces.append(_line(values, colour_of(view), ".3f", marker, "%{fullData.name}", name=plotly_text(name)))
    rows = [(name, f"{history[0, view]:.3f}", f"{history[-1, view]:.3f}") for view, name in enumerate(names)]
    header = ("view", "first iteration", "last iteration")
    most = int(history[-1].argmax())
    counts_most = f"{escape(names[most])} counts most: {history[-1, most]:.3f}."
    legend = {"legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"}, "showlegend": True}
    section = Section("views", "Weights of the views")
    section.draw(
        traces,
        {"xaxis": _iterations(len(history)), "yaxis": axis("weight", rangemode="tozero")} | legend,
        320,
        label=f"Line chart of the weights of {len(names)} views over {len(history)} iterations.",
        caption=f"Weights at the end of each iteration. {counts_most}",
        listed=("The weights as a table", "Weights of the views", header, rows),
    )
    return section


def scores(material: Material) -> Section | None:
    """Return accuracy, NMI and purity, and the table of classes and clusters; None without classes."""
    section = Section("scores", "Beside known classes")
    if material.true_labels is None:
        # The scores that a run recorded, where the classes themselves are not at hand.
        given = material.run.get("labels_given") or {}
        found = given.get("scores")
        if not isinstance(found, dict):
            return None
        section.say(f"Scores recorded by the run, against column {escape(given.get('column', ''))}.")
        _list_scores(section, {name: float(found[name.lower()]) for name in MEANINGS if name.lower() in found})
        return section
    agreement = compare_with_classes(material.model, material.true_labels)
    _list_scores(section, agreement.scores)
    _draw_classes(section, agreement)
    return section


def _list_scores(section: Section, values: dict[str, float]) -> None:
    rows = [(name, f"{value:.3f}", MEANINGS[name]) for name, value in values.items()]
    header = ("score", "value", "meaning")
    section.tabulate("Scores; classes were not used in the fit", header, rows, numbers_from=3)


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
        xgap=1,
        ygap=1,
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
