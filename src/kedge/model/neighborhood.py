"""How well a clustering keeps near rows together: a judge that no row problem has seen."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

# Neighbours per row, as far as clusters are large enough for that many.
MOST_NEIGHBORS, LEAST_NEIGHBORS = 10, 3
# Of the rows that a cluster has on average, this share counts as near.
NEAR_SHARE = 0.25


def count_neighbors(n_rows: int, n_clusters: int) -> int:
    """Return how many neighbours of a row to look at: a quarter of a cluster, from 3 to 10."""
    wanted = round(NEAR_SHARE * n_rows / n_clusters)
    return min(max(LEAST_NEIGHBORS, min(MOST_NEIGHBORS, wanted)), n_rows - 1)


def neighbor_graph(rows: Any, n_neighbors: int, run: Callable[..., Iterable[Any]] = map) -> sparse.csr_array:
    """Join every row to its nearest other rows, by distance and by angle.

    An edge weighs 1 if both ends chose it both ways, and a quarter of that for every choice. Takes O(n^2 d) time and is
    meant for a sample of rows. ``run`` is called like ``map`` and may search both ways at the same time.
    """
    by_distance, by_angle = run(partial(join_nearest, n_neighbors=n_neighbors), (rows, normalize(rows)))
    return sparse.csr_array((by_distance + by_angle) / 2)


def join_nearest(points: Any, n_neighbors: int) -> sparse.csr_array:
    """Join every point to its nearest other points; an edge weighs 1 if both ends chose it, 1/2 if one did."""
    found = NearestNeighbors(n_neighbors=n_neighbors, algorithm="brute").fit(points)
    # Without points to ask for, a point is not its own neighbour, also where points are repeated.
    chosen = sparse.csr_array(found.kneighbors_graph())
    return sparse.csr_array((chosen + chosen.T) / 2)


def modularity(graph: sparse.csr_array, labels: NDArray[np.int64]) -> float:
    """Return the share of edge weight inside clusters, less what it would be if edges fell by degree alone."""
    within = edge_shares(graph, labels)
    ends = within.sum(axis=1)
    return float(np.trace(within) - ends @ ends)


def near_share(graph: sparse.csr_array, labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return, for every row, the share of its edge weight to rows of its own cluster; 0 for a row without edges."""
    ends = np.repeat(np.arange(len(labels)), np.diff(graph.indptr))
    inside = np.bincount(ends, graph.data * (labels[ends] == labels[graph.indices]), minlength=len(labels))
    degrees = np.bincount(ends, graph.data, minlength=len(labels))
    return np.asarray(inside / np.maximum(degrees, np.finfo(np.float64).tiny))


def edge_shares(graph: sparse.csr_array, labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of edge weight between any two clusters."""
    n_rows, n_clusters = len(labels), int(labels.max()) + 1
    member = sparse.csr_array((np.ones(n_rows), labels, np.arange(n_rows + 1)), shape=(n_rows, n_clusters))
    between = (member.T @ (graph @ member)).toarray()
    return np.asarray(between / max(between.sum(), np.finfo(np.float64).tiny))
