"""What a fit will take on this machine: time, memory and disk, from a probe of about two seconds.

The probe runs the fit itself, with the anchors that the whole fit will have, on samples of the rows. The samples grow
fourfold until two seconds are over. Each part of the fit then goes on along a line: what depends on the rows in
proportion to them, as between the last two samples, what depends on the anchors alone as it was. Rows on disk are held
in memory meanwhile. What it costs to read them is measured on its own, at several places of the file, and counted as
often as the fit reads them.
"""

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any

from sklearn.base import clone

from kedge.anchors.kmeans import LEAST_SAMPLE, ROWS_PER_ANCHOR
from kedge.anchors.sets import FINE_ROWS_PER_ANCHOR, MOST_REBUILT_ROWS, AnchorPlan
from kedge.clusterer import AnchorGraphClusterer
from kedge.inputs import split_views
from kedge.memory import PeakMemory, machine_memory, resident_bytes
from kedge.msgl import MSGL
from kedge.parameters import checked_fit
from kedge.probe import (
    ANCHORS,
    COMMUNITIES,
    LABELS,
    PASSES,
    PROBE_SECONDS,
    SCALING,
    Action,
    Results,
    Trial,
    rows_of,
    run_trials,
    usual_anchors,
)
from kedge.sgl import SGL

READING = "reading rows"
# What the work beside the rows takes, where the system does not tell the peak of a process.
_USUAL_WORK = 1 << 28
# A fit is worth a probe from so many numbers on that are read or compared: a quarter of a minute on two cores. Fits
# with a structure penalty have about so many passes.
_WORTH_A_PROBE, _USUAL_PASSES = 4e9, 10
# With which power of the anchor sets parts grow, where only one of several sets is tried: the last one decomposes a
# matrix of all anchors.
_GROWTH_WITH_SETS = {ANCHORS: 1.0, PASSES: 1.0, COMMUNITIES: 0.5, LABELS: 2.0}
_GIB = 2**30


@dataclass(frozen=True)
class FitEstimate:
    """What a fit will take on this machine; see :func:`kedge.plan`.

    Attributes
    ----------
    seconds : float
        Time of the fit.
    memory_bytes : int
        Largest memory of the process during the fit, with all that it holds already: Python, libraries, X.
    disk_bytes : int
        Largest space on disk that the fit needs: scratch files, and on the command line its results.
    n_rows, n_anchors, n_passes : int
        Rows, anchors of all sets, and passes over the rows.
    parts : dict
        Seconds of each part of the fit.
    memory_parts : dict
        Bytes that the process holds already, of what the fit keeps of every row, and of its work.
    notes : tuple of str
        What this machine has too little of, and what the probe could not see, in sentences.
    """

    seconds: float
    memory_bytes: int
    disk_bytes: int
    n_rows: int
    n_anchors: int
    n_passes: int
    parts: dict[str, float]
    memory_parts: dict[str, int]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Say it in a few lines."""
        rows = f"{self.n_rows:,} rows, {self.n_anchors:,} anchors, {self.n_passes} pass{'es' * (self.n_passes > 1)}"
        parts = [(name, in_words_of_time(seconds)) for name, seconds in self.parts.items()]
        parts += [(f"memory: {name}", in_words_of_bytes(size)) for name, size in self.memory_parts.items()]
        width = max(len(name) for name, _ in parts)
        lines = [f"{self.summary()} for {rows}", *(f"  {name:<{width}}  {text}" for name, text in parts)]
        return "\n".join([*lines, *self.notes])

    def summary(self) -> str:
        """Return time, memory and disk in one line."""
        disk = f"{in_words_of_bytes(self.disk_bytes)} of disk" if self.disk_bytes else "no disk"
        return f"about {in_words_of_time(self.seconds)}, {in_words_of_bytes(self.memory_bytes)} of memory, {disk}"

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for JSON."""
        return asdict(self) | {"notes": list(self.notes)}


def in_words_of_time(seconds: float) -> str:
    """Return a time in the unit that people would use."""
    if seconds < 10:
        return f"{seconds:.1f} seconds"
    if seconds < 100:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 6_000 else f"{seconds / 3_600:.1f} hours"


def in_words_of_bytes(size: float) -> str:
    """Return a size in MiB or GiB."""
    return f"{size / 2**20:,.0f} MiB" if size < _GIB else f"{size / _GIB:,.1f} GiB"


