"""Views of a fit, in memory or stored: blocks of rows, checked and scaled as they are read."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.core.rows import Rows, View
from kedge.core.scaling import (
    ROWS_FOR_DIRECTIONS,
    BlockStatistics,
    ViewScaling,
    choose_scale,
    learn_scaling,
    with_projection,
)
from kedge.readers.dask_arrays import DaskReader, DaskStatistics, settle_rows
from kedge.readers.stored_rows import ViewReader, checked_range

# Rows read together where all rows are looked at once: in search of gaps, or to learn a scaling.
ROWS_AT_ONCE = 8192
# Rows that decide how a view is scaled.
_ROWS_FOR_SCALE = 2_000


class StoredView:
    """Rows of a reader, or some of its columns; ``view[rows]`` checks that entries are finite, `read` does not.

    With `gaps_allowed` a row may be NaN throughout, which means that the row lacks the view.
    """

    ndim = 2

    def __init__(self, reader: ViewReader, columns: NDArray[np.intp] | None = None, gaps_allowed: bool = False) -> None:
        self.reader, self.columns, self.gaps_allowed = reader, columns, gaps_allowed
        self._numbers = np.arange(reader.width) if columns is None else columns
        self.n_rows, self.width = self.shape = (reader.n_rows, len(self._numbers))
        self.dtype, self.name, names = reader.dtype, reader.name, reader.feature_names
        self.feature_names = None if names is None else [names[column] for column in self._numbers]

    def __getitem__(self, rows: Rows) -> Any:
        """Read consecutive rows, or rows by number, and check that they are finite."""
        if isinstance(rows, slice):
            rows = slice(*checked_range(rows, self.n_rows))
        block = self.read(rows)
        refuse_not_finite(block, rows, self.place, gaps_allowed=self.gaps_allowed)
        return block

    def read(self, rows: Rows) -> Any:
        """Return these rows as an array in C order or a CSR array."""
        block = self.reader.read(rows)
        if self.columns is not None:
            block = block[:, self.columns]
        return block if sparse.issparse(block) else np.ascontiguousarray(block)

    def place(self, row: int, column: int) -> str:
        """Return where an entry is, for messages."""
        return self.reader.place(row, int(self._numbers[column]))

    def part(self, columns: Any) -> "StoredView":
        """Return some of the columns as a view of their own, whose rows may be NaN throughout."""
        return StoredView(self.reader, self._numbers[columns], gaps_allowed=True)


def refuse_not_finite(block: Any, rows: Rows, place: Callable[[int, int], str], *, gaps_allowed: bool) -> None:
    """Raise an error that names the first entry that is not finite; `rows` are the numbers of the block's rows."""
    if is_finite(block):
        return
    if sparse.issparse(block):
        entries = block.tocoo()
        bad = ~np.isfinite(entries.data)
        found = np.column_stack([entries.coords[0][bad], entries.coords[1][bad]])
    else:
        wrong = ~np.isfinite(block)
        if gaps_allowed:
            wrong[np.isnan(block).all(axis=1)] = False
        found = np.argwhere(wrong)
    if not len(found):
        return
    row, column = (int(number) for number in found[0])
    what = "NaN" if np.isnan(block[row, column]) else "infinity"
    number = rows.start + row if isinstance(rows, slice) else int(rows[row])
    advice = "; a row that lacks the view is NaN in all of its features" if gaps_allowed else ""
    raise ValueError(f"{place(number, column)}: {what}; fill or drop such rows first{advice}")


def is_finite(array: View) -> bool:
    """Return whether the sum of all entries is finite: the cheapest test, which only overflow can mislead."""
    values = array.data if sparse.issparse(array) else array
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum(dtype=np.float64)))


