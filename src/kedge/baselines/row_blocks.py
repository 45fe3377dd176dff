"""Blocks of rows worked on side by side, cut the same way whatever the number of threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from sklearn.utils import gen_batches

from kedge.engines.library_threads import one_thread_per_library
from kedge.kernels.selection import default_threads

Result = TypeVar("Result")


def map_row_blocks(
    work: Callable[[slice], Result], n_rows: int, block_rows: int, *, n_threads: int | None = None
) -> list[Result]:
    """Return what the function makes of every block of rows, in the order of the blocks.

    Parameters
    ----------
    work : callable
        Takes a slice of row numbers. Runs on several threads at once; gains from them where it calls NumPy or SciPy.
    n_rows : int
        Rows in all.
    block_rows : int
        Rows of a block, the last one excepted. Fixed by the caller, so that results do not depend on the threads.
    n_threads : int or None, default=None
        Threads; None means one per processor.
    """
    blocks = list(gen_batches(n_rows, block_rows))
    threads = min(len(blocks), default_threads() if n_threads is None else n_threads)
    with one_thread_per_library():
        if threads <= 1:
            return [work(block) for block in blocks]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(work, blocks))
