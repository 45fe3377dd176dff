"""A fit from rows to fitted numbers: anchors, passes over the rows, labels, the exact graph where it is asked for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kedge.anchors.sets import AnchorSets, choose_connected_sets
from kedge.core.block_step import ColumnLayout, PassState, column_layout
from kedge.core.driver_step import Digest, SpectralMap, Structure, spectral_map
from kedge.core.labels import ClusterSums, RowLabels, count_directions, label_anchors
from kedge.core.rows import RowSource, anchor_spread, build_problems, sample_rows
from kedge.core.view_weights import MOST_COMPARED, ViewWeighting, agreement_prior
from kedge.engines.contract import Engine
from kedge.engines.local import choose_engine
from kedge.exact import exact_structure
from kedge.kernels.selection import one_thread_per_library
from kedge.layers import (
    Layers,
    ShareLabels,
    find_layers,
    fold_of_columns,
    label_by_shares,
    label_embedding,
    smooth_shares,
    support_of_anchors,
    warn_of_missing_clusters,
)
from kedge.loop import FitPlan, FittedGraph, IterationReport, LoopResult, iterate, warn_not_settled
from kedge.partition.cluster_count import structure_prior
from kedge.partition.communities import merge_tree
from kedge.progress import Progress
from kedge.user_warnings import warn_user

Array = NDArray[np.float64]


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
        advice = (
            "to stop early and keep the result so far, pass a callback that returns True, or set max_iter"
            if plan.checkpoint is None
            else "fit again with the same checkpoint to go on from there"
        )
        raise KeyboardInterrupt(
            f"the fit was interrupted after {iterations} finished iterations and the estimator is as it was before; "
            + advice
        ) from None


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
        unit = float(np.mean([anchor_spread(one, weights) for one in sets.each()]))
    ridge = plan.alpha * unit
    layout = column_layout(sets.sizes, plan.anchors.signed)
    signed = plan.anchors.signed
    problems = build_problems(sets.views, sets.sizes, sets.n_near, weights, ridge, plan.locality, signed)
    setting = _Setting(source, plan, sets, prior, layout, unit, ridge)
    progress.begin("iteration 1", source.n_rows)
    engine = choose_engine(
        source,
        sum(problem.n_columns for problem in problems),
        plan.n_threads,
        scratch_folder=plan.scratch_folder,
        checkpoint=plan.checkpoint,
        on_rows=progress.rows_done,
    )
    try:
        result, layers = _run_passes(setting, engine, PassState(problems), weighting, random_state, callback)
        progress.begin("labels")
        return _label(setting, engine, result, layers, random_state)
    finally:
        engine.close()


def _run_passes(
    setting: "_Setting",
    engine: Engine,
    state: PassState,
    weighting: ViewWeighting,
    random_state: RandomState,
    callback: Callable[[IterationReport], bool | None],
) -> tuple[LoopResult, Layers]:
    """Run the loop and cut the graph; where the structure penalty needs a number of clusters, find that first."""
    plan, layout, n_clusters = setting.plan, setting.layout, setting.plan.n_clusters

    def find(digest: Digest, wanted: int | None) -> Layers:
        return find_layers(engine, digest, layout, wanted, plan.count_range, random_state, plan.n_threads)

    if n_clusters is None and plan.beta > 0:
        once = iterate(engine, state, layout, Structure(plan.penalty, 0.0, 1), weighting, 1, plan.tol, callback)
        n_clusters = find(once.digest, None).n_clusters
    beta = plan.beta * setting.unit
    if plan.relative_penalties and n_clusters is not None:
        beta *= setting.source.n_rows / n_clusters
    structure = Structure(plan.penalty, beta, n_clusters or 1)
    result = iterate(engine, state, layout, structure, weighting, plan.max_iter, plan.tol, callback)
    layers = find(result.digest, n_clusters if plan.beta > 0 else plan.n_clusters)
    _report_loop(result, plan, setting.sets.n_near is not None)
    return result, layers


def _decide_before_passes(source: RowSource, plan: FitPlan, random_state: RandomState) -> tuple[Array, AnchorSets]:
    """Return the prior of the views and the anchors; those of a checkpoint, if it has them."""
    stored = None if plan.checkpoint is None else plan.checkpoint.setting()
    if stored is not None:
        key, position = stored["random_key"], int(stored["random_position"])
        random_state.set_state(("MT19937", key, position, 0, 0.0))
        views = [stored[f"anchors_{number}"] for number in range(len(source.view_names))]
        n_near = int(stored["n_near"])
        return stored["prior"], AnchorSets(views, stored["sizes"].tolist(), n_near or None)
    prior = _view_prior(source, plan, random_state)
    sets = choose_connected_sets(source, plan.anchors, plan.n_clusters, prior, random_state)
    if plan.checkpoint is not None:
        generator: Any = random_state.get_state(legacy=False)["state"]
        drawn = {"random_key": generator["key"], "random_position": np.array(generator["pos"])}
        anchors = {f"anchors_{number}": view for number, view in enumerate(sets.views)}
        decided = {"prior": prior, "sizes": np.array(sets.sizes), "n_near": np.array(sets.n_near or 0)}
        plan.checkpoint.keep_setting(drawn | anchors | decided)
    return prior, sets


def _view_prior(source: RowSource, plan: FitPlan, random_state: RandomState) -> Array:
    """Return the prior of the views: given, or from how much they agree on a sample of rows."""
    if plan.view_prior is not None:
        return plan.view_prior
    if len(source.view_names) == 1:
        return np.ones(1)
    rows = sample_rows(source.n_rows, MOST_COMPARED, random_state)
    views, observed = list(source.read(rows)), source.observed(rows)
    if len(views) == 2:  # two views agree with each other equally
        return structure_prior(views, observed, random_state)
    return agreement_prior(views, observed)


def _row_counts(source: RowSource, n_views: int) -> Array:
    observed = source.observed(slice(0, source.n_rows))
    return np.full(n_views, float(source.n_rows)) if observed is None else observed.sum(axis=0).astype(np.float64)


@dataclass(frozen=True)
class _Setting:
    """What a fit decided before its loop."""

    source: RowSource
    plan: FitPlan
    sets: AnchorSets
    prior: Array
    layout: ColumnLayout
    unit: float
    ridge: float


@dataclass(frozen=True)
class _Clusters:
    """Labels of rows, and what is known of the clusters."""

    labels: RowLabels
    sums: ClusterSums
    layers: Layers
    shares: ShareLabels
    centers: Array | None = None

    @property
    def n_clusters(self) -> int:
        """Clusters that hold a row."""
        return int(self.sums.support.shape[1])


def _label(
    setting: _Setting, engine: Engine, result: LoopResult, layers: Layers, random_state: RandomState
) -> FittedGraph:
    """Label the rows and gather what was found."""
    plan, sets, layout = setting.plan, setting.sets, setting.layout
    spectrum, clusters = _cluster_rows(setting, engine, result.digest, layers, random_state)
    row_map = spectrum.row_map[layout.anchor_of].astype(setting.source.dtype)
    n_kept = plan.n_clusters or clusters.n_clusters
    support = support_of_anchors(clusters.sums.support, layout)
    labels, shares = clusters.labels, clusters.shares
    weights = result.state.problems[0].weights
    joined = np.hstack([np.sqrt(weight) * view for view, weight in zip(sets.views, weights, strict=True)])
    found: dict[str, Any] = {
        "anchors": sets.views,
        "used_anchors": np.arange(layout.n_anchors),
        "anchor_embedding": spectrum.anchor_embedding[:, :n_kept],
        "anchor_labels": label_anchors(support, joined, plan.anchors.signed),
        "n_components": result.digest.n_components,
        "ridge_factors": None,
    }
    embedding = engine.embedding(np.ascontiguousarray(row_map[:, :n_kept]))
    confidence = engine.per_row(shares.of_columns(layout).confidence, width=None, dtype=np.float64)
    if plan.exact:
        found |= _exact(setting, engine, weights, labels, found, support)
    else:
        found |= {
            "graph": engine.graph(fold_of_columns(layout)),
            "labels": engine.per_row(labels.of, width=None, dtype=np.int64, with_views=labels.needs_views),
        }
    return FittedGraph(
        embedding=embedding,
        centers=clusters.centers,
        row_map=spectrum.row_map,
        singular_values=spectrum.singular_values,
        soft_anchors=sets.views,
        set_sizes=sets.sizes,
        n_near=sets.n_near,
        ridge=setting.ridge,
        problem_weights=weights,
        view_weights=np.array(result.view_weights),
        view_prior=setting.prior,
        penalty=result.penalty,
        objective=result.objective,
        confidence=confidence,
        locality=plan.locality,
        layers=clusters.layers,
        cluster_shares=shares.shares,
        confidence_shares=shares.smoothed,
        **found,
    )


def _cluster_rows(
    setting: _Setting, engine: Engine, digest: Digest, layers: Layers, random_state: RandomState
) -> tuple[SpectralMap, _Clusters]:
    """Return the embedding of the graph, and its clusters."""
    plan, layout = setting.plan, setting.layout
    wanted = plan.n_clusters or layers.n_clusters
    if plan.partition == "spectral":
        spectrum = spectral_map(digest.gram, digest.column_sums, count_directions(wanted))
        row_map = spectrum.row_map[layout.anchor_of].astype(setting.source.dtype)
        near, sums = label_embedding(engine, row_map, spectrum.singular_values, wanted, random_state)
        own = shares_of(support_of_anchors(sums.support, layout))
        of_clusters = layers_of_clusters(digest, own, layers)
        clusters = _Clusters(near, sums, of_clusters, ShareLabels(own, of_clusters.smoothed), near.centers)
    else:
        labels, sums, shares = label_by_shares(engine, layers, layout, wanted)
        spectrum = spectral_map(digest.gram, digest.column_sums, plan.n_clusters or sums.support.shape[1])
        clusters = _Clusters(labels, sums, layers, shares)
    warn_of_missing_clusters(clusters.n_clusters, wanted)
    return spectrum, clusters


def shares_of(support: Array) -> Array:
    """Return the share of each anchor's weight that the rows of each cluster hold."""
    totals = support.sum(axis=1, keepdims=True)
    return np.asarray(support / np.where(totals > 0, totals, 1.0))


