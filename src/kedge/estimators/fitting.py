"""A fit from rows to fitted numbers: anchors, passes over the rows, labels, the exact graph where it is asked for."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin

from kedge.engines.contract import Engine
from kedge.engines.in_memory import InMemoryEngine, one_thread_per_library
from kedge.estimators.anchor_sets import AnchorPlan, AnchorSets, choose_anchor_sets
from kedge.estimators.exact_fit import exact_structure
from kedge.estimators.iterations import IterationReport, LoopResult, LoopRules, iterate
from kedge.estimators.labelling import (
    EmbeddedGraph,
    anchor_support,
    fold_graph,
    label_as_published,
    label_embedding,
    maps_of_sets,
)
from kedge.estimators.progress import Progress
from kedge.model.driver_step import Structure
from kedge.model.label_rows import count_directions, label_anchors
from kedge.model.pass_state import ColumnLayout, PassState, column_layout
from kedge.model.row_problem import build_row_problem, mean_squared_norm
from kedge.model.structure_penalty import EmbeddingPenalty, GivenPenalty
from kedge.model.view_agreement import MOST_COMPARED, agreement_prior
from kedge.model.view_weighting import ViewWeighting
from kedge.sources.contract import RowSource

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FitPlan:
    """Everything a fit is told, with nothing left to be decided from names of parameters."""

    n_clusters: int
    anchors: AnchorPlan
    alpha: float
    beta: float
    relative_penalties: bool
    penalty: str
    locality: float
    exact: bool
    weighting: Callable[[Array], ViewWeighting]
    view_prior: Array | None
    max_iter: int
    tol: float
    n_threads: int
    published_norm: str | None = None
    first_penalty: Array | None = None
    callback: Callable[[IterationReport], bool | None] | None = None

    @property
    def as_published(self) -> bool:
        """Whether the fit follows the authors' release."""
        return self.published_norm is not None


@dataclass(frozen=True)
class FittedGraph:
    """What a fit found; the estimators turn it into attributes."""

    labels: NDArray[np.int64]
    graph: sparse.csr_array
    anchors: list[NDArray[Any]]
    anchor_labels: NDArray[np.int64]
    embedding: NDArray[Any]
    anchor_embedding: Array
    centers: Array
    row_map: Array
    singular_values: Array
    soft_anchors: list[NDArray[Any]]
    set_sizes: list[int]
    ridge: float
    problem_weights: tuple[float, ...]
    view_weights: Array
    view_prior: Array
    penalty: EmbeddingPenalty | None
    objective: list[float]
    n_components: int
    ridge_factors: Array | None


def fit_rows(source: RowSource, plan: FitPlan, random_state: RandomState, progress: Progress) -> FittedGraph:
    """Run a whole fit; an interrupt says how far it came."""
    iterations = 0

    def count(report: IterationReport) -> bool:
        nonlocal iterations
        iterations = report.iteration
        progress.begin(f"iteration {report.iteration + 1}", source.n_rows)
        return bool(plan.callback is not None and plan.callback(report))

    try:
        with one_thread_per_library():
            return _fit_rows(source, plan, random_state, progress, count)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"the fit was interrupted after {iterations} finished iterations and the estimator is as it was before; to "
            "stop early and keep the result so far, pass a callback that returns True, or set max_iter"
        ) from None


def _fit_rows(
    source: RowSource,
    plan: FitPlan,
    random_state: RandomState,
    progress: Progress,
    callback: Callable[[IterationReport], bool | None],
) -> FittedGraph:
    progress.begin("anchors")
    prior = _view_prior(source, plan, random_state)
    weighting = plan.weighting(prior)
    sets = choose_anchor_sets(source, plan.anchors, prior, random_state)
    weights = weighting.first(_row_counts(source, len(sets.views)), source.n_rows).tolist()
    unit = 1.0
    if plan.relative_penalties:
        unit = float(np.mean([mean_squared_norm(one, weights) for one in sets.each()]))
    ridge = plan.alpha * unit
    beta = plan.beta * unit * (source.n_rows / plan.n_clusters if plan.relative_penalties else 1.0)
    n_directions = plan.n_clusters if plan.as_published else count_directions(plan.n_clusters)
    structure = Structure(plan.penalty, beta, plan.n_clusters, n_directions)
    layout = column_layout(sets.sizes, plan.anchors.signed)
    state = build_state(sets, weights, ridge, plan.locality, plan.anchors.signed)
    first = None if plan.first_penalty is None else GivenPenalty(beta, plan.first_penalty)
    rules = LoopRules(plan.max_iter, plan.tol, weighting, plan.published_norm, first, callback)
    progress.begin("iteration 1", source.n_rows)
    engine = InMemoryEngine(source, state.n_columns, plan.n_threads, progress.rows_done)
    try:
        result = iterate(engine, state, layout, structure, rules)
        _report_loop(result, plan)
        progress.begin("labels")
        return _label(_Setting(source, plan, sets, prior, layout, ridge), engine, result, random_state)
    finally:
        engine.close()


