"""Which rows are the same: as points, or as lines through the origin, where x and -x at any length are one line."""

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches
from sklearn.utils.extmath import safe_sparse_dot

from kedge.core.rows import BLOCK_ENTRIES, dense_rows, row_blocks

Array = NDArray[np.float64]

# Two unit vectors whose |cosine| exceeds one minus this are one line. Rounding single-precision rows turns them by
# 1e-7, which moves the cosine by 1e-14 only, so the same value serves both precisions.
SAME_LINE = 2e-9
# A sum of unit vectors shorter than this is rounding noise and has no direction.
_NO_DIRECTION = 1e-10
# Rows compared at a time; lines are compared pair by pair, so their blocks are small.
_BLOCK_ROWS = 1 << 14
_BLOCK_LINES = 1 << 10


def fill_up(
    X: Any, anchors: NDArray[Any], n_anchors: int, random_state: RandomState, *, signed: bool = False
) -> NDArray[Any]:
    """Drop repeated anchors, then add rows of X in random order that are not among them yet.

    Fewer than ``n_anchors`` are returned only if X has no further distinct row. With ``signed``, lines are compared
    and returned: anchors at unit length, a and -a the same, zero rows left out. Nothing is drawn or read from X if no
    anchor is missing, and only as many rows as needed otherwise: O(nnz) at worst, plus O(n_samples * n_anchors *
    n_features) at worst for lines.
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
    """Add those rows of the block that differ from the anchors and from each other, up to the number wanted."""
    fresh = _fresh_lines(block, anchors) if signed else _fresh_rows(block, anchors)
    found = dense_rows(block, fresh[: n_anchors - len(anchors)])
    return np.vstack([anchors, unit_rows(found)[0].astype(found.dtype) if signed else found])


def row_fingerprints(X: Any) -> NDArray[np.uint64]:
    """Return one 64-bit number per row, equal for equal rows, dense or sparse. Cost O(nnz).

    Unequal rows share a number with odds of about 2^-64 a pair; the loss is then one candidate row. A sparse X must
    list each column of a row once (see ``canonical_rows``).
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
    """Return the nonzero rows at length one, in float64, and their row numbers in X. Cost O(nnz).

    Rows are divided by their largest entry first, so lengths neither overflow nor vanish.
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
    """Return the numbers of the unit rows that repeat no earlier line. Cost O(r^2 d) for r rows."""
    same = np.abs(cosines(units, units)) > 1.0 - SAME_LINE
    np.fill_diagonal(same, False)
    kept = np.ones(units.shape[0], dtype=bool)
    for row in np.flatnonzero(same.any(axis=1)):
        kept[row] = not (same[row, :row] & kept[:row]).any()
    return np.flatnonzero(kept)


def seed_lines(units: Any, n_lines: int, random_state: RandomState) -> NDArray[np.intp]:
    """Draw rows in proportion to the squared sine to the nearest line drawn before (k-means++ on lines).

    Returns fewer than ``n_lines`` row numbers when no further line is left. Cost O(n_lines * nnz).
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
    """Return for each unit row the centre of the largest |cosine|, and the signed cosine to it."""
    labels, winning = np.empty(units.shape[0], dtype=np.intp), np.empty(units.shape[0])
    for rows in gen_batches(units.shape[0], max(1, BLOCK_ENTRIES // len(centers))):
        products = cosines(units[rows], centers)
        labels[rows] = np.abs(products).argmax(axis=1)
        winning[rows] = np.take_along_axis(products, labels[rows, None], axis=1)[:, 0]
    return labels, winning


def update_lines(units: Any, labels: NDArray[np.intp], winning: Array, n_lines: int) -> Array:
    """Return the normalised sums of each cluster's rows, every row turned to the side of its centre.

    For fixed labels and signs these centres maximise the sum of |cosine|. A cluster without rows, or whose sum has no
    direction, takes the row worst served by its own centre.
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
    # Fewer rows than lost centres cannot occur: callers give at least as many rows as centres.
    centers[lost] = dense_rows(units, np.argsort(np.abs(winning), kind="stable")[: len(lost)])
    return centers


def cluster_lines(units: Any, centers: Array, max_rounds: int) -> tuple[NDArray[np.intp], Array]:
    """Run k-means on lines from the given unit centres; return labels and unit centres.

    Alternates assignment by |cosine| with sign-aligned means, so the sum of |cosine| never falls. Stops when labels
    and signs repeat. Cost O(n_lines * nnz) per round, memory O(nnz) plus blocks of bounded size.
    """
    labels, winning = assign_lines(units, centers)
    for _ in range(max_rounds):
        centers = update_lines(units, labels, winning, len(centers))
        before, side = labels, winning < 0
        labels, winning = assign_lines(units, centers)
        if np.array_equal(labels, before) and np.array_equal(winning < 0, side):
            break
    return labels, centers
