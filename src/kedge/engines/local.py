"""The engine of one machine: blocks of rows side by side in threads, in memory or on disk."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config

from kedge.core.block_step import MergeTree, RowBlock
from kedge.core.labels import embed_block
from kedge.core.rows import RowSource
from kedge.engines.checkpoint import Checkpoint, CheckpointedEngine
from kedge.engines.contract import Engine, Sums
from kedge.engines.stores import MemoryStore, RowStore, ScratchStore, StoredEmbedding, StoredGraph
from kedge.readers.arrays import ArraySource

# Entries of the linear terms of a block: small enough to stay in cache, large enough to hide the cost of a call.
BLOCK_ENTRIES = 1 << 18
FEWEST_ROWS, MOST_ROWS = 256, 16384
# Blocks of rows that are in memory at a time, at most: read ahead, being solved, and copies while they are scaled.
_BLOCKS_IN_MEMORY = 8


def rows_per_block(n_columns: int, bytes_per_row: int = 0) -> int:
    """Return how many rows are solved together; depends on the problem alone, so that threads cannot change sums.

    Parameters
    ----------
    n_columns : int
        Columns of the coefficients.
    bytes_per_row : int, default=0
        What a row of all views takes in memory. Blocks of very wide rows are shortened so that those in work stay
        within scikit-learn's ``working_memory``; sums then differ in their last bits.
    """
    # Every block brings a Gram matrix of n_columns^2 entries, which must not cost more than its rows.
    fewest = max(FEWEST_ROWS, n_columns)
    wanted = min(max(BLOCK_ENTRIES // max(n_columns, 1), fewest), MOST_ROWS)
    budget = int(get_config()["working_memory"] * 2**20) // _BLOCKS_IN_MEMORY
    return max(1, min(wanted, budget // max(bytes_per_row, 1)))


def cut_rows(n_rows: int, step: int) -> list[slice]:
    """Cut rows into consecutive blocks; the last may be shorter."""
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


Result = TypeVar("Result")


class BlockEngine:
    """Engine of one machine: rows from a source, coefficients in a store.

    Parameters
    ----------
    source : RowSource
        The rows.
    blocks : sequence of slices
        Consecutive rows that are solved together; they decide the last bits of sums.
    new_store : callable
        Returns a new store for coefficients.
    store : RowStore, default=None
        The first store, where it is not a new one.
    n_threads : int
        Blocks worked on at a time. Results do not depend on it.
    read_ahead : bool, default=False
        Read the next blocks on a thread of their own while others are solved, and leave graph and embedding in the
        store: for rows and coefficients that are not in memory.
    on_rows : callable, default=None
        Called with the number of rows after every block of a pass.
    """

    def __init__(
        self,
        source: RowSource,
        blocks: Sequence[slice],
        new_store: Callable[[], RowStore],
        n_threads: int,
        *,
        store: RowStore | None = None,
        read_ahead: bool = False,
        on_rows: Callable[[int], None] | None = None,
    ) -> None:
        self.n_rows = source.n_rows
        self._source, self._blocks = source, list(blocks)
        self._new_store, self._store = new_store, new_store() if store is None else store
        self._starts = np.array([rows.start for rows in blocks] + [source.n_rows], dtype=np.intp)
        self._on_rows = on_rows
        self._in_store = read_ahead
        workers = min(n_threads, len(self._blocks))
        self._pool: ThreadPoolExecutor | None = None
        if workers > 1 or read_ahead:
            self._pool = ThreadPoolExecutor(workers, thread_name_prefix="kedge")
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="kedge-read") if read_ahead else None
        # Enough that no thread waits for the slowest block before the next is begun.
        self._in_flight = 2 * workers + 1

    def run_pass(self, solve: Callable[[RowBlock], tuple[sparse.csr_array, Sums]]) -> Sums:
        """Solve all rows; see :class:`kedge.engines.contract.Engine`."""
        tree: MergeTree[Sums] = MergeTree()
        self._store.begin_pass()
        for coefficients, sums in self._each(solve, with_views=True):
            self._store.write(coefficients)
            tree.add(sums)
            if self._on_rows is not None:
                self._on_rows(coefficients.shape[0])
        self._store.end_pass()
        return tree.total()

    def sum_blocks(self, function: Callable[[RowBlock], Sums], *, with_views: bool = False) -> Sums:
        """Merge over blocks; see :class:`kedge.engines.contract.Engine`."""
        tree: MergeTree[Sums] = MergeTree()
        for sums in self._each(function, with_views=with_views):
            tree.add(sums)
        return tree.total()

    def per_row(
        self, function: Callable[[RowBlock], NDArray[Any]], *, width: int | None, dtype: Any, with_views: bool = False
    ) -> NDArray[Any]:
        """Fill one array block by block; see :class:`kedge.engines.contract.Engine`."""
        whole = np.empty((self.n_rows,) if width is None else (self.n_rows, width), dtype=dtype)
        for rows, part in zip(self._blocks, self._each(function, with_views=with_views), strict=True):
            whole[rows] = part
        return whole

    def take(self, rows: NDArray[np.intp]) -> sparse.csr_array:
        """Return the coefficients of some rows."""
        return self._stored(self._store, None).take(rows)

    def graph(self, columns: sparse.csr_array | None) -> Any:
        """Return the graph: a CSR array, or what reads it from the store."""
        return self._graph_in(self._store, columns)

    def solve_graph(self, solve: Callable[[RowBlock], sparse.csr_array], columns: sparse.csr_array | None) -> Any:
        """Solve all rows into a store of their own."""
        store = self._new_store()
        store.begin_pass()
        for coefficients in self._each(solve, with_views=True):
            store.write(coefficients)
        store.end_pass()
        return self._graph_in(store, columns)

    def embedding(self, row_map: NDArray[Any]) -> Any:
        """Return the embedding: an array, or what computes it from the store."""
        if self._in_store:
            return StoredEmbedding(self._stored(self._store, None), row_map)
        dtype = np.result_type(row_map, self._source.dtype)
        return self.per_row(partial(embed_block, row_map), width=row_map.shape[1], dtype=dtype)

    def close(self) -> None:
        """Stop the threads; blocks not yet begun are dropped."""
        for pool in (self._pool, self._reader):
            if pool is not None:
                pool.shutdown(wait=True, cancel_futures=True)

    def _graph_in(self, store: RowStore, columns: sparse.csr_array | None) -> Any:
        stored = self._stored(store, columns)
        return stored if self._in_store else stored.to_csr()

    def _stored(self, store: RowStore, columns: sparse.csr_array | None) -> StoredGraph:
        return StoredGraph(store, self._starts, columns, self._source.dtype)

    def _read(self, number: int, with_views: bool) -> RowBlock:
        rows, coefficients = self._blocks[number], self._store.read(number)
        if not with_views:
            return RowBlock(rows, (), coefficients)
        return RowBlock(rows, self._source.read(rows), coefficients, self._source.observed(rows))

    def _each(self, function: Callable[[RowBlock], Result], *, with_views: bool) -> Iterator[Result]:
        """Yield what the function returns for every block, in order, with a bounded number of blocks in work."""
        if self._pool is None:
            for number in range(len(self._blocks)):
                yield function(self._read(number, with_views))
            return
        waiting: deque[Future[Result]] = deque()
        try:
            for number in range(len(self._blocks)):
                waiting.append(self._submit(function, number, with_views))
                if len(waiting) >= self._in_flight:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()

    def _submit(self, function: Callable[[RowBlock], Result], number: int, with_views: bool) -> "Future[Result]":
        assert self._pool is not None
        if self._reader is None:
            return self._pool.submit(lambda: function(self._read(number, with_views)))
        # Blocks are read in their order by one thread: a disk likes that, and so do compressed files.
        read = self._reader.submit(self._read, number, with_views)
        return self._pool.submit(lambda: function(read.result()))


def choose_engine(
    source: RowSource,
    n_columns: int,
    n_threads: int,
    *,
    scratch_folder: str | Path | None = None,
    checkpoint: Checkpoint | None = None,
    on_rows: Callable[[int], None] | None = None,
) -> Engine:
    """Return the engine for these rows: in memory, out of core or Dask; with a checkpoint, it records its passes."""
    step = rows_per_block(n_columns, source.bytes_per_row)
    if source.on_dask:
        return _dask_engine(source, step, checkpoint)
    blocks = cut_rows(source.n_rows, step)

    def new_store() -> RowStore:
        return MemoryStore(len(blocks)) if source.in_memory else ScratchStore(scratch_folder, source.dtype)

    options: dict[str, Any] = {"read_ahead": not source.in_memory, "on_rows": on_rows}
    if checkpoint is None:
        return BlockEngine(source, blocks, new_store, n_threads, **options)
    kept = checkpoint.open_store(source.dtype, [rows.stop - rows.start for rows in blocks])
    engine = BlockEngine(source, blocks, new_store, n_threads, store=kept, **options)
    return CheckpointedEngine(engine, kept, checkpoint)


def _dask_engine(source: RowSource, step: int, checkpoint: Checkpoint | None) -> Engine:
    if checkpoint is not None:
        raise ValueError("checkpoint is for rows on one machine; with Dask arrays, leave it None")
    from kedge.engines.dask_engine import DaskEngine

    assert isinstance(source, ArraySource)
    return DaskEngine(source.views, source.scalings, source.mask, step)
