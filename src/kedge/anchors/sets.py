"""How many anchors, how many sets of them, and which graph: one rule for all data.

Few rows are rebuilt exactly, each from all anchors, by the row problem of the paper. Many anchors serve best there: two
for every three rows up to 1,200, so that an anchor is the mean of very few rows, in four sets that even out the luck of
the draw.

Many rows are joined to their few nearest anchors. Finer anchors follow the shape of clusters better, but cost time in
proportion: their number times that of the rows is kept within a budget, never below a thousand anchors, up to three
sets of three thousand. Rows of few features are joined to near anchors, too: in few dimensions anchors far away rebuild
a row as well as near ones.

Nearest anchors may leave the rows in more pieces than clusters are asked for, as columns of zeros and ones do, and say
nothing of which pieces go together. Then rows are rebuilt from few coarse anchors instead, five per cluster.

The constants were settled on MNIST, digits, ORL, BA and the TR sets, with their labels, and those of sparse rows and of
the limits in rows and anchors also on TDT2, Citeseer and NUS, that of coarse anchors on CoverType; Pokerhand and
Caltech were left aside.
"""

import warnings
from collections.abc import Sequence
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
from kedge.core.rows import RowSource, build_near_problem, sample_rows
from kedge.kernels.selection import one_thread_per_library
from kedge.user_warnings import warn_user

# Up to this many rows the rows themselves are cut into communities, and the exact problem is affordable.
MOST_REBUILT_ROWS = 4_000
# Sets of anchors: more of them for very few rows, where the luck of a draw weighs most and a set costs next to nothing.
REBUILT_SHARE, REBUILT_SETS, MOST_REBUILT_SETS = 2 / 3, 4, 8
# More anchors than this bring nothing measurable there, and the row problem grows with them.
MOST_REBUILT_ANCHORS = 1_200
# Anchors of one fine set, rows times anchors of all sets that are affordable, and the fewest and most sets.
FINE_ANCHORS, FINE_BUDGET, FINE_SETS = 3_000, 420_000_000, 3
LEAST_FINE_ANCHORS = 1_000
# Rows per fine anchor, at least: an anchor is the mean of some rows, and of more where rows are sparse, since single
# documents share few words.
ROWS_PER_FINE_ANCHOR, SPARSE_ROWS_PER_FINE_ANCHOR = 3, 9
# Rows per anchor where few have every view: enough that some have each.
ROWS_PER_PATCHED_ANCHOR = 10
# Anchors that a row is joined to: fewer where rows are many, as every anchor then has many rows anyway.
NEAR_ANCHORS, NEAR_ANCHORS_OF_MANY, MANY_ROWS = 5, 3, 20_000
# Fewer anchors than this are coarse: rows are rebuilt from all of them, as in the paper, however many rows there are.
LEAST_NEAR_ANCHORS = 400
# Features up to which rows are joined to near anchors, however few they are, from this many rows on.
FEW_FEATURES, LEAST_NEAR_ROWS = 10, 50
# Coarse anchors per cluster where near ones leave the rows in pieces, and rows times anchors of all sets that are
# affordable.
COARSE_PER_CLUSTER, COARSE_BUDGET = 5, 40_000_000


@dataclass(frozen=True)
class AnchorCount:
    """Sizes of the anchor sets, and to how many nearest anchors a row is joined; None if it is rebuilt from all.

    ``coarse`` are the sizes of the sets that take over if near anchors leave the rows in pieces; empty for none.
    """

    sizes: tuple[int, ...]
    n_near: int | None
    coarse: tuple[int, ...] = ()


