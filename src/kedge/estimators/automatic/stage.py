"""The stage of a fit in which the data decide: a sample of rows, trials on it, and what they say."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches

from kedge.estimators.anchor_sets import AnchorPlan
from kedge.estimators.automatic.decision import Decision, Verdict, decide
from kedge.estimators.automatic.settings import FILLED_SHARE, Choices, Setting
from kedge.estimators.automatic.trials import (
    Sample,
    farthest_orders,
    filled_share,
    neighbors_of_sample,
    rows_alone,
    run_side_by_side,
)
from kedge.model.anchor_selection.row_access import sample_rows
from kedge.model.anchor_spreading import NearAnchors, SpreadLabels, spread_from
from kedge.model.neighborhood import count_neighbors
from kedge.sources.contract import RowSource

# Rows that settings are tried on, and whose groups the labels follow.
MOST_TRIED = 3_000
# Searches of farthest rows that the settings with such anchors share.
FARTHEST_DRAWS = 4
# Anchors per cluster up to which they are searched, beside other methods: the time grows with the cube.
FARTHEST_PER_CLUSTER = 10
# Labels spread to rows beyond the sample through the centres of so many rows, which they spread to first; centres are
# moved and labels spread a few times only, since neither needs to be the last digit of anything.
SPREADING_ROWS, SPREADING_ROUNDS = 9_000, 5
WEIGHED_AT_ONCE = 1_000


@dataclass(frozen=True)
class DecidedGroups:
    """Clusters of a sample of rows, which the labels of all rows follow.

    Attributes
    ----------
    rows : array of shape (n_decided,)
        Which rows, ascending.
    groups : array of shape (n_decided,)
        Their clusters.
    confidence : array of shape (n_decided,)
        See :func:`kedge.model.agreement.company_in_own_group`.
    spread : SpreadLabels or None
        From these rows to the others, where there are any; None for the nearest clusters in the embedding.
    """

    rows: NDArray[np.intp]
    groups: NDArray[np.int64]
    confidence: NDArray[np.float64]
    spread: SpreadLabels | None = None


@dataclass(frozen=True)
class OpenParameters:
    """What may be chosen where parameters are left to the data; one entry where the user has decided."""

    choices: Choices
    betas: tuple[float, ...]
    gammas: tuple[float, ...]


@dataclass(frozen=True)
class AutomaticResult:
    """The sample, the setting of the graph that is kept, the groups, and a report in plain words and numbers."""

    sample: Sample
    setting: Setting
    decided: DecidedGroups
    report: dict[str, Any]


def run_trials(
    source: RowSource,
    plan: AnchorPlan,
    choices: Choices,
    n_clusters: int,
    prior: NDArray[np.float64],
    weights: Sequence[float],
    plain_labels: Callable[[RowSource], NDArray[np.int64]],
    random_state: RandomState,
) -> AutomaticResult:
    """Try the settings that are open on a sample of rows.

    The graph that is kept has the anchors that the user asked for, and of those settings the best. ``plain_labels``
    fits a sample with the usual settings.
    """
    rows = sample_rows(source.n_rows, MOST_TRIED, random_state)
    sampled = rows_alone(source, rows)
    filled = filled_share(sampled)
    choices = choices.without_slow(n_clusters, filled)
    farthest: list[list[NDArray[Any]]] = []
    if "ffs" in choices.methods:
        most = max(one.largest(sampled.n_rows, n_clusters) for one in choices.settings())
        size = min(most, FARTHEST_PER_CLUSTER * n_clusters) if len(choices.methods) > 1 else most
        farthest = farthest_orders(sampled, plan, prior, size, FARTHEST_DRAWS, random_state)
    neighbors = neighbors_of_sample(sampled, weights, n_clusters, plan.n_threads)
    sample = Sample(sampled, tuple(float(weight) for weight in weights), prior, neighbors, farthest)
    decision = decide(sample, plan, choices, n_clusters, plain_labels(sampled), random_state)
    chosen = next(one for one in decision.verdicts if one.setting.method == plan.method or plan.given is not None)
    spread = None
    dense, whole = filled >= FILLED_SHARE, sampled.observed(slice(0, 1)) is None
    if sampled.n_rows < source.n_rows and decision.refined and dense and whole:
        spread = _begin_to_spread(source, sample, decision.groups, plan.n_threads, random_state)
    decided = DecidedGroups(rows, decision.groups, decision.confidence, spread)
    return AutomaticResult(sample, chosen.setting, decided, _report(decision, chosen, sampled.n_rows, n_clusters))


def _begin_to_spread(
    source: RowSource, sample: Sample, groups: NDArray[np.int64], n_threads: int, random_state: RandomState
) -> SpreadLabels:
    rows = source.read(sample_rows(source.n_rows, SPREADING_ROWS, random_state))
    near = NearAnchors.centers_of(rows, sample.weights, SPREADING_ROUNDS, random_state)

    def weigh(views: Sequence[Any]) -> sparse.csr_array:
        parts = gen_batches(views[0].shape[0], WEIGHED_AT_ONCE)
        return sparse.vstack(
            run_side_by_side(n_threads, near.weights, [[view[part] for view in views] for part in parts]), format="csr"
        )

    known = spread_from(near, weigh(sample.source.read(slice(0, sample.source.n_rows))), groups)
    return known.over(weigh(rows), SPREADING_ROUNDS)


_WHAT_VOTES_DO = {
    False: "labels are what their clusterings agree on",
    True: "rows of their clusterings go where their near rows are, labels are what the best of these agree on",
}


def _report(decision: Decision, chosen: Verdict, n_rows: int, n_clusters: int) -> dict[str, Any]:
    n_neighbors = count_neighbors(n_rows, n_clusters)
    tried = [_in_numbers(verdict) for verdict in decision.verdicts]
    best = max(tried, key=lambda one: -np.inf if one["modularity"] is None else one["modularity"])
    why = (
        f"{len(tried)} settings were tried on {n_rows} rows and judged by modularity: the share of edges to the "
        f"{n_neighbors} nearest rows that stay inside clusters, less what chance would give. The best reached "
        f"{best['modularity'] or 0.0:.3f}. Sets of anchors vote in proportion to the shares below, "
        f"{_WHAT_VOTES_DO[decision.refined]}, and the graph that is kept is that of the best setting with its kind of "
        f"anchors."
    )
    return {
        "criterion": "modularity",
        "n_rows": n_rows,
        "n_neighbors": n_neighbors,
        "tried": tried,
        "chosen": _in_numbers(chosen),
        "agreement": float(decision.confidence.mean()),
        "why": why,
    }


def _in_numbers(verdict: Verdict) -> dict[str, Any]:
    setting = verdict.setting
    heard = bool(np.isfinite(verdict.modularity))
    return {
        "anchors": setting.method,
        "anchors_per_cluster": list(setting.sizes),
        "alpha": setting.alpha,
        "locality": setting.locality,
        "modularity": verdict.modularity if heard else None,
        "spread": verdict.spread if heard else None,
        "share": verdict.share,
    }
