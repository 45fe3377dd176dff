"""Rounds of k-means with many centres: exact, but most distances are never computed.

A *sketch* of a row has few entries: the row in some orthogonal directions, and the length of the rest. Sketches are
never farther apart than the rows themselves. So one short product gives a lower bound for every distance, and only
centres whose bound is below the distance to the best one so far are looked at: a few in a thousand.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches, gen_even_slices
from sklearn.utils.extmath import randomized_svd, row_norms

from kedge.core.rows import View, build_near_problem, dense_rows
from kedge.kernels.selection import choose_kernel

Floats = NDArray[np.float32]
Labels = NDArray[np.int32]

# Bounds held at a time by each thread: few enough to stay in the cache, for as many rows as make a product efficient.
_BOUNDS_HELD, _FEWEST_ROWS = 1 << 17, 256
_ROWS_SKETCHED = 512
# Rows that the directions come from, and rows that show how many directions pay.
_ROWS_FOR_DIRECTIONS, _ROWS_FOR_WIDTH = 2_000, 64
# Up to this many features, an exact decomposition is quicker than a randomised one.
_FEW_FEATURES = 400
# Numbers of directions that are considered: multiples of the step up to the most, and up to half of the features.
_STEP, _MOST_DIRECTIONS = 8, 96
# One distance takes as long as this many of equal length in a product of matrices, which reuses what is in the cache.
_PRODUCTS_PER_DISTANCE = 10


def first_distinct(views: Sequence[View], order: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """Return the first rows of the order that differ from each other, at most that many, ascending."""
    found: dict[bytes, int] = {}
    for start in range(0, len(order), count):
        numbers = order[start : start + count]
        # Adding zero turns minus zero into zero.
        rows = np.hstack([dense_rows(view, numbers) for view in views]) + 0.0
        for number, row in zip(numbers.tolist(), rows, strict=True):
            found.setdefault(row.tobytes(), number)
        if len(found) >= count:
            break
    return np.sort(np.array(list(found.values())[:count], dtype=np.intp))


def lloyd_rounds(
    views: Sequence[View],
    observed: NDArray[np.bool_] | None,
    starts: NDArray[np.intp],
    n_rounds: int,
    n_threads: int = 1,
) -> list[NDArray[Any]]:
    """Return centres, per view, after a few rounds of k-means that begins with the given rows.

    A centre that is nearest to no row stays where it was.
    """
    if len(views) == 1 and observed is None and not sparse.issparse(views[0]):
        return [_sketched_rounds(views[0], starts, n_rounds, n_threads)]
    centers = [dense_rows(view, starts) for view in views]
    # Single precision is enough to tell which centre is nearest, and takes half the time.
    searched = [view.astype(np.float32, copy=False) for view in views]
    for _ in range(n_rounds):
        single = [own.astype(np.float32, copy=False) for own in centers]
        nearest = build_near_problem(single, [1.0] * len(views), n_near=1).nearest(searched, observed, 1)[0][:, 0]
        centers = [
            mean_rows(view, None if observed is None else observed[:, number], nearest, before)
            for number, (view, before) in enumerate(zip(views, centers, strict=True))
        ]
    return [np.ascontiguousarray(own) for own in centers]


def mean_rows(
    view: View, observed: NDArray[np.bool_] | None, nearest: NDArray[np.integer[Any]], before: NDArray[Any]
) -> NDArray[Any]:
    """Return the mean of each centre's rows that have the view; a centre without such rows stays where it was."""
    rows = np.arange(len(nearest)) if observed is None else np.flatnonzero(observed)
    counts = np.bincount(nearest[rows], minlength=len(before))
    # Sums in double precision lose nothing when many rows are added.
    member = sparse.csr_array((np.ones(len(rows)), (nearest[rows], rows)), shape=(len(before), len(nearest)))
    sums = member @ view.astype(np.float64, copy=False)
    sums = sums.toarray() if sparse.issparse(sums) else sums
    used = counts > 0
    means = before.copy()
    means[used] = (sums[used] / counts[used, None]).astype(before.dtype)
    return means


def _sketched_rounds(view: NDArray[Any], starts: NDArray[np.intp], n_rounds: int, n_threads: int) -> NDArray[Any]:
    """Return the centres of one dense view after some rounds."""
    offset = np.zeros(view.shape[1])
    rows = np.ascontiguousarray(view)
    if view.dtype != np.float32:  # Rows far from the origin keep their differences in single precision.
        offset = view.mean(axis=0)
        rows = (rows - offset).astype(np.float32)
    centers, labels, sums = rows[starts], np.full(len(rows), -1, dtype=np.int32), np.zeros((len(starts), rows.shape[1]))
    with ThreadPoolExecutor(n_threads) as pool:
        space = _SketchSpace(rows)
        sketched = space.sketch(rows, pool)
        for _ in range(n_rounds):
            before, labels = labels, labels.copy()
            _label_rows(space, sketched, centers, labels, pool)

            def move_rows(columns: slice, old: Labels = before, new: Labels = labels) -> None:
                choose_kernel().move_rows_between_sums(rows, old, new, columns.start, columns.stop, sums)

            # Threads share the columns, so the order of additions does not depend on their number.
            list(pool.map(move_rows, gen_even_slices(rows.shape[1], min(n_threads, rows.shape[1]))))
            counts = np.bincount(labels, minlength=len(centers))[:, None]
            centers = np.where(counts > 0, sums / np.maximum(counts, 1), centers).astype(np.float32)
    return centers if view.dtype == np.float32 else mean_rows(view, None, labels, centers + offset)


