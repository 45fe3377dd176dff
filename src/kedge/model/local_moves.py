"""A clustering made better by moving single rows to where their near rows are."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.kernels.contract import RowMoves
from kedge.kernels.selection import choose_kernel

# Sweeps over all rows, at most; and the share of rows that moved in a sweep below which it was the last.
MOST_SWEEPS, SETTLED_SHARE = 10, 0.001
# Moving a row has to raise modularity by more than rounding.
_LEAST_GAIN = 1e-12


def raise_modularity(
    graph: sparse.csr_array, labels: NDArray[np.int64], kernel: str | None = None
) -> NDArray[np.int64]:
    """Move rows one after the other to the cluster that raises modularity most, until hardly any moves.

    The number of clusters stays: the last row of a cluster does not leave it. Takes O(nnz + n k) per sweep.

    Parameters
    ----------
    graph : CSR array of shape (n_rows, n_rows)
        Symmetric weights between near rows, none of a row with itself.
    labels : array of shape (n_rows,)
        Clusters to begin with, from 0 without gaps.
    kernel : str, default=None
        Compiled or reference; None for the preferred one.
    """
    degrees = np.asarray(graph.sum(axis=1), dtype=np.float64).ravel()
    moves = RowMoves(
        graph=graph,
        degrees=degrees,
        expected=degrees / max(degrees.sum(), np.finfo(np.float64).tiny),
        n_clusters=int(labels.max()) + 1,
        most_sweeps=MOST_SWEEPS,
        settled_rows=int(SETTLED_SHARE * len(labels)),
        least_gain=_LEAST_GAIN,
    )
    return choose_kernel(kernel).move_rows(moves, np.ascontiguousarray(labels, dtype=np.int64))
