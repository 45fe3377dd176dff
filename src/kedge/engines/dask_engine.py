"""Chunks of Dask arrays, solved where they are; only sums over rows travel."""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import getitem
from typing import Any

import dask
import dask.array
import numpy as np
from dask.sizeof import sizeof
from numpy.typing import NDArray
from scipy import sparse

from kedge.core.block_step import PassSummary, RowBlock
from kedge.core.exact_structure import AnchorPairs
from kedge.core.labels import ClusterSums
from kedge.core.rows import split_rows
from kedge.core.scaling import ViewScaling
from kedge.engines.local import cut_rows, embed_block, join_blocks, mapped_columns
from kedge.engines.sums import Sums, merge_sums
from kedge.readers.arrays import ArraySource, refuse_not_finite
from kedge.readers.dask_arrays import DaskReader, at_home, blocks_of


@dataclass(frozen=True)
class _Chunk:
    """What a task knows of its rows besides their numbers: which ones they are, who has which view, how to scale."""

    rows: slice
    observed: NDArray[np.bool_] | None
    scalings: Sequence[ViewScaling]
    columns: Sequence[NDArray[np.intp] | None]
    gaps_allowed: Sequence[bool]
    step: int


class DaskEngine:
    """Engine of a Dask cluster, or of Dask's own threads where there is no cluster.

    Coefficients stay on the workers, chunk by chunk. So do the rows if :func:`kedge.readers.dask_arrays.settle_rows`
    keeps them; otherwise every pass computes the chunks again where their coefficients are, for example from files. The
    small state of a pass travels to each worker once, and sums over rows travel back, merged on the way in a fixed
    tree. Every result is the value of a task, so a worker that dies costs the time to compute its part again. A task
    uses one thread and solves ``step`` rows together.
    """

    def __init__(self, source: ArraySource, step: int) -> None:
        self._dtype = source.dtype
        views: Any = source.views
        self._ranges, self._views = blocks_of([view.reader for view in views])
        self.n_rows = source.n_rows
        columns, gaps = [view.columns for view in views], [view.gaps_allowed for view in views]
        self._chunks = [
            _Chunk(rows, source.observed(rows), source.scalings, columns, gaps, step) for rows in self._ranges
        ]
        self._coefficients: list[Any] = [None] * len(self._chunks)
        self._homes = views[0].reader.homes or [None] * len(self._chunks)

    def run_pass(self, solve: Callable[[RowBlock], tuple[sparse.csr_array, Sums]]) -> Sums:
        """Solve all rows; see :class:`kedge.engines.contract.Engine`."""
        solved = self._tasks(_join_solved, solve, with_views=True)
        coefficients, sums = [], []
        for task, home in zip(solved, self._homes, strict=True):
            with at_home(home):  # Taken apart elsewhere, the coefficients would travel with the sums.
                coefficients.append(task[0])
                sums.append(task[1])
        *self._coefficients, total = dask.persist(*coefficients, merge_sums(sums))
        return total.compute()  # type: ignore[no-any-return]

    def sum_blocks(self, function: Callable[[RowBlock], Sums], *, with_views: bool = False) -> Sums:
        """Merge over chunks; see :class:`kedge.engines.contract.Engine`."""
        # Tasks have the methods of their values, so that they merge as these do.
        return merge_sums(self._tasks(merge_sums, function, with_views=with_views)).compute()  # type: ignore[no-any-return]

    def per_row(
        self, function: Callable[[RowBlock], NDArray[Any]], *, width: int | None, dtype: Any, with_views: bool = False
    ) -> Any:
        """Return a lazy Dask array with the chunks of the rows."""
        return self._lazy(self._tasks(_stack, function, with_views=with_views), width, dtype)

    def take(self, rows: NDArray[np.intp]) -> sparse.csr_array:
        """Return the coefficients of some rows, each chunk sending only its own."""
        starts = np.array([0, *(chunk.stop for chunk in self._ranges)])
        parts = [dask.delayed(getitem)(self._coefficients[number], own) for number, own in split_rows(rows, starts)]
        return join_blocks(dask.compute(*parts))

    def graph(self, columns: sparse.csr_array | None) -> Any:
        """Return a Dask array with CSR chunks."""
        return self._graph_of(self._coefficients, columns)

    def solve_graph(self, solve: Callable[[RowBlock], sparse.csr_array], columns: sparse.csr_array | None) -> Any:
        """Solve all rows for a graph of its own, and keep it on the workers."""
        return self._graph_of(dask.persist(*self._tasks(join_blocks, solve, with_views=True)), columns)

    def embedding(self, row_map: NDArray[Any]) -> Any:
        """Return a lazy Dask array."""
        return self.per_row(partial(embed_block, row_map), width=row_map.shape[1], dtype=row_map.dtype)

    def close(self) -> None:
        """Do nothing: what is on the workers goes when nothing refers to it."""

    def _tasks(
        self, join: Callable[[Iterable[Any]], Any], function: Callable[[RowBlock], Any], *, with_views: bool
    ) -> list[Any]:
        """Return, for every chunk, the task that joins what the function returns for its blocks."""
        # One task holds the function and all others wait for it, so that it travels once to every worker; and it can
        # be computed again, which scattered data cannot.
        shared = dask.delayed(_Shared(function), pure=False, traverse=False)
        task = dask.delayed(partial(_run_chunk, join), pure=False)
        tasks = []
        for number, chunk in enumerate(self._chunks):
            views, home = self._views[number] if with_views else None, self._homes[number]
            # On its own, the scheduler would also consider the worker that holds the state of the pass, and move rows
            # and coefficients there.
            with at_home(home):
                tasks.append(task(shared, chunk, views, self._coefficients[number]))
        return tasks

    def _graph_of(self, blocks: Sequence[Any], columns: sparse.csr_array | None) -> Any:
        shared = dask.delayed(columns, traverse=False)
        mapped = [block if columns is None else dask.delayed(mapped_columns)(block, shared) for block in blocks]
        width = int(blocks[0].shape[1].compute() if columns is None else columns.shape[1])
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