@dataclass(frozen=True)
class _Sketched:
    """Rows, and what their sketches consist of: their part in the leading directions, and their squared lengths."""

    rows: Floats
    leading: Floats
    lengths: Floats

    def __getitem__(self, numbers: Any) -> "_Sketched":
        return _Sketched(self.rows[numbers], self.leading[numbers], self.lengths[numbers])


class _SketchSpace:
    """The mean row, from which all is measured, and the leading directions."""

    def __init__(self, rows: Floats) -> None:
        sample = rows[_evenly_spaced(len(rows), _ROWS_FOR_DIRECTIONS)]
        count = min(_MOST_DIRECTIONS, rows.shape[1] // 2, len(sample)) // _STEP * _STEP
        self.mean: Floats = sample.mean(axis=0)
        self.directions: Floats = np.empty((rows.shape[1], 0), dtype=np.float32)
        if not count:
            return
        centred = sample - self.mean
        if rows.shape[1] <= _FEW_FEATURES:
            leading = np.linalg.eigh(centred.T @ centred)[1][:, : -count - 1 : -1]
        else:
            leading = randomized_svd(centred, count, random_state=0)[2].T
        self.directions = np.ascontiguousarray(leading)

    def sketch(self, rows: Floats, pool: ThreadPoolExecutor | None = None) -> _Sketched:
        """Prepare the sketches of rows, block by block."""
        leading = np.empty((len(rows), self.directions.shape[1]), dtype=np.float32)
        lengths = np.empty(len(rows), dtype=np.float32)

        def fill(block: slice) -> None:
            centred = rows[block] - self.mean
            np.matmul(centred, self.directions, out=leading[block])
            lengths[block] = row_norms(centred, squared=True)

        list((map if pool is None else pool.map)(fill, gen_batches(len(rows), _ROWS_SKETCHED)))
        return _Sketched(rows, leading, lengths)

    def entries(self, own: _Sketched, width: int) -> Floats:
        """Return sketches in this many directions; if it is the number of features, the rows themselves."""
        if width == own.rows.shape[1]:
            return own.rows - self.mean
        kept = own.leading[:, :width]
        rest = np.sqrt(np.maximum(own.lengths - row_norms(kept, squared=True), 0))
        return np.column_stack([kept, rest])

    def cheapest_width(self, rows: _Sketched, centers: _Sketched) -> int:
        """Return the number of directions that makes the search cheapest, judged by a few rows."""
        n_features: int = rows.rows.shape[1]
        lengths = rows.lengths[:, None] + centers.lengths
        squares = lengths - 2 * self.entries(rows, n_features) @ self.entries(centers, n_features).T
        nearest = squares.min(axis=1, keepdims=True)

        def cost(width: int) -> float:
            bounds = lengths - 2 * self.entries(rows, width) @ self.entries(centers, width).T
            n_left = np.count_nonzero(bounds <= nearest) / len(nearest)
            return float(width * bounds.shape[1] + _PRODUCTS_PER_DISTANCE * n_features * n_left)

        widths: list[int] = [*range(_STEP, self.directions.shape[1] + 1, _STEP), n_features]
        return min(widths, key=cost)


def _label_rows(
    space: _SketchSpace, rows: _Sketched, centers: Floats, labels: Labels, pool: ThreadPoolExecutor
) -> None:
    """Replace the guess in ``labels``, below zero for none, by the nearest centre of each row."""
    others = space.sketch(centers)
    width = space.cheapest_width(rows[_evenly_spaced(len(labels), _ROWS_FOR_WIDTH)], others)
    # Rounding may raise a bound by a small share of both squared lengths, so that much is taken off.
    kept = np.float32(1.0 - 2.0 * (centers.shape[1] + width + 4) * np.finfo(np.float32).eps)
    right = np.column_stack([-2 * space.entries(others, width), kept * others.lengths, np.ones_like(others.lengths)]).T

    n_rows, held = max(_BOUNDS_HELD // len(centers), _FEWEST_ROWS), local()

    def label(block: slice) -> None:
        own = rows[block]
        left = np.column_stack([space.entries(own, width), np.ones_like(own.lengths), kept * own.lengths])
        if not hasattr(
            held, "bounds"
        ):  # Each thread uses its own again: fresh memory would cost more than the product.
            held.bounds = np.empty((n_rows, len(centers)), dtype=np.float32)
        bounds = np.matmul(left, right, out=held.bounds[: len(left)])
        choose_kernel().nearest_centers(own.rows, centers, bounds, labels[block])

    list(pool.map(label, gen_batches(len(labels), n_rows)))


def _evenly_spaced(n_rows: int, count: int) -> NDArray[np.intp]:
    return np.linspace(0, n_rows - 1, min(n_rows, count)).astype(np.intp)
