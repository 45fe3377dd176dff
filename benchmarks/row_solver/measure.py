"""Timing of our own solver."""

import time
from unittest.mock import patch

import numpy as np

from kedge.kernels import PreparedHessian, available_kernels, selection, solve_rows

REPEATS = 4
LEAST_SECONDS = 1.0


def require_compiled_solver():
    """Refuse to measure the twin in place of the solver."""
    if "compiled" not in available_kernels():
        raise SystemExit("benchmarks need the compiled solver; run `kedge doctor`")


def best_seconds(action):
    """Shortest of several runs: the machine's other work only ever adds time, and hits short runs hardest."""
    seconds, result = [], None
    while len(seconds) < REPEATS or sum(seconds) < LEAST_SECONDS:
        started = time.perf_counter()
        result = action()
        seconds.append(time.perf_counter() - started)
    return min(seconds), result


def rate(problem, linear, **options):
    """Rows per second, checks, probe and allocation included, and the coefficients; the Hessian is prepared before."""
    seconds, solution = best_seconds(lambda: solve_rows(problem.hessian, linear, **options))
    return len(linear) / seconds, solution.coefficients


def preparation_milliseconds(problem):
    """Time to check, factorise and invert the Hessian, once for all rows."""
    return 1e3 * best_seconds(lambda: PreparedHessian(problem.hessian.matrix).projected_inverse)[0]


def forced_rate(problem, large, most_rows=None):
    """Rows per second with one of the two cold starts forced."""
    linear = problem.linear[:most_rows]
    with patch.object(selection, "expects_large_supports", lambda *_: large):
        seconds, _ = best_seconds(lambda: solve_rows(problem.hessian, linear))
    return len(linear) / seconds


def worst_kkt(problem, weights):
    """Largest KKT residual relative to max|H| + max|f|."""
    gradient = weights @ problem.hessian.matrix + problem.linear
    level = (gradient * weights).sum(axis=1, keepdims=True)
    residual = np.maximum(level - gradient, np.where(weights > 0, np.abs(gradient - level), 0)).max(axis=1)
    return float((residual / (np.abs(problem.linear).max(axis=1) + np.abs(problem.hessian.matrix).max())).max())
