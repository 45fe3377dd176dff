"""A plan with open parameters becomes one without."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from kedge.estimators.anchor_sets import spread_sizes
from kedge.estimators.automatic.penalties import FITS, choose_value
from kedge.estimators.automatic.settings import USUAL_ALPHA, USUAL_LOCALITY, Setting
from kedge.estimators.automatic.stage import run_trials
from kedge.estimators.automatic.trials import Sample
from kedge.sources.contract import RowSource

# A FitPlan; its module imports this one.
Plan = Any
# Of a fit of a sample, of which nobody hears.
_ALONE = {"decided": None, "checkpoint": None, "callback": None, "exact": False, "with_confidence": False}


def resolve_open_parameters(
    source: RowSource,
    plan: Plan,
    prior: NDArray[np.float64],
    weights: NDArray[np.float64],
    fit_labels: Callable[[RowSource, Plan, RandomState], NDArray[np.int64]],
    random_state: RandomState,
) -> tuple[Plan, dict[str, Any]]:
    """Decide everything that was left to the data, and report how.

    Parameters
    ----------
    source : RowSource
        All rows.
    plan : FitPlan
        With open parameters.
    prior, weights : arrays of shape (n_views,)
        Of the views.
    fit_labels : callable
        Fits the rows of a source by a plan without open parameters and returns their labels.
    random_state : RandomState
        Of this stage alone, so that a fit that goes on from a checkpoint decides the same.
    """

    def plain_labels(sampled: RowSource) -> NDArray[np.int64]:
        return fit_labels(sampled, _plain(plan, sampled.n_rows), random_state)

    opened = plan.open_to_data.choices
    result = run_trials(
        source, plan.anchors, opened, plan.n_clusters, prior, weights.tolist(), plain_labels, random_state
    )
    settled = replace(
        plan,
        alpha=result.setting.alpha,
        locality=result.setting.locality,
        anchors=replace(plan.anchors, sizes=_kept_sizes(plan, result.setting, source.n_rows)),
        decided=result.decided,
        open_to_data=None,
    )
    beta, gamma, tried = _settle_penalties(result.sample, plan, settled, fit_labels, random_state)
    report = result.report | tried
    report["chosen"] |= {"beta": beta} | ({"gamma": gamma} if len(source.view_names) > 1 else {})
    return replace(settled, beta=beta, gamma=gamma), report


def _kept_sizes(plan: Plan, setting: Setting, n_rows: int) -> tuple[int, ...]:
    if plan.anchors.given is not None or plan.anchors.asked_for is not None:
        return tuple(plan.anchors.sizes)
    wanted = min(round(setting.kept_per_cluster() * plan.n_clusters), n_rows)
    n_anchors = max(plan.n_clusters, wanted)
    return spread_sizes(n_anchors, len(plan.anchors.sizes), plan.n_clusters, n_rows)


def _plain(plan: Plan, n_rows: int) -> Plan:
    """Return the plan of a fit of the sample with the usual value of everything that is open."""
    choices = plan.open_to_data.choices
    return replace(
        plan,
        alpha=_usual(USUAL_ALPHA, choices.alphas),
        locality=_usual(USUAL_LOCALITY, choices.localities),
        beta=plan.open_to_data.betas[0],
        gamma=plan.open_to_data.gammas[0],
        anchors=replace(plan.anchors, sizes=tuple(min(size, n_rows) for size in plan.anchors.sizes)),
        open_to_data=None,
        **_ALONE,
    )


def _usual(value: float, choices: tuple[float, ...]) -> float:
    return value if value in choices else choices[0]


def _settle_penalties(
    sample: Sample,
    plan: Plan,
    settled: Plan,
    fit_labels: Callable[[RowSource, Plan, RandomState], NDArray[np.int64]],
    random_state: RandomState,
) -> tuple[float, float, dict[str, Any]]:
    """Compare whole fits of a sample, where beta or gamma are open; each on one set of anchors."""
    betas, gammas = plan.open_to_data.betas, plan.open_to_data.gammas
    if len(betas) == len(gammas) == 1:
        return betas[0], gammas[0], {}
    seeds = random_state.randint(np.iinfo(np.int32).max, size=FITS)
    size = min(settled.anchors.sizes[0], sample.source.n_rows)
    small = replace(
        settled,
        anchors=replace(settled.anchors, sizes=(size,)),
        **_ALONE,
    )

    def with_gamma(value: float, fit: int) -> NDArray[np.int64]:
        return fit_labels(sample.source, replace(small, gamma=value, beta=betas[0]), RandomState(seeds[fit]))

    def with_beta(value: float, fit: int) -> NDArray[np.int64]:
        return fit_labels(sample.source, replace(small, gamma=gamma, beta=value), RandomState(seeds[fit]))

    gamma, tried_gammas = choose_value("gamma", gammas, with_gamma, sample.neighbors)
    beta, tried_betas = choose_value("beta", betas, with_beta, sample.neighbors)
    tried = {"tried_gamma": tried_gammas, "tried_beta": tried_betas}
    return beta, gamma, {name: values for name, values in tried.items() if values}
