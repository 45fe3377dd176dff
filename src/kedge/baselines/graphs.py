"""Graphs between rows and anchors: the nearest of many points, weights on them, and the embedding of both sides.

Weights need no bandwidth (the adaptive-neighbour graph): for distances d_1 <= ... <= d_{k+1} to the nearest targets the
weights (d_{k+1} - d_j) / (k d_{k+1} - sum_{h<=k} d_h) of the first k are the projection of -d / (2 gamma) on the
simplex, where gamma = (k d_{k+1} - sum_{h<=k} d_h) / 2 is the ridge at which exactly k of them are positive. Distances
are squared.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from kedge.anchors.kmeans import kmeans_anchors
from kedge.baselines.base import Array, Indices, reciprocal
from kedge.core.block_step import gram_of
from kedge.core.driver_step import anchor_components, spectral_map
from kedge.core.rows import sample_rows, take_rows

# Rows per anchor that k-means looks at, and at least.
_ROWS_PER_ANCHOR, _LEAST_SAMPLE = 10, 5_000
# Entries of distances held at a time: 16 MiB. Differences of rows are gone over three times, so a block of them is to
# stay in the cache.
_BLOCK_ENTRIES, _CACHED_ENTRIES = 1 << 21, 1 << 17
# Candidates beyond those needed: of equally near ones the first shall win, and rounding of the search shall not decide.
_SPARE = 3
# Multiplications below which searching twice in double precision is fast enough.
_SMALL_SEARCH = 1 << 28
# Entries of single-precision distances held at a time: 2 MiB, so that they stay near the processor.
_NARROW_ENTRIES = 1 << 19
# Rounding of an inner product of d terms, in units of sqrt(d) times the lengths: four standard deviations and more.
_ROUNDING = 8.0 * float(np.finfo(np.float32).eps)


def anchor_graph_memory(n_rows: int, n_anchors: int, n_features: int, per_row: float, choice: int = 0) -> int:
    """Return about how many bytes a method takes that joins rows to anchors.

    ``per_row`` numbers per row, some matrices between anchors, and for the search a copy of dense points, if they are
    not many; or, if it is more, ``choice``, the bytes that it takes to find the anchors.
    """
    search = 8 * min(n_rows * n_features, _SMALL_SEARCH // n_anchors)
    return max(int(8 * (n_rows * per_row + 4 * n_anchors**2)) + search, choice)


def sampling_memory(n_rows: int, n_anchors: int, n_features: int) -> int:
    """Return about how many bytes :func:`sampled_anchors` takes: two and a half copies of the sample."""
    return 20 * _sample_size(n_rows, n_anchors) * n_features


def sampled_anchors(X: Any, n_anchors: int, random_state: RandomState) -> NDArray[Any]:
    """Return the k-means centres of a sample of ten rows per anchor, at most ``n_anchors`` distinct ones.

    At most 20 rounds of O(max(5000, 10 m) m d) for m anchors of d features.
    """
    rows = sample_rows(X.shape[0], _sample_size(X.shape[0], n_anchors), random_state)
    return kmeans_anchors(take_rows(X, rows), n_anchors, random_state)


def _sample_size(n_rows: int, n_anchors: int) -> int:
    return min(n_rows, max(_LEAST_SAMPLE, _ROWS_PER_ANCHOR * n_anchors))


@dataclass(frozen=True)
class NeighborWeights:
    """The nearest targets of every point and the weights on them."""

    indices: Indices  # Shape (n_points, n_neighbors). Nearest first.
    # Shape (n_points, n_neighbors + 1). Also that of the first target without weight.
    squared_distances: Array
    # Shape (n_points, n_neighbors). Nonnegative, each row sums to one. Uniform where all distances are equal.
    weights: Array
    ridges: Array  # Shape (n_points,). gamma; zero where all distances are equal.

    def as_graph(self, n_targets: int) -> sparse.csr_array:
        """Return the weights as a sparse matrix of shape (n_points, n_targets)."""
        return rows_as_graph(self.indices, self.weights, n_targets)


def rows_as_graph(indices: Indices, weights: Array, n_columns: int) -> sparse.csr_array:
    """Return a sparse matrix whose row i has ``weights[i]`` in the columns ``indices[i]``; zeros are not stored."""
    n_rows, width = indices.shape
    pointers = np.arange(0, n_rows * width + 1, width)
    graph = sparse.csr_array((weights.ravel(), indices.ravel(), pointers), shape=(n_rows, n_columns))
    graph.sort_indices()
    graph.eliminate_zeros()
    return graph


def weigh_neighbors(points: Any, targets: Any, n_neighbors: int, *, among_themselves: bool = False) -> NeighborWeights:
    """Find the nearest targets of every point and weigh them; among themselves, no point is its own neighbour.

    O(n_points n_targets n_features) by brute force in blocks; distances of the neighbours found are computed anew from
    differences where rows are dense, so that they keep their digits.
    """
    most = targets.shape[0] - int(among_themselves)
    if n_neighbors + 1 > most:
        raise ValueError(
            f"{n_neighbors} neighbours with weight need {n_neighbors + 1 + int(among_themselves)} points to choose "
            f"from: {targets.shape[0]}"
        )
    candidates = _nearest(points, targets, min(n_neighbors + 1 + _SPARE, most), among_themselves)
    return weigh_candidates(points, targets, candidates, n_neighbors)


def weigh_candidates(points: Any, targets: Any, candidates: Indices, n_neighbors: int) -> NeighborWeights:
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


def _nearest(points: Any, targets: Any, count: int, among_themselves: bool) -> Indices:
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


def _nearest_of_mixed(points: Any, targets: Any, count: int) -> Indices:
    """Search dense targets for sparse points, or the other way round, without making either of the other kind."""
    found = np.empty((points.shape[0], count), dtype=np.intp)
    halves = row_norms(targets, squared=True) / 2.0
    for rows in gen_batches(points.shape[0], max(1, _BLOCK_ENTRIES // targets.shape[0])):
        distances = halves - np.asarray(points[rows] @ targets.T)
        found[rows] = np.argpartition(distances, count - 1, axis=1)[:, :count]
    return found


def _squared_distances(points: Any, targets: Any, indices: Indices) -> Array:
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


# Many points: products in single precision pick candidates at several times the speed of double precision. Distances of
# the candidates are then computed in double precision, and a bound on the rounding of the products tells whose
# candidates surely hold the nearest; the others are searched again in double precision, so that the result is the same.


@dataclass(frozen=True)
class _Candidates:
    """The nearest found, and the least that half the squared distance of any other was found to be."""

    indices: Indices
    others: Array


def weigh_both_ways(points: Any, targets: NDArray[Any], n_neighbors: int) -> tuple[NeighborWeights, NeighborWeights]:
    """Weigh the nearest targets of every point, and the nearest points of every target.

    O(n_points n_targets n_features), in blocks of points.
    """
    if _is_small(points, targets):
        return weigh_neighbors(points, targets, n_neighbors), weigh_neighbors(targets, points, n_neighbors)
    back = _NearestSoFar(len(targets), min(n_neighbors + 1 + _SPARE, len(points)))
    screening = _screen(points, targets, n_neighbors + 1 + _SPARE, back)
    found, lengths, target_lengths = back.candidates(len(points)), screening.lengths, screening.target_lengths
    bound = screening.rounding * (lengths.max() + target_lengths) * (lengths.max() + target_lengths.max())
    return (
        _weigh_surely(points, targets, screening.found, n_neighbors, screening.size, screening.bound()),
        _weigh_surely(targets, points, found, n_neighbors, screening.size, bound),
    )


def weigh_many(points: Any, targets: NDArray[Any], n_neighbors: int) -> NeighborWeights:
    """Weigh the nearest targets of every point: :func:`weigh_neighbors`, faster for many dense points."""
    if _is_small(points, targets):
        return weigh_neighbors(points, targets, n_neighbors)
    screening = _screen(points, targets, n_neighbors + 1 + _SPARE, None)
    return _weigh_surely(points, targets, screening.found, n_neighbors, screening.size, screening.bound())


def _is_small(points: Any, targets: NDArray[Any]) -> bool:
    return sparse.issparse(points) or len(points) * targets.size < _SMALL_SEARCH


class _NearestSoFar:
    """The nearest points of every target while blocks of points pass by."""

    def __init__(self, n_targets: int, count: int) -> None:
        self.count = count
        self.values: NDArray[np.float32] = np.full((n_targets, count), np.inf, dtype=np.float32)
        self.indices = np.full((n_targets, count), -1, dtype=np.intp)

    def add(self, distances: NDArray[np.float32], first_point: int) -> None:
        """Take up half the squared distances of a block of points, shape (n_rows, n_targets)."""
        worst = self.values.max(axis=1)
        if self.indices[0, 0] < 0 and len(distances) >= self.count:
            order = np.argpartition(distances, self.count - 1, axis=0)[: self.count].T
            self.values, self.indices = np.take_along_axis(distances.T, order, axis=1), order + first_point
            return
        rows, targets = np.nonzero(distances < worst)
        owners = np.concatenate([np.repeat(np.arange(len(worst)), self.count), targets])
        values = np.concatenate([self.values.ravel(), distances[rows, targets]])
        indices = np.concatenate([self.indices.ravel(), rows + first_point])
        order = np.lexsort((values, owners))
        starts = np.searchsorted(owners[order], np.arange(len(worst)))
        kept = order[starts[:, None] + np.arange(self.count)]
        self.values, self.indices = values[kept], indices[kept]

    def candidates(self, n_points: int) -> _Candidates:
        """Return what was found of so many points."""
        worst = self.values.max(axis=1).astype(np.float64)
        return _Candidates(self.indices, worst if self.count < n_points else np.full(len(worst), np.inf))


@dataclass(frozen=True)
class _Screening:
    """Candidates among the targets, and lengths of points and targets less the centre, in units of ``size``."""

    found: _Candidates
    size: float
    lengths: Array
    target_lengths: Array
    n_features: int

    @property
    def rounding(self) -> float:
        """Bound on the rounding of a distance, relative to the squared lengths."""
        return float(_ROUNDING * np.sqrt(self.n_features))

    def bound(self) -> Array:
        """Return a bound on the rounding of the distances of every point."""
        largest = self.target_lengths.max()
        return np.asarray(self.rounding * (self.lengths + largest) ** 2)


def _screen(points: NDArray[Any], targets: NDArray[Any], count: int, back: _NearestSoFar | None) -> _Screening:
    """Find candidates for every point, and let ``back`` find some for every target."""
    n_points, n_targets = len(points), len(targets)
    centre = targets.mean(axis=0)
    # Squares must neither overflow nor vanish in single precision.
    size = float(np.abs(targets - centre).max()) or 1.0
    narrow = ((targets - centre) / size).astype(np.float32)
    target_halves = row_norms(narrow, squared=True) / np.float32(2)
    lengths = np.empty(n_points)
    count = min(count, n_targets)
    indices, others = np.empty((n_points, count), dtype=np.intp), np.full(n_points, np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in gen_batches(n_points, max(1, _NARROW_ENTRIES // n_targets)):
            block = ((points[rows] - centre) / size).astype(np.float32)
            halves = row_norms(block, squared=True) / np.float32(2)
            lengths[rows] = np.sqrt(2.0 * halves.astype(np.float64))
            distances = block @ narrow.T
            np.subtract(target_halves, distances, out=distances)
            distances += halves[:, None]
            if count < n_targets:
                # Candidates and all others are on either side of the one at this place.
                order = np.argpartition(distances, count, axis=1)[:, : count + 1]
                indices[rows] = order[:, :count]
                others[rows] = np.take_along_axis(distances, order[:, count:], axis=1)[:, 0]
            else:
                indices[rows] = np.arange(n_targets)
            if back is not None:
                back.add(distances, rows.start)
    target_lengths = row_norms(targets - centre) / size
    return _Screening(_Candidates(indices, others), size, lengths, target_lengths, targets.shape[1])


def _weigh_surely(
    points: NDArray[Any], targets: NDArray[Any], found: _Candidates, n_neighbors: int, size: float, bound: Array
) -> NeighborWeights:
    """Weigh candidates, and search again in double precision where they may have missed a nearest one."""
    result = weigh_candidates(points, targets, found.indices, n_neighbors)
    farthest = result.squared_distances[:, -1] / (2.0 * size * size)
    # What is not a number is not sure either.
    unsure = np.flatnonzero(~(farthest < found.others - bound))
    if len(unsure):
        again = weigh_neighbors(points[unsure], targets, n_neighbors)
        result.indices[unsure], result.squared_distances[unsure] = again.indices, again.squared_distances
        result.weights[unsure], result.ridges[unsure] = again.weights, again.ridges
    return result


@dataclass(frozen=True)
class BipartiteEmbedding:
    """Leading singular vectors of Du^(-1/2) Z Dv^(-1/2), where Du and Dv are the row and column sums of Z."""

    row_vectors: Array  # Shape (n_rows, n_vectors). Left singular vectors times sqrt(1/2).
    # Shape (n_columns, n_vectors). Right singular vectors times sqrt(1/2); zero for a column without weight.
    column_vectors: Array
    squares: Array  # Shape (n_vectors + 1,). Squared singular values in [0, 1], descending, one more than vectors.
    # Shape (n_rows,), (n_columns,). Du and Dv.
    row_sums: Array
    column_sums: Array
    n_components: int  # Connected components, not counting columns without weight.

    def cut_coordinates(self) -> tuple[Array, Array]:
        """Return the points of rows and columns whose squared distances, weighted by Z, add up to the cut.

        These are u_i / sqrt(Du_i) and v_j / sqrt(Dv_j): sum_ij z_ij |u_i / sqrt(Du_i) - v_j / sqrt(Dv_j)|^2 equals the
        number of vectors less the sum of their singular values.
        """
        return (
            self.row_vectors * reciprocal(np.sqrt(self.row_sums))[:, None],
            self.column_vectors * reciprocal(np.sqrt(self.column_sums))[:, None],
        )


def embed_graph(graph: sparse.csr_array, n_vectors: int) -> BipartiteEmbedding:
    """Embed both sides of a nonnegative graph of shape (n_rows, n_columns).

    O(nnz^2 / n_rows) for the Gram matrix of the columns, and its leading eigenvectors, O(n_columns^3) at most.
    """
    row_sums, column_sums = (np.asarray(graph.sum(axis=axis), dtype=np.float64).ravel() for axis in (1, 0))
    per_entry = np.repeat(reciprocal(np.sqrt(row_sums)), np.diff(graph.indptr))
    scaled = sparse.csr_array((graph.data * per_entry, graph.indices, graph.indptr), shape=graph.shape)
    gram = gram_of(scaled)
    found = spectral_map(gram, column_sums, n_vectors + 1)
    leading = found.leading(n_vectors)
    return BipartiteEmbedding(
        np.asarray(scaled @ leading.row_map),
        leading.anchor_embedding,
        found.singular_values**2,
        row_sums,
        column_sums,
        anchor_components(gram, column_sums)[0],
    )
