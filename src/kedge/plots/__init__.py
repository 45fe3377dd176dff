"""Figures of fitted models in matplotlib (extra ``plots``); each function draws one and returns its Axes."""

from kedge.plots.class_cells import classes
from kedge.plots.confidence_bars import confidence
from kedge.plots.count_bars import cluster_count
from kedge.plots.feature_cells import features
from kedge.plots.graph_cells import anchor_graph
from kedge.plots.layer_lines import layers
from kedge.plots.objective_line import objective
from kedge.plots.row_map import map
from kedge.plots.size_bars import cluster_sizes
from kedge.plots.weight_lines import view_weights

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
