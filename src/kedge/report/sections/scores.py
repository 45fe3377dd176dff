"""Agreement with known classes, where they were given."""

import numpy as np

from kedge.plots.numbers.summary import Agreement, compare_with_classes
from kedge.report.markup import Section, counted, escape, figure, folded, paragraph, plotly_text, table
from kedge.report.material import Material
from kedge.report.plotly_figures import CELLS, axis, colour_bar, figure_json

# Classes and clusters that the table and the heat map take; of more classes, the largest.
MOST_IN_TABLE, MOST_CLASSES = 20, 60


def scores(material: Material) -> Section | None:
    """Return accuracy, NMI and purity, and the table of classes and clusters; None without classes."""
    given = material.run.get("labels_given") or {}
    if material.true_labels is None:
        return _recorded(given)
    found = compare_with_classes(material.model, material.true_labels)
    shown = np.sort(np.argsort(-found.table.sum(axis=1), kind="stable")[:MOST_CLASSES])
    height = int(np.clip(180 + 26 * len(shown), 280, 900))
    left_out = len(found.classes) - len(shown)
    caption = "Rows of each known class in each cluster."
    if left_out:
        caption += f" The {MOST_CLASSES} largest of {len(found.classes):,} classes are shown."
    label = f"Heat map of {len(shown)} known classes against {counted(len(found.clusters), 'cluster')}, counting rows."
    body = _table_of_scores(found.scores) + figure(
        "scores-figure", label, caption, height=height, alternative=_alternative(found)
    )
    return Section("scores", "Beside known classes", body, {"scores-figure": _heat_map(found, shown, height)})


def _heat_map(found: Agreement, shown: np.ndarray, height: int) -> str:
    counts = found.table[shown]
    trace = {
        "type": "heatmap",
        "meta": "sequential",
        "z": counts.astype(np.int32),
        "zmin": 0,
        "xgap": 1,
        "ygap": 1,
        "customdata": [[[plotly_text(found.classes[row]), str(one)] for one in found.clusters] for row in shown],
        "colorbar": colour_bar("rows"),
        "hovertemplate": "class %{customdata[0]}, cluster %{customdata[1]}: %{z:,} rows<extra></extra>",
    }
    if max(counts.shape) <= MOST_IN_TABLE:
        trace["texttemplate"] = "%{z}"
    clusters = [str(cluster) for cluster in found.clusters]
    ticks = [plotly_text(found.classes[row], 16) for row in shown]
    layout = {
        "xaxis": axis("cluster", tickvals=list(range(len(clusters))), ticktext=clusters, **CELLS),
        "yaxis": axis("class", autorange="reversed", tickvals=list(range(len(shown))), ticktext=ticks, **CELLS),
    }
    return figure_json([trace], layout, height)


def _alternative(found: Agreement) -> str:
    header: tuple[str, ...]
    if max(found.table.shape) > MOST_IN_TABLE:
        best = found.table.argmax(axis=1)
        rows = [
            (name, int(found.clusters[one]), f"{line[one]:,}", f"{line.sum():,}")
            for name, line, one in zip(found.classes[:200], found.table[:200], best[:200], strict=True)
        ]
        header = ("class", "cluster with most of its rows", "rows there", "rows in all")
        return folded("The classes as a table", table("Where the rows of each class are", header, rows))
    header = ("class", *(f"cluster {cluster}" for cluster in found.clusters))
    lines = [(name, *line.tolist()) for name, line in zip(found.classes, found.table, strict=True)]
    return folded("The counts as a table", table("Rows of each class in each cluster", header, lines))


def _table_of_scores(values: dict[str, float]) -> str:
    meanings = {
        "accuracy": "share of rows in the right cluster when classes and clusters are matched one to one",
        "NMI": "shared information, from 0 to 1",
        "purity": "share of rows whose class is the most frequent one of their cluster",
    }
    rows = [(name, f"{value:.3f}", meanings[name]) for name, value in values.items()]
    listed = table("Scores; classes were not used in the fit", ("score", "value", "meaning"), rows, numbers_from=3)
    return listed


def _recorded(given: dict[str, object]) -> Section | None:
    """Return the scores that a run recorded, where the classes themselves are not at hand."""
    found = given.get("scores")
    if not isinstance(found, dict):
        return None
    names = {"accuracy": "accuracy", "nmi": "NMI", "purity": "purity"}
    values = {shown: float(found[name]) for name, shown in names.items() if name in found}
    words = f"Scores recorded by the run, against column {escape(given.get('column', ''))}."
    return Section("scores", "Beside known classes", paragraph(words) + _table_of_scores(values))
