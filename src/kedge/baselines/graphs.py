"""Graphs between rows and anchors: the nearest of many points, weights on them, and the embedding of both sides.

The weights need no bandwidth (the adaptive-neighbour graph). For squared distances d_1 <= ... <= d_{k+1} to the nearest
targets, the first k get the weights (d_{k+1} - d_j) / (k d_{k+1} - sum_{h<=k} d_h). They are the projection of
-d / (2 gamma) on the simplex, with gamma = (k d_{k+1} - sum_{h<=k} d_h) / 2, the ridge at which exactly k are positive.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from kedge.anchors.kmeans import kmeans_anchors
from kedge.anchors.rows import fill_up
from kedge.baselines.affinity import reciprocal
from kedge.baselines.base import Array, Indices, as_dense
from kedge.core.block_step import gram_of
from kedge.core.driver_step import anchor_components, spectral_map
from kedge.core.rows import sample_rows, take_rows
from kedge.kernels.selection import smallest_columns

# Entries of distances held at a time: 4 MiB. Blocks of differences are read three times and have to stay in the cache.
_BLOCK_ENTRIES, _CACHED_ENTRIES = 1 << 19, 1 << 17
# Targets that are centred and searched at a time.
_PART_TARGETS = 1 << 14
# Candidates beyond those needed, so that ties go to the first target and rounding of the search does not decide.
_SPARE = 3


def sample_size(n_rows: int, n_anchors: int, rows_per_anchor: int = 10) -> int:
    """Return how many rows anchors are chosen from: so many per anchor, and at least 5,000."""
    return min(n_rows, max(5_000, rows_per_anchor * n_anchors))


def sampled_anchors(X: Any, n_anchors: int, random_state: np.random.RandomState, how: str = "kmeans") -> NDArray[Any]:
    """Return the k-means centres of a sample of rows, or random rows; at most ``n_anchors`` distinct ones."""
    if how == "random":
        return fill_up(X, np.empty((0, X.shape[1])), n_anchors, random_state)
    rows = sample_rows(X.shape[0], sample_size(X.shape[0], n_anchors), random_state)
    return kmeans_anchors(take_rows(X, rows), n_anchors, random_state)


def anchor_graph_memory(n_rows: int, n_anchors: int, n_features: int, per_row: float, n_sampled: int) -> int:
    """Return about how many bytes a method takes that joins rows to anchors.

    Either ``per_row`` numbers per row, some matrices between anchors and blocks of distances, or two and a half copies
    of the ``n_sampled`` rows that anchors are chosen from, whichever is more.
    """
    graph = 8 * (n_rows * per_row + 4 * n_anchors**2 + 3 * min(n_rows * n_anchors, _BLOCK_ENTRIES))
    return max(int(graph), 20 * n_sampled * n_features)


@dataclass(frozen=True)
class NeighborWeights:
    """The nearest targets of every point and the weights on them."""

    indices: Indices  # Shape (n_points, n_neighbors). Nearest first.
    # Shape (n_points, n_neighbors + 1). The last one is that of the first target without weight.
    squared_distances: Array
    weights: Array  # Shape (n_points, n_neighbors). Rows sum to one. Uniform where all distances are equal.
    ridges: Array  # Shape (n_points,). gamma; zero where all distances are equal.

    def as_graph(self, n_targets: int) -> sparse.csr_array:
        """Return the weights as a sparse matrix of shape (n_points, n_targets)."""
        return rows_as_graph(self.indices, self.weights, n_targets)


def rows_as_graph(indices: Indices, weights: Array, n_columns: int) -> sparse.csr_array:
    """Return a sparse matrix whose row i has ``weights[i]`` in the columns ``indices[i]``; zeros are not stored."""
    n_rows, width = indices.shape
    pointers = np.arange(0, n_rows * width + 1, width, dtype=indices.dtype)
    graph = sparse.csr_array((weights.ravel(), indices.ravel(), pointers), shape=(n_rows, n_columns), copy=True)
    graph.sort_indices()
    graph.eliminate_zeros()
    return graph


def nearest_graph(owners: Indices, n_columns: int) -> sparse.csr_array:
    """Return a graph in which every row has all its weight on its owner."""
    return rows_as_graph(owners[:, None], np.ones((len(owners), 1)), n_columns)


def weigh_neighbors(points: Any, targets: Any, n_neighbors: int, *, among_themselves: bool = False) -> NeighborWeights:
    """Find the nearest targets of every point and weigh them; among themselves, no point is its own neighbour.

    O(n_points n_targets n_features) by brute force in blocks. Distances of dense neighbours are computed again from
    differences, so that they keep their digits. Ties go to the first target.
    """
    most = targets.shape[0] - int(among_themselves)
    if n_neighbors + 1 > most:
        raise ValueError(
            f"{n_neighbors} neighbours with weight need {n_neighbors + 1 + int(among_themselves)} points to choose "
            f"from: {targets.shape[0]}"
        )
    count = min(n_neighbors + 1 + _SPARE, most)
    candidates = _nearest(points, targets, count + int(among_themselves))
    if among_themselves:
        is_self = candidates == np.arange(len(candidates))[:, None]
        # Many coinciding points can crowd a point out of its own list; then the last of them goes.
        is_self[~is_self.any(axis=1), -1] = True
        candidates = candidates[~is_self].reshape(len(candidates), count)
    squares = _squared_distances(points, targets, candidates)
    order = np.lexsort((candidates, squares), axis=1)[:, : n_neighbors + 1]
    indices, squares = np.take_along_axis(candidates, order, axis=1), np.take_along_axis(squares, order, axis=1)
    gaps = squares[:, -1:] - squares[:, :-1]
    totals = gaps.sum(axis=1, keepdims=True)
    weights = np.divide(gaps, totals, out=np.full_like(gaps, 1.0 / n_neighbors), where=totals > 0)
    return NeighborWeights(indices[:, :-1], squares, weights, totals[:, 0] / 2.0)


def _nearest(points: Any, targets: Any, count: int) -> Indices:
    """Return the nearest targets of every point by inner products, without a copy of the points or all targets."""
    is_sparse = sparse.issparse(points) or sparse.issparse(targets)
    # Inner products lose digits far from the origin; subtracting a centre would make sparse rows dense.
    centre = None if is_sparse else targets.mean(axis=0)
    found = np.zeros((points.shape[0], count), dtype=np.intp)
    smallest = np.full(found.shape, np.inf)
    for part in gen_batches(targets.shape[0], _PART_TARGETS):
        some = targets[part] if centre is None else targets[part] - centre
        halves = row_norms(some, squared=True) / 2.0
        for rows in gen_batches(points.shape[0], max(1, _BLOCK_ENTRIES // len(halves))):
            block = points[rows] if centre is None else points[rows] - centre
            distances = np.hstack([smallest[rows], halves - as_dense(block @ some.T)])
            columns, smallest[rows] = smallest_columns(distances, count)
            before = np.take_along_axis(found[rows], np.minimum(columns, count - 1), axis=1)
            found[rows] = np.where(columns < count, before, columns - count + part.start)
    return found


def _squared_distances(points: Any, targets: Any, indices: Indices) -> Array:
    squares = np.empty(indices.shape)
    is_sparse = sparse.issparse(points) or sparse.issparse(targets)
    entries = 4 * _BLOCK_ENTRIES if is_sparse else _CACHED_ENTRIES
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


@dataclass(frozen=True)
class BipartiteEmbedding:
    """Leading singular vectors of Du^(-1/2) Z Dv^(-1/2), where Du and Dv are the row and column sums of Z."""

    row_vectors: Array  # Shape (n_rows, n_vectors). Left singular vectors times sqrt(1/2).
    # Shape (n_columns, n_vectors). Right singular vectors times sqrt(1/2); zero for a column without weight.
    column_vectors: Array
    squares: Array  # Shape (n_vectors + 1,). Squared singular values in [0, 1], descending, one more than vectors.
    row_sums: Array  # Shape (n_rows,). Du.
    column_sums: Array  # Shape (n_columns,). Dv.
    n_components: int  # Connected components, not counting columns without weight.

    def cut_coordinates(self) -> tuple[Array, Array]:
        """Return u_i / sqrt(Du_i) and v_j / sqrt(Dv_j), the points of rows and columns that tell the cut.

        Their squared distances, weighted by Z, add up to the number of vectors less the sum of their singular values.
        """
        row_scale, column_scale = (reciprocal(np.sqrt(sums))[:, None] for sums in (self.row_sums, self.column_sums))
        return self.row_vectors * row_scale, self.column_vectors * column_scale


def embed_graph(graph: sparse.csr_array, n_vectors: int) -> BipartiteEmbedding:
    """Embed both sides of a nonnegative graph by the Gram matrix of its columns, at most O(n_columns^3)."""
    row_sums, column_sums = (np.asarray(graph.sum(axis=axis), dtype=np.float64).ravel() for axis in (1, 0))
    per_entry = np.repeat(reciprocal(np.sqrt(row_sums)), np.diff(graph.indptr))
    scaled = sparse.csr_array((graph.data * per_entry, graph.indices, graph.indptr), shape=graph.shape)
    gram = gram_of(scaled)
    found = spectral_map(gram, column_sums, n_vectors + 1)
    leading = found.leading(n_vectors)
    row_vectors, n_components = np.asarray(scaled @ leading.row_map), anchor_components(gram, column_sums)[0]
    squares = found.singular_values**2
    return BipartiteEmbedding(row_vectors, leading.anchor_embedding, squares, row_sums, column_sums, n_components)
