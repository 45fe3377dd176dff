"""Nearest points to many vectors under an l1 penalty or a limit on nonzeros, with or without entries that sum to one.

All take vectors of shape (b, n), which they do not change, and the entry of each row that stays zero, ``own`` of shape
(b,). Thresholds are not negative; ``n_kept`` is at least 1 and below n, which is at least 2 where entries sum to one.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# Halving alone would reach rounding in about a hundred steps; Newton steps take a few.
_MAX_STEPS = 200


def shrink(vectors: Array, threshold: float, own: Indices) -> Array:
    """Return, per row v, the minimiser of threshold ||x||_1 + ||x - v||^2 / 2 with x[own] = 0."""
    shrunk = np.clip(vectors, -threshold, threshold)
    np.subtract(vectors, shrunk, out=shrunk)
    shrunk[np.arange(len(own)), own] = 0.0
    return shrunk


def shrink_to_sum_one(
    vectors: Array, threshold: float, own: Indices, start: Array | None = None
) -> tuple[Array, Array]:
    """Return the same among rows whose entries sum to one, and the shifts, one per row.

    The solution is the shrunk v - shift for the one shift with the right sum. The sum falls with the shift in straight
    pieces, so Newton steps, held within a shrinking bracket, end in the right piece and are exact there. ``start`` may
    have a first guess of the shifts, such as those of a similar problem.
    """
    others = vectors.copy()
    rows = np.arange(len(own))
    # The neighbour's value takes the own entry out of both ends of the bracket.
    others[rows, own] = vectors[rows, np.where(own == 0, 1, own - 1)]
    low, high = others.min(axis=1) - threshold - 1.0, others.max(axis=1) - threshold
    shifts = (low + high) / 2 if start is None else np.clip(start, low, high)
    solution = np.empty_like(vectors)
    for _ in range(_MAX_STEPS):
        shrunk = shrink(vectors[rows] - shifts[rows, None], threshold, own[rows])
        solution[rows] = shrunk
        excess = shrunk.sum(axis=1) - 1.0
        n_used = np.count_nonzero(shrunk, axis=1)
        low[rows] = np.where(excess > 0, shifts[rows], low[rows])
        high[rows] = np.where(excess <= 0, shifts[rows], high[rows])
        moved = shifts[rows] + excess / np.maximum(n_used, 1)
        is_outside = (n_used == 0) | (moved < low[rows]) | (moved > high[rows])
        moved = np.where(is_outside, (low[rows] + high[rows]) / 2, moved)
        size = 1.0 + np.abs(shrunk).sum(axis=1)
        is_open = (np.abs(excess) > 4 * np.finfo(np.float64).eps * size) & (moved != shifts[rows])
        shifts[rows] = np.where(is_open, moved, shifts[rows])
        rows = rows[is_open]
        if not len(rows):
            break
    return solution, shifts


def keep_largest(vectors: Array, n_kept: int, own: Indices) -> Array:
    """Return the nearest points with at most ``n_kept`` nonzero entries: the largest absolute ones stay."""
    sizes = np.abs(vectors)
    sizes[np.arange(len(own)), own] = -1.0
    kept = np.argpartition(-sizes, n_kept - 1, axis=1)[:, :n_kept]
    result = np.zeros_like(vectors)
    np.put_along_axis(result, kept, np.take_along_axis(vectors, kept, axis=1), axis=1)
    return result


def keep_largest_of_sum_one(vectors: Array, n_kept: int, own: Indices) -> Array:
    """Return the nearest points with ``n_kept`` entries in use that sum to one, picked one by one.

    First the largest entry, then again and again the one that is farthest from the shift that those before need; the
    greedy choice is optimal (Kyrillidis, Becker, Cevher and Koch, "Sparse projections onto the simplex", ICML 2013).
    """
    rows = np.arange(len(own))
    is_barred = np.zeros(vectors.shape, dtype=bool)
    is_barred[rows, own] = True
    picks = np.empty((len(own), n_kept), dtype=np.intp)
    picks[:, 0] = np.where(is_barred, -np.inf, vectors).argmax(axis=1)
    sums = vectors[rows, picks[:, 0]]
    for count in range(1, n_kept):
        is_barred[rows, picks[:, count - 1]] = True
        distances = np.abs(vectors - ((sums - 1.0) / count)[:, None])
        distances[is_barred] = -1.0
        picks[:, count] = distances.argmax(axis=1)
        sums = sums + vectors[rows, picks[:, count]]
    result = np.zeros_like(vectors)
    result[rows[:, None], picks] = vectors[rows[:, None], picks] - ((sums - 1.0) / n_kept)[:, None]
    return result
