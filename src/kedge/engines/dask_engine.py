"""Chunks of Dask arrays, solved where they are; only sums over rows travel."""

import pickle
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import dask
import dask.array
import numpy as np
from dask.base import get_scheduler
from dask.sizeof import sizeof
from distributed import Client, default_client, futures_of, wait
from numpy.typing import NDArray
from scipy import sparse

from kedge.core.block_step import MergeTree, PassSummary, RowBlock
from kedge.core.exact_structure import AnchorPairs
from kedge.core.labels import ClusterSums, embed_block
from kedge.core.scaling import ViewScaling
from kedge.engines.contract import Sums
from kedge.engines.local import cut_rows
from kedge.engines.stores import join_blocks, mapped_columns
from kedge.readers.arrays import ArraySource, refuse_not_finite
from kedge.readers.dask_arrays import DaskReader, blocks_of

Result = TypeVar("Result")


@dataclass(frozen=True)
class _Chunk:
    """What a task knows of its rows besides their numbers: where they stand, who has which view, how to scale."""

    rows: slice
    observed: NDArray[np.bool_] | None
    scalings: tuple[ViewScaling, ...]
    columns: tuple[NDArray[np.intp] | None, ...]
    gaps_allowed: tuple[bool, ...]
    step: int


class DaskEngine:
    """Engine of a Dask cluster, or of Dask's own threads where no cluster is at hand.

    Coefficients stay on the workers, chunk by chunk. What travels is the small state of a pass to the workers, once
    each, and sums over rows back, merged on the way in a fixed tree. Every result is the value of a task, so a worker
    that dies costs the time to compute its part again. Tasks use one thread.

    Parameters
    ----------
    views : sequence of StoredView
        Views of Dask arrays.
    scalings : sequence of ViewScaling
        What happens to each of them.
    observed : array of bool of shape (n_rows, n_views) or None
        Which views each row has.
    step : int
        Rows that a task solves together.
    """

    def __init__(
        self,
        views: Sequence[Any],
        scalings: Sequence[ViewScaling],
        observed: NDArray[np.bool_] | None,
        step: int,
    ) -> None:
        self._dtype = np.result_type(*(view.dtype for view in views))
        self._ranges, self._views = blocks_of([view.reader for view in views])
        self.n_rows = self._ranges[-1].stop
        columns = tuple(view.columns for view in views)
        gaps = tuple(view.gaps_allowed for view in views)
        self._chunks = [
            _Chunk(rows, None if observed is None else observed[rows], tuple(scalings), columns, gaps, step)
            for rows in self._ranges
        ]
        self._coefficients: list[Any] = [None] * len(self._chunks)
        self._settled = False
        self._homes: list[str | None] = [None] * len(self._chunks)

    def run_pass(self, solve: Callable[[RowBlock], tuple[sparse.csr_array, Sums]]) -> Sums:
        """Solve all rows; see :class:`kedge.engines.contract.Engine`."""
        self._settle_rows()
        solved = self._tasks(_solve_chunk, solve, with_views=True)
        total = _merged([task[1] for task in solved])
        *self._coefficients, total = dask.persist(*(task[0] for task in solved), total)
        return total.compute()  # type: ignore[no-any-return]

    def sum_blocks(self, function: Callable[[RowBlock], Sums], *, with_views: bool = False) -> Sums:
        """Merge over chunks; see :class:`kedge.engines.contract.Engine`."""
        return _merged(self._tasks(_sum_chunk, function, with_views=with_views)).compute()  # type: ignore[no-any-return]

    def per_row(
        self, function: Callable[[RowBlock], NDArray[Any]], *, width: int | None, dtype: Any, with_views: bool = False
    ) -> Any:
        """Return a lazy Dask array with the chunks of the rows."""
        parts = self._tasks(_rows_of_chunk, function, with_views=with_views)
        return self._lazy(parts, width, dtype)

    def take(self, rows: NDArray[np.intp]) -> sparse.csr_array:
        """Return the coefficients of some rows, each chunk sending only its own."""
        bounds = np.searchsorted(rows, [0, *(chunk.stop for chunk in self._ranges)])
        parts = [
            dask.delayed(_take_rows)(coefficients, rows[first:last] - chunk.start)
            for chunk, coefficients, first, last in zip(
                self._ranges, self._coefficients, bounds[:-1], bounds[1:], strict=True
            )
            if last > first
        ]
        return join_blocks(dask.compute(*parts))

    def graph(self, columns: sparse.csr_array | None) -> Any:
        """Return a Dask array with CSR chunks."""
        return self._graph_of(self._coefficients, columns)

    def solve_graph(self, solve: Callable[[RowBlock], sparse.csr_array], columns: sparse.csr_array | None) -> Any:
        """Solve all rows for a graph of its own, and keep it on the workers."""
        return self._graph_of(dask.persist(*self._tasks(_graph_of_chunk, solve, with_views=True)), columns)

    def embedding(self, row_map: NDArray[Any]) -> Any:
        """Return a lazy Dask array."""
        return self.per_row(partial(embed_block, row_map), width=row_map.shape[1], dtype=row_map.dtype)

    def _settle_rows(self) -> None:
        """Keep the rows on the workers of a cluster from the first pass on: then their coefficients stay with them.

        Workers write to their disks what exceeds their memory. Without a cluster there is nowhere to settle, and every
        pass computes the chunks again.
        """
        if self._settled or not _has_cluster():
            return
        flat = dask.persist(*(view for views in self._views for view in views))
        width = len(self._views[0])
        self._views = [list(flat[start : start + width]) for start in range(0, len(flat), width)]
        self._homes = _workers_of([views[0] for views in self._views])
        self._settled = True

    def close(self) -> None:
        """Do nothing: what is on the workers goes when nothing refers to it."""

    def _tasks(self, work: Callable[..., Result], function: Callable[..., Any], *, with_views: bool) -> list[Any]:
        # One task holds the function and all others wait for it, so that it travels once to every worker; and it can
        # be computed again, which scattered data cannot.
        shared = dask.delayed(_Shared(function), pure=False, traverse=False)
        task = dask.delayed(work, pure=False)
        tasks = []
        for number, chunk in enumerate(self._chunks):
            views = self._views[number] if with_views else None
            with _at_home(self._homes[number]):
                tasks.append(task(shared, chunk, views, self._coefficients[number]))
        return tasks

    def _graph_of(self, blocks: Sequence[Any], columns: sparse.csr_array | None) -> Any:
        shared = dask.delayed(columns, traverse=False)
        mapped = [block if columns is None else dask.delayed(mapped_columns)(block, shared) for block in blocks]
        width = int(dask.delayed(_width_of)(blocks[0]).compute()) if columns is None else int(columns.shape[1])
        meta = sparse.csr_array((0, width), dtype=self._dtype)
        return self._lazy(mapped, width, self._dtype, meta=meta)

    def _lazy(self, parts: Sequence[Any], width: int | None, dtype: Any, meta: Any = None) -> Any:
        tail = () if width is None else (width,)
        arrays = [
            dask.array.from_delayed(part, (rows.stop - rows.start, *tail), dtype=dtype, meta=meta)
            for part, rows in zip(parts, self._ranges, strict=True)
        ]
        return dask.array.concatenate(arrays, axis=0)


