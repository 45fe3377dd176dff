"""Distinct rows, as points or as lines through the origin (x and -x of any length are one line); k-means of lines."""

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches
from sklearn.utils.extmath import safe_sparse_dot

from kedge.core.rows import BLOCK_ENTRIES, dense_rows, row_blocks

Array = NDArray[np.float64]

# Two unit vectors whose |cosine| exceeds one minus this are one line. Single precision turns rows by about 1e-7, which
# changes the cosine by 1e-14 only, so the same value serves both precisions.
SAME_LINE = 2e-9
# A shorter sum of unit vectors is rounding noise without a direction.
_NO_DIRECTION = 1e-10
# Rows compared at a time; lines are compared pair by pair, so their blocks are small.
_BLOCK_ROWS = 1 << 14
_BLOCK_LINES = 1 << 10


def fill_up(
    X: Any, anchors: NDArray[Any], n_anchors: int, random_state: RandomState, *, signed: bool = False
) -> NDArray[Any]:
    """Drop repeated anchors, then fill up with random rows of X that are not among them.

    There are fewer than ``n_anchors`` only if X has no other distinct rows. With ``signed``, lines are compared and
    returned: anchors at unit length, a and -a the same, no zero rows. Reads only as many rows of X as needed.
    """
    anchors = _add_fresh(anchors[:0], anchors, n_anchors, signed)
    if len(anchors) == n_anchors:
        return anchors
    order = random_state.permutation(X.shape[0])
    for rows in row_blocks(X, _BLOCK_LINES if signed else _BLOCK_ROWS):
        anchors = _add_fresh(anchors, X[order[rows]], n_anchors, signed)
        if len(anchors) == n_anchors:
            break
    return anchors


def _add_fresh(anchors: NDArray[Any], block: Any, n_anchors: int, signed: bool) -> NDArray[Any]:
    """Add rows of the block that differ from the anchors and from each other, up to the number wanted."""
    fresh = _fresh_lines(block, anchors) if signed else _fresh_rows(block, anchors)
    found = dense_rows(block, fresh[: n_anchors - len(anchors)])
    return np.vstack([anchors, unit_rows(found)[0].astype(found.dtype) if signed else found])


