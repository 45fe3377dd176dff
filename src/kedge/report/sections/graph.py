"""The anchor graph, sorted into its blocks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.plots.numbers.graph_blocks import GraphBlocks, sort_graph
from kedge.report.markup import Section, counted, figure, folded, percent, table
from kedge.report.material import Material
from kedge.report.plotly_figures import CELLS, axis, colour_bar, figure_json

HEIGHT = 520
# Beyond this many clusters the table gives what stays inside alone.
MOST_IN_TABLE = 15
# Clusters with fewer lines or columns than this share of the figure have no number beside it.
LEAST_SHARE = 0.012


def graph(material: Material) -> Section:
    """Return a heat map of the weights of rows on anchors."""
    blocks = sort_graph(material.model)
    trace = {
        "type": "heatmap",
        "meta": "sequential",
        # Thousandths, as whole numbers.
        "z": np.round(1000 * blocks.weights).astype(np.int16),
        "zmin": 0,
        "zmax": int(max(np.round(1000 * np.quantile(blocks.weights[blocks.weights > 0], 0.98)), 1)),
        "colorbar": colour_bar("weight, in thousandths"),
        "hovertemplate": "weight %{z} thousandths<extra></extra>",
    }
    layout = {
        "xaxis": _block_axis("anchors, by cluster", blocks.column_labels),
        "yaxis": _block_axis("rows, by cluster", blocks.row_labels) | {"autorange": "reversed"},
        "shapes": _borders(blocks),
    }
    figures = {"graph-figure": figure_json([trace], layout, HEIGHT)}
    return Section("graph", "The graph between rows and anchors", _body(material, blocks), figures)


def _block_axis(title: str, labels: NDArray[np.int64]) -> dict[str, Any]:
    clusters, counts = np.unique(labels, return_counts=True)
    wide = counts >= LEAST_SHARE * len(labels)
    places = [float(np.flatnonzero(labels == cluster).mean()) for cluster in clusters[wide]]
    return axis(title, tickvals=places, ticktext=[str(one) for one in clusters[wide]], **CELLS)


def _borders(blocks: GraphBlocks) -> list[dict[str, Any]]:
    borders: list[dict[str, Any]] = []
    for labels, along, across in ((blocks.row_labels, "y", "x"), (blocks.column_labels, "x", "y")):
        for place in (np.flatnonzero(np.diff(labels)) + 0.5).tolist():
            ends = {f"{along}0": place, f"{along}1": place, f"{across}0": 0, f"{across}1": 1}
            borders.append({"type": "line", f"{across}ref": "paper", "line": {"width": 1}} | ends)
    return borders


def _body(material: Material, blocks: GraphBlocks) -> str:
    inside = percent(blocks.share_inside(), 0)
    n_rows = len(material.labels)
    shown = "All rows are shown" if len(blocks.rows) == n_rows else f"{len(blocks.rows):,} of {n_rows:,} rows are shown"
    columns = f"all {counted(blocks.n_anchors, 'anchor')}"
    if blocks.anchors_per_column > 1:
        columns += f", up to {blocks.anchors_per_column} of the same cluster to a column, with their weights added"
    components = int(material.model.n_components_)
    caption = (
        f"Each line is a row, each column an anchor; both are sorted by cluster. {shown}, and {columns}. The clearer "
        f"the blocks on the diagonal, the further apart the clusters: {inside} of the weight of a cluster stays on its "
        f"own anchors on average. The graph has {counted(components, 'connected component')}."
    )
    label = (
        f"Heat map of the weights of rows on anchors, sorted into blocks; {inside} of the weight lies on the diagonal."
    )
    clusters = range(len(blocks.shares))
    if len(blocks.shares) <= MOST_IN_TABLE:
        header = ("rows of cluster", *(f"on {cluster}" for cluster in clusters))
        rows: list[tuple[Any, ...]] = [(one, *(percent(share, 0) for share in blocks.shares[one])) for one in clusters]
    else:
        header, rows = ("rows of cluster", "own"), [(one, percent(blocks.shares[one, one], 0)) for one in clusters]
    content = table("Where the rows of each cluster put their weight: clusters of the anchors", header, rows)
    alternative = folded("Weights between clusters, as a table", content)
    return figure("graph-figure", label, caption, height=HEIGHT, alternative=alternative)
