"""Rows and anchors in two directions."""

from base64 import b64encode
from typing import Any

import numpy as np

from kedge.plots.colours import SYMBOLS, colour_of, shape_of
from kedge.plots.numbers.embedded_rows import RowMap, can_be_mapped, map_rows
from kedge.plots.numbers.features import TOP_OF_ROW, top_features_of_rows
from kedge.plots.numbers.layers import Layer
from kedge.report.markup import Section, as_json, counted, figure, folded, percent, plotly_text, table
from kedge.report.material import Material
from kedge.report.plotly_figures import axis, figure_json

HEIGHT = 560
# Up to here clusters are listed beside the map; their numbers are on it in any case.
MOST_LISTED = 20


def row_map(material: Material) -> Section | None:
    """Return the map; None with a single cluster."""
    if not can_be_mapped(material.model):
        return None
    found = map_rows(material.model)
    traces = [_anchors(found), *(_rows_of(found, cluster) for cluster in range(material.n_clusters))]
    layout = {
        "xaxis": axis("first direction", zeroline=False),
        "yaxis": axis("second direction", zeroline=False),
        "showlegend": material.n_clusters <= MOST_LISTED,
        "legend": {"title": {"text": "cluster"}, "itemsizing": "constant"},
        "hovermode": "closest",
        "annotations": [
            {"x": float(x), "y": float(y), "text": str(cluster), "showarrow": False, "borderpad": 2}
            for cluster, (x, y) in enumerate(found.cluster_points)
            if np.isfinite(x)
        ],
    }
    choices = _layers_to_choose(material)
    figures = {
        "map-figure": figure_json(traces, layout, HEIGHT),
        "map-hover": as_json(_hover(material, found)),
    }
    if len(choices) > 1:
        figures["map-layers"] = as_json([_layer(layer, material, found) for layer in choices])
    return Section("map", "Map of rows and anchors", _select(choices, material) + _body(material, found), figures)


def _layers_to_choose(material: Material) -> list[Layer]:
    """Return a handful of layers that rows can be coloured by: the shown one, near ones, the finest, the coarsest."""
    shown = material.n_clusters
    wanted = {2, shown // 2, shown - 1, shown, shown + 1, 2 * shown, material.layers[0].n_clusters}
    return [layer for layer in material.layers if layer.n_clusters in wanted]


def _layer(layer: Layer, material: Material, found: RowMap) -> dict[str, Any]:
    """Return the clusters of the rows on the map, where their numbers stand, and how they look."""
    labels = layer.labels[found.rows]
    looks = _looks(layer, material)
    medians = [
        [cluster, *np.round(np.median(found.points[labels == cluster], axis=0), 4).tolist()]
        for cluster in np.unique(labels).tolist()
    ]
    return {
        "n_clusters": layer.n_clusters,
        "labels": {"dtype": "i4", "bdata": b64encode(labels.astype("<i4").tobytes()).decode("ascii")},
        "numbers": medians,
        "colours": [colour_of(look) for look in looks],
        "symbols": [SYMBOLS[shape_of(look)] for look in looks],
    }


def _looks(layer: Layer, material: Material) -> list[int]:
    """Return whose colour each cluster of a layer has: where clusters became one, that of the largest."""
    if layer.n_clusters >= material.n_clusters:
        return list(range(layer.n_clusters))
    together = np.zeros((layer.n_clusters, material.n_clusters), dtype=np.int64)
    np.add.at(together, (layer.labels, material.labels), 1)
    return [int(one) for one in together.argmax(axis=1)]


def _select(layers: list[Layer], material: Material) -> str:
    if len(layers) < 2:
        return ""
    options = "".join(
        f'<option value="{place}"{" selected" if layer.n_clusters == material.n_clusters else ""}>'
        f"{counted(layer.n_clusters, 'cluster')}</option>"
        for place, layer in enumerate(layers)
    )
    select = f'<select id="map-layer">{options}</select>'
    return f'<p class="choice"><label for="map-layer">Colour by layer</label> {select}</p>'


def _rows_of(found: RowMap, cluster: int) -> dict[str, Any]:
    own = np.flatnonzero(found.labels == cluster)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": str(cluster),
        "meta": "rows",
        "x": found.points[own, 0].astype(np.float32),
        "y": found.points[own, 1].astype(np.float32),
        # Where the page finds what to say about these points.
        "customdata": own.astype(np.int32),
        "hoverinfo": "text",
        "marker": {"size": 5, "opacity": 0.75, "color": colour_of(cluster), "symbol": SYMBOLS[shape_of(cluster)]},
    }


