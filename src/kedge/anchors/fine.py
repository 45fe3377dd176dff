"""Anchors by the thousand: few cheap rounds of k-means from random rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse

from kedge.core.rows import View, build_near_problem, dense_rows

# Rows per anchor that are looked at, and rounds. Random rows alone make worse anchors, and full k-means no better ones:
# each anchor only has to stand for the rows around it.
ROWS_PER_ANCHOR, ROUNDS = 10, 4


def fine_anchors(
    views: Sequence[View], observed: NDArray[np.bool_] | None, n_anchors: int, random_state: RandomState
) -> list[NDArray[Any]]:
    """Return anchors, per view: means of the rows that are nearest to each.

    ``views`` is a sample of the rows, zero where a row lacks the view; ``observed``, of shape (n_rows, n_views), says
    which views each row has, None means all. Fewer than ``n_anchors`` are returned where rows are repeated.
    """
    n_rows = views[0].shape[0]
    # Rows that have every view make the best beginning; others fill up.
    order = random_state.permutation(n_rows)
    if observed is not None:
        lacking: NDArray[np.bool_] = np.asarray((~observed).any(axis=1))
        order = order[np.argsort(lacking[order], kind="stable")]
    starts = _distinct(views, order, n_anchors)
    anchors = [dense_rows(view, starts) for view in views]
    searched = [_single(view) for view in views]
    for _ in range(ROUNDS):
        search = build_near_problem([_single(own) for own in anchors], [1.0] * len(views), n_near=1)
        nearest = search.nearest(searched, observed, 1)[0][:, 0]
        anchors = [
            mean_rows(view, None if observed is None else observed[:, number], nearest, before)
            for number, (view, before) in enumerate(zip(views, anchors, strict=True))
        ]
    return [np.ascontiguousarray(own) for own in anchors]


def _distinct(views: Sequence[View], order: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """Return the first rows of the order that differ from each other, at most that many, ascending."""
    found: dict[bytes, int] = {}
    for start in range(0, len(order), count):
        numbers = order[start : start + count]
        # Minus zero is zero.
        rows = np.hstack([dense_rows(view, numbers) for view in views]) + 0.0
        for number, row in zip(numbers.tolist(), rows, strict=True):
            found.setdefault(row.tobytes(), number)
        if len(found) >= count:
            break
    return np.sort(np.array(list(found.values())[:count], dtype=np.intp))


def mean_rows(
    view: View, observed: NDArray[np.bool_] | None, nearest: NDArray[np.integer[Any]], before: NDArray[Any]
) -> NDArray[Any]:
    """Return the means of the rows of each anchor that have the view; an anchor without any stays."""
    rows = np.arange(len(nearest)) if observed is None else np.flatnonzero(observed)
    counts = np.bincount(nearest[rows], minlength=len(before))
    # In double precision: the sum of many rows must not depend on how large they are.
    member = sparse.csr_array((np.ones(len(rows)), (nearest[rows], rows)), shape=(len(before), len(nearest)))
    sums = member @ view.astype(np.float64, copy=False)
    sums = sums.toarray() if sparse.issparse(sums) else sums
    used = counts > 0
    means = before.copy()
    means[used] = (sums[used] / counts[used, None]).astype(before.dtype)
    return means


def _single(rows: View) -> View:
    """Return the rows in single precision, enough to tell which anchor is nearest, in half the time."""
    return rows.astype(np.float32, copy=False)
