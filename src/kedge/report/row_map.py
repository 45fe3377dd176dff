"""Rows and anchors in two directions, coloured by any layer; and the layers, as a tree of merges."""

from base64 import b64encode
from typing import Any

import numpy as np

from kedge.plots.colours import SYMBOLS, colour_of, shape_of
from kedge.plots.fitted_model import TOP_OF_ROW, top_features_of_rows
from kedge.plots.layer_tree import ClusterTree, Layer, cluster_splits, cluster_tree
from kedge.plots.projection import RowMap, can_be_mapped, map_rows
from kedge.report.markup import Section, as_json, axis, counted, named_axis, percent, plotly_text
from kedge.report.material import Material

HEIGHT = 560
# Up to here clusters are listed beside the map; their numbers are on it in any case.
MOST_LISTED = 20
# Height of the drawing of layers without them, of each of them, and at most.
BASE_HEIGHT, STEP_HEIGHT, MOST_HEIGHT = 160, 24, 620


def row_map(material: Material) -> Section | None:
    """Draw the map; None with a single cluster."""
    if not can_be_mapped(material.model):
        return None
    found = map_rows(material.model)
    # A handful of layers that rows can be coloured by: the shown one, near ones, the finest, the coarsest.
    shown = material.n_clusters
    wanted = {2, shown // 2, shown - 1, shown, shown + 1, 2 * shown, material.layers[0].n_clusters}
    choices = [layer for layer in material.layers if layer.n_clusters in wanted]
    section = Section("map", "Map of rows and anchors")
    section.body = _select(choices, shown)
    _draw_map(section, found)
    section.figures["map-hover"] = as_json(_hover(material, found))
    if len(choices) > 1:
        section.figures["map-layers"] = as_json([_layer(layer, material, found) for layer in choices])
    return section


def _draw_map(section: Section, found: RowMap) -> None:
    numbers = [
        {"x": float(x), "y": float(y), "text": str(cluster), "showarrow": False, "borderpad": 2}
        for cluster, (x, y) in enumerate(found.cluster_points)
        if np.isfinite(x)
    ]
    n_clusters = len(found.cluster_points)
    layout = {
        "xaxis": axis("first direction", zeroline=False),
        "yaxis": axis("second direction", zeroline=False),
        "showlegend": n_clusters <= MOST_LISTED,
        "legend": {"title": {"text": "cluster"}, "itemsizing": "constant"},
        "hovermode": "closest",
        "annotations": numbers,
    }
    shown = "All rows are shown."
    if len(found.rows) < found.n_rows:
        shown = f"A sample of {len(found.rows):,} of the {found.n_rows:,} rows is shown."
    if len(found.anchors) < found.n_anchors:
        shown += f" Of the {found.n_anchors:,} anchors {len(found.anchors):,} are shown."
    middles = [
        (cluster, f"{x:.2f}", f"{y:.2f}", int((found.anchor_labels == cluster).sum()))
        for cluster, (x, y) in enumerate(found.cluster_points)
    ]
    header = ("cluster", "first direction", "second direction", "anchors")
    section.draw(
        [_anchors(found), *(_rows_of(found, cluster) for cluster in range(n_clusters))],
        layout,
        HEIGHT,
        label=(
            f"Scatter plot of {counted(len(found.rows), 'row')} and {counted(len(found.anchors), 'anchor')} in two "
            f"directions, coloured by cluster."
        ),
        caption=(
            f"Filled marks are rows, hollow ones anchors; numbers stand at the middle of each cluster. {shown} The two "
            f"directions were chosen, from the labels, to keep the centres of clusters apart, and hold "
            f"{percent(found.variance_shown, 0)} of the variance in the embedding: clusters that overlap here may be "
            f"apart in other directions, and gaps here are no proof that clusters are real. In another layer the "
            f"numbers are those of that layer, and merged clusters have the colour of the largest of them."
        ),
        listed=("Where the clusters lie, as a table", "Middle of each cluster on the map", header, middles),
    )


def _points(points: Any, **more: Any) -> dict[str, Any]:
    x, y = points.astype(np.float32).T
    return {"type": "scatter", "mode": "markers", "x": x, "y": y, "hoverinfo": "text"} | more


def _rows_of(found: RowMap, cluster: int) -> dict[str, Any]:
    own = np.flatnonzero(found.labels == cluster)
    marker = {"size": 5, "opacity": 0.75, "color": colour_of(cluster), "symbol": SYMBOLS[shape_of(cluster)]}
    # By the numbers in ``customdata`` the page finds what to say about these points.
    return _points(found.points[own], name=str(cluster), meta="rows", customdata=own.astype(np.int32), marker=marker)


def _anchors(found: RowMap) -> dict[str, Any]:
    labels = found.anchor_labels.tolist()
    text = [f"anchor {one}, cluster {label}" for one, label in zip(found.anchors.tolist(), labels, strict=True)]
    marker = {"size": 10, "opacity": 0.9, "line": {"width": 1}, "color": [colour_of(label) for label in labels]}
    marker["symbol"] = [f"{SYMBOLS[shape_of(label)]}-open" for label in labels]
    return _points(found.anchor_points, name="anchors", text=text, marker=marker)


def _layer(layer: Layer, material: Material, found: RowMap) -> dict[str, Any]:
    """Return the clusters of the rows on the map, where their numbers stand, and how they look."""
    labels = layer.labels[found.rows]
    medians = [
        [cluster, *np.round(np.median(found.points[labels == cluster], axis=0), 4).tolist()]
        for cluster in np.unique(labels).tolist()
    ]
    looks = list(range(layer.n_clusters))
    if layer.n_clusters < material.n_clusters:
        # Where clusters became one, they look like the largest of them.
        together = np.zeros((layer.n_clusters, material.n_clusters), dtype=np.int64)
        np.add.at(together, (layer.labels, material.labels), 1)
        looks = together.argmax(axis=1).tolist()
    return {
        "n_clusters": layer.n_clusters,
        "labels": {"dtype": "i4", "bdata": b64encode(labels.astype("<i4").tobytes()).decode("ascii")},
        "numbers": medians,
        "colours": [colour_of(look) for look in looks],
        "symbols": [SYMBOLS[shape_of(look)] for look in looks],
    }


def _select(layers: list[Layer], shown: int) -> str:
    if len(layers) < 2:
        return ""
    options = "".join(
        f'<option value="{place}"{" selected" if layer.n_clusters == shown else ""}>'
        f"{counted(layer.n_clusters, 'cluster')}</option>"
        for place, layer in enumerate(layers)
    )
    select = f'<select id="map-layer">{options}</select>'
    return f'<p class="choice"><label for="map-layer">Colour by layer</label> {select}</p>'


def _hover(material: Material, found: RowMap) -> dict[str, Any]:
    """Return whole numbers from which the page writes what it says about a point."""
    hover: dict[str, Any] = {"rows": found.rows.tolist(), "labels": found.labels.tolist()}
    if material.row_names is not None:
        hover["names"] = [plotly_text(material.row_names[row], 40) for row in found.rows]
    if material.confidence is not None:
        hover["confidence"] = np.round(100 * material.confidence[found.rows]).astype(int).tolist()
    if material.views is not None:
        hover["views"] = [_top_features(material, found, view) for view in range(len(material.views))]
    return hover


def _top_features(material: Material, found: RowMap, view: int) -> dict[str, Any]:
    assert material.views is not None
    names, count = material.feature_names[view], TOP_OF_ROW if len(material.views) == 1 else 2
    places, values = top_features_of_rows(material.views[view], found.rows, material.contrasts[view], count)
    used, numbered = np.unique(places, return_inverse=True)
    return {
        "names": [plotly_text(names[place]) for place in used.tolist()],
        "places": numbered.reshape(-1).tolist(),
        "tenths": np.clip(np.round(10 * values), -9999, 9999).astype(int).reshape(-1).tolist(),
        "count": places.shape[1],
    }


def layers(material: Material) -> Section | None:
    """Return the tree of merges, drawn and in tables; None where there is one layer."""
    tree = cluster_tree(material.layers, material.n_clusters)
    splits = cluster_splits(material.layers, material.n_clusters)
    if not (tree.joins or splits):
        return None
    communities = counted(len(material.model.tree_) + 1, "community", "communities")
    section = Section("layers", "Layers")
    section.say(
        f"The graph falls into {communities}. The two that lose least modularity are merged, again and again, until "
        f"one is left; this page shows the layer of {counted(material.n_clusters, 'cluster')}. Where a merge costs "
        f"little, fewer clusters describe the rows nearly as well. The labels of the other layers come from "
        f"<code>labels_at(k)</code>, and from the file layers.csv of a run."
    )
    if tree.joins:
        _draw_tree(section, tree)
        rows: list[tuple[Any, ...]] = []
        for join in tree.joins:
            parts = " with ".join(" + ".join(str(cluster) for cluster in part) for part in join.parts)
            rows.append((join.n_clusters, parts, f"{join.loss:.4f}"))
        coarser = ("clusters left", "become one", "modularity lost")
        section.tabulate("Fewer clusters: which become one", coarser, rows, numbers_from=2)
    if splits:
        rows = []
        for split in splits:
            sizes = " + ".join(f"{size:,}" for size in split.sizes)
            rows.append((split.n_clusters, f"cluster {split.cluster}", sizes, f"{split.loss:.4f}"))
        finer = ("clusters then", "falls apart", "rows of the parts", "modularity gained")
        section.tabulate("More clusters: which fall apart", finer, rows, numbers_from=3)
    return section


def _draw_tree(section: Section, tree: ClusterTree) -> None:
    grey = {"color": "rgba(128,128,128,0.9)", "width": 1.5}
    lines = []
    for join in tree.joins:
        text = f"{counted(join.n_clusters, 'cluster')} left, {join.loss:.4f} of modularity lost"
        lines.append(_points(join.path, mode="lines", line=grey, text=text))
    leaves = _points(
        np.stack([np.arange(len(tree.order)), np.zeros(len(tree.order))], axis=1),
        text=[f"cluster {cluster}" for cluster in tree.order],
        cliponaxis=False,
        marker={
            "size": 10,
            "color": [colour_of(cluster) for cluster in tree.order],
            "symbol": [SYMBOLS[shape_of(cluster)] for cluster in tree.order],
        },
    )
    plain = {"showgrid": False, "zeroline": False}
    layout = {
        "xaxis": named_axis("cluster", [str(cluster) for cluster in tree.order], **plain),
        "yaxis": named_axis("clusters left", [str(count) for count in tree.counts], **plain),
        "showlegend": False,
        "hovermode": "closest",
    }
    section.draw(
        [*lines, leaves],
        layout,
        min(BASE_HEIGHT + STEP_HEIGHT * len(tree.counts), MOST_HEIGHT),
        label=f"Tree in which {counted(len(tree.order), 'cluster')} become one, in {len(tree.joins)} steps.",
        caption=(
            "Clusters at the bottom, numbered as everywhere on this page; a line joins those that become one. The "
            "lower it is, the less it costs to take them for one cluster."
        ),
    )
