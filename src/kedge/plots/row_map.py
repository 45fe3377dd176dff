"""Where rows and anchors lie among the clusters: the map, typical rows, and the graph sorted into blocks."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches

from kedge.core.labels import DAMPING_POWER, cluster_coordinates, unit_rows
from kedge.plots.fitted_model import ROWS_PER_BLOCK, count_clusters, labels_of, membership, needed, sampled_by_cluster

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
# Points that a browser and a reader can still handle.
MOST_POINTS = 20_000
# Of more anchors a sample is shown, so that rows can be seen between them.
MOST_ANCHORS = 500
# Typical rows shown per cluster.
PROTOTYPES = 5
# Lines and columns of the graph that a screen can show.
MOST_LINES, MOST_COLUMNS = 300, 150
# Moves towards directions that show all clusters, and the squared distance below which they count as one place.
_STEPS, _SOFTENING = 200, 1e-3
_NOT_A_GRAPH = "only models on anchor graphs (SGL, MSGL) have it"


@dataclass(frozen=True)
class RowMap:
    """Rows and anchors in two directions."""

    rows: NDArray[np.intp]  # Shape (n_shown,). Which rows are shown.
    # Shape (n_shown, 2), (n_shown,). Where they lie, and their clusters.
    points: Array
    labels: Labels
    anchors: NDArray[np.intp]  # Shape (n_anchors_shown,). Which anchors are shown.
    # Shape (n_anchors_shown, 2), (n_anchors_shown,). Where they lie, and their clusters.
    anchor_points: Array
    anchor_labels: Labels
    cluster_points: Array  # Shape (n_clusters, 2). Medians of the rows shown; NaN for a cluster without rows.
    variance_shown: float  # Share of the variance of the shown rows that two directions keep.
    # Numbers of all rows and of all anchors.
    n_rows: int
    n_anchors: int


def can_be_mapped(model: Any) -> bool:
    """Tell whether rows have two directions to lie in."""
    embedding = getattr(model, "embedding_", None)
    return embedding is not None and embedding.shape[1] > 1 and hasattr(model, "anchor_embedding_")


def coordinates(model: Any, embedding: Any) -> Array:
    """Return embedded rows with weak directions damped, at unit length."""
    values = model.singular_values_[: embedding.shape[1]]
    return np.asarray(cluster_coordinates(np.asarray(embedding, dtype=np.float64), values))


def _anchor_coordinates(model: Any) -> Array:
    """Return where a row would lie that leans on one anchor alone.

    With U = Z D^(-1/2) V S^(-1), rows lie at U S^p, and such a row at a multiple of V S^(p - 1).
    """
    embedding = np.asarray(model.anchor_embedding_, dtype=np.float64)
    values = model.singular_values_[: embedding.shape[1]]
    return np.asarray(unit_rows(embedding * values ** (DAMPING_POWER - 1)))


def map_rows(model: Any, X: Any = None, most: int = MOST_POINTS) -> RowMap:
    """Project rows of the fit, or new rows X, on two directions in which the clusters are apart; and the anchors.

    New rows are embedded and labelled first. Of more than ``most`` rows a sample is shown.
    """
    embedding = needed(model, "embedding_", _NOT_A_GRAPH) if X is None else model.transform(X)
    n_clusters = count_clusters(model)
    if not can_be_mapped(model):
        raise ValueError(f"a map needs two clusters or more, this {type(model).__name__} has {n_clusters}")
    all_labels = labels_of(model) if X is None else np.asarray(model.predict(X), dtype=np.int64)
    rows = sampled_by_cluster(all_labels, n_clusters, most)
    labels, points = all_labels[rows], coordinates(model, embedding[rows])
    center = points.mean(axis=0)
    points = points - center
    present, counts = np.unique(labels, return_counts=True)
    centers = (membership(labels, n_clusters) @ points)[present] / counts[:, None]
    directions = spreading_directions(points, centers)
    flat = points @ directions
    anchor_labels = np.asarray(model.anchor_labels_, dtype=np.int64)
    anchors = sampled_by_cluster(anchor_labels, n_clusters, MOST_ANCHORS)
    medians = np.full((n_clusters, 2), np.nan)
    for cluster in present:
        medians[cluster] = np.median(flat[labels == cluster], axis=0)
    return RowMap(
        rows=rows,
        points=flat,
        labels=labels,
        anchors=anchors,
        anchor_points=(_anchor_coordinates(model)[anchors] - center) @ directions,
        anchor_labels=anchor_labels[anchors],
        cluster_points=medians,
        variance_shown=float(flat.var(axis=0).sum() / max(points.var(axis=0).sum(), np.finfo(float).tiny)),
        n_rows=len(all_labels),
        n_anchors=len(anchor_labels),
    )


def spreading_directions(points: Array, centers: Array) -> Array:
    """Return two orthonormal directions that keep the centres of clusters apart, shape (n_directions, 2).

    Principal directions show a few of many clusters and leave the others in a heap, because clusters are about equally
    far from one another. From these directions on, the sum of log |W'(c_i - c_j)|^2 over pairs of centres is raised,
    which a heap makes small; then the principal directions of the rows in that plane are taken.
    """
    directions = _principal(points)
    apart = (centers[:, None] - centers[None]).reshape(-1, centers.shape[1])
    apart = apart[np.einsum("ij,ij->i", apart, apart) > 0]
    if len(apart) and points.shape[1] > 2:
        step, best = 1.0, _mean_log(apart, directions)
        for _ in range(_STEPS):
            flat = apart @ directions
            weighted = flat / (np.einsum("ij,ij->i", flat, flat) + _SOFTENING)[:, None]
            gradient = apart.T @ weighted / len(apart)
            moved, _ = np.linalg.qr(directions + step * (gradient - directions @ (directions.T @ gradient)))
            reached = _mean_log(apart, moved)
            if reached > best:
                directions, best, step = moved, reached, 1.5 * step
            else:
                step /= 3.0
    return np.asarray(directions @ _principal(points @ directions))


def _mean_log(apart: Array, directions: Array) -> float:
    flat = apart @ directions
    return float(np.log(np.einsum("ij,ij->i", flat, flat) + _SOFTENING).mean())


def _principal(points: Array) -> Array:
    """Return the two leading principal directions of centred points, their largest parts positive."""
    leading = np.linalg.eigh(points.T @ points)[1][:, ::-1][:, :2]
    return np.asarray(leading * np.sign(leading[np.abs(leading).argmax(axis=0), [0, 1]]))


def find_prototypes(model: Any, count: int = PROTOTYPES) -> list[NDArray[np.intp]]:
    """Return the rows nearest to the centre of each cluster, nearest first."""
    embedding = needed(model, "embedding_", _NOT_A_GRAPH)
    labels, n_clusters = labels_of(model), count_clusters(model)
    sums = np.zeros((n_clusters, embedding.shape[1]))
    for rows in gen_batches(len(labels), ROWS_PER_BLOCK):
        sums += membership(labels[rows], n_clusters) @ coordinates(model, embedding[rows])
    centers = sums / np.maximum(np.bincount(labels, minlength=n_clusters), 1)[:, None]
    distances = np.empty(len(labels))
    for rows in gen_batches(len(labels), ROWS_PER_BLOCK):
        distances[rows] = np.linalg.norm(coordinates(model, embedding[rows]) - centers[labels[rows]], axis=1)
    order = np.lexsort((distances, labels))
    starts = np.searchsorted(labels[order], np.arange(n_clusters + 1))
    return [order[start : min(start + count, stop)] for start, stop in pairwise(starts)]


@dataclass(frozen=True)
class GraphBlocks:
    """Weights of some rows on the anchors, and of all clusters on the anchors of all clusters."""

    # Shape (n_shown,). Which rows, sorted by cluster, and their clusters.
    rows: NDArray[np.intp]
    row_labels: Labels
    # Shape (n_columns,), (n_shown, n_columns). Clusters of the columns, and the weight of each row on their anchors.
    column_labels: Labels
    weights: Array
    anchors_per_column: int  # Most anchors that share a column; neighbours in the same cluster do where there are many.
    n_anchors: int
    # Shape (n_clusters, n_clusters). The share of their weight that rows of a cluster put on the anchors of each one.
    shares: Array

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
    to_clusters, sums = membership(anchor_labels, n_clusters).T, np.zeros((n_clusters, n_clusters))
    for part in gen_batches(len(labels), ROWS_PER_BLOCK):
        sums += (membership(labels[part], n_clusters) @ _graph_rows(graph, part) @ to_clusters).toarray()
    totals = sums.sum(axis=1, keepdims=True)
    return GraphBlocks(
        rows=rows,
        row_labels=labels[rows],
        column_labels=column_labels,
        weights=(_graph_rows(graph, rows) @ columns).toarray(),
        anchors_per_column=most,
        n_anchors=len(anchor_labels),
        shares=np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0),
    )


def _graph_rows(graph: Any, rows: Any) -> sparse.csr_array:
    """Return rows of a graph that is in memory, on disk, or on the workers of a cluster."""
    part = graph[rows]
    return sparse.csr_array(part.compute() if hasattr(part, "compute") else part)


def _group_anchors(anchor_labels: Labels, n_clusters: int, most: int) -> tuple[sparse.csr_array, Labels, int]:
    """Return the map from anchors to columns, the clusters of the columns, and the most anchors in one."""
    counts = np.bincount(anchor_labels, minlength=n_clusters)
    per_column = 1
    while np.ceil(counts / per_column).sum() > most and per_column < counts.max():
        per_column += 1
    columns_of = np.ceil(counts / per_column).astype(np.intp)
    order = np.argsort(anchor_labels, kind="stable")
    own = anchor_labels[order]
    place_in_cluster = np.arange(len(order)) - (np.cumsum(counts) - counts)[own]
    column = (np.cumsum(columns_of) - columns_of)[own] + place_in_cluster // per_column
    shape = (len(order), int(columns_of.sum()))
    grouping = sparse.csr_array((np.ones(len(order)), (order, column)), shape=shape)
    return grouping, np.repeat(np.arange(n_clusters), columns_of), per_column