def _anchors(found: RowMap) -> dict[str, Any]:
    labels = found.anchor_labels
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "anchors",
        "x": found.anchor_points[:, 0].astype(np.float32),
        "y": found.anchor_points[:, 1].astype(np.float32),
        "text": [
            f"anchor {one}, cluster {of}" for one, of in zip(found.anchors.tolist(), labels.tolist(), strict=True)
        ],
        "hoverinfo": "text",
        "marker": {
            "size": 10,
            "opacity": 0.9,
            "color": [colour_of(label) for label in labels],
            "symbol": [f"{SYMBOLS[shape_of(label)]}-open" for label in labels],
            "line": {"width": 1},
        },
    }


def _hover(material: Material, found: RowMap) -> dict[str, Any]:
    """Return whole numbers from which the page writes what it says about a point."""
    hover: dict[str, Any] = {"rows": found.rows.tolist(), "labels": found.labels.tolist()}
    if material.row_names is not None:
        hover["names"] = [plotly_text(material.row_names[row], 40) for row in found.rows]
    if material.confidence is not None:
        hover["confidence"] = np.round(100 * material.confidence[found.rows]).astype(int).tolist()
    if material.views is not None and material.feature_names is not None:
        hover["views"] = [
            _top_features(material, found, view, names) for view, names in enumerate(material.feature_names)
        ]
    return hover


def _top_features(material: Material, found: RowMap, view: int, names: list[str]) -> dict[str, Any]:
    assert material.views is not None
    count = TOP_OF_ROW if len(material.views) == 1 else 2
    places, values = top_features_of_rows(material.views[view], found.rows, material.contrasts[view], count)
    used, numbered = np.unique(places, return_inverse=True)
    return {
        "names": [plotly_text(names[place]) for place in used.tolist()],
        "places": numbered.reshape(-1).tolist(),
        "tenths": np.clip(np.round(10 * values), -9999, 9999).astype(int).reshape(-1).tolist(),
        "count": places.shape[1],
    }


def _body(material: Material, found: RowMap) -> str:
    shown = "All rows are shown."
    if len(found.rows) < found.n_rows:
        shown = f"A sample of {len(found.rows):,} of the {found.n_rows:,} rows is shown."
    if len(found.anchors) < found.n_anchors:
        shown += f" Of the {found.n_anchors:,} anchors {len(found.anchors):,} are shown."
    caption = (
        f"Filled marks are rows, hollow ones anchors; numbers stand at the middle of each cluster. {shown} The two "
        f"directions were chosen, from the labels, to keep the centres of clusters apart, and hold "
        f"{percent(found.variance_shown, 0)} of the variance in the embedding: clusters that overlap here may be apart "
        f"in other directions, and gaps here are no proof that clusters are real. In another layer the numbers are "
        f"those of that layer, and merged clusters have the colour of the largest of them."
    )
    label = (
        f"Scatter plot of {counted(len(found.rows), 'row')} and {counted(len(found.anchor_labels), 'anchor')} in two "
        f"directions, coloured by cluster."
    )
    rows = [
        (cluster, f"{x:.2f}", f"{y:.2f}", int((found.anchor_labels == cluster).sum()))
        for cluster, (x, y) in enumerate(found.cluster_points)
    ]
    header = ("cluster", "first direction", "second direction", "anchors")
    alternative = folded("Where the clusters lie, as a table", table("Middle of each cluster on the map", header, rows))
    return figure("map-figure", label, caption, height=HEIGHT, alternative=alternative)
