"""The anchors of a fit: one set, or several of different sizes to even out the luck of a single draw."""

import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning

from kedge.anchors import fine as fine_kmeans
from kedge.anchors.several_views import choose_view_anchors
from kedge.core.row_problem import build_near_problem
from kedge.core.rows import RowSource, sample_rows
from kedge.kernels.selection import one_thread_per_library

# Rows that anchors are chosen from: more of them move the anchors little and cost in proportion.
LEAST_SAMPLE, ROWS_PER_ANCHOR = 5_000, 50
# Views without a say are not left out of the distances between rows, or their anchors would be undefined.
_LEAST_PRIOR = 1e-6
# Rows that show whether near anchors leave the data in pieces, and the share of them that may be outside the largest.
ROWS_FOR_PIECES, MOST_LEFT_OUT = 10_000, 0.1


@dataclass(frozen=True)
class AnchorPlan:
    """How anchors are found: the sizes of the sets, a method, the number the user asked for; or given anchors.

    ``n_near`` is how many nearest anchors a row is joined to; None if rows are rebuilt from all anchors. ``coarse``
    are the sizes of sets that rows are rebuilt from instead, if near anchors leave them in pieces.
    """

    sizes: tuple[int, ...]
    method: str
    n_near: int | None = None
    coarse: tuple[int, ...] = ()
    alignment: str = "joint"
    asked_for: int | None = None
    given: list[NDArray[Any]] | None = None
    signed: bool = False
    n_threads: int = 1


@dataclass(frozen=True)
class AnchorSets:
    """Anchors of all sets below one another, per view, and the size of each set.

    ``n_near`` is how many of a set a row is joined to; None if it is rebuilt from all.
    """

    views: list[NDArray[Any]]
    sizes: list[int]
    n_near: int | None = None

    def each(self) -> Iterator[list[NDArray[Any]]]:
        """Yield the anchors of every set, per view."""
        start = 0
        for size in self.sizes:
            yield [view[start : start + size] for view in self.views]
            start += size


def choose_anchor_sets(
    source: RowSource, plan: AnchorPlan, prior: NDArray[np.float64], random_state: RandomState
) -> AnchorSets:
    """Find the anchors, from a bounded sample of the rows; views count as their prior says."""
    if plan.given is not None:
        return AnchorSets([np.ascontiguousarray(a, dtype=source.dtype) for a in plan.given], [len(plan.given[0])])
    with warnings.catch_warnings():
        # Sizes that we chose may exceed the distinct rows; only a size that the user chose is worth a warning.
        warnings.filterwarnings("ignore", "X has only", ConvergenceWarning)
        # One seed per set, drawn in order: sets may then be found side by side.
        seeds = [RandomState(seed) for seed in random_state.randint(np.iinfo(np.int32).max, size=len(plan.sizes))]
        with ThreadPoolExecutor(max(1, min(plan.n_threads, len(seeds)))) as pool:
            sets = list(pool.map(partial(_choose_set_alone, source, plan, prior), plan.sizes, seeds))
    largest = max(len(one[0]) for one in sets)
    if plan.asked_for is not None and largest < plan.asked_for:
        warnings.warn(
            f"X has only {largest} distinct rows, so n_anchors={plan.asked_for} became {largest}; lower n_anchors or "
            "leave it 'auto'",
            ConvergenceWarning,
            stacklevel=7,
        )
    views = [np.ascontiguousarray(np.concatenate(view)) for view in zip(*sets, strict=True)]
    return AnchorSets(views, [len(one[0]) for one in sets], plan.n_near)


def choose_connected_sets(
    source: RowSource, plan: AnchorPlan, n_clusters: int | None, prior: NDArray[np.float64], random_state: RandomState
) -> AnchorSets:
    """Find the anchors; coarse ones where near ones leave the rows in more pieces than there are clusters."""
    sets = choose_anchor_sets(source, plan, prior, random_state)
    if n_clusters is None or not plan.coarse or not _falls_apart(source, sets, n_clusters, prior, random_state):
        return sets
    return choose_anchor_sets(source, replace(plan, sizes=plan.coarse, n_near=None), prior, random_state)


def _falls_apart(
    source: RowSource, sets: AnchorSets, n_clusters: int, prior: NDArray[np.float64], random_state: RandomState
) -> bool:
    """Return whether as many pieces as there are clusters leave out many of the rows, by a sample and one set."""
    assert sets.n_near is not None
    rows = sample_rows(source.n_rows, ROWS_FOR_PIECES, random_state)
    problem = build_near_problem(next(sets.each()), prior.tolist(), sets.n_near)
    weights = problem.solve(source.read(rows), source.observed(rows))[0]
    piece_of = connected_components(weights.T @ weights, directed=False)[1]
    rows_in = np.sort(np.bincount(piece_of[weights.indices[weights.indptr[:-1]]]))[::-1]
    return bool(rows_in[n_clusters:].sum() > MOST_LEFT_OUT * len(rows))


def _choose_set_alone(
    source: RowSource, plan: AnchorPlan, prior: NDArray[np.float64], size: int, random_state: RandomState
) -> list[NDArray[Any]]:
    # The limit of OpenMP holds for the thread that sets it, and this is another one.
    with one_thread_per_library():
        return choose_set(source, plan, prior, size, random_state)


def choose_set(
    source: RowSource, plan: AnchorPlan, prior: NDArray[np.float64], size: int, random_state: RandomState
) -> list[NDArray[Any]]:
    """Find one set of anchors, per view, from a bounded sample of the rows."""
    is_fine = plan.n_near is not None and plan.method == "kmeans" and plan.alignment == "joint"
    n_sampled = fine_kmeans.ROWS_PER_ANCHOR * size if is_fine else max(LEAST_SAMPLE, ROWS_PER_ANCHOR * size)
    rows = sample_rows(source.n_rows, n_sampled, random_state)
    views, observed = source.read(rows), source.observed(rows)
    # Distances over all views weigh a view by its prior; anchors are returned in the units of the rows.
    roots = np.sqrt(np.maximum(prior, _LEAST_PRIOR * prior.max()))
    if (roots != 1.0).any():
        views = [view * view.dtype.type(root) for view, root in zip(views, roots, strict=True)]
    if is_fine:
        found = fine_kmeans.fine_anchors(views, observed, size, random_state)
    else:
        options: dict[str, Any] = {"alignment": plan.alignment, "signed": plan.signed}
        found = choose_view_anchors(views, observed, size, plan.method, random_state=random_state, **options)
    return [anchors / anchors.dtype.type(root) for anchors, root in zip(found, roots, strict=True)]
