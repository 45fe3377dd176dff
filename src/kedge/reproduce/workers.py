"""Processes that run units side by side, each within a limit of time and memory."""

import multiprocessing
import os
import threading
import time
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from kedge.reproduce.units import Unit

# How often limits are looked at.
_TICK = 0.2


@dataclass
class Running:
    """A unit in a worker."""

    unit: Unit
    started: float
    seconds: float
    memory: int


class Worker:
    """A process of its own that runs one unit after another; killed when one exceeds its limits."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, os.getpid()), daemon=True)
        self.process.start()
        theirs.close()
        self.running: Running | None = None
        self.is_ready = False

    def start(self, unit: Unit, seconds: float, memory: int) -> None:
        """Begin a unit."""
        self.running = Running(unit, time.monotonic(), seconds, memory)
        self.pipe.send(unit)

    def over_limit(self) -> str | None:
        """Return which limit the unit has passed, in words."""
        assert self.running is not None
        if self.is_ready and time.monotonic() - self.running.started > self.running.seconds:
            return f"took more than {self.running.seconds:.0f} s"
        if self.resident_bytes() > self.running.memory:
            return f"took more than {self.running.memory / 2**30:.1f} GiB"
        return None

    def resident_bytes(self) -> int:
        """Return the memory of the process now; zero where the system does not tell."""
        table = Path(f"/proc/{self.process.pid}/statm")
        try:
            return int(table.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError):
            return 0

    def stop(self) -> None:
        """End the process at once."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


class Workers:
    """A number of workers, each with a unit or idle."""

    def __init__(self, count: int) -> None:
        self._workers = [Worker() for _ in range(count)]

    @property
    def idle(self) -> bool:
        """Whether a worker is free."""
        return any(worker.running is None for worker in self._workers)

    @property
    def units(self) -> list[Unit]:
        """Units that are running."""
        return [worker.running.unit for worker in self._workers if worker.running is not None]

    def start(self, unit: Unit, seconds: float, memory: int) -> None:
        """Give a unit to a free worker."""
        next(worker for worker in self._workers if worker.running is None).start(unit, seconds, memory)

    def collect(self) -> list[tuple[Unit, dict[str, Any]]]:
        """Wait a moment and return the units that have ended, with their records."""
        busy = [worker for worker in self._workers if worker.running is not None]
        ready = wait([worker.pipe for worker in busy], timeout=_TICK)
        ended = []
        for worker in busy:
            assert worker.running is not None
            unit = worker.running.unit
            if worker.pipe in ready:
                record = self._receive(worker)
                if record is not None:
                    ended.append((unit, record))
                continue
            excess = worker.over_limit()
            if excess is not None:
                elapsed = time.monotonic() - worker.running.started
                self._replace(worker)
                ended.append((unit, {"failed": excess, "seconds": elapsed}))
        return ended

    def close(self) -> None:
        """End all workers; their units are not recorded and will be run again."""
        for worker in self._workers:
            worker.stop()

    def _receive(self, worker: Worker) -> dict[str, Any] | None:
        """Return the record of a finished unit; None if the worker only says that it is ready, and the clock starts."""
        try:
            record: dict[str, Any] | None = worker.pipe.recv()
        except EOFError:
            worker.process.join()
            code = worker.process.exitcode
            self._replace(worker)
            return {"failed": f"its process ended with code {code}; with -9 the system was out of memory"}
        if record is None:
            assert worker.running is not None
            worker.is_ready, worker.running.started = True, time.monotonic()
        else:
            worker.running = None
        return record

    def _replace(self, worker: Worker) -> None:
        worker.stop()
        self._workers[self._workers.index(worker)] = Worker()


def _serve(pipe: Connection, parent: int) -> None:
    """Run units until the pipe closes."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    from threadpoolctl import threadpool_limits

    from kedge.reproduce.protocols import run_unit

    # Loading the libraries is not time of a unit.
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
                text = "".join(traceback.format_exception_only(error)).strip()
                record = {"failed": text}
            pipe.send(record)


def _end_with(parent: int) -> None:
    """End this process when the one that started it is gone, even if it was killed."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)
