"""A fit from rows to fitted numbers: anchors, passes over the rows, labels, the exact graph where it is asked for."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin

from kedge.engines.checkpoint import Checkpoint
from kedge.engines.choose import choose_engine
from kedge.engines.contract import Engine
from kedge.engines.library_threads import one_thread_per_library
from kedge.estimators.anchor_sets import AnchorPlan, AnchorSets, choose_anchor_sets
from kedge.estimators.automatic.resolve import resolve_open_parameters
from kedge.estimators.automatic.stage import DecidedGroups, OpenParameters
from kedge.estimators.confidence import confidence_of_rows
from kedge.estimators.exact_fit import exact_structure
from kedge.estimators.iterations import IterationReport, LoopResult, LoopRules, iterate
from kedge.estimators.labelling import (
    EmbeddedGraph,
    fold_of_columns,
    label_as_published,
    label_embedding,
    maps_of_sets,
    support_of_anchors,
)
from kedge.estimators.progress import Progress, Silence
from kedge.model.anchor_selection.row_access import sample_rows
from kedge.model.driver_step import Structure
from kedge.model.label_rows import ClusterSums, GivenLabels, RowLabels, count_directions, label_anchors, sum_clusters
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
    weighting: Callable[[Array, float], ViewWeighting]
    gamma: float
    view_prior: Array | None
    max_iter: int
    tol: float
    n_threads: int
    published_norm: str | None = None
    first_penalty: Array | None = None
    callback: Callable[[IterationReport], bool | None] | None = None
    scratch_folder: str | Path | None = None
    checkpoint: Checkpoint | None = None
    open_to_data: OpenParameters | None = None
    decided: DecidedGroups | None = None
    with_confidence: bool = True

    @property
    def as_published(self) -> bool:
        """Whether the fit follows the authors' release."""
        return self.published_norm is not None


@dataclass(frozen=True)
class FittedGraph:
    """What a fit found; the estimators turn it into attributes."""

    labels: Any
    graph: Any
    anchors: list[NDArray[Any]]
    anchor_labels: NDArray[np.int64]
    embedding: Any
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
    confidence: Any
    locality: float
    auto_report: dict[str, Any] | None = None


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
            plan, report = _with_open_parameters_settled(source, plan, random_state, progress)
            return replace(_fit_rows(source, plan, random_state, progress, count), auto_report=report)
    except KeyboardInterrupt:
        advice = (
            "to stop early and keep the result so far, pass a callback that returns True, or set max_iter"
            if plan.checkpoint is None
            else "fit again with the same checkpoint to go on from there"
        )
        raise KeyboardInterrupt(
            f"the fit was interrupted after {iterations} finished iterations and the estimator is as it was before; "
            + advice
        ) from None


def _with_open_parameters_settled(
    source: RowSource, plan: FitPlan, random_state: RandomState, progress: Progress
) -> tuple[FitPlan, dict[str, Any] | None]:
    if plan.open_to_data is None:
        return plan, None
    progress.begin("trials")
    own = RandomState(random_state.randint(np.iinfo(np.int32).max))
    prior = _view_prior(source, plan, own)
    weights = plan.weighting(prior, plan.gamma).first(_row_counts(source, len(source.view_names)), source.n_rows)

    def fit_labels(rows: RowSource, settled: FitPlan, drawn: RandomState) -> NDArray[np.int64]:
        with warnings.catch_warnings():
            # A value that does not suit the data is not chosen; that is all there is to say about it.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return np.asarray(_fit_rows(rows, settled, drawn, Silence(), lambda report: None).labels)

    return resolve_open_parameters(source, plan, prior, weights, fit_labels, own)


def _fit_rows(
    source: RowSource,
    plan: FitPlan,
    random_state: RandomState,
    progress: Progress,
    callback: Callable[[IterationReport], bool | None],
) -> FittedGraph:
    progress.begin("anchors")
    prior, sets = _decide_before_passes(source, plan, random_state)
    weighting = plan.weighting(prior, plan.gamma)
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
    engine = choose_engine(
        source,
        state.n_columns,
        plan.n_threads,
        scratch_folder=plan.scratch_folder,
        checkpoint=plan.checkpoint,
        on_rows=progress.rows_done,
    )
    try:
        result = iterate(engine, state, layout, structure, rules)
        _report_loop(result, plan)
        progress.begin("labels")
        return _label(_Setting(source, plan, sets, prior, layout, ridge), engine, result, random_state)
    finally:
        engine.close()


