"""The benchmark of the row solver runs on tiny data, so that it cannot rot."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_row_solver_benchmark_runs():
    command = [sys.executable, "-m", "benchmarks.row_solver", "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "quadprog" in done.stdout
    assert "fitted exponent" in done.stdout
