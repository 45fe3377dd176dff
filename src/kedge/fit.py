"""The whole fit: anchors, passes over the rows, partition, and the fitted attributes."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse

from kedge.anchors.sets import AnchorPlan, AnchorSets, choose_connected_sets
from kedge.core.block_step import ColumnLayout, PassState, column_layout
from kedge.core.driver_step import Digest, SpectralMap, Structure, spectral_map
from kedge.core.labels import RowLabels, count_directions, label_anchors
from kedge.core.rows import RowSource, anchor_spread, build_problems, sample_rows
from kedge.core.view_weights import MOST_COMPARED, ViewWeighting, agreement_prior
from kedge.engines.checkpoint import Checkpoint
from kedge.engines.contract import Engine
from kedge.engines.local import choose_engine
from kedge.exact import exact_structure
from kedge.layers import (
    Layers,
    ShareLabels,
    find_layers,
    honour_pairs,
    label_by_shares,
    label_embedding,
    smooth_shares,
    warn_of_missing_clusters,
)
from kedge.loop import IterationReport, LoopResult, iterate, warn_not_settled
from kedge.partition.cluster_count import structure_prior
from kedge.partition.communities import merge_tree
from kedge.partition.pairs import Pairs
from kedge.progress import Progress
from kedge.user_warnings import warn_convergence

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FitPlan:
    """The parameters of a fit, resolved against the data."""

    n_clusters: int | None
    count_range: tuple[int, int] | None
    partition: str
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
    pairs: Pairs | None = None
    callback: Callable[[IterationReport], bool | None] | None = None
    scratch_folder: str | Path | None = None
    checkpoint: Checkpoint | None = None


def fit_rows(source: RowSource, plan: FitPlan, random_state: RandomState, progress: Progress) -> dict[str, Any]:
    """Run a whole fit and return the fitted attributes by name; an interrupt says how far the fit got."""
    iterations = 0

    def count(report: IterationReport) -> bool:
        nonlocal iterations
        iterations = report.iteration
        progress.begin(f"iteration {report.iteration + 1}", source.n_rows)
        return bool(plan.callback is not None and plan.callback(report))

    try:
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
) -> dict[str, Any]:
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
    state = PassState(problems)
    progress.begin("iteration 1", source.n_rows)
    engine = choose_engine(
        source,
        sum(problem.row_entries for problem in problems),
        plan.n_threads,
        scratch_folder=plan.scratch_folder,
        checkpoint=plan.checkpoint,
        on_rows=progress.rows_done,
    )
    try:
        result, layers = _run_passes(setting, engine, state, weighting, random_state, callback)
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
    """Run the loop and cut the graph; if the structure penalty needs a number of clusters, find that first."""
    plan, layout, n_clusters = setting.plan, setting.layout, setting.plan.n_clusters

    def find(digest: Digest, wanted: int | None) -> Layers:
        return find_layers(engine, digest, layout, wanted, plan.count_range, random_state, plan.n_threads, plan.pairs)

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
    """Return the view prior and the anchors, from the checkpoint if it has them."""
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
    """Return the view prior: given, or measured by the agreement of the views on a sample of rows."""
    if plan.view_prior is not None:
        return plan.view_prior
    if len(source.view_names) == 1:
        return np.ones(1)
    rows = sample_rows(source.n_rows, MOST_COMPARED, random_state)
    views, observed = list(source.read(rows)), source.observed(rows)
    if len(views) == 2:  # agreement is mutual, so it cannot tell two views apart
        return structure_prior(views, observed, random_state)
    return agreement_prior(views, observed)


def _row_counts(source: RowSource, n_views: int) -> Array:
    observed = source.observed(slice(0, source.n_rows))
    return np.full(n_views, float(source.n_rows)) if observed is None else observed.sum(axis=0).astype(np.float64)


@dataclass(frozen=True)
class _Setting:
    """What a fit decides before its loop."""

    source: RowSource
    plan: FitPlan
    sets: AnchorSets
    prior: Array
    layout: ColumnLayout
    unit: float
    ridge: float


def _label(
    setting: _Setting, engine: Engine, result: LoopResult, layers: Layers, random_state: RandomState
) -> dict[str, Any]:
    """Label the rows and gather the fitted attributes."""
    plan, sets, layout = setting.plan, setting.sets, setting.layout
    wanted = plan.n_clusters or layers.n_clusters
    centers = None
    labels: RowLabels
    if plan.partition == "spectral":
        spectrum = spectral_map(result.digest.gram, result.digest.column_sums, count_directions(wanted))
        row_map = spectrum.row_map[layout.anchor_of].astype(setting.source.dtype)
        embedded, sums = label_embedding(engine, row_map, spectrum.singular_values, wanted, random_state)
        if plan.pairs is not None:
            embedded, sums, _ = honour_pairs(engine, plan.pairs, embedded)
        labels, centers = embedded, embedded.centers
        own = shares_of(layout.fold().T @ sums.support)
        layers = layers_of_clusters(result.digest, own, layers)
        shares = ShareLabels(own, layers.smoothed, embedded.fixed)
    else:
        labels, sums, shares = label_by_shares(engine, layers, layout, wanted)
        if plan.pairs is not None:
            labels, sums, order = honour_pairs(engine, plan.pairs, labels)
            shares = shares.with_clusters(order, labels.fixed)
        spectrum = spectral_map(result.digest.gram, result.digest.column_sums, plan.n_clusters or sums.support.shape[1])
    warn_of_missing_clusters(sums.support.shape[1], wanted, plan.pairs)
    n_kept = plan.n_clusters or sums.support.shape[1]
    support = np.asarray(layout.fold().T @ sums.support)
    weights = result.state.problems[0].weights
    joined = np.hstack([np.sqrt(weight) * view for view, weight in zip(sets.views, weights, strict=True)])
    row_map = spectrum.row_map[layout.anchor_of].astype(setting.source.dtype)
    found = {
        "anchor_embedding_": spectrum.anchor_embedding[:, :n_kept],
        "anchor_labels_": label_anchors(support, joined, plan.anchors.signed),
        "n_components_": result.digest.n_components,
        "embedding_": engine.embedding(np.ascontiguousarray(row_map[:, :n_kept])),
        "confidence_": engine.per_row(shares.of_columns(layout).confidence, width=None, dtype=setting.source.dtype),
        "n_near_": sets.n_near,
        "locality_": plan.locality,
        "view_prior_": setting.prior,
    }
    if plan.exact:
        found |= _exact(setting, engine, weights, labels, found, support)
    else:
        found["graph_"] = engine.graph(None if layout.is_plain else layout.fold())
        found["labels_"] = engine.per_row(labels.of, width=None, dtype=np.int64, with_views=labels.needs_views)
    attributes = fitted_attributes(sets.views, sets.sizes, spectrum, centers, layers, shares, result, setting.ridge)
    return attributes | found


def fitted_attributes(
    anchors: list[NDArray[Any]],
    set_sizes: list[int],
    spectrum: SpectralMap,
    centers: Array | None,
    layers: Layers,
    shares: ShareLabels,
    result: LoopResult,
    ridge: float,
) -> dict[str, Any]:
    """Return the attributes that every fit sets, by name; anchors are lists with one array per view."""
    penalty = result.penalty
    return {
        "graph_anchors_": anchors,
        "used_anchors_": np.arange(len(anchors[0])),
        "objective_": np.array(result.objective),
        "n_iter_": len(result.objective),
        "singular_values_": spectrum.singular_values,
        "cluster_centers_": centers,
        "n_communities_": layers.n_communities,
        "tree_": layers.tree,
        "ridge_factors_": None,
        "auto_report_": _report_of(layers, shares.shares.shape[1]),
        "n_clusters_": shares.shares.shape[1],
        "view_weights_history_": np.array(result.view_weights),
        # From here on: what prediction needs.
        "embedding_anchors_": anchors,
        "anchor_set_sizes_": np.array(set_sizes),
        "community_shares_": layers.shares,
        "smoothed_shares_": layers.smoothed,
        "cluster_shares_": shares.shares,
        "confidence_shares_": shares.smoothed,
        "problem_weights_": np.array(result.state.problems[0].weights),
        "row_map_": spectrum.row_map,
        "ridge_": ridge,
        "penalty_weight_": 0.0 if penalty is None else penalty.weight,
        "penalty_targets_": None if penalty is None else np.where(penalty.unused[:, None], np.nan, penalty.targets),
    }


def _report_of(layers: Layers, n_clusters: int) -> dict[str, Any] | None:
    """Return the evidence for the number of clusters, if the data decided it."""
    if layers.evidence is None:
        return None
    counts, scores = layers.evidence.counts, layers.evidence.scores
    ranked = [{"n_clusters": count, "score": score} for count, score in zip(counts, scores, strict=True)]
    second = counts[1] if len(counts) > 1 else None
    # The first number may have a slightly lower score than the second: if scores tie, the lowest number wins.
    closeness = min(scores[1] / scores[0], 1.0) if len(scores) > 1 and scores[0] > 0 else 0.0
    return {"n_clusters": {"chosen": n_clusters, "ranked": ranked, "second": second, "closeness": float(closeness)}}


def shares_of(support: Array) -> Array:
    """Return the share of each anchor's weight that the rows of each cluster hold."""
    totals = support.sum(axis=1, keepdims=True)
    return np.asarray(support / np.where(totals > 0, totals, 1.0))


