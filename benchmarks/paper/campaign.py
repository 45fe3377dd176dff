"""Runs what experiments still lack, in processes side by side, and records every unit as it finishes."""

import multiprocessing
import os
import platform
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks import provenance
from benchmarks.paper.plan import Cut, Experiment, Records, Unit, pending_units
from benchmarks.paper.protocols import load_rows, memory_estimate, run_unit
from benchmarks.paper.results import ResultsFile
from kedge.progress import Progress

# What Python and the libraries take by themselves.
_BASE_BYTES = 300 * 2**20
# How often limits are looked at, in seconds.
_TICK = 0.2


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
    workers = [Worker() for _ in range(resources.n_workers)]
    try:
        while limits := pending_of_all(experiments, results.records, cut):
            progress.begin("units", len(limits))
            count += len(limits)
            _run_round(limits, workers, results, resources, progress)
    finally:
        # Units that are still running are not recorded and will be run again.
        for worker in workers:
            worker.stop()
    return count


def pending_of_all(experiments: Sequence[Experiment], records: Records, cut: Cut) -> dict[Unit, float]:
    """Return what has to be run next with its limit in seconds; a unit of several experiments has the longest."""
    limits: dict[Unit, float] = {}
    for experiment in experiments:
        for unit in pending_units(experiment, records, cut):
            limits[unit] = max(experiment.seconds, limits.get(unit, 0.0))
    return limits


def _run_round(
    limits: dict[Unit, float],
    workers: "list[Worker]",
    results: ResultsFile,
    resources: Resources,
    progress: Progress,
) -> None:
    """Run these units, as many at a time as there are workers and as memory allows."""

    def finish(unit: Unit, record: dict[str, Any]) -> None:
        results.append(unit, record | circumstances(resources))
        progress.rows_done(1)

    waiting = list(limits)
    while waiting or any(worker.unit for worker in workers):
        while waiting and (idle := next((worker for worker in workers if worker.unit is None), None)):
            needed = _memory_of(waiting[0])
            taken = [_memory_of(worker.unit) for worker in workers if worker.unit is not None]
            if needed > resources.memory:
                reason = f"needs about {needed / 2**30:.1f} GiB, and {resources.memory / 2**30:.1f} are allowed"
                finish(waiting.pop(0), {"failed": reason})
            elif taken and sum(taken) + needed > resources.memory:
                break
            else:
                unit = waiting.pop(0)
                idle.start(unit, limits[unit], resources.memory)
        busy = [worker for worker in workers if worker.unit is not None]
        ready = wait([worker.pipe for worker in busy], timeout=_TICK)
        for worker in busy:
            running = worker.unit
            record = worker.receive() if worker.pipe in ready else worker.check_limits()
            if running is not None and record is not None:
                finish(running, record)


class Worker:
    """A process of its own that runs one unit after another; replaced by a new one when a unit exceeds its limits."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, os.getpid()), daemon=True)
        self.process.start()
        theirs.close()
        self.unit: Unit | None = None
        self.is_ready = False

    def start(self, unit: Unit, seconds: float, memory: int) -> None:
        """Give the process a unit, with its limits."""
        self.unit, self.seconds, self.memory, self.started = unit, seconds, memory, time.monotonic()
        self.pipe.send(unit)

    def receive(self) -> dict[str, Any] | None:
        """Return the record of the unit; None if the process only says that it is ready, and the clock starts."""
        try:
            record: dict[str, Any] | None = self.pipe.recv()
        except EOFError:
            self.process.join()
            code = self.process.exitcode
            self._replace()
            return {"failed": f"its process ended with code {code}; with -9 the system was out of memory"}
        if record is None:
            self.is_ready, self.started = True, time.monotonic()
        else:
            self.unit = None
        return record

    def check_limits(self) -> dict[str, Any] | None:
        """Stop a unit that is past its limits and return its record; None if it may go on."""
        elapsed = time.monotonic() - self.started
        if self.is_ready and elapsed > self.seconds:
            excess = f"took more than {self.seconds:.0f} s"
        elif self._resident_bytes() > self.memory:
            excess = f"took more than {self.memory / 2**30:.1f} GiB"
        else:
            return None
        self._replace()
        return {"failed": excess, "seconds": elapsed}

    def stop(self) -> None:
        """End the process at once."""
        self.process.kill()
        self.process.join()
        self.pipe.close()

    def _replace(self) -> None:
        self.stop()
        self._begin()

    def _resident_bytes(self) -> int:
        """Return the memory of the process now; zero where the system does not tell."""
        try:
            return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError):
            return 0


def _serve(pipe: Connection, parent: int) -> None:
    """Run units until the pipe closes."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    # The libraries are loaded by now, which is not time of a unit.
    pipe.send(None)
    # Units run side by side, one processor each.
    with threadpool_limits(limits=1):
        while True:
            try:
                unit = pipe.recv()
            except EOFError:
                return
            try:
                record = run_unit(unit)
            except Exception as error:
                record = {"failed": "".join(traceback.format_exception_only(error)).strip()}
            pipe.send(record)


def _end_with(parent: int) -> None:
    """End this process when the one that started it is gone, even if it was killed."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


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
        "when": provenance.now(),
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()}",
        "side_by_side": resources.n_workers,
        "commit": provenance.commit(),
        "versions": provenance.versions(),
    }
