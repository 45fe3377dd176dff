"""Anchors of several views: joint, aligned or per view, also if rows lack views."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import kmeans_plusplus
from sklearn.utils.extmath import row_norms

from kedge.anchors.kmeans import LEAST_SEED_SAMPLE, MAX_ROUNDS, SEED_ROWS_PER_ANCHOR
from kedge.anchors.select import choose_anchors
from kedge.core.block_step import cross_product, solve_patterns, squared_norm
from kedge.core.lloyd import mean_rows
from kedge.core.rows import build_row_problem, dense_rows, mean_squared_norm, sample_rows, side_by_side

ALIGNMENTS = ("joint", "aligned", "per_view")
# Ridge of the graphs that are compared to match anchors, in units of the mean squared anchor norm.
_MATCHING_RIDGE = 0.1


def choose_view_anchors(
    views: Sequence[Any],
    observed: NDArray[np.bool_] | None,
    n_anchors: int,
    method: str,
    alignment: str,
    random_state: RandomState,
    *,
    signed: bool = False,
) -> list[NDArray[Any]]:
    """Choose anchors for every view, by one of ``ANCHOR_METHODS``; fewer if there are fewer distinct rows.

    Views are zero where a row lacks them, and ``observed`` says which views each row has. ``alignment`` "joint" chooses
    once from the views side by side; "aligned" chooses per view, then matches the anchors by an assignment; "per_view"
    does not match them.
    """
    if len(views) == 1:
        return [choose_anchors(views[0], n_anchors, method, random_state, signed=signed)]
    if alignment == "joint":
        return _joint_anchors(views, observed, n_anchors, method, random_state, signed)
    found = []
    for number, view in enumerate(views):
        rows = view if observed is None else view[np.flatnonzero(observed[:, number])]
        wanted = min(n_anchors, rows.shape[0])
        found.append(choose_anchors(rows, wanted, method, random_state, signed=signed))
    # A view with few distinct rows has fewer anchors; repeat them, since every view needs the same number.
    size = max(len(anchors) for anchors in found)
    anchors = [np.resize(one, (size, one.shape[1])) if len(one) < size else one for one in found]
    return _matched(views, observed, anchors, signed) if alignment == "aligned" else anchors


def _joint_anchors(
    views: Sequence[Any],
    observed: NDArray[np.bool_] | None,
    n_anchors: int,
    method: str,
    random_state: RandomState,
    signed: bool,
) -> list[NDArray[Any]]:
    has_gaps = observed is not None and not observed.all()
    # Side by side they would form one sparse matrix, in which dense views are slow.
    mixed = observed is None and len({sparse.issparse(view) for view in views}) == 2
    if method == "kmeans" and not signed and (has_gaps or mixed):
        everything = np.ones((views[0].shape[0], len(views)), dtype=bool)
        return incomplete_kmeans(views, everything if observed is None else observed, n_anchors, random_state)
    if observed is not None and has_gaps:
        complete = np.flatnonzero(observed.all(axis=1))
        if len(complete) < n_anchors:
            asked = "signed=True" if signed else f"anchors={method!r}"
            raise ValueError(
                f"{asked} with anchor_alignment='joint' takes anchors from rows that have every view, and only "
                f"{len(complete)} of the {len(observed)} rows looked at do, fewer than n_anchors={n_anchors}; take "
                "anchors='kmeans' without signed, or anchor_alignment='aligned', or fewer anchors"
            )
        views = [view[complete] for view in views]
    joined = choose_anchors(side_by_side(views), n_anchors, method, random_state, signed=signed)
    ends = np.cumsum([view.shape[1] for view in views])[:-1]
    return [np.ascontiguousarray(part) for part in np.split(joined, ends, axis=1)]


def _matched(
    views: Sequence[Any], observed: NDArray[np.bool_] | None, anchors: list[NDArray[Any]], signed: bool
) -> list[NDArray[Any]]:
    """Reorder the anchors of every view to match those of the view that is rebuilt best.

    Two anchors match if the same rows use both, among the rows that have both views.
    """
    graphs, residuals = [], []
    for number, (view, own) in enumerate(zip(views, anchors, strict=True)):
        rows = np.arange(view.shape[0]) if observed is None else np.flatnonzero(observed[:, number])
        graph, residual = _graph_of_view(view[rows], own, signed)
        placed = sparse.csr_array(
            (graph.data, (np.repeat(rows, np.diff(graph.indptr)), graph.indices)), shape=(view.shape[0], len(own))
        )
        graphs.append(placed)
        residuals.append(residual)
    reference = int(np.argmin(residuals))
    matched = []
    for number, own in enumerate(anchors):
        # A row that lacks a view is empty in the graph of that view and adds nothing.
        agreement = cross_product(graphs[reference], graphs[number])
        order = np.arange(len(own)) if number == reference else linear_sum_assignment(-agreement)[1]
        matched.append(np.ascontiguousarray(own[order]))
    return matched


def _graph_of_view(view: Any, anchors: NDArray[Any], signed: bool) -> tuple[sparse.csr_array, float]:
    """Return the weights of the rows on the anchors of one view, and the share of energy that is not rebuilt."""
    ridge = _MATCHING_RIDGE * mean_squared_norm([anchors], [1.0])
    problem = build_row_problem([anchors], weights=[1.0], ridge=ridge, signed=signed)
    graph, sums = solve_patterns(problem, problem.view_terms([view], None)[0], None)
    energy = squared_norm(view)
    error = energy + sums.linear_part + np.vdot(problem.grams[0], sums.gram)
    if signed:
        graph = sparse.csr_array(graph[:, : len(anchors)] + graph[:, len(anchors) :])
    return graph, float(error) / energy if energy > 0 else 1.0


def incomplete_kmeans(
    views: Sequence[Any], observed: NDArray[np.bool_], n_anchors: int, random_state: RandomState
) -> list[NDArray[Any]]:
    """Return k-means centres per view if rows lack views; centre j of all views is one prototype.

    A row goes to the centre with the smallest sum of squared distances over the views it has. In each view, a centre is
    the mean of its rows that have the view; without such rows it stays where it is.
    """
    mask = observed.astype(np.float64)
    centers = _seeds(views, observed, n_anchors, random_state)
    labels = np.full(len(mask), -1)
    lengths = np.stack([row_norms(view, squared=True) for view in views])
    for _ in range(MAX_ROUNDS):
        distances = _distances(views, mask, centers)
        # The squared lengths do not change which centre is nearest, but they do change which row is farthest.
        distances += lengths.sum(axis=0)[:, None]
        new = distances.argmin(axis=1)
        _fill_empty(new, distances, n_anchors)
        if np.array_equal(new, labels):
            break
        labels = new
        own = zip(views, observed.T, centers, strict=True)
        centers = [mean_rows(view, has_view, labels, center) for view, has_view, center in own]
    return centers


def _seeds(
    views: Sequence[Any], observed: NDArray[np.bool_], n_anchors: int, random_state: RandomState
) -> list[NDArray[Any]]:
    """Draw rows by k-means++ from those with the most views; where a row lacks a view, take the mean of the view."""
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
    """Return squared distances over the views that each row has, up to a constant per row."""
    lengths = np.stack([row_norms(center.astype(np.float64), squared=True) for center in centers])
    total = mask @ lengths
    for view, center in zip(views, centers, strict=True):
        total -= 2.0 * np.asarray(view @ center.T)
    return np.asarray(total)


def _fill_empty(labels: NDArray[np.intp], distances: NDArray[np.float64], n_anchors: int) -> None:
    """Give every empty centre the row farthest from its centre, but never the last row of another centre."""
    counts = np.bincount(labels, minlength=n_anchors)
    for empty in np.flatnonzero(counts == 0):
        own = distances[np.arange(len(labels)), labels]
        row = int(np.where(counts[labels] > 1, own, -np.inf).argmax())
        counts[labels[row]] -= 1
        labels[row] = empty
        counts[empty] = 1
