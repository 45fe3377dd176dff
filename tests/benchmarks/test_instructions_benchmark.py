"""The benchmark of instruction counts runs on tiny data, and its counts repeat."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.instructions.__main__ import recorded_millions
from benchmarks.instructions.problems import full_problems, quick_problems

ROOT = Path(__file__).parents[2]


def run_quick(**environment):
    command = [sys.executable, "-m", "benchmarks.instructions", "--quick"]
    return subprocess.run(
        command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, timeout=300, check=False
    )


def printed_table():
    done = run_quick()
    assert done.returncode == 0, done.stderr
    assert "QUICK RUN" in done.stdout
    names = tuple(f"{problem.name}  " for problem in quick_problems())
    return [line for line in done.stdout.splitlines() if line.startswith(names)]


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_two_runs_count_the_same_instructions_for_every_routine():
    table = printed_table()
    assert len(table) == len(quick_problems())
    assert printed_table() == table


def test_without_valgrind_one_line_says_what_to_install(tmp_path):
    done = run_quick(PATH=str(tmp_path))
    assert done.returncode != 0
    assert done.stderr.splitlines() == [
        "benchmarks.instructions: nothing counted, as valgrind is missing; install the package valgrind"
    ]


def test_every_problem_has_a_recorded_count():
    assert set(recorded_millions()) == {problem.key for problem in full_problems()}