def _decide_before_passes(source: RowSource, plan: FitPlan, random_state: RandomState) -> tuple[Array, AnchorSets]:
    """Return the prior of the views and the anchors; those of a checkpoint, if it has them."""
    stored = None if plan.checkpoint is None else plan.checkpoint.setting()
    if stored is not None:
        key, position = stored["random_key"], int(stored["random_position"])
        random_state.set_state(("MT19937", key, position, 0, 0.0))
        views = [stored[f"anchors_{number}"] for number in range(len(source.view_names))]
        return stored["prior"], AnchorSets(views, stored["sizes"].tolist())
    prior = _view_prior(source, plan, random_state)
    sets = choose_anchor_sets(source, plan.anchors, prior, random_state)
    if plan.checkpoint is not None:
        generator: Any = random_state.get_state(legacy=False)["state"]
        drawn = {"random_key": generator["key"], "random_position": np.array(generator["pos"])}
        anchors = {f"anchors_{number}": view for number, view in enumerate(sets.views)}
        plan.checkpoint.keep_setting(drawn | anchors | {"prior": prior, "sizes": np.array(sets.sizes)})
    return prior, sets


def _view_prior(source: RowSource, plan: FitPlan, random_state: RandomState) -> Array:
    """Return the prior of the views: given, or from how much they agree on a sample of rows."""
    if plan.view_prior is not None:
        return plan.view_prior
    if len(source.view_names) <= 2:  # two views agree with each other equally
        return np.ones(len(source.view_names))
    rows = sample_rows(source.n_rows, MOST_COMPARED, random_state)
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
    row_map = spectrum.row_map[layout.anchor_of].astype(source.dtype)
    embedding = result.embedding
    if embedding is None:
        embedding = engine.embedding(np.ascontiguousarray(row_map[:, : plan.n_clusters]))
    labels, centers, sums, confidence = _cluster_rows(setting, engine, result, embedding, random_state)
    support = support_of_anchors(sums.support, layout)
    weights = result.state.problems[0].weights
    found: dict[str, Any] = {
        "anchors": sets.views,
        "anchor_embedding": spectrum.anchor_embedding[:, : plan.n_clusters],
        "anchor_labels": _label_anchors(setting, labels, support, weights),
        "n_components": result.digest.n_components,
        "ridge_factors": None,
    }
    if plan.exact:
        found |= _exact(setting, engine, weights, labels, found, support)
    else:
        found |= {
            "graph": engine.graph(fold_of_columns(layout)),
            "labels": engine.per_row(labels.of, width=None, dtype=np.int64, with_views=labels.needs_views),
        }
    return FittedGraph(
        embedding=embedding,
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
        confidence=confidence,
        locality=plan.locality,
        **found,
    )


def _cluster_rows(
    setting: _Setting, engine: Engine, result: LoopResult, embedding: Any, random_state: RandomState
) -> tuple[RowLabels, Array, ClusterSums, Any]:
    """Return labels, the centres of the clusters, sums over them, and how stable the labels are."""
    plan, layout, spectrum = setting.plan, setting.layout, result.digest.spectrum
    if plan.as_published:
        own, centers = label_as_published(np.asarray(embedding), plan.n_clusters, random_state)
        given = GivenLabels(own)
        return given, centers, engine.sum_blocks(partial(sum_clusters, given, len(centers))), None
    maps = maps_of_sets(result.digest, result.state, layout, count_directions(plan.n_clusters))
    row_map = spectrum.row_map[layout.anchor_of].astype(setting.source.dtype)
    graph = EmbeddedGraph(row_map, spectrum.singular_values, len(setting.sets.sizes), maps)
    labels, centers, sums = label_embedding(engine, graph, plan.n_clusters, random_state, plan.decided)
    confidence = None
    if plan.with_confidence:
        confidence = confidence_of_rows(engine, graph, labels, len(centers), random_state, plan.decided)
    return labels, centers, sums, confidence


def _label_anchors(
    setting: _Setting, labels: RowLabels, support: Array, weights: tuple[float, ...]
) -> NDArray[np.int64]:
    """Give each anchor the cluster that leans on it most; as published for one view, that of the nearest row."""
    source, views = setting.source, setting.sets.views
    if setting.plan.published_norm == "spectral" and not setting.plan.exact:
        assert isinstance(labels, GivenLabels)
        rows = source.read(slice(0, source.n_rows))
        return np.asarray(labels.labels[pairwise_distances_argmin(views[0], rows[0])])
    joined = np.hstack([np.sqrt(weight) * view for view, weight in zip(views, weights, strict=True)])
    return label_anchors(support, joined, setting.plan.anchors.signed)


def _exact(
    setting: _Setting,
    engine: Engine,
    weights: tuple[float, ...],
    labels: RowLabels,
    soft: dict[str, Any],
    support: Array,
) -> dict[str, Any]:
    """Return what changes when the graph is cut into exactly k components."""
    plan, sets = setting.plan, setting.sets
    options = {"locality": plan.locality, "signed": plan.anchors.signed, "weights": weights, "ridge": setting.ridge}
    exact = exact_structure(
        engine, setting.source, sets.views, labels, soft["anchor_labels"], support, plan.n_clusters, **options
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
