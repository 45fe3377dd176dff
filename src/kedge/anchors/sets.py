"""The anchors of a fit: how many, in how many sets, and how they are found. One rule for all data.

Few rows are *rebuilt*: each is a mix of all anchors of a set, by the row problem of the paper. Many anchors work best
here: two for every three rows up to 1,200, so that an anchor is the mean of very few rows. Four such sets even out the
luck of the draw.

Many rows are joined to a few *near* anchors out of thousands of *fine* ones. Finer anchors follow the shape of clusters
better, but cost more time. The number of rows times anchors stays within a budget: at least a thousand anchors, at most
three sets of three thousand. Rows with few features are joined to near anchors, too, because in few dimensions far
anchors rebuild a row as well as near ones.

Nearest anchors may leave the rows in more pieces than there are clusters, for example when columns are zeros and ones.
The graph then does not say which pieces belong together. In that case rows are rebuilt from a few coarse anchors, five
per cluster.

:func:`count_anchors` has this rule. :func:`choose_connected_sets` finds the anchors: fine ones by :func:`fine_anchors`,
all others by a method of :mod:`kedge.anchors.select`.

The constants were settled with the labels of MNIST, digits, ORL, BA and the TR sets. Those for sparse rows and the
limits on rows and anchors also used TDT2, Citeseer and NUS, and the one for coarse anchors CoverType. Pokerhand and
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

from kedge.anchors.kmeans import LEAST_SAMPLE, ROWS_PER_ANCHOR
from kedge.anchors.several_views import choose_view_anchors
from kedge.core.lloyd import first_distinct, lloyd_rounds
from kedge.core.rows import RowSource, View, build_near_problem, join_to_nearest, sample_rows
from kedge.kernels.selection import one_thread_per_library
from kedge.user_warnings import warn_convergence

# Up to this many rows, the rows themselves are cut into communities, and the exact row problem is affordable.
MOST_REBUILT_ROWS = 4_000
# Anchor sets: more of them for very few rows, where luck matters most and a set costs next to nothing.
REBUILT_SHARE, REBUILT_SETS, MOST_REBUILT_SETS = 2 / 3, 4, 8
# More anchors than this bring no measurable gain there, and the row problem grows with them.
MOST_REBUILT_ANCHORS = 1_200
# Anchors of one fine set, the budget of rows times anchors over all sets, and the largest number of sets.
FINE_ANCHORS, FINE_BUDGET, FINE_SETS = 3_000, 420_000_000, 3
LEAST_FINE_ANCHORS = 1_000
# Least number of rows per fine anchor. Sparse rows need more, since single documents share few words.
ROWS_PER_FINE_ANCHOR, SPARSE_ROWS_PER_FINE_ANCHOR = 3, 9
# Rows per anchor if few rows have every view: enough for some of them to have each view.
ROWS_PER_PATCHED_ANCHOR = 10
# Anchors that a row is joined to: fewer where rows are many, as every anchor then has many rows anyway.
NEAR_ANCHORS, NEAR_ANCHORS_OF_MANY, MANY_ROWS = 5, 3, 20_000
# Fewer anchors than this are coarse: rows are rebuilt from all of them, as in the paper, for any number of rows.
LEAST_NEAR_ANCHORS = 400
# With at most this many features, and at least this many rows, rows are always joined to near anchors.
FEW_FEATURES, LEAST_NEAR_ROWS = 10, 50
# Coarse anchors per cluster if near ones leave the rows in pieces, and the budget of rows times anchors over all sets.
COARSE_PER_CLUSTER, COARSE_BUDGET = 5, 40_000_000
# Views that count nothing still get this share in distances between rows, or their anchors would be undefined.
_LEAST_PRIOR = 1e-6
# Fine anchors come from this many rows per anchor, in so many rounds of k-means. Random rows alone make worse anchors,
# and full k-means no better ones: each anchor only has to stand for the rows around it.
FINE_ROWS_PER_ANCHOR, FINE_ROUNDS = 10, 4
# Rows that show whether near anchors leave the data in pieces, and the share of them that may lie in small pieces.
ROWS_FOR_PIECES, MOST_LEFT_OUT = 10_000, 0.1


@dataclass(frozen=True)
class AnchorCount:
    """How many anchors there are."""

    sizes: tuple[int, ...]  # Of the anchor sets.
    n_near: int | None  # How many nearest anchors a row is joined to; None if it is rebuilt from all.
    coarse: tuple[int, ...] = ()  # Sizes of the sets that replace near anchors which leave the rows in pieces.


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
    """Apply the rule; a size or number of sets given by the user decides the rest.

    ``only_rebuilt`` rules out nearest anchors: mirrored anchors, a structure penalty and a given locality are parts of
    the row problem. ``n_clusters`` is the number of clusters asked for, each of which needs an anchor. ``n_complete``
    is the number of rows that have every view: if all rows of an anchor lack a view, the anchor is undefined there.
    """
    few_features = not only_rebuilt and n_features <= FEW_FEATURES and n_rows >= LEAST_NEAR_ROWS
    least, complete = n_clusters or 1, round(REBUILT_SHARE * (n_rows if n_complete is None else n_complete))
    if n_rows <= MOST_REBUILT_ROWS and not few_features:
        auto = max(least, min(round(REBUILT_SHARE * n_rows), MOST_REBUILT_ANCHORS), 1)
    elif only_rebuilt:
        auto = max(least, LEAST_NEAR_ANCHORS)
    else:
        affordable = max(LEAST_FINE_ANCHORS, FINE_BUDGET // n_rows)
        rows_per_anchor = SPARSE_ROWS_PER_FINE_ANCHOR if is_sparse else ROWS_PER_FINE_ANCHOR
        auto = max(least, min(FINE_ANCHORS, affordable, n_rows // rows_per_anchor))
    patched = n_rows // ROWS_PER_PATCHED_ANCHOR
    if complete < patched:
        # Fine anchors begin as rows, and would only be near rows that lack the same views.
        only_rebuilt, few_features, patched = True, False, min(patched, LEAST_NEAR_ANCHORS)
    if n_complete is not None and n_complete < n_rows:
        auto = min(auto, max(least, complete, patched, 1))
    size = auto if isinstance(n_anchors, str) else int(n_anchors)
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
    # A user who types the number that "auto" would choose gets the same fit.
    if near and n_clusters is not None and size == auto:
        own = COARSE_PER_CLUSTER * n_clusters
        affordable = int(np.clip(COARSE_BUDGET // (n_rows * own), 1, REBUILT_SETS))
        coarse = (own,) * (affordable if isinstance(n_init, str) else int(n_init))
    return AnchorCount((size,) * n_sets, n_near if near else None, coarse)


def check_counts(n_rows: int, n_clusters: int | None, n_anchors: int | str) -> None:
    """Raise an error if the counts do not fit each other; ``n_clusters`` is None if the data decides."""
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
    """Return the given anchors, one array per view, if they fit the data and each other."""
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


@dataclass(frozen=True)
class AnchorPlan:
    """How anchors are found; ``sizes``, ``n_near`` and ``coarse`` as in :class:`AnchorCount`."""

    sizes: tuple[int, ...]
    method: str
    n_near: int | None = None
    coarse: tuple[int, ...] = ()
    alignment: str = "joint"
    asked_for: int | None = None  # The number that the user gave.
    given: list[NDArray[Any]] | None = None
    signed: bool = False
    n_threads: int = 1


@dataclass(frozen=True)
class AnchorSets:
    """The anchors of all sets, one set after the other, per view; ``n_near`` as in :class:`AnchorCount`."""

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
    """Find the anchors, from a sample of bounded size; each view counts as its prior says."""
    if plan.given is not None:
        return AnchorSets([np.ascontiguousarray(a, dtype=source.dtype) for a in plan.given], [len(plan.given[0])])
    with warnings.catch_warnings():
        # Warn only if the user chose a size that exceeds the number of distinct rows.
        warnings.filterwarnings("ignore", "X has only", ConvergenceWarning)
        # One seed per set, drawn in order, lets sets be found in parallel.
        seeds = [RandomState(seed) for seed in random_state.randint(np.iinfo(np.int32).max, size=len(plan.sizes))]
        # OpenMP's limit holds only in the thread that sets it.
        at_a_time = max(1, min(plan.n_threads, len(seeds)))
        each = replace(plan, n_threads=max(1, plan.n_threads // at_a_time))
        with ThreadPoolExecutor(at_a_time, initializer=one_thread_per_library) as pool:
            sets = list(pool.map(partial(choose_set, source, each, prior), plan.sizes, seeds))
    largest = max(len(one[0]) for one in sets)
    if plan.asked_for is not None and largest < min(plan.asked_for, max(plan.sizes)):
        warn_convergence(
            f"X has only {largest} distinct rows, so n_anchors={plan.asked_for} became {largest}; lower n_anchors or "
            "leave it 'auto'"
        )
    views = [np.ascontiguousarray(np.concatenate(view)) for view in zip(*sets, strict=True)]
    return AnchorSets(views, [len(one[0]) for one in sets], plan.n_near)


def choose_connected_sets(
    source: RowSource, plan: AnchorPlan, n_clusters: int | None, prior: NDArray[np.float64], random_state: RandomState
) -> AnchorSets:
    """Find the anchors; take coarse ones if near ones leave the rows in more pieces than there are clusters."""
    sets = choose_anchor_sets(source, plan, prior, random_state)
    if n_clusters is None or not plan.coarse or not _falls_apart(source, sets, n_clusters, prior, random_state):
        return sets
    return choose_anchor_sets(source, replace(plan, sizes=plan.coarse, n_near=None), prior, random_state)


def _falls_apart(
    source: RowSource, sets: AnchorSets, n_clusters: int, prior: NDArray[np.float64], random_state: RandomState
) -> bool:
    """Return whether the ``n_clusters`` largest pieces leave out many rows, judged by a sample and one anchor set."""
    assert sets.n_near is not None
    rows = sample_rows(source.n_rows, ROWS_FOR_PIECES, random_state)
    problem = build_near_problem(sets.each()[0], prior.tolist(), sets.n_near)
    weights = join_to_nearest([problem], source.read(rows), source.observed(rows))[0]
    piece_of = connected_components(weights.T @ weights, directed=False)[1]
    rows_in = np.sort(np.bincount(piece_of[weights.indices[weights.indptr[:-1]]]))[::-1]
    return bool(rows_in[n_clusters:].sum() > MOST_LEFT_OUT * len(rows))


def choose_set(
    source: RowSource, plan: AnchorPlan, prior: NDArray[np.float64], size: int, random_state: RandomState
) -> list[NDArray[Any]]:
    """Find one anchor set, per view, from a sample of bounded size."""
    is_fine = plan.n_near is not None and plan.method == "kmeans" and plan.alignment == "joint"
    n_sampled = FINE_ROWS_PER_ANCHOR * size if is_fine else max(LEAST_SAMPLE, ROWS_PER_ANCHOR * size)
    rows = sample_rows(source.n_rows, n_sampled, random_state)
    views, observed = source.read(rows), source.observed(rows)
    # Distances weigh each view by its prior; anchors are returned in the units of the rows.
    roots = np.sqrt(np.maximum(prior, _LEAST_PRIOR * prior.max()))
    if (roots != 1.0).any():
        views = [view * view.dtype.type(root) for view, root in zip(views, roots, strict=True)]
    if is_fine:
        found = fine_anchors(views, observed, size, random_state, plan.n_threads)
    else:
        options: dict[str, Any] = {"alignment": plan.alignment, "signed": plan.signed}
        found = choose_view_anchors(views, observed, size, plan.method, random_state=random_state, **options)
    return [anchors / anchors.dtype.type(root) for anchors, root in zip(found, roots, strict=True)]


def fine_anchors(
    views: Sequence[View],
    observed: NDArray[np.bool_] | None,
    n_anchors: int,
    random_state: RandomState,
    n_threads: int = 1,
) -> list[NDArray[Any]]:
    """Return anchors by the thousand, per view: a few cheap rounds of k-means from random rows.

    ``views`` is a sample of the rows, zero where a row lacks the view, and ``observed`` says which views each row has.
    There are fewer than ``n_anchors`` where rows repeat each other.
    """
    order = random_state.permutation(views[0].shape[0])
    if observed is not None:
        # Rows that have every view are the best starts.
        lacking: NDArray[np.bool_] = np.asarray((~observed).any(axis=1))
        order = order[np.argsort(lacking[order], kind="stable")]
    return lloyd_rounds(views, observed, first_distinct(views, order, n_anchors), FINE_ROUNDS, n_threads)
