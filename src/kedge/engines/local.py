"""The engine of one machine: blocks of rows side by side in threads, in memory or on disk, and the graph they leave."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config

from kedge.core.block_step import RowBlock
from kedge.core.rows import RowSource, split_rows
from kedge.engines.checkpoint import Checkpoint, CheckpointedEngine
from kedge.engines.contract import Engine
from kedge.engines.stores import ScratchStore
from kedge.engines.sums import Sums, SumTree, merge_sums
from kedge.readers.arrays import ArraySource

Result = TypeVar("Result")

# Entries of the linear terms of a block: small enough to stay in cache, large enough to hide the cost of a call.
BLOCK_ENTRIES = 1 << 18
FEWEST_ROWS, MOST_ROWS = 256, 4096
# Blocks of rows that are in memory at a time, at most: read ahead, being solved, and copies while they are scaled.
_BLOCKS_IN_MEMORY = 8
# Rows of a finished graph that are looked at together.
_GRAPH_ROWS = 1 << 16


def rows_per_block(row_entries: int, bytes_per_row: int = 0) -> int:
    """Return how many rows are solved together; it depends on the problem alone, so threads cannot change sums.

    ``row_entries`` is how many entries of its linear term each row holds while it is solved. Blocks of very wide rows
    are shorter, so that those in work stay within scikit-learn's ``working_memory``; sums then differ in their last
    bits.
    """
    # Every block brings a Gram matrix of the square of these, which must not cost more than its rows.
    fewest = max(FEWEST_ROWS, row_entries)
    wanted = max(min(BLOCK_ENTRIES // max(row_entries, 1), MOST_ROWS), fewest)
    budget = int(get_config()["working_memory"] * 2**20) // _BLOCKS_IN_MEMORY
    return max(1, min(wanted, budget // max(bytes_per_row, 1)))


def cut_rows(n_rows: int, step: int) -> list[slice]:
    """Cut rows into consecutive blocks; the last may be shorter."""
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


class MemoryStore:
    """Coefficients of the blocks in memory, overwritten in place. Several threads read a store, one writes."""

    def __init__(self, n_blocks: int) -> None:
        self._blocks: list[sparse.csr_array | None] = [None] * n_blocks
        self._next = 0

    def begin_pass(self) -> None:
        """Get ready for the coefficients of a new pass, which come in the order of the blocks."""
        self._next = 0

    def write(self, coefficients: sparse.csr_array) -> None:
        """Take the coefficients of the next block; a pass writes a block only after it has read it."""
        self._blocks[self._next] = coefficients
        self._next += 1

    def end_pass(self) -> None:
        """Make the pass that was written the one that is read."""

    def read(self, number: int) -> sparse.csr_array | None:
        """Return the coefficients of a block in the last pass; None before the first."""
        return self._blocks[number]


RowStore: TypeAlias = MemoryStore | ScratchStore


class StoredGraph:
    """The bipartite graph of rows and anchors on disk; ``graph[rows]`` reads the rows asked for.

    The scratch space is freed when nothing refers to the graph any more, or when the process ends.
    """

    ndim = 2

    def __init__(self, store: RowStore, starts: NDArray[np.intp], columns: sparse.csr_array | None, dtype: Any) -> None:
        self._store, self._starts, self._columns = store, starts, columns
        self.dtype = np.dtype(dtype)
        width = self._block(0).shape[1] if len(starts) > 1 else 0
        self.shape = (int(starts[-1]), int(width))

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def __repr__(self) -> str:
        """Say what it is."""
        return f"<graph of {self.shape[0]} rows and {self.shape[1]} anchors on disk; [rows] reads rows, to_csr() all>"

    def __getitem__(self, rows: Any) -> sparse.csr_array:
        """Return rows as a CSR array: a slice, a mask, row numbers in any order, or one number."""
        if isinstance(rows, slice):
            return self.take(np.arange(*rows.indices(self.shape[0])))
        numbers = np.atleast_1d(np.asarray(rows))
        if numbers.dtype == bool:
            if numbers.shape != self.shape[:1]:
                raise IndexError(f"a mask of {len(numbers)} rows does not fit a graph of {self.shape[0]} rows")
            return self.take(np.flatnonzero(numbers))
        numbers = numbers.astype(np.intp)
        numbers = np.where(numbers < 0, numbers + self.shape[0], numbers)
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < self.shape[0]:
            raise IndexError(f"row numbers must be below {self.shape[0]}, the number of rows of the graph")
        return self.take(numbers)

    def take(self, rows: NDArray[np.intp]) -> sparse.csr_array:
        """Return these rows; every block is read once."""
        order = np.argsort(rows, kind="stable")
        parts = [self._block(number)[own] for number, own in split_rows(rows[order], self._starts)]
        if not parts:
            return sparse.csr_array((0, self.shape[1]), dtype=self.dtype)
        return join_blocks(parts)[np.argsort(order)]

    def blocks(self) -> Iterator[tuple[slice, sparse.csr_array]]:
        """Yield consecutive rows and their part of the graph."""
        for number, (start, stop) in enumerate(pairwise(self._starts)):
            yield slice(int(start), int(stop)), self._block(number)

    def to_csr(self, pool: ThreadPoolExecutor | None = None) -> sparse.csr_array:
        """Return the whole graph in memory, put together by the threads of the pool."""
        return join_blocks((block for _, block in self.blocks()), pool)

    def _block(self, number: int) -> sparse.csr_array:
        block = self._store.read(number)
        assert block is not None
        return mapped_columns(block, self._columns)


class StoredEmbedding:
    """The embedding of the rows of a stored graph, computed when asked for; ``np.asarray`` makes the whole array."""

    ndim = 2

    def __init__(self, graph: StoredGraph, row_map: NDArray[Any]) -> None:
        self._graph, self._row_map = graph, row_map
        self.shape = (graph.shape[0], row_map.shape[1])
        self.dtype = row_map.dtype

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        """Return the embedding of these rows."""
        return np.asarray(self._graph[rows] @ self._row_map)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the embedding of all rows."""
        parts = [np.asarray(block @ self._row_map) for _, block in self._graph.blocks()]
        return np.concatenate(parts).astype(dtype or self.dtype, copy=False)


