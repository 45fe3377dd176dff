"""Ctrl-C stops a long solve."""

import subprocess
import sys

PROGRAM = """
import _thread, threading, time
import numpy as np
from kedge.kernels import PreparedHessian, solve_rows
rng = np.random.default_rng(0)
anchors = rng.normal(size=(200, 50))
hessian = PreparedHessian(2 * anchors @ anchors.T + 1e-3 * np.eye(200))
linear = np.broadcast_to(-2 * rng.normal(size=(1, 50)) @ anchors.T, (20_000_000, 200))
threading.Timer(0.5, _thread.interrupt_main).start()
started = time.perf_counter()
try:
    solve_rows(hessian, linear, sparse_output=True)
except KeyboardInterrupt:
    print("interrupted", time.perf_counter() - started < 30)
"""


def test_interrupt_ends_the_solve_early():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.split() == ["interrupted", "True"], done.stderr
