"""The source of a fit: views in memory, stored or in Dask, whose blocks are scaled as they are read."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.core.block_step import squared_norm
from kedge.core.rows import Rows, View
from kedge.core.scaling import (
    ROWS_FOR_DIRECTIONS,
    BlockStatistics,
    ViewScaling,
    choose_scale,
    learn_scaling,
    with_projection,
)
from kedge.readers.stored_rows import SortedRows, StoredView

# Rows looked at together while a scaling is learnt.
_SCALING_ROWS = 8192
# Rows that decide how a view is scaled.
_ROWS_FOR_SCALE = 2_000


class ArraySource:
    """Views with equal row counts; blocks are scaled as they are read, X is never copied.

    Parameters
    ----------
    views : sequence of arrays of shape (n_rows, n_features of the view)
        Arrays, CSR arrays, or :class:`StoredView`.
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

    def blocks() -> Iterator[View]:
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


def place_in_array(row: int, column: int) -> str:
    """Return where an entry is, in words."""
    return f"Dask array, row {row}, column {column}"


class DaskReader:
    """Reader of a Dask array, dense or CSR, with known chunk sizes and one chunk along the features."""

    name = "Dask array"
    feature_names: list[str] | None = None

    def __init__(self, array: Any) -> None:
        _check_chunks(array)
        self.dtype: np.dtype[Any] = np.dtype(np.float32 if array.dtype == np.float32 else np.float64)
        if array.dtype.kind not in "fiub":
            raise ValueError(f"the Dask array holds {array.dtype} and not numbers; convert it with astype(float) first")
        self.array = array if array.dtype == self.dtype else array.astype(self.dtype)
        if 0 in array.chunks[0]:  # several reductions of Dask stumble over empty chunks
            self.array = self.array.rechunk({0: tuple(size for size in array.chunks[0] if size)})
        self.n_rows, self.width = (int(size) for size in array.shape)

    @property
    def row_chunks(self) -> tuple[int, ...]:
        """Rows of each chunk."""
        return tuple(int(size) for size in self.array.chunks[0])

    def read(self, rows: SortedRows) -> Any:
        """Compute these rows."""
        # Unoptimised graphs keep the names of tasks, which a scheduler must see with one meaning only.
        block = self.array[rows].compute(optimize_graph=False)
        return sparse.csr_array(block) if sparse.issparse(block) else np.ascontiguousarray(block)

    def zeros_like(self, width: int) -> "DaskReader":
        """Return a reader of as many rows of zeros, in the same chunks."""
        import dask.array

        return DaskReader(dask.array.zeros((self.n_rows, width), chunks=(self.row_chunks, -1), dtype=self.dtype))

    def place(self, row: int, column: int) -> str:
        """Return where an entry is."""
        return place_in_array(row, column)

    def rows_of_nan(self, columns: NDArray[np.intp] | None) -> NDArray[np.bool_]:
        """Return which rows are NaN throughout; only this mask travels, and only if there is a NaN."""
        part = self.array if columns is None else self.array[:, columns]
        if isinstance(getattr(part, "_meta", None), np.ndarray) and np.isnan(dask_compute(part.sum())[0]):
            import dask.array

            return np.asarray(dask_compute(dask.array.isnan(part).all(axis=1))[0])
        return np.zeros(self.n_rows, dtype=bool)


@dataclass(frozen=True)
class DaskStatistics:
    """Statistics of a Dask array by its own reductions; see :class:`kedge.core.scaling.ViewStatistics`."""

    reader: DaskReader
    columns_of_view: NDArray[np.intp] | None  # Columns that belong to the view.
    observed: NDArray[np.bool_] | None  # Shape (n_rows,). Rows that have the view.

    def is_sparse(self) -> bool:
        """Look at what the chunks are made of."""
        return not isinstance(self.reader.array._meta, np.ndarray)

    def rows_per_column(self) -> tuple[int, NDArray[np.float64]]:
        """Count over the chunks, where they are."""
        counted = dask_compute(*self._per_chunk(_rows_per_column))
        return self._n_rows(), np.asarray(np.sum(counted, axis=0), dtype=np.float64)

    def columns(self, kind: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
        """Return mean and deviation, or least entry and range, of every column."""
        rows = self._rows().astype(np.float64)
        least, most = rows.min(axis=0), rows.max(axis=0)
        if kind == "minmax":
            least, most = dask_compute(least, most)
            return least, most - least, most == least
        mean, deviation, least, most = dask_compute(rows.mean(axis=0), rows.std(axis=0), least, most)
        return mean, deviation, most == least

    def mean_squared_norm(self, scaling: ViewScaling) -> float:
        """Scale every chunk where it is."""
        return float(dask_compute(sum(self._per_chunk(_squared_norm_scaled, scaling)))[0]) / self._n_rows()

    def _n_rows(self) -> int:
        return self.reader.n_rows if self.observed is None else int(self.observed.sum())

    def _per_chunk(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return the calls of a function on every chunk as tasks."""
        import dask

        chunks = self._rows().to_delayed(optimize_graph=False).ravel()
        return [dask.delayed(function)(chunk, *arguments) for chunk in chunks]

    def _rows(self) -> Any:
        rows = self.reader.array if self.columns_of_view is None else self.reader.array[:, self.columns_of_view]
        return rows if self.observed is None else rows[np.flatnonzero(self.observed)]


def _rows_per_column(block: Any) -> NDArray[np.float64]:
    return np.asarray((block != 0).sum(axis=0), dtype=np.float64).ravel()


def _squared_norm_scaled(block: Any, scaling: ViewScaling) -> float:
    rows = sparse.csr_array(block) if sparse.issparse(block) else block
    return squared_norm(scaling.scale(rows))


def dask_compute(*lazy: Any) -> Any:
    """Compute several results in one go."""
    import dask

    return dask.compute(*lazy, optimize_graph=False)


def _check_chunks(array: Any) -> None:
    if array.ndim != 2:
        raise ValueError(f"the Dask array has {array.ndim} dimensions; rows and features are two")
    if any(np.isnan(size) for sizes in array.chunks for size in sizes):
        raise ValueError(
            "the Dask array has chunks of unknown size, as those made from data frames have; call "
            "X.compute_chunk_sizes() first, or to_dask_array(lengths=True)"
        )
    if len(array.chunks[1]) > 1:
        raise ValueError(
            f"the Dask array is cut along its features, into {len(array.chunks[1])} chunks, but every row must be "
            "whole; use X.rechunk({1: -1})"
        )
    if 0 in array.shape:
        raise ValueError(f"the Dask array of shape {array.shape} is empty; at least one row and one feature are needed")


def blocks_of(readers: Sequence[DaskReader]) -> tuple[list[slice], list[list[Any]]]:
    """Return the rows of every chunk, and the delayed chunks of all views; the first view decides where to cut."""
    chunks = readers[0].row_chunks
    ends = np.cumsum(chunks)
    rows = [slice(int(end) - size, int(end)) for end, size in zip(ends, chunks, strict=True)]
    views = [reader.array.rechunk({0: chunks}).to_delayed(optimize_graph=False).ravel().tolist() for reader in readers]
    return rows, [list(parts) for parts in zip(*views, strict=True)]
