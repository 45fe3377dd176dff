"""Anchors by k-means, for dense and sparse rows."""

import warnings
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from kedge.anchors.rows import cluster_lines, fill_up, seed_lines, unit_rows
from kedge.core.rows import BLOCK_ENTRIES, dense_rows, sample_rows, take_rows
from kedge.user_warnings import warn_convergence

# More rows per anchor would hardly move the centres and cost in proportion.
LEAST_SAMPLE, ROWS_PER_ANCHOR = 5_000, 50
# Seeding reads its rows once per anchor, so it gets fewer rows than the rounds do.
LEAST_SEED_SAMPLE, SEED_ROWS_PER_ANCHOR = 1_000, 5
MAX_ROUNDS = 20
PUBLISHED_ROUNDS = 100


def kmeans_anchors(X: Any, n_anchors: int, random_state: RandomState, *, signed: bool = False) -> NDArray[Any]:
    """Return the k-means centres of a sample of bounded size; fewer if it has fewer distinct rows.

    With ``signed``, lines are clustered instead of points: rows are assigned by |cosine| and averaged after turning
    each to the side of its centre. Centres have unit length and zero rows are left out.
    """
    size = max(LEAST_SAMPLE, ROWS_PER_ANCHOR * n_anchors)
    sample = take_rows(X, sample_rows(X.shape[0], size, random_state))
    if signed:
        return _line_centers(sample, n_anchors, random_state)
    sample, exponent = _at_moderate_scale(sample)
    seeds = fill_up(sample, _seed_rows(sample, n_anchors, random_state), n_anchors, random_state)
    centers = seeds if len(seeds) < n_anchors else _point_centers(sample, seeds)
    return np.asarray(np.ldexp(centers, exponent))


def plusplus_anchors(X: Any, n_anchors: int, random_state: RandomState) -> NDArray[Any]:
    """Return rows drawn like the starts of k-means++: far rows are more likely; some may be equal."""
    size = max(LEAST_SAMPLE, ROWS_PER_ANCHOR * n_anchors)
    sample, exponent = _at_moderate_scale(take_rows(X, sample_rows(X.shape[0], size, random_state)))
    return np.asarray(np.ldexp(_seed_rows(sample, n_anchors, random_state), exponent))