def layers_of_clusters(digest: Digest, shares: Array, found: Layers | None = None) -> Layers:
    """Treat known clusters as communities, and build the tree of their merges."""
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
    """Return the attributes that change when the graph is cut into exactly k components."""
    plan, sets = setting.plan, setting.sets
    n_clusters = plan.n_clusters or support.shape[1]
    if plan.pairs is not None and support.shape[1] < n_clusters:
        raise ValueError(
            f"structure='exact' needs a row in each of n_clusters={n_clusters} clusters, but with must_link and "
            f"cannot_link only {support.shape[1]} hold rows; ask for fewer clusters, or take structure='soft'"
        )
    options = {"locality": plan.locality, "signed": plan.anchors.signed, "weights": weights, "ridge": setting.ridge}
    exact = exact_structure(
        engine, setting.source, sets.views, labels, soft["anchor_labels_"], support, n_clusters, **options
    )
    used = exact["used_anchors_"]
    return exact | {
        "graph_anchors_": [anchors[used] for anchors in sets.views],
        "anchor_embedding_": soft["anchor_embedding_"][used],
        "n_components_": n_clusters,
    }


def _report_loop(result: LoopResult, plan: FitPlan, near: bool) -> None:
    if not result.converged and not result.stopped:
        warn_not_settled(plan.max_iter, plan.tol)
    pieces = result.digest.n_components
    if plan.n_clusters is not None and not near and pieces > plan.n_clusters:
        cause = f"locality={plan.locality:g} is" if plan.locality > 0 else "alpha is"
        cure = "lower locality or raise alpha" if plan.locality > 0 else "raise alpha or take fewer anchors"
        warn_convergence(
            f"the graph falls into {pieces} pieces, more than n_clusters={plan.n_clusters}, and which of them go "
            f"together is then arbitrary: {cause} out of proportion for this data; {cure}"
        )