def _view_prior(source: RowSource, plan: FitPlan, random_state: RandomState) -> Array:
    """Return the prior of the views: given, or from how much they agree on a sample of rows."""
    if plan.view_prior is not None:
        return plan.view_prior
    if len(source.view_names) <= 2:  # two views agree with each other equally
        return np.ones(len(source.view_names))
    rows: Any = slice(0, source.n_rows)
    if source.n_rows > MOST_COMPARED:
        rows = np.sort(random_state.choice(source.n_rows, MOST_COMPARED, replace=False))
    return agreement_prior(source.read(rows), source.observed(rows))


def _row_counts(source: RowSource, n_views: int) -> Array:
    observed = source.observed(slice(0, source.n_rows))
    return np.full(n_views, float(source.n_rows)) if observed is None else observed.sum(axis=0).astype(np.float64)


def build_state(sets: AnchorSets, weights: Sequence[float], ridge: float, locality: float, signed: bool) -> PassState:
    """Set up the row problems of all anchor sets."""
    options: dict[str, Any] = {
        "weights": weights,
        "ridge": ridge,
        "locality": locality,
        "signed": signed,
    }
    return PassState(tuple(build_row_problem(one, **options) for one in sets.each()))


@dataclass(frozen=True)
class _Setting:
    """What a fit decided before its loop."""

    source: RowSource
    plan: FitPlan
    sets: AnchorSets
    prior: Array
    layout: ColumnLayout
    ridge: float


def _label(setting: _Setting, engine: Engine, result: LoopResult, random_state: RandomState) -> FittedGraph:
    """Cluster the embedded rows and gather what was found."""
    source, plan, sets, layout = setting.source, setting.plan, setting.sets, setting.layout
    spectrum = result.digest.spectrum
    embedding = result.embedding
    if embedding is None:
        row_map = spectrum.row_map[layout.anchor_of].astype(source.dtype)
        embedding = np.concatenate(engine.map_coefficients(lambda _, block: np.asarray(block @ row_map)))
    if plan.as_published:
        labels, centers = label_as_published(embedding, plan.n_clusters, random_state)
    else:
        maps = maps_of_sets(result.digest, result.state, layout, count_directions(plan.n_clusters))
        graph = EmbeddedGraph(spectrum.singular_values, len(sets.sizes), maps)
        labels, centers = label_embedding(engine, embedding, graph, plan.n_clusters, random_state)
    found: dict[str, Any] = {
        "graph": fold_graph(engine.coefficients(), layout),
        "anchors": sets.views,
        "anchor_embedding": spectrum.anchor_embedding[:, : plan.n_clusters],
        "n_components": result.digest.n_components,
        "ridge_factors": None,
        "labels": labels,
    }
    weights = result.state.problems[0].weights
    if plan.published_norm == "spectral" and not plan.exact:
        rows = source.read(slice(0, source.n_rows))
        found["anchor_labels"] = labels[pairwise_distances_argmin(sets.views[0], rows[0])]
    else:
        support = anchor_support(engine, labels, plan.n_clusters, layout)
        joined = np.hstack([np.sqrt(weight) * view for view, weight in zip(sets.views, weights, strict=True)])
        found["anchor_labels"] = label_anchors(support, joined, plan.anchors.signed)
        if plan.exact:
            found |= _exact(setting, engine, weights, found, support)
    return FittedGraph(
        embedding=np.ascontiguousarray(embedding[:, : plan.n_clusters]),
        centers=centers,
        row_map=spectrum.row_map,
        singular_values=spectrum.singular_values,
        soft_anchors=sets.views,
        set_sizes=sets.sizes,
        ridge=setting.ridge,
        problem_weights=weights,
        view_weights=np.array(result.view_weights),
        view_prior=setting.prior,
        penalty=result.penalty,
        objective=result.objective,
        **found,
    )


def _exact(
    setting: _Setting, engine: Engine, weights: tuple[float, ...], soft: dict[str, Any], support: Array
) -> dict[str, Any]:
    """Return what changes when the graph is cut into exactly k components."""
    plan, sets = setting.plan, setting.sets
    options = {"locality": plan.locality, "signed": plan.anchors.signed, "weights": weights, "ridge": setting.ridge}
    exact = exact_structure(
        engine, setting.source, sets.views, soft["labels"], soft["anchor_labels"], support, **options
    )
    return {
        "graph": exact.graph,
        "labels": exact.labels,
        "anchors": [anchors[exact.used_anchors] for anchors in sets.views],
        "anchor_labels": exact.anchor_labels,
        "anchor_embedding": soft["anchor_embedding"][exact.used_anchors],
        "n_components": plan.n_clusters,
        "ridge_factors": exact.ridge_factors,
    }


def _report_loop(result: LoopResult, plan: FitPlan) -> None:
    if not result.converged and not result.stopped:
        warnings.warn(
            f"the fit did not settle within max_iter={plan.max_iter} iterations at tol={plan.tol:g}; raise one of them",
            ConvergenceWarning,
            stacklevel=7,
        )
    pieces = result.digest.n_components
    if pieces > plan.n_clusters:
        cause = f"locality={plan.locality:g} is" if plan.locality > 0 else "alpha is"
        cure = "lower locality or raise alpha" if plan.locality > 0 else "raise alpha or take fewer anchors"
        warnings.warn(
            f"the graph falls into {pieces} pieces, more than n_clusters={plan.n_clusters}, and which of them go "
            f"together is then arbitrary: {cause} out of proportion for this data; {cure}",
            ConvergenceWarning,
            stacklevel=7,
        )
