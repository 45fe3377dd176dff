"""The loop of a fit, what it is told and what it finds, and how it shows its progress."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

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


class Progress(Protocol):
    """What a fit tells about its work."""

    def begin(self, what: str, n_rows: int | None = None) -> None:
        """Start a stage; with a number of rows the stage has a bar."""
        ...

    def rows_done(self, count: int) -> None:
        """Say that rows of the present stage are done."""
        ...


class Silence:
    """Shows nothing."""

    def begin(self, what: str, n_rows: int | None = None) -> None:
        """Do nothing."""

    def rows_done(self, count: int) -> None:
        """Do nothing."""


class TerminalBar:
    """One line per stage, with rows per second and the time left."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._task: Any = None

    def begin(self, what: str, n_rows: int | None = None) -> None:
        """Start a new line."""
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(what, total=n_rows)

    def rows_done(self, count: int) -> None:
        """Advance the bar."""
        if self._task is not None:
            self._bar.advance(self._task, count)


@contextmanager
def show_progress(verbose: int) -> Iterator[Progress]:
    """Yield where a fit reports its stages: a bar if asked for and someone can see it."""
    if not verbose:
        yield Silence()
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, ProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress
        from rich.text import Text
    except ImportError:
        warnings.warn(
            "verbose=1 shows progress with rich, which is not installed: pip install 'kedge[cli]', or set verbose=0",
            UserWarning,
            stacklevel=4,
        )
        yield Silence()
        return
    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        yield Silence()
        return

    class RowsPerSecond(ProgressColumn):
        """The speed, once there is one."""

        def render(self, task: Any) -> Text:
            return Text("" if not task.speed else f"{task.speed:,.0f} rows/s")

    columns = (TextColumn("kedge: {task.description}"), BarColumn(), RowsPerSecond())
    times = (TimeElapsedColumn(), TimeRemainingColumn())
    with RichProgress(*columns, *times, console=console, transient=True) as bar:
        yield TerminalBar(bar)


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
    warnings.warn(
        f"the fit did not settle within max_iter={max_iter} iterations at tol={tol:g}; raise one of them",
        ConvergenceWarning,
        stacklevel=8,
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
