"""A fit in a process of its own: nothing that other fits left behind counts in its time or memory.

The process is a plain one and not one of ``multiprocessing``, which would run the program of the user again.
"""

import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from typing import BinaryIO

import numpy as np

from kedge.comparison.fit_task import FitRecord, FitTask, input_for
from kedge.comparison.process_memory import PeakMemory, resident_bytes
from kedge.readers.contents import machine_memory

_PROGRAM = "from kedge.comparison.fit_alone import serve; serve()"
# How often the memory of a fit is looked at, in seconds.
_TICK = 0.05


def fit_alone(task: FitTask) -> FitRecord:
    """Run a fit in a new process and return its record; whatever happens to the process is in the record."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            # -P: a module of the user's folder does not shadow a library.
            [sys.executable, "-P", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            env=environment,
        )
        with process:
            try:
                answer = _exchange(process, task)
            except BaseException:
                process.kill()
                raise
        if answer:
            record: FitRecord = pickle.loads(answer)
            return record
        complaints.seek(0)
        return FitRecord(reason=_last_words(process.returncode, complaints.read().decode(errors="replace")))


def _exchange(process: subprocess.Popen[bytes], task: FitTask) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        # Straight into the pipe, without a second copy of the rows in memory.
        pickle.dump(task, process.stdin, protocol=5)
        process.stdin.close()
    except BrokenPipeError:
        return b""
    return process.stdout.read()


def _last_words(code: int, text: str) -> str:
    if code == -9:
        return "its process was killed, most likely because the system was out of memory"
    lines = text.strip().splitlines()
    return f"its process ended with code {code}" + (f": {lines[-1]}" if lines else "")


def serve() -> None:
    """Read a task from standard input, fit, and write the record to standard output."""
    # What libraries print must not get between the bytes of the record.
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)
        # The programs that started this one have asked for it; no other can write here.
        task: FitTask = pickle.load(sys.stdin.buffer)
        _write(out, _fit(task, out))


def _write(out: BinaryIO, record: FitRecord) -> None:
    pickle.dump(record, out, protocol=5)
    out.flush()


def _fit(task: FitTask, out: BinaryIO) -> FitRecord:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        memory, started = PeakMemory(), time.perf_counter()
        try:
            X, arguments = input_for(task.choice, task.views)
            model = task.choice.make(task.n_clusters, random_state=task.random_state, memory_limit=task.memory_limit)
            _watch_memory(task, out)
            memory, started = PeakMemory(), time.perf_counter()
            labels = np.asarray(model.fit(X, **arguments).labels_, dtype=np.int64)
        except MemoryError as error:
            return FitRecord(reason=str(error) or "out of memory", refused=bool(str(error)))
        except Exception as error:
            return FitRecord(reason=f"{type(error).__name__}: {' '.join(str(error).split())}")
        seconds = time.perf_counter() - started
    notes = tuple(dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught))
    return FitRecord(labels, seconds=seconds, peak_bytes=memory.read(), notes=notes)


def _watch_memory(task: FitTask, out: BinaryIO) -> None:
    """End this process with a record that says so as soon as the fit takes more memory than it may."""
    before = resident_bytes()
    limit = machine_memory() if task.memory_limit is None else task.memory_limit
    if before is None:
        return

    def watch() -> None:
        while True:
            held = resident_bytes()
            if held is not None and held - before > limit:
                _write(out, FitRecord(reason=f"took more than {limit / 2**30:,.1f} GiB of memory beyond X"))
                os._exit(0)
            time.sleep(_TICK)

    threading.Thread(target=watch, daemon=True).start()