def count_anchors(
    n_rows: int,
    n_features: int,
    n_anchors: int | str,
    n_init: int | str,
    only_rebuilt: bool = False,
    n_clusters: int | None = None,
    n_complete: int | None = None,
    is_sparse: bool = False,
) -> AnchorCount:
    """Apply the rule; where the user gives the size or the number of sets, the rest follows from that.

    ``only_rebuilt`` says that nearest anchors will not do: mirrored anchors, a structure penalty and a given locality
    are parts of the row problem. ``n_clusters`` is the number of clusters asked for, if any: each needs an anchor.
    ``n_complete`` is the number of rows that have every view: an anchor of few rows that all lack a view says nothing
    of that view.
    """
    least = n_clusters or 1
    few_features = not only_rebuilt and n_features <= FEW_FEATURES and n_rows >= LEAST_NEAR_ROWS
    if not isinstance(n_anchors, str):
        size = int(n_anchors)
    elif n_rows <= MOST_REBUILT_ROWS and not few_features:
        size = max(least, min(round(REBUILT_SHARE * n_rows), MOST_REBUILT_ANCHORS), 1)
    elif only_rebuilt:
        size = max(least, LEAST_NEAR_ANCHORS)
    else:
        affordable = max(LEAST_FINE_ANCHORS, FINE_BUDGET // n_rows)
        rows_per_anchor = SPARSE_ROWS_PER_FINE_ANCHOR if is_sparse else ROWS_PER_FINE_ANCHOR
        size = max(least, min(FINE_ANCHORS, affordable, n_rows // rows_per_anchor))
    complete = round(REBUILT_SHARE * (n_rows if n_complete is None else n_complete))
    patched = n_rows // ROWS_PER_PATCHED_ANCHOR
    if complete < patched:
        # Fine anchors begin as rows, and would only ever be near to rows that lack the same views.
        only_rebuilt, few_features, patched = True, False, min(patched, LEAST_NEAR_ANCHORS)
    if isinstance(n_anchors, str) and n_complete is not None and n_complete < n_rows:
        size = min(size, max(least, complete, patched, 1))
    many = n_rows > MOST_REBUILT_ROWS and size >= LEAST_NEAR_ANCHORS
    n_near = NEAR_ANCHORS if n_rows < MANY_ROWS else NEAR_ANCHORS_OF_MANY
    near = not only_rebuilt and (many or few_features) and size > n_near
    if not isinstance(n_init, str):
        n_sets = int(n_init)
    elif near:
        n_sets = max(1, min(FINE_SETS, FINE_BUDGET // (n_rows * size)))
    else:
        most_sets = min(MOST_REBUILT_SETS, MOST_REBUILT_ROWS // n_rows)
        n_sets = max(REBUILT_SETS, most_sets) if n_rows <= MOST_REBUILT_ROWS else 1
    coarse: tuple[int, ...] = ()
    if near and n_clusters is not None and isinstance(n_anchors, str):
        own = COARSE_PER_CLUSTER * n_clusters
        affordable = int(np.clip(COARSE_BUDGET // (n_rows * own), 1, REBUILT_SETS))
        coarse = (own,) * (affordable if isinstance(n_init, str) else int(n_init))
    return AnchorCount((size,) * n_sets, n_near if near else None, coarse)


def check_counts(n_rows: int, n_clusters: int | None, n_anchors: int | str) -> None:
    """Say which count does not fit which; ``n_clusters`` is None where it is left to the data."""
    if n_clusters is not None and n_rows < n_clusters:
        raise ValueError(f"n_samples={n_rows} should be >= n_clusters={n_clusters}; ask for fewer clusters")
    if isinstance(n_anchors, str):
        return
    if n_clusters is not None and n_anchors < n_clusters:
        raise ValueError(f"n_anchors={n_anchors} should be >= n_clusters={n_clusters}; raise it or leave it 'auto'")
    if n_anchors > n_rows:
        raise ValueError(f"n_anchors={n_anchors} should be <= n_samples={n_rows}; lower it or leave it 'auto'")


def checked_given_anchors(
    anchors: Sequence[Any], n_clusters: int | None, names: Sequence[str], widths: Sequence[int]
) -> Sequence[Any]:
    """Return given anchors, one array per view, as they are if they fit the data and each other."""
    if len(anchors) != len(names):
        raise ValueError(f"anchors has {len(anchors)} arrays, but there are {len(names)} views; give one per view")
    for one, name, width in zip(anchors, names, widths, strict=True):
        if one.shape[1] != width:
            raise ValueError(f"anchors have {one.shape[1]} features, but {name} has {width}")
        if len(one) != len(anchors[0]):
            raise ValueError(
                f"anchors of {name} are {len(one)}, of {names[0]} {len(anchors[0])}; anchor j of all views is one "
                "prototype, so give as many for each view"
            )
    if n_clusters is not None and len(anchors[0]) < n_clusters:
        raise ValueError(f"{len(anchors[0])} anchors were given, but n_clusters={n_clusters} needs at least as many")
    return anchors


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

    def each(self) -> list[list[NDArray[Any]]]:
        """Return the anchors of every set, per view."""
        ends = np.cumsum(self.sizes).tolist()
        return [[view[end - size : end] for view in self.views] for end, size in zip(ends, self.sizes, strict=True)]


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
        # The limit of OpenMP holds for the thread that sets it.
        with ThreadPoolExecutor(max(1, min(plan.n_threads, len(seeds))), initializer=one_thread_per_library) as pool:
            sets = list(pool.map(partial(choose_set, source, plan, prior), plan.sizes, seeds))
    largest = max(len(one[0]) for one in sets)
    if plan.asked_for is not None and largest < plan.asked_for:
        warn_user(
            f"X has only {largest} distinct rows, so n_anchors={plan.asked_for} became {largest}; lower n_anchors or "
            "leave it 'auto'",
            ConvergenceWarning,
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
    problem = build_near_problem(sets.each()[0], prior.tolist(), sets.n_near)
    weights = problem.solve(source.read(rows), source.observed(rows))[0]
    piece_of = connected_components(weights.T @ weights, directed=False)[1]
    rows_in = np.sort(np.bincount(piece_of[weights.indices[weights.indptr[:-1]]]))[::-1]
    return bool(rows_in[n_clusters:].sum() > MOST_LEFT_OUT * len(rows))


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
