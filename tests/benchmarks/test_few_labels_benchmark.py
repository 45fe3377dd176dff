"""The benchmarks of few labels run on tiny data."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def test_pairs_prints_every_column():
    command = [sys.executable, "-m", "benchmarks.few_labels.pairs", "--quick"]
    environment = os.environ | ONE_THREAD
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "QUICK RUN" in done.stdout
    assert "1 % of rows  cannot too  1 % of pairs  cannot too" in done.stdout
    assert done.stdout.splitlines()[-3].startswith("wine ")
