"""What methods share that rebuild every row from others in blocks: stacking, the warning, and the clusters."""

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.random import RandomState
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import gen_batches

from kedge.baselines.coefficients.self_expression_graph import symmetric_graph
from kedge.baselines.coefficients.sparse_self_expression import rows_per_block
from kedge.baselines.graphs.spectral_clustering import cluster_affinity
from kedge.core.labels import number_by_first_rows
from kedge.kernels.selection import default_threads, one_thread_per_library

Result = TypeVar("Result")

# Even of wide rows hardly any needs more others than this.
_MOST_NONZERO = 100


def solve_all_rows(
    solve: Callable[[slice], tuple[sparse.csr_array, int, int]], n_rows: int, block_rows: int, advice: str
) -> tuple[sparse.csr_array, int]:
    """Solve block by block on all processors.

    Parameters
    ----------
    solve : callable
        Takes rows and returns their coefficients, its steps and how many rows it left unsolved.
    n_rows, block_rows : int
        Rows in all and of a block.
    advice : str
        What to do about unsolved rows, for the warning.

    Returns
    -------
    coefficients : CSR array of shape (n_rows, n_rows)
        All coefficients.
    n_iter : int
        Most steps of a block.
    """
    blocks = map_row_blocks(solve, n_rows, block_rows)
    n_open = sum(block[2] for block in blocks)
    if n_open:
        warnings.warn(
            f"{n_open} of {n_rows} rows were not solved to the tolerance; {advice}", ConvergenceWarning, stacklevel=4
        )
    coefficients = sparse.csr_array(sparse.vstack([block[0] for block in blocks], format="csr"))
    return coefficients, max(block[1] for block in blocks)


def l1_block_memory(n_samples: int, n_nonzero: int, n_matrices: int) -> int:
    """Return about how many bytes the methods take beyond X.

    Parameters
    ----------
    n_samples : int
        Rows.
    n_nonzero : int
        Most coefficients of a row; the features, if nothing else limits them.
    n_matrices : int
        Matrices of n x n numbers.
    """
    # A coefficient counts as itself, its magnitude and twice in the graph, each with its column.
    kept = 60 * n_samples * min(n_nonzero, n_samples, _MOST_NONZERO)
    blocks = 9 * 8 * default_threads() * n_samples * rows_per_block(n_samples)
    return 8 * n_matrices * n_samples**2 + kept + blocks


def cluster_coefficients(coefficients: sparse.csr_array, n_clusters: int, random_state: RandomState) -> dict[str, Any]:
    """Cluster by the graph |C| + |C|', each row of C over its largest absolute entry; return fitted attributes."""
    affinity = symmetric_graph(coefficients, "max")
    labels, embedding = cluster_affinity(affinity, n_clusters, random_state, stacklevel=5)
    return {"labels_": number_by_first_rows(labels), "coefficients_": coefficients, "embedding_": np.asarray(embedding)}


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