def layers_of_clusters(digest: Digest, shares: Array, found: Layers | None = None) -> Layers:
    """Return clusters that are already there as communities, with the tree of their merges."""
    tree = merge_tree(sparse.csr_array(shares.T @ digest.gram @ shares), np.arange(shares.shape[1]), 1.0)
    return Layers(shares, smooth_shares(shares, digest), tree, None if found is None else found.evidence)


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
    n_clusters = plan.n_clusters or support.shape[1]
    options = {"locality": plan.locality, "signed": plan.anchors.signed, "weights": weights, "ridge": setting.ridge}
    exact = exact_structure(
        engine, setting.source, sets.views, labels, soft["anchor_labels"], support, n_clusters, **options
    )
    return {
        "graph": exact.graph,
        "labels": exact.labels,
        "anchors": [anchors[exact.used_anchors] for anchors in sets.views],
        "used_anchors": exact.used_anchors,
        "anchor_labels": exact.anchor_labels,
        "anchor_embedding": soft["anchor_embedding"][exact.used_anchors],
        "n_components": n_clusters,
        "ridge_factors": exact.ridge_factors,
    }


def _report_loop(result: LoopResult, plan: FitPlan, near: bool) -> None:
    if not result.converged and not result.stopped:
        warn_not_settled(plan.max_iter, plan.tol)
    pieces = result.digest.n_components
    if plan.n_clusters is not None and not near and pieces > plan.n_clusters:
        cause = f"locality={plan.locality:g} is" if plan.locality > 0 else "alpha is"
        cure = "lower locality or raise alpha" if plan.locality > 0 else "raise alpha or take fewer anchors"
        warn_user(
            f"the graph falls into {pieces} pieces, more than n_clusters={plan.n_clusters}, and which of them go "
            f"together is then arbitrary: {cause} out of proportion for this data; {cure}",
            ConvergenceWarning,
        )
