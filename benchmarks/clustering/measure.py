"""Timing, memory, the lines that say on what the figures were taken, and plain tables."""

import gc
import os
import platform
import resource
import sys
import time
from pathlib import Path

from kedge._native import instruction_set
from threadpoolctl import threadpool_info

from benchmarks import provenance
from benchmarks.row_solver.measure import require_compiled_solver
from kedge.kernels.selection import choose_kernel, default_threads

# Unit of the peak that the system reports.
PEAK_UNIT = 1 if sys.platform == "darwin" else 1024


def start_run(title, quick):
    """Refuse to measure without the compiled solver; print title, date, machine, versions and kernel."""
    require_compiled_solver()
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    blas = {f"{pool['internal_api']} {pool['version']}" for pool in threadpool_info() if pool["user_api"] == "blas"}
    versions = ", ".join(f"{name} {number}" for name, number in provenance.versions().items())
    print(title)
    print(f"date      {provenance.now()} UTC, commit {provenance.commit()}, load at start {load}")
    print(f"machine   {processor_name()}, {default_threads()} processors, {memory:.0f} GiB, {platform.system()}")
    print(f"versions  Python {platform.python_version()}, {versions}, {' and '.join(sorted(blas)) or 'unknown BLAS'}")
    print(f"kernel    {choose_kernel().name}, {instruction_set()} loops")
    if quick:
        print("QUICK RUN ON TINY DATA: shows that the program works; no figure below is a measurement.")
    print(flush=True)


def processor_name():
    """Name of the processor where the system gives one, else its architecture."""
    table = Path("/proc/cpuinfo")
    lines = table.read_text().splitlines() if table.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]} ({platform.machine()})" if names else platform.machine()


def timed(action, *arguments):
    """Seconds of one call, and what it returned."""
    gc.collect()
    started = time.perf_counter()
    result = action(*arguments)
    return time.perf_counter() - started, result


def peak_bytes():
    """Largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * PEAK_UNIT


def resident_bytes():
    """Resident memory of this process now; where the system does not tell, the largest so far."""
    table = Path("/proc/self/statm")
    if not table.exists():
        return peak_bytes()
    return int(table.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def verdict(value, target, at_most=True):
    """Words for a figure beside its target."""
    is_met = value <= target if at_most else value >= target
    return f"{'<=' if at_most else '>='} {target:g}: {'met' if is_met else 'MISSED'}"


def print_table(header, rows):
    """Print columns under their names: the first to the left, the others to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, *rows]:
        cells = [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
        print("  ".join([f"{row[0]:<{widths[0]}}", *cells]), flush=True)
