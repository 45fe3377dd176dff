"""Settings tried on a sample of rows: graphs of single anchor sets, clustered and judged."""

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse

from kedge.engines.library_threads import one_thread_per_library
from kedge.estimators.anchor_sets import AnchorPlan, choose_set
from kedge.estimators.automatic.settings import Setting
from kedge.model.anchor_selection.row_access import sample_rows, side_by_side
from kedge.model.block_step import solve_patterns
from kedge.model.clustering_points import cluster_points
from kedge.model.components import anchor_components
from kedge.model.driver_step import fold_columns
from kedge.model.label_rows import cluster_coordinates, count_directions
from kedge.model.neighborhood import count_neighbors, modularity, neighbor_graph
from kedge.model.pass_state import column_layout
from kedge.model.row_problem import RowProblem, build_row_problem, mean_squared_norm
from kedge.model.spectral_map import spectral_map
from kedge.model.view_scaling import ViewScaling
from kedge.sources.arrays import ArraySource
from kedge.sources.contract import RowSource

Labels = NDArray[np.int64]

# Rows among which farthest ones are searched, or that k-means looks at.
MOST_SEARCHED = 1_000
# Rows per centre of k-means, where these are more.
ROWS_PER_CENTER = 8


@dataclass(frozen=True)
class Sample:
    """The rows that settings are tried on.

    Attributes
    ----------
    source : RowSource
        The rows, scaled.
    weights : tuple of float
        Of the views.
    prior : array of shape (n_views,)
        How much each view counts in the choice of anchors.
    neighbors : CSR array of shape (n_rows, n_rows)
        The graph of near rows that judges.
    farthest : list of lists of arrays
        Anchors by farthest-first search, per draw and view. Each adds to those before, so their first ones are the
        anchors of a smaller set, and the slowest method runs once per draw.
    """

    source: RowSource
    weights: tuple[float, ...]
    prior: NDArray[np.float64]
    neighbors: sparse.csr_array
    farthest: list[list[NDArray[Any]]]


@dataclass(frozen=True)
class AnchoredSample:
    """A sample on one set of anchors at one locality: what settings that differ in alpha only share.

    Attributes
    ----------
    problem : RowProblem
        Without a ridge.
    linear : array of shape (n_rows, n_columns)
        The linear terms of all rows.
    unit : float
        Of alpha.
    signed : bool
        Whether anchors are mirrored.
    """

    problem: RowProblem
    linear: NDArray[Any]
    unit: float
    signed: bool


@dataclass(frozen=True)
class Embedded:
    """The points of a sample that are clustered, and the leading singular values of its graph, largest first."""

    points: NDArray[Any]
    singular_values: NDArray[np.float64]


@dataclass(frozen=True)
class Ballot:
    """A clustering of the sample, the setting behind it, and what near rows say of it."""

    setting: Setting
    labels: Labels
    modularity: float


def neighbors_of_sample(
    source: RowSource, weights: Sequence[float], n_clusters: int, n_threads: int = 1
) -> sparse.csr_array:
    """Return the graph of near rows over all views side by side, each as heavy as its weight."""
    views = source.read(slice(0, source.n_rows))
    scaled = [view * view.dtype.type(np.sqrt(weight)) for view, weight in zip(views, weights, strict=True)]
    run = partial(run_side_by_side, n_threads)
    return neighbor_graph(side_by_side(scaled), count_neighbors(source.n_rows, n_clusters), run)


def run_side_by_side(n_threads: int, action: Callable[..., Any], *arguments: Collection[Any]) -> list[Any]:
    """Call like ``map``, as many at the same time as there are threads."""

    def alone(*parts: Any) -> Any:
        # The limit of OpenMP holds for the thread that sets it, and this is another one.
        with one_thread_per_library():
            return action(*parts)

    with ThreadPoolExecutor(max(1, min(n_threads, len(arguments[0])))) as pool:
        return list(pool.map(alone, *arguments))


def rows_alone(source: RowSource, rows: NDArray[np.intp]) -> ArraySource:
    """Return a source of these rows only, in memory and scaled."""
    views = list(source.read(rows))
    return ArraySource(views, [ViewScaling("none")] * len(views), source.observed(rows), source.view_names)


def filled_share(source: RowSource) -> float:
    """Return the share of entries that are not zero."""
    views = source.read(slice(0, source.n_rows))
    filled = sum(view.count_nonzero() if sparse.issparse(view) else np.count_nonzero(view) for view in views)
    return float(filled / sum(view.shape[0] * view.shape[1] for view in views))


