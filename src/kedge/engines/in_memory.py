"""Rows in memory, solved block by block on a few threads."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

import numpy as np
from scipy import sparse
from threadpoolctl import ThreadpoolController

from kedge.model.block_step import RowBlock, solve_block
from kedge.model.pass_state import PassState
from kedge.model.pass_summary import PassSummary, merge_summaries
from kedge.sources.contract import RowSource

Result = TypeVar("Result")

# Entries of the linear terms of a block: small enough to stay in cache, large enough to hide the cost of a call.
BLOCK_ENTRIES = 1 << 18
FEWEST_ROWS, MOST_ROWS = 256, 16384


def rows_per_block(n_columns: int) -> int:
    """Return how many rows are solved together; depends on the problem alone, so that threads cannot change sums."""
    # Every block brings a Gram matrix of n_columns^2 entries, which must not cost more than its rows.
    fewest = max(FEWEST_ROWS, n_columns)
    return int(min(max(BLOCK_ENTRIES // max(n_columns, 1), fewest), MOST_ROWS))


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_thread_per_library() -> Iterator[None]:
    """Hold BLAS and OpenMP to one thread each: blocks of rows run side by side instead, and pools do not fight."""
    with _thread_pools().limit(limits=1):
        yield


class InMemoryEngine:
    """Engine for arrays that fit in memory.

    Parameters
    ----------
    source : RowSource
        The rows.
    n_columns : int
        Columns of the coefficients, which decide the size of blocks.
    n_threads : int
        Blocks worked on at a time. Results do not depend on it.
    on_rows : callable, default=None
        Called with the number of rows after every block of a pass.
    """

    def __init__(
        self, source: RowSource, n_columns: int, n_threads: int, on_rows: Callable[[int], None] | None = None
    ) -> None:
        self.n_rows = source.n_rows
        self._source = source
        self._on_rows = on_rows
        step = rows_per_block(n_columns)
        self._ranges = [slice(i, min(i + step, self.n_rows)) for i in range(0, self.n_rows, step)]
        self._coefficients: list[sparse.csr_array | None] = [None] * len(self._ranges)
        workers = min(n_threads, len(self._ranges))
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="kedge") if workers > 1 else None

    def run_pass(self, state: PassState) -> PassSummary:
        """Solve all rows; see :class:`kedge.engines.contract.Engine`."""
        done: list[PassSummary] = []
        for number, (coefficients, summary) in enumerate(self._each(lambda block: solve_block(state, block))):
            self._coefficients[number] = coefficients
            done.append(summary)
            if self._on_rows is not None:
                self._on_rows(coefficients.shape[0])
        return merge_summaries(done)

    def map_blocks(self, function: Callable[[RowBlock], Result]) -> list[Result]:
        """Apply a function to every block; see :class:`kedge.engines.contract.Engine`."""
        return list(self._each(function))

    def map_coefficients(self, function: Callable[[slice, sparse.csr_array], Result]) -> list[Result]:
        """Apply a function to the coefficients of every block; see :class:`kedge.engines.contract.Engine`."""
        return list(self._over(lambda number: function(self._ranges[number], self._coefficients[number])))

    def coefficients(self) -> sparse.csr_array:
        """Return the coefficients of all rows."""
        blocks = [block for block in self._coefficients if block is not None]
        starts = np.cumsum([0, *(block.nnz for block in blocks)])
        # SciPy's vstack goes through more copies than these three.
        pointers = [block.indptr[1:] + start for block, start in zip(blocks, starts[:-1], strict=True)]
        indptr = np.concatenate([starts[:1], *pointers])
        indices = np.concatenate([block.indices for block in blocks])
        parts = np.concatenate([block.data for block in blocks]), indices, indptr
        return sparse.csr_array(parts, shape=(self.n_rows, blocks[0].shape[1]))

    def close(self) -> None:
        """Stop the threads; blocks not yet begun are dropped."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def _each(self, function: Callable[[RowBlock], Result]) -> Iterable[Result]:
        def work(number: int) -> Result:
            rows = self._ranges[number]
            views, observed = self._source.read(rows), self._source.observed(rows)
            return function(RowBlock(rows, views, self._coefficients[number], observed))

        return self._over(work)

    def _over(self, work: Callable[[int], Result]) -> Iterable[Result]:
        numbers = range(len(self._ranges))
        return map(work, numbers) if self._pool is None else self._pool.map(work, numbers)