def mapped_columns(block: sparse.csr_array, columns: sparse.csr_array | None) -> sparse.csr_array:
    """Add up or select columns: the block times a map of columns, with sorted indices; None leaves it as it is."""
    if columns is None:
        return block
    mapped = sparse.csr_array(block @ columns.astype(block.dtype))
    mapped.sort_indices()
    return mapped


def embed_block(row_map: NDArray[Any], block: RowBlock) -> NDArray[Any]:
    """Return the embedding of the rows of a block, from their coefficients."""
    return np.asarray(block.coefficients @ row_map)


def join_blocks(parts: Iterable[sparse.csr_array], pool: ThreadPoolExecutor | None = None) -> sparse.csr_array:
    """Stack blocks; SciPy's vstack makes more copies. Threads share the work: fresh memory takes longer than copies."""
    blocks = list(parts)
    rows = np.cumsum([0, *(block.shape[0] for block in blocks)])
    ends = np.cumsum([0, *(block.nnz for block in blocks)])
    indptr = np.zeros(rows[-1] + 1, dtype=np.int64)
    indices, data = np.empty(ends[-1], blocks[0].indices.dtype), np.empty(ends[-1], blocks[0].dtype)

    def copy(block: sparse.csr_array, row: int, first: int) -> None:
        np.add(block.indptr[1:], first, out=indptr[row + 1 : row + 1 + block.shape[0]])
        indices[first : first + block.nnz], data[first : first + block.nnz] = block.indices, block.data

    list((map if pool is None else pool.map)(copy, blocks, rows, ends))
    return sparse.csr_array((data, indices, indptr), shape=(rows[-1], blocks[0].shape[1]))