def plan(X: Any, n_clusters: int | str = "auto", *, observed: Any = None, **parameters: Any) -> FitEstimate:
    """Say how much time, memory and disk a fit will take on this machine, without running it.

    A probe of about two seconds runs the fit on samples of the rows, with the anchors that the whole fit will have, and
    goes on from there in proportion. Rows in memory are checked like in ``fit``; of rows on disk, only those of the
    samples are read.

    Parameters
    ----------
    X : as in :meth:`kedge.SGL.fit` or :meth:`kedge.MSGL.fit`
        The rows: an array, a path, or a list or dict of views. Dask arrays are left out, since they may be on other
        machines.
    n_clusters : int or "auto", default="auto"
        Number of clusters.
    observed : as in :meth:`kedge.MSGL.fit`
        Which views each row has.
    **parameters
        Any other parameter of :class:`kedge.MSGL`, if there are several views, or of :class:`kedge.SGL`.

    Returns
    -------
    FitEstimate
        Time, memory and disk, and the parts of the time.

    Notes
    -----
    The time assumes that the machine has as much to do as during the probe, and that the rest of a file is read as
    quickly as the places that the probe reads. A file that is read several times is quicker from the second time on, if
    it fits in memory.

    Examples
    --------
    >>> import kedge
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(5000, 4))
    >>> kedge.plan(X, n_clusters=3, n_anchors=500, n_init=1).n_anchors
    500
    """
    several = split_views(X) is not None or parameters.get("views") is not None
    if observed is not None and not several:
        raise ValueError("observed says which views a row has, but X is one view; leave it out")
    estimator = MSGL(n_clusters, **parameters) if several else SGL(n_clusters, **parameters)
    estimate: FitEstimate = plan_fit(estimator, X, observed)
    return estimate


@dataclass(frozen=True)
class Around:
    """What comes before and after a fit."""

    seconds: Mapping[str, float] = field(default_factory=dict)  # Of what comes before it, by name.
    scratch_bytes: int = 0  # Size of the scratch files from before.
    then: Mapping[str, Action] = field(default_factory=dict)  # What is done with the fitted model, by name.


@checked_fit
def plan_fit(
    estimator: AnchorGraphClusterer, X: Any, observed: Any = None, around: Around | None = None
) -> FitEstimate:
    """Plan the fit of an estimator, which stays as it is, and what is around it."""
    begun, estimator, around = perf_counter(), clone(estimator), around or Around()
    held, peak = resident_bytes() or 0, PeakMemory()
    rows = rows_of(estimator, X, observed)
    estimator._check_counts(rows.n_rows)
    trials = list(run_trials(estimator, rows, around.then, begun + PROBE_SECONDS))
    last, taken = trials[-1], peak.read()
    kept, written = _extended_results(trials, rows.n_rows, isinstance(estimator.n_clusters, str))
    in_trial = int(last.kept.memory + last.written.memory)
    work = _USUAL_WORK if taken is None else max(taken - rows.n_bytes - in_trial, 0)
    memory = {
        "held already": held,
        "results": int(kept.memory + written.memory),
        "work": work * last.sets_per_tried,
    }
    # Samples settle after about as many passes as all rows do, but time may have been over before.
    n_passes = max(trial.n_passes for trial in trials)
    parts = _extended_seconds(trials, rows.n_rows, n_passes)
    parts[SCALING] += rows.seconds
    parts = dict(around.seconds) | parts
    is_coarse = last.anchors.n_near is not None and last.n_near is None
    scratch = around.scratch_bytes + int(kept.disk)
    return FitEstimate(
        seconds=sum(parts.values()),
        memory_bytes=sum(memory.values()),
        disk_bytes=scratch + int(written.disk),
        n_rows=rows.n_rows,
        n_anchors=sum(last.anchors.coarse if is_coarse else last.anchors.sizes),
        n_passes=n_passes,
        parts=parts,
        memory_parts=memory,
        notes=_notes(trials, n_passes, sum(memory.values()), scratch, estimator.scratch_folder),
    )


