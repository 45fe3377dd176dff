"""The loop of a fit: passes over the rows until the objective settles; what it is told and what it finds."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.anchors.sets import AnchorPlan
from kedge.core.block_step import ColumnLayout, PassState, solve_block
from kedge.core.driver_step import Digest, Structure, digest_summary, next_penalty, on_columns, spectral_norm_squared
from kedge.core.penalty import EmbeddingPenalty, StructurePenalty
from kedge.core.row_problem import NearProblem
from kedge.core.view_weights import ViewWeighting
from kedge.engines.checkpoint import Checkpoint
from kedge.engines.contract import Engine
from kedge.layers import Layers

Array = NDArray[np.float64]

# The published stopping rule looks at the change only after this many iterations.
_PUBLISHED_LEAST = 5


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
class LoopRules:
    """When the loop ends, how views are weighted, and whether it follows the published algorithm.

    ``published_norm`` is the norm in which that algorithm measures the change of the coefficients: "spectral" for one
    view, "frobenius" for several; None for ours, which looks at the objective.
    """

    max_iter: int
    tol: float
    weighting: ViewWeighting
    published_norm: str | None = None
    first_penalty: StructurePenalty | None = None
    callback: Callable[[IterationReport], bool | None] | None = None


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
    embedding : array or None
        In the published algorithm, the embedding before the last pass, which is the one it clusters.
    converged, stopped : bool
        Whether the rule was met, and whether the callback asked to stop.
    """

    state: PassState
    digest: Digest
    penalty: EmbeddingPenalty | None
    objective: list[float]
    view_weights: list[Array]
    embedding: Array | None
    converged: bool
    stopped: bool


def iterate(
    engine: Engine, state: PassState, layout: ColumnLayout, structure: Structure, rules: LoopRules
) -> LoopResult:
    """Alternate between the rows, the embedding and the weights of the views.

    With one view and no structure penalty one pass is the whole solution.
    """
    as_published = rules.published_norm is not None
    state = replace(state, penalty=rules.first_penalty, want_change=as_published)
    begun = perf_counter()
    objective: list[float] = []
    weights: list[Array] = []
    last: Digest | None = None
    penalty: EmbeddingPenalty | None = None
    embedding, converged, stopped = None, False, False
    while not converged and not stopped and len(objective) < rules.max_iter:
        if as_published and last is not None:
            embedding = _embedded(engine, last, layout)
        if weights:
            state = state.with_weights(weights[-1].tolist())
        digest = digest_summary(state, engine.run_pass(partial(solve_block, state)), layout, structure, rules.weighting)
        objective.append(digest.objective)
        weights.append(digest.view_weights)
        done = state
        if structure.weight > 0:
            penalty = next_penalty(digest, structure, penalty)
            state = state.with_penalty(on_columns(penalty, layout))
        else:
            state = state.with_penalty(None)
        is_near = isinstance(state.problems[0], NearProblem)
        converged = _has_settled(objective, digest, last, structure, rules, is_near)
        if rules.callback is not None:
            report = IterationReport(len(objective), digest.objective, digest.n_components, perf_counter() - begun)
            stopped = bool(rules.callback(report))
        last = digest
    assert last is not None
    return LoopResult(done, last, penalty, objective, weights, embedding, converged, stopped)


def _embedded(engine: Engine, digest: Digest, layout: ColumnLayout) -> Array:
    assert digest.spectrum is not None
    return np.asarray(engine.embedding(digest.spectrum.row_map[layout.anchor_of]))


def _has_settled(
    objective: list[float],
    digest: Digest,
    last: Digest | None,
    structure: Structure,
    rules: LoopRules,
    is_near: bool,
) -> bool:
    if rules.published_norm is not None:
        if last is None or len(objective) <= _PUBLISHED_LEAST:
            return False
        assert digest.change_gram is not None
        squared = spectral_norm_squared if rules.published_norm == "spectral" else np.trace
        return bool(squared(digest.change_gram) < rules.tol**2 * squared(last.gram))
    # Without a penalty one view is settled by one pass, and so are nearest anchors, which do not depend on weights.
    if structure.weight == 0 and (len(digest.view_weights) == 1 or is_near):
        return True
    return len(objective) > 1 and objective[-2] - objective[-1] <= rules.tol * abs(objective[-2])


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
    published_norm: str | None = None
    first_penalty: Array | None = None
    callback: Callable[[IterationReport], bool | None] | None = None
    scratch_folder: str | Path | None = None
    checkpoint: Checkpoint | None = None

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
    used_anchors: NDArray[np.intp]
    anchor_labels: NDArray[np.int64]
    embedding: Any
    anchor_embedding: Array
    centers: Array | None
    row_map: Array
    singular_values: Array
    soft_anchors: list[NDArray[Any]]
    set_sizes: list[int]
    n_near: int | None
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
    layers: Layers
    cluster_shares: Array
    confidence_shares: Any
