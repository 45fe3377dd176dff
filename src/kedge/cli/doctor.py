"""``kedge doctor``: what this installation is made of and how fast it solves rows."""

import platform
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from kedge.kernels import PreparedHessian, available_kernels, solve_rows
from kedge.kernels.selection import default_threads
from kedge.optional_libraries import CORE_LIBRARIES, installed_version

SELF_TEST_SECONDS = 1.0


def print_report() -> int:
    """Print the report; return 0, or 1 when the compiled solver is missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the report says the same in its own line
        kernels = available_kernels()
    compiled = "compiled" in kernels
    for name, value in describe_installation(compiled):
        print(f"{name:<18} {value}")
    for name in kernels:
        for n_threads in sorted({1, default_threads()}):
            if name == "compiled" or n_threads == 1:
                print(f"{'self-test':<18} {measure_rows_per_second(name, n_threads)}", flush=True)
    return 0 if compiled else 1


def describe_installation(compiled: bool) -> list[tuple[str, str]]:
    """Return the versions of kedge and its libraries, the platform, the compiled solver, threads and BLAS libraries."""
    report = [("kedge", installed_version("kedge")), ("python", f"{platform.python_version()} ({sys.executable})")]
    report += [(name, installed_version(name)) for name in (*CORE_LIBRARIES, "joblib", "threadpoolctl")]
    for extra, name in (("cli", "typer"), ("plots", "matplotlib")):
        report.append((f"extra {extra}", f"{name} {installed_version(name)}"))
    solver = "MISSING: rows are solved in NumPy, hundreds of times slower; reinstall kedge"
    if compiled:
        from kedge._native import instruction_set, is_built_for_speed

        built = "built for speed" if is_built_for_speed() else "NOT built for speed"
        solver = f"present, {instruction_set()} loops, {built}"
    report += [("platform", platform.platform()), ("compiled solver", solver)]
    report.append(("threads", f"{default_threads()} for rows"))
    pools = threadpool_info()
    for pool in pools:
        words = f"{pool['internal_api']} {pool.get('version') or '(no version)'}, {pool['num_threads']} threads"
        report.append((pool["user_api"], f"{words} ({Path(pool['filepath']).parent.name})"))
    if not any(pool["user_api"] == "blas" for pool in pools):
        config: dict[str, Any] = np.show_config(mode="dicts")  # type: ignore[assignment]
        blas = config["Build Dependencies"]["blas"]
        report.append(("blas", f"{blas.get('name')} {blas.get('version')}, threads not controllable"))
    return report


def measure_rows_per_second(kernel: str, n_threads: int) -> str:
    """Solve random rows for about a second and say how many."""
    rng = np.random.default_rng(0)
    n_anchors, n_rows = 100, 2_000 if kernel == "compiled" else 50
    anchors = rng.normal(size=(n_anchors, 30))
    hessian = PreparedHessian(2.0 * anchors @ anchors.T + 0.6 * np.eye(n_anchors))
    linear = -2.0 * rng.normal(size=(n_rows, 30)) @ anchors.T
    solved, started = 0, time.perf_counter()
    while time.perf_counter() - started < SELF_TEST_SECONDS:
        solution = solve_rows(hessian, linear, n_threads=n_threads, kernel=kernel)
        solved += n_rows
    rate = solved / (time.perf_counter() - started)
    support = np.count_nonzero(solution.coefficients) / n_rows
    words = "1 thread" if n_threads == 1 else f"{n_threads} threads"
    return f"{kernel}, {words}: {rate:,.0f} rows per second ({n_anchors} anchors, {support:.0f} of them per row)"
