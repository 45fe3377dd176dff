"""Figures of fitted models in matplotlib (extra ``plots``); each function draws one and returns its Axes."""

from kedge.plots.figures import (
    anchor_graph,
    classes,
    cluster_count,
    cluster_sizes,
    confidence,
    features,
    layers,
    map,
    objective,
    view_weights,
)

__all__ = [
    "anchor_graph",
    "classes",
    "cluster_count",
    "cluster_sizes",
    "confidence",
    "features",
    "layers",
    "map",
    "objective",
    "view_weights",
]