def cast_ballots(
    sample: Sample,
    plan: AnchorPlan,
    groups: Sequence[Sequence[Setting]],
    n_clusters: int,
    n_starts: int,
    random_state: RandomState,
) -> list[Ballot]:
    """Cluster the sample by every setting, as often as there are starts; settings of one group share anchors.

    Groups run side by side, each on random numbers of its own, so that the result does not depend on how many do.
    """
    seeds = random_state.randint(np.iinfo(np.int32).max, size=len(groups))
    cast = partial(_ballots_of_group, sample, plan, n_clusters, n_starts)
    return list(chain.from_iterable(run_side_by_side(plan.n_threads, cast, groups, seeds.tolist())))


def _ballots_of_group(
    sample: Sample, plan: AnchorPlan, n_clusters: int, n_starts: int, group: Sequence[Setting], seed: int
) -> list[Ballot]:
    random_state = RandomState(seed)
    n_rows = sample.source.n_rows
    size = group[0].count_anchors(random_state.uniform(), n_rows, n_clusters)
    anchors = draw_anchors(sample, plan, group[0].method, size, random_state)
    ballots = []
    anchored = {one.locality: join_to_anchors(sample, anchors, one.locality, plan.signed) for one in group}
    for setting in group:
        embedded = embed(sample, anchored[setting.locality], setting.alpha, n_clusters)
        if embedded is None:
            continue
        for _ in range(n_starts):
            labels, _ = cluster_points(embedded.points, n_clusters, random_state, n_starts=1)
            ballots.append(Ballot(setting, labels, modularity(sample.neighbors, labels)))
    return ballots


def draw_anchors(
    sample: Sample, plan: AnchorPlan, method: str, size: int, random_state: RandomState
) -> list[NDArray[Any]]:
    """Return one set of anchors from the sample, per view."""
    if plan.given is not None:
        return plan.given
    if method == "ffs" and sample.farthest:
        order = sample.farthest[random_state.randint(len(sample.farthest))]
        return [view[:size] for view in order]
    source = sample.source
    if method == "kmeans":
        # Centres of fewer rows are nearly as good, quicker, and differ more from draw to draw.
        rows = sample_rows(source.n_rows, max(MOST_SEARCHED, ROWS_PER_CENTER * size), random_state)
        source = rows_alone(source, rows)
    return choose_set(source, replace(plan, method=method), sample.prior, size, random_state)


def farthest_orders(
    source: RowSource, plan: AnchorPlan, prior: NDArray[np.float64], size: int, n_draws: int, random_state: RandomState
) -> list[list[NDArray[Any]]]:
    """Search farthest first several times, side by side, each time among at most 1,000 rows."""
    seeds = random_state.randint(np.iinfo(np.int32).max, size=n_draws)

    def search(seed: int) -> list[NDArray[Any]]:
        drawn = RandomState(seed)
        fewer = rows_alone(source, sample_rows(source.n_rows, max(MOST_SEARCHED, 2 * size), drawn))
        return choose_set(fewer, replace(plan, method="ffs"), prior, size, drawn)

    return run_side_by_side(plan.n_threads, search, seeds.tolist())


def join_to_anchors(sample: Sample, anchors: Sequence[NDArray[Any]], locality: float, signed: bool) -> AnchoredSample:
    """Compare all rows of the sample with all anchors, given per view."""
    problem = build_row_problem(anchors, weights=sample.weights, ridge=0.0, locality=locality, signed=signed)
    rows = slice(0, sample.source.n_rows)
    linear = problem.weighted(problem.view_terms(sample.source.read(rows), sample.source.observed(rows)))
    return AnchoredSample(problem, linear, mean_squared_norm(anchors, sample.weights), signed)


def embed(sample: Sample, anchored: AnchoredSample, alpha: float, n_clusters: int) -> Embedded | None:
    """Build the graph of a set of anchors and embed it; None if it has more pieces than there are directions."""
    problem = anchored.problem.with_ridge(alpha * anchored.unit)
    observed = sample.source.observed(slice(0, sample.source.n_rows))
    coefficients, sums = solve_patterns(problem, anchored.linear, observed)
    layout = column_layout([problem.n_columns // (1 + anchored.signed)], anchored.signed)
    gram, column_sums = fold_columns(sums.gram, sums.column_sums, layout)
    n_directions = count_directions(n_clusters)
    if anchor_components(gram, column_sums)[0] > n_directions:
        return None
    spectrum = spectral_map(gram, column_sums, n_directions)
    embedded = np.asarray(coefficients @ spectrum.row_map[layout.anchor_of])
    return Embedded(cluster_coordinates(embedded, spectrum.singular_values), spectrum.singular_values)
