"""The anchor graph with rows and anchors sorted by cluster."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.plots.numbers.fitted_model import (
    count_clusters,
    graph_rows,
    labels_of,
    membership,
    needed,
    row_slices,
    sampled_by_cluster,
)

# Lines and columns that a screen can show.
MOST_LINES, MOST_COLUMNS = 300, 150


@dataclass(frozen=True)
class GraphBlocks:
    """Weights of some rows on the anchors, and of all clusters on the anchors of all clusters."""

    # Shape (n_shown,). Which rows, sorted by cluster, and their clusters.
    rows: NDArray[np.intp]
    row_labels: NDArray[np.int64]
    column_labels: NDArray[np.int64]  # Shape (n_columns,). Clusters of the columns.
    weights: NDArray[np.float64]  # Shape (n_shown, n_columns). The weight of each row on the anchors of each column.
    anchors_per_column: int  # Most anchors that share a column; neighbours in the same cluster do where there are many.
    n_anchors: int
    # Shape (n_clusters, n_clusters). The share of their weight that rows of a cluster put on the anchors of each one.
    shares: NDArray[np.float64]

    def share_inside(self) -> float:
        """Return the mean share of weight that stays inside clusters that hold rows."""
        holding = self.shares.sum(axis=1) > 0
        return float(np.diag(self.shares)[holding].mean())


def sort_graph(model: Any, most_lines: int = MOST_LINES, most_columns: int = MOST_COLUMNS) -> GraphBlocks:
    """Sort the graph of a model into blocks, with a sample of the rows."""
    graph = needed(model, "graph_", "only models on anchor graphs have it")
    anchor_labels = np.asarray(needed(model, "anchor_labels_", "only SGL and MSGL label their anchors"), dtype=np.int64)
    labels, n_clusters = labels_of(model), count_clusters(model)
    rows = sampled_by_cluster(labels, n_clusters, most_lines)
    rows = rows[np.argsort(labels[rows], kind="stable")]
    columns, column_labels, most = _group_anchors(anchor_labels, n_clusters, most_columns)
    return GraphBlocks(
        rows=rows,
        row_labels=labels[rows],
        column_labels=column_labels,
        weights=(graph_rows(graph, rows) @ columns).toarray(),
        anchors_per_column=most,
        n_anchors=len(anchor_labels),
        shares=_shares(graph, labels, anchor_labels, n_clusters),
    )


def _group_anchors(
    anchor_labels: NDArray[np.int64], n_clusters: int, most: int
) -> tuple[sparse.csr_array, NDArray[np.int64], int]:
    """Return the map from anchors to columns, the clusters of the columns, and the most anchors in one."""
    order = np.argsort(anchor_labels, kind="stable")
    per_column = 1
    counts = np.bincount(anchor_labels, minlength=n_clusters)
    while np.ceil(counts / per_column).sum() > most and per_column < counts.max():
        per_column += 1
    starts = np.cumsum(counts) - counts
    place_in_cluster = np.arange(len(order)) - starts[anchor_labels[order]]
    first_columns = np.cumsum(np.ceil(counts / per_column)) - np.ceil(counts / per_column)
    column = (first_columns[anchor_labels[order]] + place_in_cluster // per_column).astype(np.intp)
    n_columns = int(column.max()) + 1
    labels = np.zeros(n_columns, dtype=np.int64)
    labels[column] = anchor_labels[order]
    shape = (len(order), n_columns)
    return sparse.csr_array((np.ones(len(order)), (order, column)), shape=shape), labels, per_column


def _shares(
    graph: Any, labels: NDArray[np.int64], anchor_labels: NDArray[np.int64], n_clusters: int
) -> NDArray[np.float64]:
    to_clusters = membership(anchor_labels, n_clusters).T
    sums = np.zeros((n_clusters, n_clusters))
    for rows in row_slices(len(labels)):
        sums += (membership(labels[rows], n_clusters) @ graph_rows(graph, rows) @ to_clusters).toarray()
    totals = sums.sum(axis=1, keepdims=True)
    shares: NDArray[np.float64] = np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)
    return shares
