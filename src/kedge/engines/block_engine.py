"""Blocks of rows, solved one after another on the threads of one machine."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.engines.contract import Sums
from kedge.model.block_step import RowBlock
from kedge.model.label_rows import embed_block
from kedge.model.pass_summary import MergeTree
from kedge.row_store.contract import RowStore
from kedge.row_store.stored_graph import StoredEmbedding, StoredGraph
from kedge.sources.contract import RowSource

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
