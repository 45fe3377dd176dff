"""k-means of rows that may lack views: distances and means are over the views that are there."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import kmeans_plusplus
from sklearn.utils.extmath import row_norms

from kedge.model.anchor_selection.row_access import dense_rows, sample_rows, side_by_side

MAX_ROUNDS = 20
# Rows that seeds are drawn from, per anchor and at least.
LEAST_SEED_SAMPLE, SEED_ROWS_PER_ANCHOR = 1_000, 5


def incomplete_kmeans(
    views: Sequence[Any], observed: NDArray[np.bool_], n_anchors: int, random_state: RandomState
) -> list[NDArray[Any]]:
    """Return k-means centres per view; centre j of all views is one prototype.

    A row goes to the centre with the least sum of squared distances over the views it has, and a centre is, in each
    view, the mean of its rows that have the view. A centre without such rows keeps its place in that view.

    Parameters
    ----------
    views : sequence of arrays of shape (n_rows, n_features of the view)
        Zero where a row lacks the view.
    observed : array of bool of shape (n_rows, n_views)
        Which views each row has.
    n_anchors : int
        Number of centres, at most n_rows.
    random_state : RandomState
        Draws the seeds.

    Notes
    -----
    At most 20 rounds of O(n_rows n_anchors n_features).
    """
    mask = observed.astype(np.float64)
    centers = _seeds(views, observed, n_anchors, random_state)
    labels = np.full(len(mask), -1)
    for _ in range(MAX_ROUNDS):
        distances = _distances(views, mask, centers)
        new = distances.argmin(axis=1)
        _fill_empty(new, distances, n_anchors)
        if np.array_equal(new, labels):
            break
        labels = new
        centers = _means(views, mask, labels, centers)
    return centers


def _seeds(
    views: Sequence[Any], observed: NDArray[np.bool_], n_anchors: int, random_state: RandomState
) -> list[NDArray[Any]]:
    """Draw rows by k-means++ among those with the most views; a view they lack starts at its mean."""
    counts = observed.sum(axis=1)
    enough = max(LEAST_SEED_SAMPLE, SEED_ROWS_PER_ANCHOR * n_anchors)
    fewest = np.sort(counts)[::-1][min(n_anchors, len(counts)) - 1]
    pool = np.flatnonzero(counts >= fewest)
    pool = pool[sample_rows(len(pool), enough, random_state)]
    joined = side_by_side([view[pool] for view in views])
    _, chosen = kmeans_plusplus(joined, n_anchors, random_state=random_state, n_local_trials=1)
    rows = pool[chosen]
    seeds = []
    for number, view in enumerate(views):
        seed = dense_rows(view, rows)
        mean = np.asarray(view.sum(axis=0)).ravel() / max(int(observed[:, number].sum()), 1)
        seed[~observed[rows, number]] = mean
        seeds.append(seed)
    return seeds


def _distances(views: Sequence[Any], mask: NDArray[np.float64], centers: list[NDArray[Any]]) -> NDArray[np.float64]:
    """Return squared distances over the views that each row has, up to a constant of the row."""
    lengths = np.stack([row_norms(center.astype(np.float64), squared=True) for center in centers])
    total = mask @ lengths
    for view, center in zip(views, centers, strict=True):
        total -= 2.0 * np.asarray(view @ center.T)
    return np.asarray(total)


def _fill_empty(labels: NDArray[np.intp], distances: NDArray[np.float64], n_anchors: int) -> None:
    """Give every empty centre the row that is worst off, but never the last row of another."""
    counts = np.bincount(labels, minlength=n_anchors)
    for empty in np.flatnonzero(counts == 0):
        own = distances[np.arange(len(labels)), labels] - distances.min(axis=1).mean()
        row = int(np.where(counts[labels] > 1, own, -np.inf).argmax())
        counts[labels[row]] -= 1
        labels[row] = empty
        counts[empty] = 1


def _means(
    views: Sequence[Any], mask: NDArray[np.float64], labels: NDArray[np.intp], before: list[NDArray[Any]]
) -> list[NDArray[Any]]:
    n_rows, n_anchors = len(labels), len(before[0])
    member = sparse.csr_array((np.ones(n_rows), labels, np.arange(n_rows + 1)), shape=(n_rows, n_anchors))
    counts = np.asarray(member.T @ mask)
    after = []
    for number, (view, old) in enumerate(zip(views, before, strict=True)):
        sums = member.T @ view
        sums = sums.toarray() if sparse.issparse(sums) else np.asarray(sums)
        held = counts[:, number] > 0
        new = old.copy()
        new[held] = sums[held] / counts[held, number][:, None]
        after.append(new)
    return after