@dataclass(frozen=True)
class _Shared:
    """A function as the value of a task; Dask would call a bare one."""

    function: Callable[..., Any]


def _size_of_csr(block: sparse.csr_array) -> int:
    return int(block.data.nbytes + block.indices.nbytes + block.indptr.nbytes)


def _size_of_sums(sums: Any) -> int:
    parts = vars(sums).values()
    return sum(_size_of_csr(part) if sparse.issparse(part) else int(getattr(part, "nbytes", 8)) for part in parts)


def _size_of_shared(shared: _Shared) -> int:
    return len(pickle.dumps(shared.function))


# Dask takes what it does not know for small, and would move coefficients about instead of sums.
sizeof.register(sparse.csr_array, _size_of_csr)
sizeof.register((PassSummary, ClusterSums, AnchorPairs), _size_of_sums)
sizeof.register(_Shared, _size_of_shared)


@dataclass(frozen=True)
class _LazySums(Generic[Result]):
    """Sums that are the value of a task, merged by tasks."""

    task: Any

    def merge(self, other: "_LazySums[Result]") -> "_LazySums[Result]":
        return _LazySums(dask.delayed(_merge_two)(self.task, other.task))


def _has_cluster() -> bool:
    """Whether computations go to a cluster: the scheduler that Dask would use is then a method of its client."""
    return isinstance(getattr(get_scheduler(), "__self__", None), Client)


