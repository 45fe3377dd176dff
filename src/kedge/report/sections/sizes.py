"""How many rows each cluster holds."""

import numpy as np

from kedge.plots.colours import PATTERNS, colour_of, shape_of
from kedge.plots.numbers.summary import cluster_sizes_of
from kedge.report.markup import Section, figure, folded, percent, table
from kedge.report.material import Material
from kedge.report.plotly_figures import axis, cluster_axis, figure_json

HEIGHT = 300


def sizes(material: Material) -> Section:
    """Return bars of the sizes."""
    counts = cluster_sizes_of(material.model)
    clusters = np.arange(len(counts))
    trace = {
        "type": "bar",
        "x": clusters,
        "y": counts.astype(np.int32),
        "meta": "outlined",
        "marker": {
            "color": [colour_of(cluster) for cluster in range(len(counts))],
            "pattern": {"shape": [PATTERNS[shape_of(cluster)] for cluster in range(len(counts))], "size": 6},
        },
        "hovertemplate": "cluster %{x}: %{y:,} rows<extra></extra>",
    }
    layout = {"xaxis": cluster_axis("cluster", len(counts)), "yaxis": axis("rows"), "bargap": 0.25}
    rows = [(cluster, f"{count:,}", percent(count / counts.sum())) for cluster, count in enumerate(counts)]
    label = f"Bar chart of the number of rows in each of {len(counts)} clusters, from {counts.min()} to {counts.max()}."
    body = figure(
        "sizes-figure",
        label,
        "Rows in each cluster. Colours are the same in all figures of this page.",
        height=HEIGHT,
        alternative=folded("The sizes as a table", table("Rows in each cluster", ("cluster", "rows", "share"), rows)),
    )
    return Section("sizes", "Sizes", body, {"sizes-figure": figure_json([trace], layout, HEIGHT)})
