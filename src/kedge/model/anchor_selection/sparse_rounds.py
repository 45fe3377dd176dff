"""Lloyd's rounds of sparse rows.

scikit-learn's look up every stored entry of a row in every centre, far apart in memory if there are many features.
Here all centres of a feature lie side by side (``python -m benchmarks.clustering.sparse_rounds`` has both times).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from kedge.model.anchor_selection.row_access import BLOCK_ENTRIES

# As in scikit-learn: rounds end where centres move less than this share of the mean variance of a feature.
TOLERANCE = 1e-4


def move_centers(
    rows: sparse.csr_array, seeds: NDArray[Any], max_rounds: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return centres after Lloyd's rounds from the seeds, of the dtype of the rows, and the nearest of every row.

    A centre left without rows becomes the row that is farthest from its own, as long as one is left. O(stored entries
    times centres) per round; beside the rows and the centres, memory is a block of distances.
    """
    # Means of sparse rows have few entries themselves: all but the distances is quicker without the zeros.
    centers, lengths = sparse.csr_array(seeds), row_norms(rows, squared=True)
    tolerance = TOLERANCE * _mean_variance(rows)
    labels, squares = _nearest(rows, centers, lengths)
    for _ in range(max_rounds):
        before, moved = labels, _means(rows, centers, labels, squares)
        shift = float(np.square((moved - centers).data, dtype=np.float64).sum())
        centers = moved
        labels, squares = _nearest(rows, centers, lengths)
        if shift <= tolerance or np.array_equal(labels, before):
            break
    return centers.toarray(), labels


def _mean_variance(rows: sparse.csr_array) -> float:
    means = np.asarray(rows.mean(axis=0, dtype=np.float64)).ravel()
    squares = np.square(rows.data, dtype=np.float64).sum() / rows.shape[0]
    return float((squares - means @ means) / rows.shape[1])


def _nearest(
    rows: sparse.csr_array, centers: sparse.csr_array, lengths: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the nearest centre of every row, the first of equally near ones, and the squared distance."""
    by_feature = centers.T.toarray(order="C")
    halves = row_norms(centers, squared=True) / 2
    labels, squares = np.empty(rows.shape[0], dtype=np.int64), np.empty(rows.shape[0])
    for block in gen_batches(rows.shape[0], max(1, BLOCK_ENTRIES // centers.shape[0])):
        distances = halves - rows[block] @ by_feature
        labels[block] = distances.argmin(axis=1)
        squares[block] = 2.0 * distances.min(axis=1) + lengths[block]
    return labels, squares


def _means(
    rows: sparse.csr_array, before: sparse.csr_array, labels: NDArray[np.int64], squares: NDArray[np.float64]
) -> sparse.csr_array:
    n_rows, n_centers = len(labels), before.shape[0]
    empty = np.setdiff1d(np.arange(n_centers), labels)
    farthest = np.argsort(-squares, kind="stable")[: len(empty)]
    labels = labels.copy()
    labels[farthest] = empty[: len(farthest)]
    counts = np.bincount(labels, minlength=n_centers)
    shares = 1.0 / counts[labels]
    member = sparse.csc_array((shares, labels, np.arange(n_rows + 1)), shape=(n_centers, n_rows))
    means = sparse.csr_array(member @ rows)
    # Taking its only row away empties another centre, which stays where it is for a round.
    if (counts == 0).any():
        means = sparse.csr_array(means + sparse.diags_array((counts == 0).astype(np.float64)) @ before)
    return means.astype(before.dtype)
