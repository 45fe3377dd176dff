"""The map of rows and anchors in two directions; ``page.js`` shows texts on hovering and colours it by other layers."""

from base64 import b64encode
from typing import Any

import numpy as np

from kedge.plots import SYMBOLS, colour_of, shape_of
from kedge.plots.fitted_model import TOP_OF_ROW, membership, top_features_of_rows
from kedge.plots.layer_tree import Layer
from kedge.plots.projection import RowMap, can_be_mapped, map_rows
from kedge.report.markup import Section, as_json, axis, counted, percent, plotly_text
from kedge.report.material import Material

# With more clusters there is no legend; their numbers are on the map anyway.
MOST_LISTED = 20


def row_map(material: Material) -> Section | None:
    """Draw the map; None with a single cluster."""
    if not can_be_mapped(material.model):
        return None
    found = map_rows(material.model)
    # The layers to choose from: that of the page, its neighbours, half and twice as many, the finest, the coarsest.
    shown = material.n_clusters
    wanted = {2, shown // 2, shown - 1, shown, shown + 1, 2 * shown, material.layers[0].n_clusters}
    choices = [layer for layer in material.layers if layer.n_clusters in wanted]
    section = Section("map", "Map of rows and anchors")
    if len(choices) > 1:
        section.body = _select(choices, shown)
        section.figures["map-layers"] = as_json([_layer(layer, material, found) for layer in choices])
    _draw(section, found)
    section.figures["map-hover"] = as_json(_hover(material, found))
    return section


def _draw(section: Section, found: RowMap) -> None:
    n_clusters = len(found.cluster_points)
    numbers = [
        {"x": float(x), "y": float(y), "text": str(cluster), "showarrow": False, "borderpad": 2}
        for cluster, (x, y) in enumerate(found.cluster_points)
        if np.isfinite(x)
    ]
    layout = {
        "xaxis": axis("first direction", zeroline=False),
        "yaxis": axis("second direction", zeroline=False),
        "showlegend": n_clusters <= MOST_LISTED,
        "legend": {"title": {"text": "cluster"}, "itemsizing": "constant"},
        "hovermode": "closest",
        "annotations": numbers,
    }
    middles = [
        (cluster, f"{x:.2f}", f"{y:.2f}", int((found.anchor_labels == cluster).sum()))
        for cluster, (x, y) in enumerate(found.cluster_points)
    ]
    header = ("cluster", "first direction", "second direction", "anchors")
    section.draw(
        [_anchors(found), *(_rows_of(found, cluster) for cluster in range(n_clusters))],
        layout,
        560,
        label=(
            f"Scatter plot of {counted(len(found.rows), 'row')} and {counted(len(found.anchors), 'anchor')} in two "
            f"directions, coloured by cluster."
        ),
        caption=(
            f"Filled marks are rows, hollow marks are anchors, and numbers mark the middle of each cluster. "
            f"{_how_many(found)} The two directions were chosen from the labels to keep the centres of the clusters "
            f"apart. They hold {percent(found.variance_shown, 0)} of the variance in the embedding: clusters that "
            f"overlap here may be apart in other directions, and gaps do not prove that clusters are real. In another "
            f"layer, the numbers are those of that layer, and merged clusters take the colour of the largest one."
        ),
        listed=("Where the clusters lie, as a table", "Middle of each cluster on the map", header, middles),
    )


def _how_many(found: RowMap) -> str:
    shown = "All rows are shown."
    if len(found.rows) < found.n_rows:
        shown = f"A sample of {len(found.rows):,} of the {found.n_rows:,} rows is shown."
    if len(found.anchors) < found.n_anchors:
        shown += f" {len(found.anchors):,} of the {found.n_anchors:,} anchors are shown."
    return shown


def points(places: Any, **more: Any) -> dict[str, Any]:
    """Return points at places of shape (n, 2)."""
    x, y = places.astype(np.float32).T
    return {"type": "scatter", "mode": "markers", "x": x, "y": y, "hoverinfo": "text"} | more


def _rows_of(found: RowMap, cluster: int) -> dict[str, Any]:
    own = np.flatnonzero(found.labels == cluster)
    marker = {"size": 5, "opacity": 0.75, "color": colour_of(cluster), "symbol": SYMBOLS[shape_of(cluster)]}
    # The page finds what to say about these points by the numbers in ``customdata``.
    return points(found.points[own], name=str(cluster), meta="rows", customdata=own.astype(np.int32), marker=marker)


def _anchors(found: RowMap) -> dict[str, Any]:
    labels = found.anchor_labels.tolist()
    text = [f"anchor {one}, cluster {label}" for one, label in zip(found.anchors.tolist(), labels, strict=True)]
    marker = {"size": 10, "opacity": 0.9, "line": {"width": 1}, "color": [colour_of(label) for label in labels]}
    marker["symbol"] = [f"{SYMBOLS[shape_of(label)]}-open" for label in labels]
    return points(found.anchor_points, name="anchors", text=text, marker=marker)


def _layer(layer: Layer, material: Material, found: RowMap) -> dict[str, Any]:
    """Return the clusters of the rows on the map, where their numbers stand, and how they look."""
    labels = layer.labels[found.rows]
    medians = [
        [cluster, *np.round(np.median(found.points[labels == cluster], axis=0), 4).tolist()]
        for cluster in np.unique(labels).tolist()
    ]
    looks = list(range(layer.n_clusters))
    if layer.n_clusters < material.n_clusters:
        # Merged clusters look like the largest of them.
        together = membership(layer.labels, layer.n_clusters) @ membership(material.labels, material.n_clusters).T
        looks = together.toarray().argmax(axis=1).tolist()
    return {
        "n_clusters": layer.n_clusters,
        "labels": {"dtype": "i4", "bdata": b64encode(labels.astype("<i4").tobytes()).decode("ascii")},
        "numbers": medians,
        "colours": [colour_of(look) for look in looks],
        "symbols": [SYMBOLS[shape_of(look)] for look in looks],
    }


def _select(layers: list[Layer], shown: int) -> str:
    options = "".join(
        f'<option value="{place}"{" selected" if layer.n_clusters == shown else ""}>'
        f"{counted(layer.n_clusters, 'cluster')}</option>"
        for place, layer in enumerate(layers)
    )
    select = f'<select id="map-layer">{options}</select>'
    return f'<p class="choice"><label for="map-layer">Colour by layer</label> {select}</p>'


def _hover(material: Material, found: RowMap) -> dict[str, Any]:
    """Return what the page says about single points, mostly as whole numbers."""
    hover: dict[str, Any] = {"rows": found.rows.tolist(), "labels": found.labels.tolist()}
    if material.row_names is not None:
        hover["names"] = [plotly_text(material.row_names[row], 40) for row in found.rows]
    if material.confidence is not None:
        hover["confidence"] = np.round(100 * material.confidence[found.rows]).astype(int).tolist()
    if material.views is not None:
        hover["views"] = [_top_features(material, found, view) for view in range(len(material.views))]
    return hover


def _top_features(material: Material, found: RowMap, view: int) -> dict[str, Any]:
    names, count = material.feature_names[view], TOP_OF_ROW if len(material.views) == 1 else 2
    places, values = top_features_of_rows(material.views[view], found.rows, material.contrasts[view], count)
    used, numbered = np.unique(places, return_inverse=True)
    return {
        "names": [plotly_text(names[place]) for place in used.tolist()],
        "places": numbered.reshape(-1).tolist(),
        "tenths": np.clip(np.round(10 * values), -9999, 9999).astype(int).reshape(-1).tolist(),
        "count": places.shape[1],
    }
