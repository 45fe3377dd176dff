"""The loop of a fit: passes over the rows until the objective settles; what it is told and what it finds."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from kedge.anchors.sets import AnchorPlan
from kedge.core.block_step import ColumnLayout, PassState, solve_block
from kedge.core.driver_step import Digest, EmbeddingPenalty, Structure, digest_summary, next_penalty, on_columns
from kedge.core.rows import NearProblem
from kedge.core.view_weights import ViewWeighting
from kedge.engines.checkpoint import Checkpoint
from kedge.engines.contract import Engine
from kedge.layers import Layers
from kedge.user_warnings import warn_user

Array = NDArray[np.float64]


@dataclass(frozen=True)
class IterationReport:
    """What a callback is told after every iteration.

    Attributes
    ----------
    iteration : int
        Number of the iteration, from 1.
    objective : float
        The full objective at its end.
    n_components : int
        Connected components of the graph that hold a data row.
    seconds : float
        Time since the first iteration began.
    """

    iteration: int
    objective: float
    n_components: int
    seconds: float


@dataclass(frozen=True)
class LoopResult:
    """Where the loop ended.

    Attributes
    ----------
    state : PassState
        What the last pass was told.
    digest : Digest
        The graph after the last pass.
    penalty : EmbeddingPenalty or None
        The structure penalty that the last graph would give, on anchors; None where beta is zero.
    objective : list of float
        One value per iteration.
    view_weights : list of arrays of shape (n_views,)
        Weights at the end of each iteration.
    converged, stopped : bool
        Whether the rule was met, and whether the callback asked to stop.
    """

    state: PassState
    digest: Digest
    penalty: EmbeddingPenalty | None
    objective: list[float]
    view_weights: list[Array]
    converged: bool
    stopped: bool


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
    """Alternate between the rows, the embedding and the weights of the views.

    With one view and no structure penalty one pass is the whole solution; so it is with nearest anchors, which do not
    depend on the weights.
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
    warn_user(
        f"the fit did not settle within max_iter={max_iter} iterations at tol={tol:g}; raise one of them",
        ConvergenceWarning,
    )


@dataclass(frozen=True)
class FitPlan:
    """Everything a fit is told, with nothing left to be decided from names of parameters."""

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
    callback: Callable[[IterationReport], bool | None] | None = None
    scratch_folder: str | Path | None = None
    checkpoint: Checkpoint | None = None


@dataclass(frozen=True)
class FittedGraph:
    """What a fit found; the estimators turn it into attributes."""

    labels: Any
    graph: Any
    anchors: list[NDArray[Any]]
    used_anchors: NDArray[np.intp]
    anchor_labels: NDArray[np.int64]
    embedding: Any
    anchor_embedding: Array
    centers: Array | None
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
    layers: Layers
    cluster_shares: Array
    confidence_shares: Any
    n_near: int | None = None
    ridge_factors: Array | None = None
    confidence: Any = None
    locality: float = 0.0
