"""Rows of arrays in memory, or of stored views that are read like arrays."""

from collections.abc import Sequence
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
from kedge.sources.dask_rows import DaskReader, DaskStatistics
from kedge.sources.stored_view import StoredView

# Rows looked at together while a scaling is learnt.
_SCALING_ROWS = 8192
# Rows that decide how a view is scaled.
_ROWS_FOR_SCALE = 2_000


class ArraySource:
    """Views with equal row counts; blocks are scaled as they are read, X is never copied.

    Parameters
    ----------
    views : sequence of arrays of shape (n_rows, n_features of the view)
        Arrays, CSR arrays, or :class:`kedge.sources.stored_view.StoredView`.
    scalings : sequence of ViewScaling
        What happens to each of them.
    observed : array of bool of shape (n_rows, n_views), default=None
        Which views each row has; None means all. What stands in a view for rows that lack it is not looked at.
    view_names : sequence of str, default=("X",)
        Names used in messages.
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
        dask_views = [isinstance(getattr(view, "reader", None), DaskReader) for view in self.views]
        self.on_dask = any(dask_views)
        if self.on_dask and not all(dask_views):
            name = self.view_names[dask_views.index(False)]
            raise ValueError(
                f"{name!r} is no Dask array, but other views are; pass all of them as Dask arrays, or none"
            )
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
        # What stands there may be NaN, and a scaling may move zeros: so before and after.
        lacking = ~self.mask[rows, number]
        return without_rows(self.scalings[number].apply(without_rows(block, lacking)), lacking)


def _bytes_per_row(view: View, itemsize: int) -> int:
    if sparse.issparse(view):
        return int((itemsize + view.indices.itemsize) * view.nnz / max(view.shape[0], 1))
    return itemsize * int(view.shape[1])


def without_rows(block: View, lacking: NDArray[np.bool_]) -> View:
    """Return a copy with these rows zero, whatever stood there."""
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
    # A scaling that the user chose is done as they say.
    unit_energy = unit_energy and kind == "auto"
    if kind == "auto":
        kind = choose_scale(view[spread_rows(view.shape[0], observed, _ROWS_FOR_SCALE)], to_unit_rows)
    if isinstance(view, StoredView) and isinstance(view.reader, DaskReader):
        return learn_scaling(kind, DaskStatistics(view.reader, view.columns, observed), name, unit_energy)

    def blocks() -> Any:
        for start in range(0, view.shape[0], _SCALING_ROWS):
            rows = slice(start, start + _SCALING_ROWS)
            block = view[rows]
            if observed is not None and not observed[rows].all():
                block = block[np.flatnonzero(observed[rows])]
            if block.shape[0]:
                yield block

    return learn_scaling(kind, BlockStatistics(blocks), name, unit_energy)


def learn_projection(source: ArraySource, signed: bool) -> list[ViewScaling]:
    """Return the scalings of a source with the projections of its views, learnt from a sample of rows."""
    found = []
    for number, scaling in enumerate(source.scalings):
        has_view = None if source.mask is None else source.mask[:, number]
        rows = spread_rows(source.n_rows, has_view, ROWS_FOR_DIRECTIONS)
        sample = scaling.scale(source.views[number][rows].astype(source.dtype, copy=False))
        found.append(with_projection(scaling, sample, source.n_rows, signed))
    return found


def spread_rows(n_rows: int, observed: NDArray[np.bool_] | None, most: int) -> NDArray[np.intp]:
    """Return at most that many rows that have a view, evenly spread."""
    rows = np.arange(n_rows) if observed is None else np.flatnonzero(observed)
    if len(rows) <= most:
        return np.asarray(rows, dtype=np.intp)
    return np.asarray(rows[np.linspace(0, len(rows) - 1, most).astype(np.intp)], dtype=np.intp)
