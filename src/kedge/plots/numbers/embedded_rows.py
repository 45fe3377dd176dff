"""Where rows and anchors lie among the clusters, in all directions and in two."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.core.labels import DAMPING_POWER, cluster_coordinates, unit_rows
from kedge.plots.numbers.fitted_model import count_clusters, labels_of, needed, row_slices, sampled_by_cluster

Array = NDArray[np.float64]
# Points that a browser and a reader can still handle.
MOST_POINTS = 20_000
# Of more anchors a sample is shown, so that rows can be seen between them.
MOST_ANCHORS = 500
# Typical rows shown per cluster.
PROTOTYPES = 5
# Moves towards directions that show all clusters, and the squared distance below which they count as one place.
_STEPS, _SOFTENING = 200, 1e-3
_NOT_A_GRAPH = "only models on anchor graphs (SGL, MSGL) have it"


@dataclass(frozen=True)
class RowMap:
    """Rows and anchors in two directions."""

    rows: NDArray[np.intp]  # Shape (n_shown,). Which rows are shown.
    # Shape (n_shown, 2), (n_shown,). Where they lie, and their clusters.
    points: Array
    labels: NDArray[np.int64]
    anchors: NDArray[np.intp]  # Shape (n_anchors_shown,). Which anchors are shown.
    # Shape (n_anchors_shown, 2), (n_anchors_shown,). Where they lie, and their clusters.
    anchor_points: Array
    anchor_labels: NDArray[np.int64]
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


def anchor_coordinates(model: Any) -> Array:
    """Return where a row would lie that leans on one anchor alone.

    With U = Z D^(-1/2) V S^(-1), rows lie at U S^p, and such a row at a multiple of V S^(p - 1).
    """
    embedding = np.asarray(model.anchor_embedding_, dtype=np.float64)
    values = model.singular_values_[: embedding.shape[1]]
    return np.asarray(unit_rows(embedding * values ** (DAMPING_POWER - 1)))


def map_rows(model: Any, X: Any = None, most: int = MOST_POINTS) -> RowMap:
    """Project rows and anchors on two directions in which the clusters are apart.

    Parameters
    ----------
    model : SGL or MSGL
        The fitted model.
    X : rows or None
        New rows, which are embedded and labelled first; None means those of the fit.
    most : int
        Most rows to show; of more, a sample.
    """
    embedding = needed(model, "embedding_", _NOT_A_GRAPH) if X is None else model.transform(X)
    if not can_be_mapped(model):
        raise ValueError(f"a map needs two clusters or more, this {type(model).__name__} has {count_clusters(model)}")
    labels = labels_of(model) if X is None else np.asarray(model.predict(X), dtype=np.int64)
    n_clusters = count_clusters(model)
    rows = sampled_by_cluster(labels, n_clusters, most)
    points = coordinates(model, embedding[rows])
    shown = labels[rows]
    center = points.mean(axis=0)
    present, numbered = np.unique(shown, return_inverse=True)
    directions = spreading_directions(points - center, _group_means(points - center, numbered))
    flat = (points - center) @ directions
    anchor_labels = np.asarray(model.anchor_labels_, dtype=np.int64)
    anchors = sampled_by_cluster(anchor_labels, n_clusters, MOST_ANCHORS)
    medians = np.full((n_clusters, 2), np.nan)
    for cluster in present:
        medians[cluster] = np.median(flat[shown == cluster], axis=0)
    return RowMap(
        rows=rows,
        points=flat,
        labels=shown,
        anchors=anchors,
        anchor_points=(anchor_coordinates(model)[anchors] - center) @ directions,
        anchor_labels=anchor_labels[anchors],
        cluster_points=medians,
        variance_shown=float(flat.var(axis=0).sum() / max(points.var(axis=0).sum(), np.finfo(float).tiny)),
        n_rows=len(labels),
        n_anchors=len(anchor_labels),
    )


def _group_means(points: Array, groups: NDArray[np.int64]) -> Array:
    sums = np.zeros((int(groups.max()) + 1, points.shape[1]))
    np.add.at(sums, groups, points)
    return np.asarray(sums / np.bincount(groups)[:, None])


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
    for rows in row_slices(len(labels)):
        np.add.at(sums, labels[rows], coordinates(model, embedding[rows]))
    centers = sums / np.maximum(np.bincount(labels, minlength=n_clusters), 1)[:, None]
    distances = np.empty(len(labels))
    for rows in row_slices(len(labels)):
        distances[rows] = np.linalg.norm(coordinates(model, embedding[rows]) - centers[labels[rows]], axis=1)
    order = np.lexsort((distances, labels))
    starts = np.searchsorted(labels[order], np.arange(n_clusters + 1))
    return [order[start : min(start + count, stop)] for start, stop in pairwise(starts)]