def published_kmeans(
    X: Any, n_clusters: int, random_state: RandomState, n_replicates: int
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Cluster all rows by Lloyd's rounds from random rows; return the labels and the means of the clusters.

    Of several replicates, the one with the smallest sum of unsquared distances is kept, as in the published
    experiments (scikit-learn's KMeans would keep the smallest sum of squares). Each runs until no label changes, for at
    most 100 rounds. Warns if some clusters are empty because X has too few distinct rows.
    """
    if n_replicates < 1:
        raise ValueError(f"n_replicates={n_replicates} should be at least 1; ask for one replicate or more")
    best, labels, centers = np.inf, np.empty(0, dtype=np.int64), np.empty((0, X.shape[1]))
    for seed in random_state.randint(np.iinfo(np.int32).max, size=n_replicates):
        options: dict[str, Any] = {"init": "random", "n_init": 1, "max_iter": PUBLISHED_ROUNDS, "tol": 0.0}
        model = _run_lloyd(X, KMeans(n_clusters, random_state=int(seed), **options))
        total = float(own_distances(X, model.labels_, model.cluster_centers_).sum())
        if not len(labels) or total < best:
            best, labels, centers = total, model.labels_.astype(np.int64), np.asarray(model.cluster_centers_)
    n_found = len(np.unique(labels))
    if n_found < n_clusters:
        warn_convergence(
            f"only {n_found} of n_clusters={n_clusters} clusters hold a row: X has too few distinct rows; "
            f"ask for at most {n_found} clusters"
        )
    return labels, centers


def own_distances(X: Any, labels: NDArray[Any], centers: NDArray[Any]) -> NDArray[np.float64]:
    """Return the distance of each row to the centre of its label, in float64."""
    squares = np.empty(X.shape[0])
    for rows in gen_batches(X.shape[0], max(1, BLOCK_ENTRIES // max(X.shape[1], 1))):
        own = centers[labels[rows]].astype(np.float64)
        if sparse.issparse(X):
            block = X[rows]
            cross = np.asarray(block.multiply(own).sum(axis=1)).ravel()
            squares[rows] = row_norms(block, squared=True) - 2.0 * cross + row_norms(own, squared=True)
        else:
            squares[rows] = row_norms(X[rows] - own, squared=True)
    return np.sqrt(np.maximum(squares, 0.0))


def _seed_rows(sample: Any, n_anchors: int, random_state: RandomState) -> NDArray[Any]:
    size = max(LEAST_SEED_SAMPLE, SEED_ROWS_PER_ANCHOR * n_anchors)
    pool = take_rows(sample, sample_rows(sample.shape[0], size, random_state))
    # Distances come from inner products, which lose digits far from the origin.
    centred = pool if sparse.issparse(pool) else pool - pool.mean(axis=0)
    _, chosen = kmeans_plusplus(centred, n_anchors, random_state=random_state, n_local_trials=1)
    return dense_rows(pool, chosen)


def _point_centers(sample: Any, seeds: NDArray[Any]) -> NDArray[Any]:
    """Move the seeds by Lloyd's rounds; a centre that loses all rows becomes the row farthest from its own centre."""
    if sparse.issparse(sample):
        centers, labels = move_centers(sample, seeds, MAX_ROUNDS)
    else:
        model = _run_lloyd(sample, KMeans(len(seeds), init=seeds, n_init=1, max_iter=MAX_ROUNDS))
        centers, labels = np.array(model.cluster_centers_), model.labels_
    empty = np.setdiff1d(np.arange(len(seeds)), labels)
    if len(empty):
        farthest = np.argsort(-own_distances(sample, labels, centers), kind="stable")
        centers[empty] = dense_rows(sample, farthest[: len(empty)])
    return centers


def _run_lloyd(X: Any, model: KMeans) -> KMeans:
    if sparse.issparse(X):
        # KMeans refuses 64-bit indices, which a sample of a large matrix inherits.
        X = sparse.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    with warnings.catch_warnings():
        # Callers handle empty clusters and give their own warning.
        warnings.filterwarnings("ignore", "Number of distinct clusters", ConvergenceWarning)
        return model.fit(X)


def _line_centers(sample: Any, n_anchors: int, random_state: RandomState) -> NDArray[Any]:
    units, nonzero = unit_rows(sample)
    if not len(nonzero):
        return np.empty((0, sample.shape[1]), dtype=sample.dtype)
    size = max(LEAST_SEED_SAMPLE, SEED_ROWS_PER_ANCHOR * n_anchors)
    pool = take_rows(units, sample_rows(len(nonzero), size, random_state))
    seeds = dense_rows(pool, seed_lines(pool, min(n_anchors, pool.shape[0]), random_state))
    seeds = fill_up(units, seeds, n_anchors, random_state, signed=True)
    if len(seeds) == n_anchors:
        seeds = cluster_lines(units, seeds, MAX_ROUNDS)[1]
    return seeds.astype(sample.dtype)


def _at_moderate_scale(sample: Any) -> tuple[Any, int]:
    """Return the sample times 2^-exponent; the exponent is zero unless squares would overflow or underflow."""
    values = sample.data if sparse.issparse(sample) else sample
    largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
    limits = np.finfo(values.dtype)
    if largest == 0.0 or float(limits.tiny) ** 0.25 < largest < float(limits.max) ** 0.25:
        return sample, 0
    exponent = int(np.frexp(largest)[1])
    scaled = np.ldexp(values, -exponent)
    if sparse.issparse(sample):
        scaled = sparse.csr_array((scaled, sample.indices, sample.indptr), shape=sample.shape)
    return scaled, exponent


# As in scikit-learn: stop when centres move less than this share of the mean variance of a feature.
TOLERANCE = 1e-4


def move_centers(
    rows: sparse.csr_array, seeds: NDArray[Any], max_rounds: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return centres of sparse rows after Lloyd's rounds from the seeds, and the nearest centre of every row.

    A centre that loses all rows becomes the row that is farthest from its own centre.
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
