"""The loop of a fit: passes over the rows until the objective settles."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from kedge.core.block_step import ColumnLayout, PassState, solve_block
from kedge.core.driver_step import Digest, EmbeddingPenalty, Structure, digest_summary, next_penalty, on_columns
from kedge.core.rows import NearProblem
from kedge.core.view_weights import ViewWeighting
from kedge.engines.contract import Engine
from kedge.user_warnings import warn_convergence

Array = NDArray[np.float64]


@dataclass(frozen=True)
class IterationReport:
    """What a callback gets after every iteration.

    Attributes
    ----------
    iteration : int
        Number of the iteration, from 1.
    objective : float
        The full objective at its end.
    n_components : int
        Connected components of the graph that hold a row.
    seconds : float
        Time since the first iteration began.
    """

    iteration: int
    objective: float
    n_components: int
    seconds: float


@dataclass(frozen=True)
class LoopResult:
    """Where the loop ended."""

    state: PassState  # Of the last pass.
    digest: Digest  # The graph after the last pass.
    penalty: EmbeddingPenalty | None  # The penalty that follows from the last graph, on anchors; None if beta is zero.
    objective: list[float]  # One value per iteration.
    view_weights: list[Array]  # The view weights at the end of each iteration.
    converged: bool
    stopped: bool  # Whether the callback asked to stop.


def iterate(
    engine: Engine,
    state: PassState,
    layout: ColumnLayout,
    structure: Structure,
    weighting: ViewWeighting,
    max_iter: int,
    tol: float,
    callback: Callable[[IterationReport], bool | None] | None = None,
) -> LoopResult:
    """Alternate between the rows, the embedding and the view weights.

    With one view and no structure penalty, one pass is the whole solution. The same is true for nearest anchors, which
    do not depend on the weights.
    """
    begun = perf_counter()
    objective: list[float] = []
    weights: list[Array] = []
    penalty: EmbeddingPenalty | None = None
    is_near = isinstance(state.problems[0], NearProblem)
    converged = stopped = False
    while not converged and not stopped and len(objective) < max_iter:
        if weights:
            state = state.with_weights(weights[-1].tolist())
        digest = digest_summary(state, engine.run_pass(partial(solve_block, state)), layout, structure, weighting)
        objective.append(digest.objective)
        weights.append(digest.view_weights)
        done = state
        if structure.weight > 0:
            penalty = next_penalty(digest, structure, penalty)
            state = replace(state, penalty=on_columns(penalty, layout))
        if structure.weight == 0 and (len(digest.view_weights) == 1 or is_near):
            converged = True
        elif len(objective) > 1:
            converged = objective[-2] - objective[-1] <= tol * abs(objective[-2])
        if callback is not None:
            report = IterationReport(len(objective), digest.objective, digest.n_components, perf_counter() - begun)
            stopped = bool(callback(report))
    return LoopResult(done, digest, penalty, objective, weights, converged, stopped)


def warn_not_settled(max_iter: int, tol: float) -> None:
    """Say that the loop ended before the objective settled."""
    warn_convergence(f"the fit did not settle within max_iter={max_iter} iterations at tol={tol:g}; raise one of them")