def _workers_of(chunks: Sequence[Any]) -> list[str | None]:
    """Wait for chunks and return the worker that holds each."""
    futures = [future for chunk in chunks for future in futures_of(chunk)]
    wait(futures)
    holders = default_client().who_has(futures)
    return [next(iter(holders.get(future.key, ())), None) for future in futures]


def _at_home(home: str | None) -> AbstractContextManager[Any]:
    """Let tasks run where their rows are; elsewhere if that worker is gone.

    Left to itself the scheduler also thinks of the worker that holds the state of the pass, and moves rows there.
    """
    return nullcontext() if home is None else dask.annotate(workers=[home], allow_other_workers=True)


def _merged(tasks: Sequence[Any]) -> Any:
    tree: MergeTree[Any] = MergeTree()
    for task in tasks:
        tree.add(_LazySums(task))
    return tree.total().task


def _merge_two(first: Any, second: Any) -> Any:
    return first.merge(second)


def _parts_of(chunk: _Chunk, views: Sequence[Any] | None, coefficients: sparse.csr_array | None) -> list[RowBlock]:
    """Cut a chunk into the blocks that are solved together; views are checked and scaled."""
    source = None if views is None else _source_of(chunk, views)
    start, n_rows = chunk.rows.start, chunk.rows.stop - chunk.rows.start
    parts = []
    for own in cut_rows(n_rows, chunk.step) or [slice(0, 0)]:
        rows = slice(start + own.start, start + own.stop)
        old = None if coefficients is None else coefficients[own]
        if source is None:
            parts.append(RowBlock(rows, (), old))
        else:
            parts.append(RowBlock(rows, source.read(own), old, source.observed(own)))
    return parts


def _source_of(chunk: _Chunk, views: Sequence[Any]) -> ArraySource:
    arrays = []
    for number, (view, columns) in enumerate(zip(views, chunk.columns, strict=True)):
        block = sparse.csr_array(view) if sparse.issparse(view) else np.asarray(view)
        block = block if columns is None else block[:, columns]

        def place(row: int, column: int, columns: Any = columns) -> str:
            true_column = column if columns is None else int(columns[column])
            return DaskReader.place(row, true_column)

        refuse_not_finite(block, chunk.rows, place, gaps_allowed=chunk.gaps_allowed[number])
        arrays.append(block)
    return ArraySource(arrays, chunk.scalings, chunk.observed, [f"view {number}" for number in range(len(arrays))])


def _solve_chunk(shared: _Shared, chunk: _Chunk, views: Any, coefficients: Any) -> tuple[sparse.csr_array, Any]:
    tree: MergeTree[Any] = MergeTree()
    solved = []
    for block in _parts_of(chunk, views, coefficients):
        found, sums = shared.function(block)
        solved.append(found)
        tree.add(sums)
    return join_blocks(solved), tree.total()


def _sum_chunk(shared: _Shared, chunk: _Chunk, views: Any, coefficients: Any) -> Any:
    tree: MergeTree[Any] = MergeTree()
    for block in _parts_of(chunk, views, coefficients):
        tree.add(shared.function(block))
    return tree.total()


def _rows_of_chunk(shared: _Shared, chunk: _Chunk, views: Any, coefficients: Any) -> NDArray[Any]:
    return np.concatenate([shared.function(block) for block in _parts_of(chunk, views, coefficients)])


def _graph_of_chunk(shared: _Shared, chunk: _Chunk, views: Any, coefficients: Any) -> sparse.csr_array:
    return join_blocks([shared.function(block) for block in _parts_of(chunk, views, coefficients)])


def _take_rows(coefficients: sparse.csr_array, rows: NDArray[np.intp]) -> sparse.csr_array:
    return coefficients[rows]


def _width_of(coefficients: sparse.csr_array) -> int:
    return int(coefficients.shape[1])
