"""Weights on the nearest of some points that need no bandwidth: the adaptive-neighbour graph.

For distances d_1 <= ... <= d_{k+1} to the nearest targets the weights (d_{k+1} - d_j) / (k d_{k+1} - sum_{h<=k} d_h) of
the first k are the projection of -d / (2 gamma) on the simplex, where gamma = (k d_{k+1} - sum_{h<=k} d_h) / 2 is the
ridge at which exactly k of them are positive. Distances are squared.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

# Entries of distances held at a time: 16 MiB. Differences of rows are gone over three times, so a block of them is to
# stay in the cache.
_BLOCK_ENTRIES = 1 << 21
_CACHED_ENTRIES = 1 << 17
# Candidates beyond those needed: of equally near ones the first shall win, and rounding of the search shall not decide.
SPARE = 3


@dataclass(frozen=True)
class NeighborWeights:
    """The nearest targets of every point and the weights on them."""

    indices: NDArray[np.intp]  # Shape (n_points, n_neighbors). Nearest first.
    # Shape (n_points, n_neighbors + 1). Also that of the first target without weight.
    squared_distances: NDArray[np.float64]
    # Shape (n_points, n_neighbors). Nonnegative, each row sums to one. Uniform where all distances are equal.
    weights: NDArray[np.float64]
    ridges: NDArray[np.float64]  # Shape (n_points,). gamma; zero where all distances are equal.

    def as_graph(self, n_targets: int) -> sparse.csr_array:
        """Return the weights as a sparse matrix of shape (n_points, n_targets)."""
        return rows_as_graph(self.indices, self.weights, n_targets)


def rows_as_graph(indices: NDArray[np.intp], weights: NDArray[np.float64], n_columns: int) -> sparse.csr_array:
    """Return a sparse matrix whose row i has ``weights[i]`` in the columns ``indices[i]``; zeros are not stored."""
    n_rows, width = indices.shape
    pointers = np.arange(0, n_rows * width + 1, width)
    graph = sparse.csr_array((weights.ravel(), indices.ravel(), pointers), shape=(n_rows, n_columns))
    graph.sort_indices()
    graph.eliminate_zeros()
    return graph


def weigh_neighbors(points: Any, targets: Any, n_neighbors: int, *, among_themselves: bool = False) -> NeighborWeights:
    """Find the nearest targets of every point and weigh them.

    Parameters
    ----------
    points : ndarray or CSR array of shape (n_points, n_features)
        The points.
    targets : ndarray or CSR array of shape (n_targets, n_features)
        More of them than ``n_neighbors``.
    n_neighbors : int
        How many get weight.
    among_themselves : bool, default=False
        The targets are the points: none is its own neighbour, also where others coincide with it.

    Notes
    -----
    O(n_points n_targets n_features) by brute force in blocks; distances of the neighbours found are computed anew from
    differences where rows are dense, so that they keep their digits.
    """
    most = targets.shape[0] - int(among_themselves)
    if n_neighbors + 1 > most:
        raise ValueError(
            f"{n_neighbors} neighbours with weight need {n_neighbors + 1 + int(among_themselves)} points to choose "
            f"from: {targets.shape[0]}"
        )
    candidates = _nearest(points, targets, min(n_neighbors + 1 + SPARE, most), among_themselves)
    return weigh_candidates(points, targets, candidates, n_neighbors)


def weigh_candidates(points: Any, targets: Any, candidates: NDArray[np.intp], n_neighbors: int) -> NeighborWeights:
    """Weigh the nearest of some targets given for every point, more than ``n_neighbors`` of them and distinct.

    Of equally near ones those that come first among the targets win.
    """
    squares = _squared_distances(points, targets, candidates)
    order = np.lexsort((candidates, squares), axis=1)[:, : n_neighbors + 1]
    indices, squares = np.take_along_axis(candidates, order, axis=1), np.take_along_axis(squares, order, axis=1)
    gaps = squares[:, -1:] - squares[:, :-1]
    totals = gaps.sum(axis=1, keepdims=True)
    weights = np.divide(gaps, totals, out=np.full_like(gaps, 1.0 / n_neighbors), where=totals > 0)
    return NeighborWeights(indices[:, :-1], squares, weights, totals[:, 0] / 2.0)


def _nearest(points: Any, targets: Any, count: int, among_themselves: bool) -> NDArray[np.intp]:
    asked = count + int(among_themselves)
    if sparse.issparse(points) != sparse.issparse(targets):
        return _nearest_of_mixed(points, targets, asked)
    if not sparse.issparse(targets):
        # Distances come from inner products, which lose digits far from the origin.
        centre = targets.mean(axis=0)
        points, targets = points - centre, targets - centre
    search = NearestNeighbors(n_neighbors=asked, algorithm="brute").fit(targets)
    found = search.kneighbors(points, return_distance=False)
    if not among_themselves:
        return np.asarray(found, dtype=np.intp)
    is_self = found == np.arange(len(found))[:, None]
    # Many coinciding points can crowd a point out of its own list; then the last of them goes.
    is_self[~is_self.any(axis=1), -1] = True
    return np.asarray(found[~is_self].reshape(len(found), count), dtype=np.intp)


def _nearest_of_mixed(points: Any, targets: Any, count: int) -> NDArray[np.intp]:
    """Search dense targets for sparse points, or the other way round, without making either of the other kind."""
    found = np.empty((points.shape[0], count), dtype=np.intp)
    halves = row_norms(targets, squared=True) / 2.0
    for rows in gen_batches(points.shape[0], max(1, _BLOCK_ENTRIES // targets.shape[0])):
        distances = halves - np.asarray(points[rows] @ targets.T)
        found[rows] = np.argpartition(distances, count - 1, axis=1)[:, :count]
    return found


def _squared_distances(points: Any, targets: Any, indices: NDArray[np.intp]) -> NDArray[np.float64]:
    squares = np.empty(indices.shape)
    is_sparse = sparse.issparse(points) or sparse.issparse(targets)
    entries = _BLOCK_ENTRIES if is_sparse else _CACHED_ENTRIES
    step = max(1, entries // (indices.shape[1] * points.shape[1]))
    lengths = row_norms(targets, squared=True) if is_sparse else None
    for rows in gen_batches(points.shape[0], step):
        if lengths is None:
            differences = points[rows][:, None, :].astype(np.float64, copy=False) - targets[indices[rows]]
            squares[rows] = np.einsum("ijk,ijk->ij", differences, differences)
            continue
        block, chosen = points[rows], targets[indices[rows].ravel()]
        repeated = block[np.repeat(np.arange(block.shape[0]), indices.shape[1])]
        product = chosen.multiply(repeated) if sparse.issparse(chosen) else repeated.multiply(chosen)
        cross = np.asarray(product.sum(axis=1)).reshape(-1, indices.shape[1])
        own = row_norms(block, squared=True)[:, None]
        squares[rows] = np.maximum(own - 2.0 * cross + lengths[indices[rows]], 0.0)
    return squares
