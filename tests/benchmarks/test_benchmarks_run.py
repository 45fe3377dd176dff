"""Benchmarks and the demo run on tiny data, so that they cannot rot."""

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


def test_demo_leaves_a_report(tmp_path):
    command = [sys.executable, str(ROOT / "examples" / "digits_report.py"), "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "kedge SGL" in page
    assert "data:image/png;base64," in page
