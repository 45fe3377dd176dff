"""General solvers on the same rows, for as many rows as fit in a few seconds."""

import time

import numpy as np
import quadprog
from proxsuite import proxqp

SECONDS = 4.0
LEAST_ROWS = 5


def rows_per_second_of_quadprog(problem):
    """Quadprog (Goldfarb-Idnani), one call per row; returns the rate and the solutions."""
    m = problem.n_anchors
    constraints = np.column_stack([np.ones(m), np.eye(m)])
    bounds = np.concatenate([[1.0], np.zeros(m)])
    solved = []
    started = time.perf_counter()
    for row in problem.linear:
        solved.append(quadprog.solve_qp(problem.hessian.matrix, -row, constraints, bounds, meq=1)[0])
        if time.perf_counter() - started > SECONDS and len(solved) >= LEAST_ROWS:
            break
    return len(solved) / (time.perf_counter() - started), np.array(solved)


def rows_per_second_of_proxqp(problem, n_threads):
    """ProxQP's parallel batch at accuracy 1e-9, set-up counted as ours is; returns the rate and the solutions."""
    m = problem.n_anchors
    n_rows = 2 * n_threads
    while True:
        rate, solved, seconds = _proxqp_batch(problem.hessian.matrix, problem.linear[:n_rows], m, n_threads)
        if seconds > SECONDS / 3 or n_rows >= len(problem.linear):
            return rate, solved
        n_rows = min(4 * n_rows, len(problem.linear))


def _proxqp_batch(hessian, linear, m, n_threads):
    started = time.perf_counter()
    batch = proxqp.dense.BatchQP(len(linear))
    for row in linear:
        qp = batch.init_qp_in_place(m, 1, m)
        qp.settings.eps_abs = 1e-9
        qp.init(hessian, row, np.ones((1, m)), np.ones(1), np.eye(m), np.zeros(m), np.full(m, 1e20))
    proxqp.dense.solve_in_parallel(batch, n_threads)
    seconds = time.perf_counter() - started
    return len(linear) / seconds, np.array([batch.get(i).results.x for i in range(len(linear))]), seconds
