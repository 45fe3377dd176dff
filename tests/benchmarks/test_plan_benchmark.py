"""The benchmark of kedge.plan runs on tiny data."""

import os
import subprocess
import sys
from pathlib import Path

from conftest import DATA_FOLDERS

ROOT = Path(__file__).parents[2]
# One of each kind: in memory, several views, on disk, and by the command.
CASES = ("10,000 x 50", "1,000,000 x 30, 2 views", "20,000,000 x 30 .npy", "2,000,000 x 30 .csv, kedge fit")


def test_the_benchmark_of_plans_runs():
    command = [sys.executable, "-m", "benchmarks.scale.plan", "--quick", "--only", *CASES]
    environment = os.environ | {"KEDGE_DATA": os.pathsep.join(map(str, DATA_FOLDERS))}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "QUICK RUN" in done.stdout
    assert [name for name in CASES if f"{name}: " not in done.stdout] == []
    assert done.stdout.count("\n  memory ") == len(CASES)
