"""The benchmark of communities runs on tiny data, so that it cannot rot."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import DATA_FOLDERS

ROOT = Path(__file__).parents[2]


@pytest.mark.needs("data")
def test_communities_benchmark_prints_a_line_for_every_graph_and_a_verdict():
    pytest.importorskip("leidenalg")
    command = [sys.executable, "-m", "benchmarks.communities", "--quick"]
    environment = os.environ | {"KEDGE_DATA": os.pathsep.join(map(str, DATA_FOLDERS)), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "QUICK RUN" in done.stdout
    for name in ("tr11", "mnist 70k", "citeseer"):
        assert f"\n{name}" in done.stdout
    assert "of 10 graphs kedge has at least 99.9 % of leidenalg's modularity" in done.stdout
