"""Runs what experiments still lack, side by side, and records every unit as it finishes."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from typing import Any

from scipy import sparse

from kedge.loop import Progress
from kedge.reproduce.data_rows import load_rows
from kedge.reproduce.plan import Experiment
from kedge.reproduce.protocols import memory_estimate
from kedge.reproduce.results_file import ResultsFile
from kedge.reproduce.stages import Cut, pending_units
from kedge.reproduce.units import Unit
from kedge.reproduce.workers import Workers

# What Python and the libraries take by themselves.
_BASE_BYTES = 300 * 2**20


@dataclass(frozen=True)
class Resources:
    """What a campaign may use: processes side by side, and bytes for all of them together."""

    n_workers: int
    memory: int


def run_campaign(
    experiments: Sequence[Experiment], results: ResultsFile, resources: Resources, cut: Cut, progress: Progress
) -> int:
    """Run every unit that is not recorded yet and return how many were run; an interruption loses no finished one.

    Units of all experiments run in one round, so that a long one keeps no processor idle; the next round has the seeds
    of the settings chosen by the last.
    """
    count = 0
    workers = Workers(resources.n_workers)
    try:
        while pending := _pending_of_all(experiments, results, cut):
            progress.begin("units", len(pending))
            count += len(pending)
            _run_all(pending, workers, results, resources, progress)
    finally:
        workers.close()
    return count


def _pending_of_all(experiments: Sequence[Experiment], results: ResultsFile, cut: Cut) -> dict[Unit, float]:
    """Return what has to be run next with its limit in seconds; a unit of several experiments has the longest."""
    limits: dict[Unit, float] = {}
    for experiment in experiments:
        for unit in pending_units(experiment, results, cut):
            limits[unit] = max(experiment.seconds, limits.get(unit, 0.0))
    return limits


def _run_all(
    limits: dict[Unit, float],
    workers: Workers,
    results: ResultsFile,
    resources: Resources,
    progress: Progress,
) -> None:
    waiting = list(limits)
    while waiting or workers.units:
        taken = sum(_memory_of(unit) for unit in workers.units)
        while waiting and workers.idle:
            needed = _memory_of(waiting[0])
            if needed > resources.memory:
                reason = f"needs about {needed / 2**30:.1f} GiB, and {resources.memory / 2**30:.1f} are allowed"
                results.append(waiting.pop(0), {"failed": reason, **circumstances(resources)})
                progress.rows_done(1)
                continue
            if taken + needed > resources.memory and workers.units:
                break
            taken += needed
            unit = waiting.pop(0)
            workers.start(unit, limits[unit], resources.memory)
        for unit, record in workers.collect():
            results.append(unit, record | circumstances(resources))
            progress.rows_done(1)


@lru_cache(maxsize=4096)
def _memory_of(unit: Unit) -> int:
    size, shape, n_clusters = _size_of(unit.data, unit.n_rows)
    parameters = {name: value for name, value in unit.settings().items() if name != "neighbors_of"}
    # Rows in their own type and in double precision.
    return _BASE_BYTES + 2 * size + memory_estimate(unit.method, n_clusters, parameters, shape)


@lru_cache(maxsize=64)
def _size_of(data: str, n_rows: int | None) -> tuple[int, tuple[int, int], int]:
    rows = load_rows(data, n_rows)
    parts = list(rows.X.values()) if isinstance(rows.X, dict) else [rows.X]
    size = sum(3 * part.data.nbytes // 2 if sparse.issparse(part) else part.size * 8 for part in parts)
    return int(size), (len(rows.y), sum(part.shape[1] for part in parts)), rows.n_clusters


def circumstances(resources: Resources) -> dict[str, Any]:
    """Return when, where and with what a unit was run."""
    return {
        "when": f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()}",
        "side_by_side": resources.n_workers,
        "versions": {name: version(name) for name in ("kedge", "numpy", "scipy", "scikit-learn")},
    }