class BlockEngine:
    """Engine of one machine: rows from a source, coefficients in a store.

    ``blocks`` are the rows that are solved together; they decide the last bits of sums. ``n_threads`` blocks are solved
    at a time, which changes no result. Where the rows are not in memory, a thread of its own reads the next blocks
    while others are solved, and graph and embedding stay in the store, which is in ``scratch_folder`` unless ``store``
    is given. ``on_rows`` is called with the number of rows after every block of a pass.
    """

    def __init__(
        self,
        source: RowSource,
        blocks: Sequence[slice],
        n_threads: int,
        *,
        scratch_folder: str | Path | None = None,
        store: RowStore | None = None,
        on_rows: Callable[[int], None] | None = None,
    ) -> None:
        self.n_rows = source.n_rows
        self._source, self._blocks, self._scratch_folder = source, list(blocks), scratch_folder
        self._store = self._new_store() if store is None else store
        self._starts = np.array([rows.start for rows in blocks] + [source.n_rows], dtype=np.intp)
        self._on_rows = on_rows
        self._in_store = not source.in_memory
        workers = min(n_threads, len(self._blocks))
        self._pool: ThreadPoolExecutor | None = None
        if workers > 1 or self._in_store:
            self._pool = ThreadPoolExecutor(workers, thread_name_prefix="kedge")
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="kedge-read") if self._in_store else None
        # Enough that no thread waits for the slowest block before the next is begun.
        self._in_flight = 2 * workers + 1

    def _new_store(self) -> RowStore:
        if self._source.in_memory:
            return MemoryStore(len(self._blocks))
        return ScratchStore(self._scratch_folder, self._source.dtype)

    def run_pass(
        self, solve: Callable[[RowBlock], tuple[sparse.csr_array, Sums]], begun: SumTree[Sums] | None = None
    ) -> Sums:
        """Solve all rows; see :class:`kedge.engines.contract.ResumableEngine`."""
        tree = SumTree[Sums]() if begun is None else begun
        first = tree.n_blocks
        self._store.begin_pass()
        self._count_rows(int(self._starts[first]))
        for coefficients, sums in self._each(solve, with_views=True, first=first):
            self._store.write(coefficients)
            tree.add(sums)
            self._count_rows(coefficients.shape[0])
        self._store.end_pass()
        return tree.total()

    def _count_rows(self, n_rows: int) -> None:
        if self._on_rows is not None:
            self._on_rows(n_rows)

    def sum_blocks(self, function: Callable[[RowBlock], Sums], *, with_views: bool = False) -> Sums:
        """Merge over blocks; see :class:`kedge.engines.contract.Engine`."""
        return merge_sums(self._each(function, with_views=with_views))

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
        return StoredGraph(self._store, self._starts, None, self._source.dtype).take(rows)

    def graph(self, columns: sparse.csr_array | None) -> Any:
        """Return the graph: a CSR array, or what reads it from the store."""
        return self._graph_of(self._store, columns)

    def solve_graph(self, solve: Callable[[RowBlock], sparse.csr_array], columns: sparse.csr_array | None) -> Any:
        """Solve all rows into a store of their own."""
        store = self._new_store()
        store.begin_pass()
        for coefficients in self._each(solve, with_views=True):
            store.write(coefficients)
        store.end_pass()
        return self._graph_of(store, columns)

    def embedding(self, row_map: NDArray[Any]) -> Any:
        """Return the embedding: an array, or what computes it from the store."""
        if self._in_store:
            return StoredEmbedding(self.graph(None), row_map)
        dtype = np.result_type(row_map, self._source.dtype)
        return self.per_row(partial(embed_block, row_map), width=row_map.shape[1], dtype=dtype)

    def close(self) -> None:
        """Stop the threads; blocks not yet begun are dropped."""
        for pool in (self._pool, self._reader):
            if pool is not None:
                pool.shutdown(wait=True, cancel_futures=True)

    def _graph_of(self, store: RowStore, columns: sparse.csr_array | None) -> Any:
        stored = StoredGraph(store, self._starts, columns, self._source.dtype)
        return stored if self._in_store else stored.to_csr(self._pool)

    def _read(self, number: int, with_views: bool) -> RowBlock:
        rows, coefficients = self._blocks[number], self._store.read(number)
        if not with_views:
            return RowBlock(rows, (), coefficients)
        return RowBlock(rows, self._source.read(rows), coefficients, self._source.observed(rows))

    def _each(self, function: Callable[[RowBlock], Result], *, with_views: bool, first: int = 0) -> Iterator[Result]:
        """Yield what the function returns for all blocks from the first on, with a bounded number in work."""
        if self._pool is None:
            for number in range(first, len(self._blocks)):
                yield function(self._read(number, with_views))
            return
        waiting: deque[Future[Result]] = deque()
        try:
            for number in range(first, len(self._blocks)):
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


def graph_in_memory(graph: Any) -> sparse.csr_array:
    """Return a graph as a CSR array, wherever it is: in memory, on disk, or on the workers of a cluster."""
    if isinstance(graph, StoredGraph):
        return graph.to_csr()
    return graph if sparse.issparse(graph) else sparse.csr_array(graph.compute())


class GraphRows:
    """The rows of a finished graph, block by block, as far as labels need them."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph if isinstance(graph, StoredGraph) else graph_in_memory(graph)

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the weights of consecutive rows."""
        if isinstance(self._graph, StoredGraph):
            yield from (RowBlock(rows, (), block) for rows, block in self._graph.blocks())
        else:
            yield from (RowBlock(rows, (), self._graph[rows]) for rows in cut_rows(self._graph.shape[0], _GRAPH_ROWS))

    def sum_blocks(self, function: Callable[[RowBlock], Sums]) -> Sums:
        """Merge what a function returns for all blocks."""
        return merge_sums(map(function, self.blocks()))


def choose_engine(
    source: RowSource,
    row_entries: int,
    n_threads: int,
    *,
    scratch_folder: str | Path | None = None,
    checkpoint: Checkpoint | None = None,
    on_rows: Callable[[int], None] | None = None,
) -> Engine:
    """Return the engine for these rows: in memory, out of core or Dask; with a checkpoint, it records its passes."""
    step = rows_per_block(row_entries, source.bytes_per_row)
    if source.on_dask:
        if checkpoint is not None:
            raise ValueError("checkpoint is for rows on one machine; with Dask arrays, leave it None")
        from kedge.engines.dask_engine import DaskEngine

        assert isinstance(source, ArraySource)
        return DaskEngine(source, step)
    blocks = cut_rows(source.n_rows, step)
    kept = None if checkpoint is None else checkpoint.open_store(source.dtype, [b.stop - b.start for b in blocks])
    engine = BlockEngine(source, blocks, n_threads, scratch_folder=scratch_folder, store=kept, on_rows=on_rows)
    if kept is None or checkpoint is None:
        return engine
    return CheckpointedEngine(engine, kept, checkpoint)