def row_fingerprints(X: Any) -> NDArray[np.uint64]:
    """Return one 64-bit number per row, the same for equal rows, dense or sparse.

    Two different rows share a number with a probability of about 2^-64, which would cost one candidate. A sparse X must
    be canonical (see ``canonical_rows``).
    """
    multipliers = _scramble(np.arange(1, X.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
    prints = np.zeros(X.shape[0], dtype=np.uint64)
    if sparse.issparse(X):
        owner = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        np.add.at(prints, owner, _scramble(_bits(X.data)) * multipliers[X.indices])
        return prints
    for rows in row_blocks(X, _BLOCK_ROWS):
        prints[rows] = (_scramble(_bits(X[rows])) * multipliers).sum(axis=1, dtype=np.uint64)
    return prints


def _fresh_rows(block: Any, anchors: NDArray[Any]) -> NDArray[np.intp]:
    prints = row_fingerprints(block)
    first = np.sort(np.unique(prints, return_index=True)[1])
    return np.asarray(first[~np.isin(prints[first], row_fingerprints(anchors))])


def _fresh_lines(block: Any, anchors: NDArray[Any]) -> NDArray[np.intp]:
    units, nonzero = unit_rows(block)
    known, _ = unit_rows(anchors)
    fresh = np.flatnonzero(np.abs(cosines(units, known)).max(axis=1, initial=0.0) <= 1.0 - SAME_LINE)
    return np.asarray(nonzero[fresh[distinct_lines(units[fresh])]])


def _bits(values: NDArray[Any]) -> NDArray[np.uint64]:
    # Adding zero turns -0.0 into 0.0, which equals it.
    unsigned = np.uint32 if values.dtype == np.float32 else np.uint64
    return np.ascontiguousarray(values + values.dtype.type(0)).view(unsigned).astype(np.uint64)


def _scramble(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix all bits into all bits (the finaliser of splitmix64); zero stays zero, as sparse rows need."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def unit_rows(X: Any) -> tuple[Any, NDArray[np.intp]]:
    """Return the nonzero rows at unit length, in float64, and their row numbers in X.

    Rows are divided by their largest entry first, so that lengths neither overflow nor underflow.
    """
    if sparse.issparse(X):
        owner = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        values = X.data.astype(np.float64)
        largest = np.zeros(X.shape[0])
        np.maximum.at(largest, owner, np.abs(values))
        values /= np.where(largest > 0, largest, 1.0)[owner]
        lengths = np.sqrt(np.bincount(owner, weights=values * values, minlength=X.shape[0]))
        values /= np.where(largest > 0, lengths, 1.0)[owner]
        kept = np.flatnonzero(largest)
        units = sparse.csr_array((values, X.indices, X.indptr), shape=X.shape)
        return (units if len(kept) == X.shape[0] else units[kept]), kept
    largest = np.abs(X).max(axis=1, initial=0.0).astype(np.float64)
    kept = np.flatnonzero(largest)
    rows = X[kept] / largest[kept, None]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), kept


def cosines(units: Any, others: Any) -> Array:
    """Return the dense inner products of two sets of unit rows, shape (len(units), len(others))."""
    return np.asarray(safe_sparse_dot(units, others.T, dense_output=True))


def distinct_lines(units: Any) -> NDArray[np.intp]:
    """Return the numbers of the unit rows that repeat no earlier line."""
    same = np.abs(cosines(units, units)) > 1.0 - SAME_LINE
    np.fill_diagonal(same, False)
    kept = np.ones(units.shape[0], dtype=bool)
    for row in np.flatnonzero(same.any(axis=1)):
        kept[row] = not (same[row, :row] & kept[:row]).any()
    return np.flatnonzero(kept)


def seed_lines(units: Any, n_lines: int, random_state: RandomState) -> NDArray[np.intp]:
    """Draw rows in proportion to the squared sine to the nearest line so far: k-means++ on lines.

    Returns fewer than ``n_lines`` row numbers if there are no other lines.
    """
    chosen = [int(random_state.randint(units.shape[0]))]
    weights = np.ones(units.shape[0])
    while True:
        # 1 - cos^2 = (1 - cos)(1 + cos), so one line means less than twice SAME_LINE.
        squared_sines = 1.0 - cosines(units, dense_rows(units, np.array(chosen[-1:])))[:, 0] ** 2
        weights = np.minimum(weights, np.where(squared_sines > 2 * SAME_LINE, squared_sines, 0.0))
        running = np.cumsum(weights)
        if len(chosen) == n_lines or running[-1] <= 0:
            return np.array(chosen)
        drawn = np.searchsorted(running, random_state.uniform() * running[-1], side="right")
        chosen.append(min(int(drawn), int(np.flatnonzero(weights)[-1])))


def assign_lines(units: Any, centers: Array) -> tuple[NDArray[np.intp], Array]:
    """Return the centre with the largest |cosine| for each unit row, and the signed cosine."""
    labels, winning = np.empty(units.shape[0], dtype=np.intp), np.empty(units.shape[0])
    for rows in gen_batches(units.shape[0], max(1, BLOCK_ENTRIES // len(centers))):
        products = cosines(units[rows], centers)
        labels[rows] = np.abs(products).argmax(axis=1)
        winning[rows] = np.take_along_axis(products, labels[rows, None], axis=1)[:, 0]
    return labels, winning


def update_lines(units: Any, labels: NDArray[np.intp], winning: Array, n_lines: int) -> Array:
    """Return the normalised sum of each cluster's rows, every row turned to the side of its centre.

    These centres maximise the sum of |cosine|. A cluster without rows or direction takes the row that is farthest from
    its own centre.
    """
    n_rows = units.shape[0]
    signs = np.where(winning < 0, -1.0, 1.0)
    membership = sparse.csr_array((signs, (labels, np.arange(n_rows))), shape=(n_lines, n_rows))
    sums = membership @ units
    centers: Array = sums.toarray() if sparse.issparse(sums) else np.asarray(sums)
    lengths = np.linalg.norm(centers, axis=1)
    lost = np.flatnonzero(lengths < _NO_DIRECTION)
    lengths[lost] = 1.0
    centers /= lengths[:, None]
    # There are enough rows: callers give at least as many as centres.
    centers[lost] = dense_rows(units, np.argsort(np.abs(winning), kind="stable")[: len(lost)])
    return centers


def cluster_lines(units: Any, centers: Array, max_rounds: int) -> tuple[NDArray[np.intp], Array]:
    """Run k-means on lines from the given unit centres; return labels and unit centres.

    Alternates assignment by |cosine| with sign-aligned means, so the sum of |cosine| never falls. Stops when labels
    and signs repeat.
    """
    labels, winning = assign_lines(units, centers)
    for _ in range(max_rounds):
        centers = update_lines(units, labels, winning, len(centers))
        before, side = labels, winning < 0
        labels, winning = assign_lines(units, centers)
        if np.array_equal(labels, before) and np.array_equal(winning < 0, side):
            break
    return labels, centers
