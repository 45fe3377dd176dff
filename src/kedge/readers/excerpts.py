"""A few rows of stored views in memory, which stand for all of them, and how long it takes to read the others."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.core.rows import Rows
from kedge.readers.arrays import StoredView
from kedge.readers.stored_rows import StoredRows, checked_range, rows_of_bytes

# How long rows are read in order, and how many single rows are read after that.
_SECONDS_OF_READING, _SINGLE_ROWS = 0.3, 12
# Bytes of rows that are held, unless more rows are needed, and the most places at which they are read.
_BYTES_HELD, _MOST_PLACES, _MOST_PLACES_KNOWN = 1 << 26, 64, 1 << 16
# No part of a fit picks more rows from all over the file than its fine anchors do.
_MOST_PICKED = 30_000


@dataclass(frozen=True)
class Excerpt:
    """Rows read at several places of all views, and what reading costs."""

    numbers: NDArray[np.intp]  # Of the rows held, ascending.
    views: list[Any]  # The rows of each view.
    row_seconds: list[float]  # Of each view, when rows are read in order.
    pick_seconds: list[float]  # Of each view, for a single row anywhere.

    @property
    def n_bytes(self) -> int:
        """Memory of the rows."""
        return sum(v.data.nbytes + v.indices.nbytes if sparse.issparse(v) else v.nbytes for v in self.views)


class HeldRows(StoredRows):
    """Some rows of a view in memory. ``wait`` adds up how long it would have taken to read them from all rows."""

    def __init__(self, view: StoredView, numbers: NDArray[np.intp], rows: Any, speed: tuple[float, float]) -> None:
        self._view, self._numbers, self._rows = view, numbers, rows
        self.n_rows, self.width = rows.shape
        self.dtype, self.name, self.feature_names = view.dtype, view.name, view.feature_names
        self._row_seconds, self._pick_seconds = speed
        self.wait = 0.0

    def read(self, rows: Rows) -> Any:
        """Return these rows, and wait for them in thought."""
        all_rows = self._view.n_rows
        if isinstance(rows, slice):
            start, stop = checked_range(rows, self.n_rows)
            self.wait += (stop - start) / self.n_rows * all_rows * self._row_seconds
            return self._rows[start:stop]
        picked = len(rows) if len(rows) < self.n_rows else min(all_rows, max(len(rows), _MOST_PICKED))
        # Where rows are dense, all that lies between them is read, too.
        self.wait += min(picked * self._pick_seconds, all_rows * self._row_seconds)
        return self._rows[rows]

    def place(self, row: int, column: int) -> str:
        """Return where an entry is, for messages."""
        return self._view.place(int(self._numbers[row]), column)


def read_excerpt(views: Sequence[StoredView], least: int) -> Excerpt:
    """Read rows of all views at evenly spread places, at least so many, and time it."""
    n_rows = views[0].n_rows
    readers = [view.reader for view in views]
    together = min(max(r.rows_together() if isinstance(r, StoredRows) else 1_000 for r in readers), n_rows)
    row_bytes = sum(r.row_bytes() if isinstance(r, StoredRows) else r.width * r.dtype.itemsize for r in readers)
    most = max(least, rows_of_bytes(_BYTES_HELD, row_bytes))
    # Of places that take long to read, such as the row groups of Parquet, few are read and fewer rows of each are kept.
    n_places = -(-n_rows // together)
    every = max(1, together * min(n_places, 4) // most)
    seconds, n_read = [0.0] * len(views), 0
    found: dict[int, list[Any]] = {}
    for place in _spread(n_places):
        n_held = sum(blocks[0].shape[0] for blocks in found.values())
        if n_held >= least and (sum(seconds) >= _SECONDS_OF_READING or n_held >= most or len(found) >= _MOST_PLACES):
            break
        rows = slice(place * together, min((place + 1) * together, n_rows))
        found[place] = []
        for number, view in enumerate(views):
            started = perf_counter()
            block = view.read(rows)
            seconds[number] += perf_counter() - started
            found[place].append(block[::every].copy())
        n_read += rows.stop - rows.start
    places = sorted(found)
    ends = [min((place + 1) * together, n_rows) for place in places]
    numbers = np.concatenate([np.arange(place * together, end, every) for place, end in zip(places, ends, strict=True)])
    held = [_stacked([found[place][number] for place in places]) for number in range(len(views))]
    return Excerpt(numbers, held, [one / n_read for one in seconds], [_time_of_one(view) for view in views])


def _spread(count: int) -> list[int]:
    """Return numbers below ``count`` in an order whose beginnings are spread evenly."""
    order = min(count, _MOST_PLACES_KNOWN)
    # Multiples of the golden ratio, modulo one, never come close to each other.
    ranks = np.argsort(np.argsort(np.arange(order) * 0.6180339887498949 % 1.0))
    return [int(rank) * count // order for rank in ranks]


def _stacked(blocks: list[Any]) -> Any:
    return sparse.csr_array(sparse.vstack(blocks, format="csr")) if sparse.issparse(blocks[0]) else np.vstack(blocks)


def _time_of_one(view: StoredView) -> float:
    """Return the seconds that one row takes which is read on its own."""
    started, count = perf_counter(), 0
    for row in np.linspace(0, view.n_rows - 1, _SINGLE_ROWS).astype(np.intp):
        view.read(np.array([row]))
        count += 1
        if perf_counter() - started > _SECONDS_OF_READING / 3:
            break
    return (perf_counter() - started) / count
