"""Centres of groups of equal size, by splitting in two again and again."""

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from kedge.core.rows import sample_rows

Array = NDArray[np.float64]

# Rounds of a split, and the rows of a group that the first direction of a split is chosen from.
MAX_ROUNDS = 20
_FIRST_ROWS = 200


def balanced_groups(X: Any, n_groups: int, random_state: RandomState) -> NDArray[np.int64]:
    """Group rows by k-means with two centres and prescribed sizes, and each half again.

    A set of s rows that becomes g groups is split into halves of floor(g / 2) and the other groups, with rows in
    proportion; sizes differ by at most one where the number of groups is a power of two, and by little otherwise. A
    split alternates between two centres and the rows sorted by the difference of the squared distances to them.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n_rows, n_features)
        The rows, at least as many as groups.
    n_groups : int
        Number of groups.
    random_state : RandomState
        Chooses the first centres of every split.

    Returns
    -------
    groups : array of shape (n_rows,)
        Group of every row.

    Notes
    -----
    At most 20 rounds of O(nnz of X) for each of log2(n_groups) levels; memory is one copy of X.
    """
    groups = np.empty(X.shape[0], dtype=np.int64)
    # Rows of a set are kept next to each other, and copied once per level.
    pending = [(X, np.arange(X.shape[0]), n_groups, 0)]
    while pending:
        rows, numbers, count, first = pending.pop()
        if count == 1:
            groups[numbers] = first
            continue
        left_count = count // 2
        order, size = _split(rows, round(len(numbers) * left_count / count), random_state)
        for part, part_count, part_first in (
            (order[size:], count - left_count, first + left_count),
            (order[:size], left_count, first),
        ):
            pending.append((rows[part], numbers[part], part_count, part_first))
    return groups


def group_means(X: Any, groups: NDArray[np.int64], n_groups: int) -> Array:
    """Return the mean row of every group, none of which is empty."""
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups, minlength=n_groups)
    ends = np.cumsum(sizes)
    means = np.empty((n_groups, X.shape[1]))
    for group, (end, size) in enumerate(zip(ends, sizes, strict=True)):
        means[group] = np.asarray(X[order[end - size : end]].mean(axis=0)).ravel()
    return means


def _split(rows: Any, size: int, random_state: RandomState) -> tuple[NDArray[np.intp], int]:
    """Return the rows of the first part, ascending, then the others, and how many the first part has."""
    n_rows = rows.shape[0]
    direction = _first_direction(rows, random_state)
    total = np.asarray(rows.sum(axis=0)).ravel()
    is_first = np.zeros(n_rows, dtype=bool)
    for _ in range(MAX_ROUNDS):
        # |x - a|^2 - |x - b|^2 is, up to a constant, twice the product of x with b - a.
        order = np.argsort(rows @ direction, kind="stable")
        now_first = np.zeros(n_rows, dtype=bool)
        now_first[order[:size]] = True
        if np.array_equal(now_first, is_first):
            break
        is_first = now_first
        part = np.asarray(is_first.astype(np.float64) @ rows).ravel()
        direction = (total - part) / (n_rows - size) - part / size
    return np.argsort(~is_first, kind="stable"), size


def _first_direction(rows: Any, random_state: RandomState) -> Array:
    """Return the difference of two rows far apart: a random one's farthest, and the farthest of that."""
    some = rows[sample_rows(rows.shape[0], _FIRST_ROWS, random_state)]
    some = np.asarray(some.toarray() if hasattr(some, "toarray") else some, dtype=np.float64)
    start = some[random_state.randint(len(some))]
    one = some[((some - start) ** 2).sum(axis=1).argmax()]
    other = some[((some - one) ** 2).sum(axis=1).argmax()]
    return np.asarray(other - one)
