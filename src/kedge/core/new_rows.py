"""Rows that were not in the fit: the votes of the anchors near them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin, pairwise_distances_chunked

from kedge.core.block_step import rows_by_pattern
from kedge.core.rows import View, side_by_side


def vote_over_views(
    views: Sequence[View],
    observed: NDArray[np.bool_] | None,
    anchors: Sequence[NDArray[Any]],
    weights: Sequence[float],
    anchor_labels: NDArray[np.int64],
    n_neighbors: int,
) -> NDArray[np.int64]:
    """Let the nearest anchors vote, by ``sum_v w_v |x_v - a_vj|^2`` over the views that a row has."""
    if len(views) == 1:
        return vote_of_anchors(views[0], anchors[0], anchor_labels, n_neighbors)
    if observed is None:
        observed = np.ones((views[0].shape[0], len(views)), dtype=bool)
    labels = np.empty(len(observed), dtype=np.int64)
    for pattern, rows in rows_by_pattern(observed):
        own = [(views[v][rows], anchors[v], np.sqrt(weights[v])) for v in np.flatnonzero(pattern).tolist()]
        joined = side_by_side([part * part.dtype.type(root) for part, _, root in own])
        prototypes = np.hstack([anchor * anchor.dtype.type(root) for _, anchor, root in own])
        labels[rows] = vote_of_anchors(joined, prototypes, anchor_labels, n_neighbors)
    return labels


def vote_of_anchors(
    X: View, anchors: NDArray[Any], anchor_labels: NDArray[np.int64], n_neighbors: int
) -> NDArray[np.int64]:
    """Give every row the cluster that most of its nearest anchors have; ties go to the tied cluster that is nearest."""
    if n_neighbors == 1:
        return np.asarray(anchor_labels[pairwise_distances_argmin(X, anchors)])

    def vote(distances: NDArray[Any], _: int) -> NDArray[np.int64]:
        return majority(anchor_labels[nearest_columns(distances, n_neighbors)])

    return np.concatenate(list(pairwise_distances_chunked(X, anchors, reduce_func=vote)))


def nearest_columns(distances: NDArray[Any], count: int) -> NDArray[np.intp]:
    """Return the columns of the smallest distances of every row, nearest first, of equal ones the first.

    The distances are overwritten. A few passes for the minimum take a fraction of the time of sorting whole rows.
    """
    rows = np.arange(len(distances))
    near = np.empty((len(distances), min(count, distances.shape[1])), dtype=np.intp)
    for place in range(near.shape[1]):
        near[:, place] = distances.argmin(axis=1)
        distances[rows, near[:, place]] = np.inf
    return near


def majority(votes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the most frequent value of every row; of equally frequent ones the one that stands first."""
    counts = (votes[:, :, None] == votes[:, None, :]).sum(axis=2)
    return np.asarray(votes[np.arange(len(votes)), counts.argmax(axis=1)])
