"""Adaptive-neighbour weights of many points, also both ways between points and targets, in one look at distances.

Products in single precision pick candidates at several times the speed of double precision. Distances of the candidates
are then computed in double precision, and a bound on the rounding of the products tells whose candidates surely hold
the nearest; the others are searched again in double precision, so that the result is the same.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from kedge.baselines.graphs.adaptive_neighbors import SPARE, NeighborWeights, weigh_candidates, weigh_neighbors

Array = NDArray[np.float64]
Narrow = NDArray[np.float32]

# Multiplications below which searching twice in double precision is fast enough.
_SMALL_SEARCH = 1 << 28
# Entries of single-precision distances held at a time: 2 MiB, so that they stay near the processor.
_BLOCK_ENTRIES = 1 << 19
# Rounding of an inner product of d terms, in units of sqrt(d) times the lengths: four standard deviations and more.
_ROUNDING = 8.0 * float(np.finfo(np.float32).eps)


@dataclass(frozen=True)
class _Candidates:
    """The nearest found, and the least that half the squared distance of any other was found to be."""

    indices: NDArray[np.intp]
    others: Array


def weigh_both_ways(points: Any, targets: NDArray[Any], n_neighbors: int) -> tuple[NeighborWeights, NeighborWeights]:
    """Weigh the nearest targets of every point, and the nearest points of every target.

    Parameters
    ----------
    points : ndarray or CSR array of shape (n_points, n_features)
        The points, more than ``n_neighbors``.
    targets : ndarray of shape (n_targets, n_features)
        The targets, more than ``n_neighbors``.
    n_neighbors : int
        How many get weight.

    Notes
    -----
    O(n_points n_targets n_features), in blocks of points.
    """
    if _is_small(points, targets):
        return weigh_neighbors(points, targets, n_neighbors), weigh_neighbors(targets, points, n_neighbors)
    back = _NearestSoFar(len(targets), min(n_neighbors + 1 + SPARE, len(points)))
    screening = _screen(points, targets, n_neighbors + 1 + SPARE, back)
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
    screening = _screen(points, targets, n_neighbors + 1 + SPARE, None)
    return _weigh_surely(points, targets, screening.found, n_neighbors, screening.size, screening.bound())


def search_memory(n_points: int, n_targets: int, n_features: int) -> int:
    """Return about how many bytes a search takes beyond its result: a copy of dense points, if they are not many."""
    return 8 * min(n_points * n_features, _SMALL_SEARCH // n_targets)


def _is_small(points: Any, targets: NDArray[Any]) -> bool:
    return sparse.issparse(points) or len(points) * targets.size < _SMALL_SEARCH


class _NearestSoFar:
    """The nearest points of every target while blocks of points pass by."""

    def __init__(self, n_targets: int, count: int) -> None:
        self.count = count
        self.values: Narrow = np.full((n_targets, count), np.inf, dtype=np.float32)
        self.indices = np.full((n_targets, count), -1, dtype=np.intp)

    def add(self, distances: Narrow, first_point: int) -> None:
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
        for rows in gen_batches(n_points, max(1, _BLOCK_ENTRIES // n_targets)):
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
