"""Where rows and anchors lie in two directions, for the map; and the typical rows of each cluster."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from kedge.core.labels import DAMPING_POWER, cluster_coordinates, unit_rows
from kedge.plots import fitted_model
from kedge.plots.fitted_model import Array, Labels, count_clusters, labels_of, membership

# Points that a browser and a reader can still handle.
MOST_POINTS = 20_000
# If there are more anchors, a sample is shown, so that rows can be seen between them.
MOST_ANCHORS = 500
# Typical rows shown per cluster.
PROTOTYPES = 5
# Steps of the search for directions that show all clusters, and a squared distance that counts as almost zero.
_STEPS, _SOFTENING = 200, 1e-3


class RowMap(NamedTuple):
    """Rows and anchors in two directions."""

    rows: NDArray[np.intp]  # Shape (n_shown,). Which rows are shown.
    points: Array  # Shape (n_shown, 2). Where they lie.
    labels: Labels  # Shape (n_shown,). Their clusters.
    anchors: NDArray[np.intp]  # Shape (n_anchors_shown,). Which anchors are shown.
    anchor_points: Array  # Shape (n_anchors_shown, 2).
    anchor_labels: Labels  # Shape (n_anchors_shown,).
    cluster_points: Array  # Shape (n_clusters, 2). Medians of the rows shown; NaN for a cluster without rows.
    variance_shown: float  # Share of the variance of the shown rows that two directions keep.
    # How many rows and anchors there are in all.
    n_rows: int
    n_anchors: int


def can_be_mapped(model: Any) -> bool:
    """Return whether the embedding has two directions."""
    embedding = getattr(model, "embedding_", None)
    return embedding is not None and embedding.shape[1] > 1 and hasattr(model, "anchor_embedding_")


def coordinates(model: Any, embedding: Any) -> Array:
    """Return embedded rows at unit length, with weak directions damped."""
    values = model.singular_values_[: embedding.shape[1]]
    return np.asarray(cluster_coordinates(np.asarray(embedding, dtype=np.float64), values))


def _anchor_coordinates(model: Any) -> Array:
    """Return where a row with all its weight on one anchor would lie."""
    # With U = Z D^(-1/2) V S^(-1), rows lie at U S^p, and such a row lies at a multiple of V S^(p - 1).
    embedding = np.asarray(model.anchor_embedding_, dtype=np.float64)
    values = model.singular_values_[: embedding.shape[1]]
    return np.asarray(unit_rows(embedding * values ** (DAMPING_POWER - 1)))


def map_rows(model: Any, X: Any = None, most: int = MOST_POINTS) -> RowMap:
    """Project anchors and rows (of the fit, or new rows X; a sample of more than ``most``) on two directions."""
    embedding = fitted_model.needed(model, "embedding_", fitted_model.NOT_A_GRAPH) if X is None else model.transform(X)
    n_clusters = count_clusters(model)
    if not can_be_mapped(model):
        raise ValueError(f"a map needs two clusters or more, this {type(model).__name__} has {n_clusters}")
    all_labels = labels_of(model) if X is None else np.asarray(model.predict(X), dtype=np.int64)
    rows = fitted_model.sampled_by_cluster(all_labels, n_clusters, most)
    labels, points = all_labels[rows], coordinates(model, embedding[rows])
    center = points.mean(axis=0)
    points = points - center
    present, counts = np.unique(labels, return_counts=True)
    centers = (membership(labels, n_clusters) @ points)[present] / counts[:, None]
    directions = spreading_directions(points, centers)
    flat = points @ directions
    anchor_labels = np.asarray(model.anchor_labels_, dtype=np.int64)
    anchors = fitted_model.sampled_by_cluster(anchor_labels, n_clusters, MOST_ANCHORS)
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

    Principal directions separate a few of many clusters and leave the others in a heap, because clusters are about
    equally far from one another. Starting there, gradient steps raise the sum of log |W'(c_i - c_j)|^2 over pairs of
    centres, which is small for a heap. The result is rotated to the principal directions of the rows in that plane.
    """
    directions = _principal(points)
    apart = (centers[:, None] - centers[None]).reshape(-1, centers.shape[1])
    apart = apart[np.einsum("ij,ij->i", apart, apart) > 0]
    if len(apart) and points.shape[1] > 2:
        step, (best, gradient) = 1.0, _mean_log(apart, directions)
        for _ in range(_STEPS):
            moved, _ = np.linalg.qr(directions + step * (gradient - directions @ (directions.T @ gradient)))
            reached, next_gradient = _mean_log(apart, moved)
            if reached > best:
                directions, best, gradient, step = moved, reached, next_gradient, 1.5 * step
            else:
                step /= 3.0
    return np.asarray(directions @ _principal(points @ directions))


def _mean_log(apart: Array, directions: Array) -> tuple[float, Array]:
    """Return the mean of the logarithms, and half its gradient."""
    flat = apart @ directions
    squares = np.einsum("ij,ij->i", flat, flat) + _SOFTENING
    return float(np.log(squares).mean()), apart.T @ (flat / squares[:, None]) / len(apart)


def _principal(points: Array) -> Array:
    """Return the two leading principal directions of centred points, with their largest entries positive."""
    leading = np.linalg.eigh(points.T @ points)[1][:, ::-1][:, :2]
    return np.asarray(leading * np.sign(leading[np.abs(leading).argmax(axis=0), [0, 1]]))


def find_prototypes(model: Any) -> list[NDArray[np.intp]]:
    """Return the rows nearest to the centre of each cluster, nearest first."""
    embedding = fitted_model.needed(model, "embedding_", fitted_model.NOT_A_GRAPH)
    labels, n_clusters = labels_of(model), count_clusters(model)
    sums = np.zeros((n_clusters, embedding.shape[1]))
    for rows in gen_batches(len(labels), fitted_model.ROWS_PER_BLOCK):
        sums += membership(labels[rows], n_clusters) @ coordinates(model, embedding[rows])
    centers = sums / np.maximum(np.bincount(labels, minlength=n_clusters), 1)[:, None]
    distances = np.empty(len(labels))
    for rows in gen_batches(len(labels), fitted_model.ROWS_PER_BLOCK):
        distances[rows] = np.linalg.norm(coordinates(model, embedding[rows]) - centers[labels[rows]], axis=1)
    order = np.lexsort((distances, labels))
    starts = np.searchsorted(labels[order], np.arange(n_clusters + 1))
    return [order[start : min(start + PROTOTYPES, stop)] for start, stop in pairwise(starts)]