# Dask takes what it does not know for small, and would move coefficients about instead of sums.
sizeof.register(sparse.csr_array, _size_of_csr)
sizeof.register((PassSummary, ClusterSums, AnchorPairs), _size_of_sums)
sizeof.register(_Shared, lambda shared: len(pickle.dumps(shared.function)))


def _run_chunk(
    join: Callable[[Iterable[Any]], Any], shared: _Shared, chunk: _Chunk, views: Any, coefficients: Any
) -> Any:
    return join(map(shared.function, _blocks_of_chunk(chunk, views, coefficients)))


def _blocks_of_chunk(
    chunk: _Chunk, views: Sequence[Any] | None, coefficients: sparse.csr_array | None
) -> Iterator[RowBlock]:
    """Cut a chunk into the blocks that are solved together; views are checked and scaled."""
    source = None if views is None else _source_of(chunk, views)
    start, n_rows = chunk.rows.start, chunk.rows.stop - chunk.rows.start
    for own in cut_rows(n_rows, chunk.step) or [slice(0, 0)]:
        rows = slice(start + own.start, start + own.stop)
        old = None if coefficients is None else coefficients[own]
        if source is None:
            yield RowBlock(rows, (), old)
        else:
            yield RowBlock(rows, source.read(own), old, source.observed(own))


def _source_of(chunk: _Chunk, views: Sequence[Any]) -> ArraySource:
    arrays = []
    for number, (view, columns) in enumerate(zip(views, chunk.columns, strict=True)):
        block = sparse.csr_array(view) if sparse.issparse(view) else np.asarray(view)
        block = block if columns is None else block[:, columns]

        def place(row: int, column: int, columns: Any = columns) -> str:
            true_column = column if columns is None else int(columns[column])
            return f"{DaskReader.name}, row {row}, column {true_column}"

        refuse_not_finite(block, chunk.rows, place, gaps_allowed=chunk.gaps_allowed[number])
        arrays.append(block)
    return ArraySource(arrays, chunk.scalings, chunk.observed, [f"view {number}" for number in range(len(arrays))])


def _join_solved(solved: Iterable[tuple[sparse.csr_array, Any]]) -> tuple[sparse.csr_array, Any]:
    """Join the coefficients of the blocks of a chunk, and merge their sums."""
    blocks: list[sparse.csr_array] = []

    def sums() -> Iterator[Any]:
        for coefficients, own in solved:
            blocks.append(coefficients)
            yield own

    total = merge_sums(sums())
    return join_blocks(blocks), total


def _stack(parts: Iterable[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(list(parts))
