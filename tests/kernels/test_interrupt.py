"""Ctrl-C stops a long solve, on the fast path and on the slow one."""

import subprocess
import sys

import pytest

PROGRAM = """
import _thread, threading, time, warnings
import numpy as np
from kedge.kernels import PreparedHessian, solve_rows
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
anchors = rng.normal(size=(200, 50))
hessian = PreparedHessian(2 * anchors @ anchors.T + {ridge} * np.eye(200))
linear = np.broadcast_to(-2 * rng.normal(size=(1, 50)) @ anchors.T, ({rows}, 200))
threading.Timer(0.5, _thread.interrupt_main).start()
started = time.perf_counter()
try:
    solve_rows(hessian, linear, sparse_output=True, tol={tol}, n_threads={threads})
except KeyboardInterrupt:
    print("interrupted", time.perf_counter() - started < {within})
"""

FAST = {"ridge": 1e-3, "rows": 20_000_000, "tol": 1e-10, "threads": 2, "within": 30}
# No double meets this tolerance, so every row takes the slow path: about a second each.
SLOW = {"ridge": 1e3, "rows": 1_000, "tol": 1e-30, "threads": 1, "within": 10}


@pytest.mark.parametrize("case", [FAST, SLOW], ids=["fast path", "slow path"])
def test_interrupt_ends_the_solve_early(case):
    command = [sys.executable, "-c", PROGRAM.format(**case)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.split() == ["interrupted", "True"], done.stderr
