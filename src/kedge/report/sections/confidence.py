"""How sure the labels are, and the rows that are least so."""

import numpy as np

from kedge.plots.colours import COLOURS
from kedge.plots.numbers.summary import DOUBTFUL, confidence_spread
from kedge.report.markup import Section, figure, folded, percent, table
from kedge.report.material import Material
from kedge.report.plotly_figures import axis, figure_json

HEIGHT = 300
# Rows above this are shown with a confidence of one.
SURE = 0.995


def confidence(material: Material) -> Section | None:
    """Return the histogram and the least sure rows; None for a fit as published."""
    if material.confidence is None:
        return None
    found = confidence_spread(material.model)
    middles = (found.edges[:-1] + found.edges[1:]) / 2
    trace = {
        "type": "bar",
        "x": np.round(middles, 4),
        "y": found.counts.astype(np.int32),
        "width": float(found.edges[1] - found.edges[0]),
        "meta": "outlined",
        "marker": {
            "color": [COLOURS[1] if edge < DOUBTFUL else COLOURS[0] for edge in found.edges[:-1]],
            "pattern": {"shape": ["/" if edge < DOUBTFUL else "" for edge in found.edges[:-1]], "size": 6},
        },
        "hovertemplate": "%{y:,} rows near %{x:.2f}<extra></extra>",
    }
    layout = {"xaxis": axis("confidence", range=[0, 1], dtick=0.1), "yaxis": axis("rows")}
    share = percent(found.share_doubtful)
    label = f"Histogram of the confidence of all rows; {share} are below {DOUBTFUL:g}."
    caption = (
        f"How far a row's own cluster leads the next one among the rows around it. {share} of the rows are below "
        f"{DOUBTFUL:g} (hatched): the next cluster holds at least half as much. High confidence does not make a "
        f"label right."
    )
    bins = [
        (f"{low:.2f} to {high:.2f}", f"{count:,}")
        for low, high, count in zip(found.edges[:-1], found.edges[1:], found.counts, strict=True)
        if count
    ]
    alternative = folded("The histogram as a table", table("Rows by confidence", ("confidence", "rows"), bins))
    least = [
        (material.row_name(int(row)), int(material.labels[row]), f"{found.values[row]:.2f}")
        for row in found.least_sure
        if found.values[row] < SURE
    ]
    body = figure("confidence-figure", label, caption, height=HEIGHT, alternative=alternative)
    if least:
        body += table("The least sure rows", ("row", "cluster", "confidence"), least)
    return Section("confidence", "How sure", body, {"confidence-figure": figure_json([trace], layout, HEIGHT)})