class ArraySource:
    """Views with equal row counts; blocks are scaled as they are read, X is never copied.

    `observed`, of shape (n_rows, n_views), says which views each row has; None means all.
    """

    def __init__(
        self,
        views: Sequence[View],
        scalings: Sequence[ViewScaling],
        observed: NDArray[np.bool_] | None = None,
        view_names: Sequence[str] = ("X",),
    ) -> None:
        self.views = list(views)
        self.scalings = list(scalings)
        self.mask = observed
        self.view_names = tuple(view_names)
        self.n_rows = int(self.views[0].shape[0])
        self.dtype: np.dtype[Any] = np.result_type(*(view.dtype for view in self.views))
        dask_views = [_is_on_dask(view) for view in self.views]
        self.on_dask = any(dask_views)
        if self.on_dask and not all(dask_views):
            name = view_names[dask_views.index(False)]
            raise ValueError(f"{name!r} is not a Dask array, but other views are; pass all as Dask arrays, or none")
        self.in_memory = not any(isinstance(view, StoredView) for view in self.views)
        self.bytes_per_row = sum(_bytes_per_row(view, self.dtype.itemsize) for view in self.views)

    def read(self, rows: Rows) -> Sequence[View]:
        """Return these rows of every view, scaled; rows that lack a view are zero there."""
        return [self._read_view(number, rows) for number in range(len(self.views))]

    def observed(self, rows: Rows) -> NDArray[np.bool_] | None:
        """Return which views these rows have, or None if no row lacks any."""
        return None if self.mask is None else self.mask[rows]

    def _read_view(self, number: int, rows: Rows) -> View:
        block = self.views[number][rows].astype(self.dtype, copy=False)
        if self.mask is None or self.mask[rows, number].all():
            return self.scalings[number].apply(block)
        # Before, because the entries may be NaN; after, because a scaling may move zeros.
        lacking = ~self.mask[rows, number]
        return _without_rows(self.scalings[number].apply(_without_rows(block, lacking)), lacking)


def settle_views(views: Sequence[View]) -> None:
    """Keep Dask arrays on the workers if they fit there; see :func:`kedge.readers.dask_arrays.settle_rows`."""
    if all(map(_is_on_dask, views)):
        settle_rows([view.reader for view in views])


def _is_on_dask(view: View) -> bool:
    return isinstance(getattr(view, "reader", None), DaskReader)


def _bytes_per_row(view: View, itemsize: int) -> int:
    if sparse.issparse(view):
        return int((itemsize + view.indices.itemsize) * view.nnz / max(view.shape[0], 1))
    return itemsize * int(view.shape[1])


def _without_rows(block: View, lacking: NDArray[np.bool_]) -> View:
    """Return a copy in which these rows are zero."""
    if not sparse.issparse(block):
        return np.where(lacking[:, None], block.dtype.type(0), block)
    kept = ~np.repeat(lacking, np.diff(block.indptr))
    counts = np.where(lacking, 0, np.diff(block.indptr))
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(block.indptr.dtype)
    return sparse.csr_array((block.data[kept], block.indices[kept], indptr), shape=block.shape)


def learn_array_scaling(
    kind: str,
    view: View,
    name: str = "X",
    observed: NDArray[np.bool_] | None = None,
    *,
    to_unit_rows: bool = False,
    unit_energy: bool = False,
) -> ViewScaling:
    """Learn the scaling of one view from all rows that have it; see :func:`choose_scale` and :func:`learn_scaling`."""
    # A scaling that the user chose is used as it is.
    unit_energy = unit_energy and kind == "auto"
    if kind == "auto":
        kind = choose_scale(view[_spread_rows(view.shape[0], observed, _ROWS_FOR_SCALE)], to_unit_rows)
    if _is_on_dask(view):
        return learn_scaling(kind, DaskStatistics(view.reader, view.columns, observed), name, unit_energy)

    def blocks() -> Iterator[View]:
        for start in range(0, view.shape[0], ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            block = view[rows]
            if observed is not None and not observed[rows].all():
                block = block[np.flatnonzero(observed[rows])]
            if block.shape[0]:
                yield block

    return learn_scaling(kind, BlockStatistics(blocks), name, unit_energy)


def learn_projection(source: ArraySource, signed: bool, n_rows: int) -> list[ViewScaling]:
    """Return the scalings of a source with the projections of its views, learnt from a sample of ``n_rows`` rows."""
    found = []
    for number, scaling in enumerate(source.scalings):
        has_view = None if source.mask is None else source.mask[:, number]
        rows = _spread_rows(source.n_rows, has_view, ROWS_FOR_DIRECTIONS)
        sample = scaling.scale(source.views[number][rows].astype(source.dtype, copy=False))
        found.append(with_projection(scaling, sample, n_rows, signed))
    return found


def _spread_rows(n_rows: int, observed: NDArray[np.bool_] | None, most: int) -> NDArray[np.intp]:
    """Return at most that many rows that have a view, evenly spread."""
    # The numbers of all rows are never made: they would take eight bytes per row.
    with_view = None if observed is None else np.flatnonzero(observed)
    count = n_rows if with_view is None else len(with_view)
    chosen = np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(np.intp)
    return np.asarray(chosen if with_view is None else with_view[chosen], dtype=np.intp)
