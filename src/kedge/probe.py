"""The probe of ``kedge.plan``: fits of samples of the rows, with the anchors that the fit of all rows will have."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count, pairwise
from time import perf_counter
from typing import Any

import numpy as np
from numpy.random import RandomState
from scipy import sparse
from sklearn.utils import check_array

from kedge.anchors.sets import (
    FINE_ANCHORS,
    FINE_BUDGET,
    LEAST_FINE_ANCHORS,
    MOST_REBUILT_ROWS,
    ROWS_PER_FINE_ANCHOR,
    AnchorPlan,
)
from kedge.clusterer import AnchorGraphClusterer, fit_identity
from kedge.fit import FitPlan, fit_rows
from kedge.inputs import Views, checked_arrays, open_stored, split_views
from kedge.kernels.selection import one_thread_per_library
from kedge.loop import IterationReport
from kedge.msgl import MSGL
from kedge.progress import Progress
from kedge.readers.arrays import StoredView
from kedge.readers.dask_arrays import DaskReader
from kedge.readers.excerpts import HeldRows, read_excerpt

# How long the probe may take, and by how much samples grow: less than the second number is not worth another sample.
PROBE_SECONDS, GROWTH, LEAST_GROWTH = 2.0, 4, 1.5
# If the first sample took no longer, there is a second one in any case.
SECONDS_OF_FIRST = 1.5
# Rows of the first sample where the graph of the rows themselves is cut.
FEW_ROWS = 1_500
# Rows of the first sample at most, unless there are more anchors.
MOST_FIRST_ROWS = 12_000
# The parts of a fit, in their order.
SCALING, ANCHORS, PASSES = "checking and scaling", "anchors", "passes over the rows"
COMMUNITIES, LABELS = "communities", "labels and embedding"


@dataclass(frozen=True)
class Results:
    """Bytes that are in memory and on disk because of the rows of a sample."""

    memory: float
    disk: float

    def __add__(self, other: "Results") -> "Results":
        """Add up what two parts leave."""
        return Results(self.memory + other.memory, self.disk + other.disk)


@dataclass(frozen=True)
class Trial:
    """The fit of a sample."""

    n_rows: int
    seconds: dict[str, float]  # Of each part; of one pass.
    waits: dict[str, float]  # How long the fit of all rows waits for rows from disk in each part; in one pass.
    n_passes: int
    stopped: bool  # Whether time was over before the passes settled.
    kept: Results  # By the fit, until its end.
    written: Results  # By what is done with the model.
    anchors: AnchorPlan  # Of all rows.
    sets_per_tried: int  # Anchor sets of all rows for each one that was tried.
    n_near: int | None


# What is done with a fitted model, and what that leaves.
Action = Callable[[Any], Results]


class RowsInMemory:
    """Checked views in memory, from which samples are taken."""

    def __init__(self, estimator: Any, X: Any, observed: Any) -> None:
        started = perf_counter()
        self._views = _read(estimator, X, observed)
        self.seconds = perf_counter() - started  # To check them.
        self.n_rows = self.most = self._views.n_rows
        self.n_bytes = 0  # Of what the probe holds and the fit does not.

    def sample(self, estimator: Any, size: int) -> tuple[Views, list[HeldRows]]:
        """Return that many rows, evenly spread."""
        if size == self.n_rows:
            return self._views, []
        numbers = np.linspace(0, self.n_rows - 1, size).astype(np.intp)
        self.n_bytes = max(self.n_bytes, size * sum(_row_bytes(array) for array in self._views.arrays))
        observed = None if self._views.observed is None else self._views.observed[numbers]
        return Views([array[numbers] for array in self._views.arrays], self._views.names, observed), []


class RowsOnDisk:
    """Views of which at least one is on disk: some rows are held in memory, and samples are taken from these.

    ``names`` are those of several views; None is one matrix.
    """

    seconds = 0.0

    def __init__(self, names: tuple[str, ...] | None, arrays: list[Any], observed: Any, least: int) -> None:
        self._names, self._arrays, self._observed = names, arrays, observed
        self.n_rows = next(int(array.shape[0]) for array in arrays if array is not None)
        stored = [array for array in arrays if isinstance(array, StoredView)]
        self._excerpt = read_excerpt(stored, least)
        self.most, self.n_bytes = len(self._excerpt.numbers), 2 * self._excerpt.n_bytes  # There are samples, too.

    def sample(self, estimator: Any, size: int) -> tuple[Views, list[HeldRows]]:
        """Return that many rows of those that are held, as views on disk, and their readers."""
        places = np.linspace(0, self.most - 1, size).astype(np.intp)
        numbers, excerpt = self._excerpt.numbers[places], self._excerpt
        members: list[Any] = []
        held: list[HeldRows] = []
        for array in self._arrays:
            if isinstance(array, StoredView):
                number = len(held)
                speed = excerpt.row_seconds[number], excerpt.pick_seconds[number]
                held.append(HeldRows(array, numbers, excerpt.views[number][places], speed))
                members.append(held[-1])
            else:
                members.append(None if array is None else array[numbers])
        X = members[0] if self._names is None else dict(zip(self._names, members, strict=True))
        return _read(estimator, X, None if self._observed is None else self._observed[numbers]), held


def _row_bytes(array: Any) -> int:
    if sparse.issparse(array):
        return int((array.data.itemsize + array.indices.itemsize) * array.nnz / max(array.shape[0], 1))
    return int(array.shape[1] * array.itemsize)


def _read(estimator: Any, X: Any, observed: Any) -> Views:
    several = isinstance(estimator, MSGL)
    views: Views = estimator._read(X, observed, reset=True) if several else estimator._read(X, reset=True)
    return views


def rows_of(estimator: AnchorGraphClusterer, X: Any, observed: Any) -> RowsInMemory | RowsOnDisk:
    """Check rows in memory, or open those on disk and read some of them."""
    given = split_views(X) if isinstance(estimator, MSGL) else None
    if given is None:
        stored = open_stored(X)
        arrays = [] if stored is None else [stored]
    else:
        is_stored = any(open_stored(member) is not None for member in given.arrays if member is not None)
        arrays = checked_arrays(given) if is_stored else []
    if not arrays:
        return RowsInMemory(estimator, X, observed)
    if any(isinstance(array, StoredView) and isinstance(array.reader, DaskReader) for array in arrays):
        raise ValueError("X is a Dask array, whose rows may be on other machines; give a path or an array to plan")
    n_rows = next(array.shape[0] for array in arrays if array is not None)
    if observed is not None:
        observed = check_array(observed, dtype=bool, input_name="observed")
        if len(observed) != n_rows:
            raise ValueError(f"observed has {len(observed)} rows, but X has {n_rows}; give one row for each")
    least = min(n_rows, GROWTH * _smallest_sample(estimator, n_rows))
    return RowsOnDisk(None if given is None else given.names, arrays, observed, least)


def _smallest_sample(estimator: AnchorGraphClusterer, n_rows: int) -> int:
    """Return the number of rows of the first sample: enough for all anchors, and for the way in which rows are cut."""
    asked = [int(count) for count in (estimator.n_anchors, estimator.n_clusters) if not isinstance(count, str)]
    if n_rows <= MOST_REBUILT_ROWS:
        return min(n_rows, max(FEW_ROWS, *asked, 1))
    n_anchors = usual_anchors(n_rows) if isinstance(estimator.n_anchors, str) else int(estimator.n_anchors)
    # With fewer rows than that, the graph would fall into pieces.
    enough = min(ROWS_PER_FINE_ANCHOR * n_anchors, MOST_FIRST_ROWS)
    return min(n_rows, max(MOST_REBUILT_ROWS + 1, enough, *asked))


def usual_anchors(n_rows: int) -> int:
    """Return how many anchors a set of many rows has, unless the user gives a number."""
    return min(FINE_ANCHORS, max(LEAST_FINE_ANCHORS, FINE_BUDGET // n_rows))


@dataclass(frozen=True)
class _Whole(Views):
    """Views of some rows that stand for more of them."""

    total: int = 0

    @property
    def n_rows(self) -> int:
        """Number of all rows."""
        return self.total


class _Stages(Progress):
    """When the stages of a fit began, and how long it would have waited for rows until then."""

    def __init__(self, held: list[HeldRows]) -> None:
        super().__init__()
        self.held = held
        self.marks: list[tuple[float, float]] = []
        self.begin("")

    def begin(self, what: str, n_rows: int | None = None) -> None:
        """Note the time."""
        self.marks.append((perf_counter(), sum(one.wait for one in self.held)))


def run_trials(
    estimator: AnchorGraphClusterer, rows: RowsInMemory | RowsOnDisk, then: Mapping[str, Action], deadline: float
) -> Iterator[Trial]:
    """Yield fits of samples, each larger than the one before, as long as there is time.

    A line needs two of them, so the second may end a little late.
    """
    size = min(_smallest_sample(estimator, rows.n_rows), rows.most)
    _scale_sample(estimator, rows, -(-size // 2))  # The first call of anything takes longer.
    for number in count():
        started = perf_counter()
        yield _fit_sample(estimator, rows, size, then, deadline)
        taken = perf_counter() - started
        growth = min((deadline - perf_counter()) / taken, GROWTH)
        if number == 0 and taken <= SECONDS_OF_FIRST:
            growth = max(growth, LEAST_GROWTH)
        larger = min(int(growth * size), rows.most)
        if larger <= size or larger < min(int(LEAST_GROWTH * size), rows.most):
            return
        size = larger


def _scale_sample(estimator: AnchorGraphClusterer, rows: RowsInMemory | RowsOnDisk, size: int) -> None:
    with warnings.catch_warnings(), one_thread_per_library():
        warnings.simplefilter("ignore")
        views, _ = rows.sample(estimator, size)
        estimator._prepare(views, _standing_for(views, rows.n_rows))


def _standing_for(views: Views, n_rows: int) -> Views:
    """Return views that say they have more rows; their mask is repeated."""
    observed = views.observed
    if observed is not None:
        observed = observed[np.arange(n_rows) % len(observed)]
    return _Whole(views.arrays, views.names, observed, total=n_rows)


def _fit_sample(
    estimator: AnchorGraphClusterer,
    rows: RowsInMemory | RowsOnDisk,
    size: int,
    then: Mapping[str, Action],
    deadline: float,
) -> Trial:
    """Fit a sample as the fit of all rows would do."""
    stopped = False

    def stop(report: IterationReport) -> bool:
        nonlocal stopped
        stopped = perf_counter() > deadline
        return stopped

    with warnings.catch_warnings(), one_thread_per_library():
        warnings.simplefilter("ignore")  # The fit itself will warn.
        views, held = rows.sample(estimator, size)
        stages = _Stages(held)  # The fit of all rows takes no sample.
        if estimator.checkpoint is not None:
            fit_identity(estimator, views)
        source, scalings, plan = estimator._prepare(views, _standing_for(views, rows.n_rows))
        tried = plan.anchors
        if rows.n_rows <= MOST_REBUILT_ROWS and tried.n_near is None:
            # Here a single anchor set takes so long that the others have to be left out.
            tried = replace(tried, sizes=tried.sizes[:1])
        found = fit_rows(source, replace(plan, anchors=tried, callback=stop), RandomState(0), stages)
        stages.begin("")
        # Scaling, anchors, passes, communities and labels follow each other.
        n_passes = len(stages.marks) - 5
        parts = [SCALING, ANCHORS, *[PASSES] * n_passes, COMMUNITIES, LABELS]
        seconds = dict.fromkeys(parts, 0.0)
        waits = dict(seconds)
        for name, ((begun, waited), (end, waited_then)) in zip(parts, pairwise(stages.marks), strict=True):
            times = n_passes if name == PASSES else 1
            seconds[name] += (end - begun) / times
            waits[name] += (waited_then - waited) / times
        kept, written = _results_of(found, bool(stages.held), estimator.checkpoint is not None), Results(0, 0)
        estimator._keep(found, scalings)
        for name, action in then.items():
            begun = perf_counter()
            written += action(estimator)
            seconds[name] = perf_counter() - begun
    return Trial(
        size,
        seconds,
        waits,
        n_passes,
        stopped and not _is_settled(plan, found),
        kept,
        written,
        plan.anchors,
        len(plan.anchors.sizes) // len(tried.sizes),
        found["n_near_"],
    )


def _is_settled(plan: FitPlan, found: Mapping[str, Any]) -> bool:
    """Return whether a loop that the clock stopped would have stopped anyway."""
    objective = found["objective_"]
    if plan.beta == 0 and (found["n_near_"] is not None or len(found["graph_anchors_"]) == 1):
        return True
    return len(objective) > 1 and bool(objective[-2] - objective[-1] <= plan.tol * abs(objective[-2]))


def _results_of(found: Mapping[str, Any], is_stored: bool, is_recorded: bool) -> Results:
    """Return what the fit of a sample keeps until its end."""
    labels, n_rows = found["labels_"], len(found["labels_"])
    memory = labels.nbytes + found["confidence_"].nbytes
    graph = found["graph_"][0:n_rows]
    # The weights of a pass are kept until the next one is done; those of an exact graph come on top.
    n_graphs = min(int(found["n_iter_"]), 2) + (found["ridge_factors_"] is not None)
    disk = n_graphs * (graph.data.nbytes + 4 * graph.nnz + 8 * n_rows) if is_stored or is_recorded else 0
    if not is_stored:
        # The blocks of a graph stay until they are joined.
        memory += found["embedding_"].nbytes
        memory += 2 * (graph.data.nbytes + graph.indices.nbytes + graph.indptr.nbytes)
    return Results(memory, disk)
