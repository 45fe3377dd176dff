"""What distinguishes each cluster, view by view; and the graph between rows and anchors, sorted into its blocks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.plots.fitted_model import TOP_OF_CLUSTER, FeatureContrasts, GraphBlocks, sort_graph
from kedge.report.markup import (
    CELLS,
    Section,
    axis,
    counted,
    escape,
    heat_map,
    named_axis,
    percent,
    plotly_text,
    shortened,
)
from kedge.report.material import Material

# Columns of the heat map of features.
MOST_COLUMNS = 40
# Differences below this would be shown as zero.
LEAST_NAMED = 0.05
MINUS = "\N{MINUS SIGN}"
# Beyond this many clusters the table of the graph gives what stays inside alone.
MOST_IN_TABLE = 15
# Clusters with fewer lines or columns than this share of the graph have no number beside it.
LEAST_SHARE = 0.012


def features(material: Material) -> Section | None:
    """Return a heat map and a table per view; None without data, or where there is nothing to tell apart."""
    if material.views is None or material.n_clusters < 2:
        return None
    section = Section("features", "What distinguishes each cluster")
    section.say(
        "For every feature, the mean of a cluster is compared with the mean of all other rows; the difference is given "
        f"in standard deviations of all rows, + for higher and {MINUS} for lower."
    )
    for view, (contrasts, names) in enumerate(zip(material.contrasts, material.feature_names, strict=True)):
        columns = _columns(contrasts)
        if not columns:
            continue
        caption = "Top features of each cluster"
        if len(material.view_names) > 1:
            section.body += f"<h3>{escape(material.view_names[view])}</h3>"
            caption += f" in {shortened(material.view_names[view], 40)}"
        _draw_features(section, contrasts, columns, [names[column] for column in columns], f"-{view}")
        header = ("cluster", "higher than in the rest", "lower than in the rest")
        section.tabulate(caption, header, _top_features(contrasts, names), numbers_from=3)
    return section if section.figures else None


def _columns(contrasts: FeatureContrasts) -> list[int]:
    """Return the best features of all clusters, the best of each first, until there are enough."""
    tops = [contrasts.top_of_cluster(cluster) for cluster in range(len(contrasts.differences))]
    ranked = (int(top[rank]) for rank in range(TOP_OF_CLUSTER) for top in tops if rank < len(top))
    return sorted(list(dict.fromkeys(ranked))[:MOST_COLUMNS])


def _draw_features(
    section: Section, contrasts: FeatureContrasts, columns: list[int], names: list[str], part: str
) -> None:
    shown = contrasts.differences[:, columns]
    n_clusters, limit = len(shown), float(np.abs(shown).max())
    trace = heat_map(
        shown.astype(np.float32),
        "diverging",
        "standard deviations from the rest",
        "cluster %{y}, %{customdata}: %{z:+.2f}",
        customdata=[[plotly_text(name) for name in names]] * n_clusters,
        zmin=-limit,
        zmax=limit,
        xgap=1,
        ygap=1,
    )
    layout = {
        "xaxis": named_axis("", [plotly_text(name, 16) for name in names], tickangle=-90, **CELLS),
        "yaxis": axis("cluster", autorange="reversed", dtick=max(1, n_clusters // 20), **CELLS),
    }
    section.draw(
        [trace],
        layout,
        int(np.clip(190 + 26 * n_clusters, 260, 900)),
        label=(
            f"Heat map of {len(columns)} features that differ most between {n_clusters} clusters; the table that "
            f"follows names the top features of each cluster."
        ),
        caption=f"The {len(columns)} features that differ most, and how far each cluster is from the rest in them.",
        part=part,
    )


def _top_features(contrasts: FeatureContrasts, names: list[str]) -> list[tuple[Any, ...]]:
    rows = []
    for cluster, differences in enumerate(contrasts.differences):
        named: dict[str, list[str]] = {"+": [], MINUS: []}
        for column in contrasts.top_of_cluster(cluster):
            if abs(differences[column]) >= LEAST_NAMED:
                sign = "+" if differences[column] > 0 else MINUS
                named[sign].append(f"{shortened(names[column], 40)} {sign}{abs(differences[column]):.1f}")
        rows.append((cluster, named["+"] or "none", named[MINUS] or "none"))
    return rows


def graph(material: Material) -> Section:
    """Draw the weights of rows on anchors."""
    blocks, n_rows = sort_graph(material.model), len(material.labels)
    inside = percent(blocks.share_inside(), 0)
    shown = "All rows are shown" if len(blocks.rows) == n_rows else f"{len(blocks.rows):,} of {n_rows:,} rows are shown"
    columns = f"all {counted(blocks.n_anchors, 'anchor')}"
    if blocks.anchors_per_column > 1:
        columns += f", up to {blocks.anchors_per_column} of the same cluster to a column, with their weights added"
    # Thousandths, as whole numbers.
    thousandths = np.round(1000 * blocks.weights).astype(np.int16)
    highest = int(max(np.round(1000 * np.quantile(blocks.weights[blocks.weights > 0], 0.98)), 1))
    hover = "weight %{z} thousandths"
    layout = {
        "xaxis": _block_axis("anchors, by cluster", blocks.column_labels),
        "yaxis": _block_axis("rows, by cluster", blocks.row_labels) | {"autorange": "reversed"},
        "shapes": _borders(blocks.row_labels, "y", "x") + _borders(blocks.column_labels, "x", "y"),
    }
    section = Section("graph", "The graph between rows and anchors")
    section.draw(
        [heat_map(thousandths, "sequential", "weight, in thousandths", hover, zmin=0, zmax=highest)],
        layout,
        520,
        label=(
            f"Heat map of the weights of rows on anchors, sorted into blocks; {inside} of the weight lies on the "
            f"diagonal."
        ),
        caption=(
            f"Each line is a row, each column an anchor; both are sorted by cluster. {shown}, and {columns}. The "
            f"clearer the blocks on the diagonal, the further apart the clusters: {inside} of the weight of a cluster "
            f"stays on its own anchors on average. The graph has "
            f"{counted(int(material.model.n_components_), 'connected component')}."
        ),
        listed=_listed_shares(blocks),
    )
    return section


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
    if len(shares) <= MOST_IN_TABLE:
        header = ["rows of cluster", *(f"on {cluster}" for cluster in range(len(shares)))]
        rows = [[cluster, *line] for cluster, line in enumerate(shares)]
    else:
        header, rows = ["rows of cluster", "own"], [[cluster, line[cluster]] for cluster, line in enumerate(shares)]
    caption = "Where the rows of each cluster put their weight: clusters of the anchors"
    return "Weights between clusters, as a table", caption, header, rows