def may_take_long(estimator: AnchorGraphClusterer, n_rows: int, n_features: int) -> bool:
    """Return whether a probe is worth its time before a fit, judged by the rows and anchors alone."""
    asked = estimator.n_anchors
    n_anchors = usual_anchors(n_rows) if isinstance(asked, str) else int(asked)
    is_repeated = not isinstance(estimator.beta, str) and estimator.beta > 0
    return n_rows * (n_features + n_anchors * (_USUAL_PASSES if is_repeated else 1)) > _WORTH_A_PROBE


def _extended(own: float, earlier: float | None, trials: list[Trial], n_rows: int) -> float:
    """Go on to all rows: along a line through the last two samples, or in proportion to the only one."""
    slope = own / trials[-1].n_rows
    if earlier is not None:
        slope = min(slope, max(own - earlier, 0.0) / (trials[-1].n_rows - trials[-2].n_rows))
    return own + slope * (n_rows - trials[-1].n_rows)


def _extended_seconds(trials: list[Trial], n_rows: int, n_passes: int) -> dict[str, float]:
    last, before = trials[-1], trials[-2].seconds if len(trials) > 1 else {}
    parts = {name: _extended(own, before.get(name), trials, n_rows) for name, own in last.seconds.items()}
    # Anchors come from a sample of bounded size, which may be larger than that of the probe.
    sampled = _rows_for_anchors(last.anchors)
    parts[ANCHORS] = last.seconds[ANCHORS] * min(n_rows, sampled) / min(last.n_rows, sampled)
    # The graph of the anchors does not grow with the rows, but with few rows it is their own graph that is cut.
    grown = n_rows / last.n_rows if n_rows <= MOST_REBUILT_ROWS else 1.0
    parts[COMMUNITIES] = last.seconds[COMMUNITIES] * grown**2
    for name, power in _GROWTH_WITH_SETS.items():
        parts[name] *= last.sets_per_tried**power
    # In a pass, blocks are read while others are solved.
    waits = last.waits | {PASSES: max(last.waits[PASSES] - parts[PASSES], 0.0) * n_passes}
    parts[PASSES] *= n_passes
    return ({READING: sum(waits.values())} if any(last.waits.values()) else {}) | parts


def _rows_for_anchors(anchors: AnchorPlan) -> int:
    """Return from how many rows a set of anchors is found, as in ``choose_set``."""
    is_fine = anchors.n_near is not None and anchors.method == "kmeans" and anchors.alignment == "joint"
    size = max(anchors.sizes)
    return FINE_ROWS_PER_ANCHOR * size if is_fine else max(LEAST_SAMPLE, ROWS_PER_ANCHOR * size)


def _extended_results(trials: list[Trial], n_rows: int, finds_clusters: bool) -> tuple[Results, Results]:
    """Return what the fit keeps, and what is written after it."""
    # If the data decide on the number of clusters, samples may have more or fewer than all rows.
    memory, disk = (max(getattr(trial.kept, name) / trial.n_rows for trial in trials) for name in ("memory", "disk"))
    last, before = trials[-1].written, trials[-2].written if len(trials) > 1 and not finds_clusters else None
    written = Results(
        _extended(last.memory, None if before is None else before.memory, trials, n_rows),
        _extended(last.disk, None if before is None else before.disk, trials, n_rows),
    )
    return Results(memory * n_rows, disk * n_rows), written


def _notes(
    trials: list[Trial], n_passes: int, memory_bytes: int, disk_bytes: int, scratch_folder: Any
) -> tuple[str, ...]:
    """Say what the machine has too little of, and what the probe could not see."""
    found = []
    if all(trial.stopped for trial in trials):
        found.append(f"The passes did not settle during the probe; there may be more of them than {n_passes}.")
    memory = machine_memory()
    if memory_bytes > memory:
        needed, there = in_words_of_bytes(memory_bytes), in_words_of_bytes(memory)
        advice = "keep the rows on disk, or ask for fewer clusters or anchors"
        found.append(f"The fit needs {needed} of memory, and this machine has {there}: {advice}.")
    folder = tempfile.gettempdir() if scratch_folder is None else scratch_folder
    free = shutil.disk_usage(folder).free if disk_bytes else 0
    if disk_bytes > free:
        needed, there = in_words_of_bytes(disk_bytes), in_words_of_bytes(free)
        advice = "free some, or set scratch_folder (on the command line TMPDIR) to a folder on another disk"
        found.append(f"The fit needs {needed} of disk, and {folder} has {there}: {advice}.")
    return tuple(found)
