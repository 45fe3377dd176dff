"""Anchors of several views, such that anchor j is one prototype in all of them; or not, as published."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from kedge.model.anchor_selection.incomplete import incomplete_kmeans
from kedge.model.anchor_selection.row_access import side_by_side
from kedge.model.anchor_selection.select import choose_anchors
from kedge.model.block_step import cross_product, solve_patterns, squared_norm
from kedge.model.row_problem import build_row_problem, mean_squared_norm

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
    """Choose anchors for every view.

    Parameters
    ----------
    views : sequence of arrays of shape (n_rows, n_features of the view)
        Zero where a row lacks the view.
    observed : array of bool of shape (n_rows, n_views) or None
        Which views each row has; None means all.
    n_anchors : int
        Number wanted; fewer are returned if there are fewer distinct rows.
    method : str
        One of ``ANCHOR_METHODS``.
    alignment : str
        "joint": chosen once from the views side by side; "aligned": chosen per view and matched by an assignment;
        "per_view": chosen per view, so that anchor j of two views has nothing in common.
    random_state : RandomState
        Makes every draw.
    signed : bool, default=False
        See :func:`kedge.model.anchor_selection.select.choose_anchors`.
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
    # A view with few distinct rows has fewer anchors; they are repeated, since anchors come in rows across views.
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
    if observed is None and method == "kmeans" and not signed and len({sparse.issparse(view) for view in views}) == 2:
        # Side by side they would be one sparse matrix, in which the dense views cost many times their due.
        return incomplete_kmeans(views, np.ones((views[0].shape[0], len(views)), dtype=bool), n_anchors, random_state)
    if observed is not None and not observed.all():
        if method == "kmeans" and not signed:
            return incomplete_kmeans(views, observed, n_anchors, random_state)
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

    Two anchors belong together if the rows that lean on one lean on the other, over the rows that have both views.
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
        # Rows without either view are empty in its graph and add nothing.
        agreement = cross_product(graphs[reference], graphs[number])
        order = np.arange(len(own)) if number == reference else linear_sum_assignment(-agreement)[1]
        matched.append(np.ascontiguousarray(own[order]))
    return matched


def _graph_of_view(view: Any, anchors: NDArray[Any], signed: bool) -> tuple[sparse.csr_array, float]:
    """Return the weights of the rows on the anchors of one view, and the share of its energy that is not rebuilt."""
    ridge = _MATCHING_RIDGE * mean_squared_norm([anchors], [1.0])
    problem = build_row_problem([anchors], weights=[1.0], ridge=ridge, signed=signed)
    graph, sums = solve_patterns(problem, problem.view_terms([view], None)[0], None)
    energy = squared_norm(view)
    error = energy + sums.linear_part + np.vdot(problem.grams[0], sums.gram)
    if signed:
        graph = sparse.csr_array(graph[:, : len(anchors)] + graph[:, len(anchors) :])
    return graph, float(error) / energy if energy > 0 else 1.0
