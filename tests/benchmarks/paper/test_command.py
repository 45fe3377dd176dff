"""``python -m benchmarks.paper`` from the outside: a cut of everything, a second run, wrong names."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import DATA_FOLDERS

ROOT = Path(__file__).parents[3]


def run(*arguments, data=True):
    folders = os.pathsep.join(str(folder) for folder in DATA_FOLDERS) if data else ""
    environment = os.environ | {"KEDGE_DATA": folders}
    command = [sys.executable, "-m", "benchmarks.paper", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.check("minutes")
@pytest.mark.needs("data")
def test_a_cut_of_every_table_and_figure_runs_and_is_written(tmp_path):
    done = run("--quick", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    failures = [record for record in records if "failed" in record]
    # Some settings ask for more anchors than the cut has rows, and say so.
    assert all("n_anchors" in record["failed"] for record in failures), failures
    assert len(failures) < 0.1 * len(records)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"six-data-sets.md", "citeseer.html", "anchors-tr45.svg", "sensitivity-orl.png", "convergence.svg"} <= names
    text = (tmp_path / "six-data-sets.md").read_text()
    assert "A CUT of the experiment" in text
    assert "the data cannot be had" in text  # of one of the six
    assert "data not at hand" in (tmp_path / "caltech101-7.md").read_text()


def test_a_second_run_finds_nothing_to_do(tmp_path):
    arguments = ("complexity", "--quick", "--out", str(tmp_path), "--jobs", "2")
    first, second = run(*arguments, data=False), run(*arguments, data=False)
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    assert second.stdout.startswith("0 units run")
    picture = tmp_path / "complexity.svg"
    assert picture.exists()
    picture.unlink()
    third = run("complexity", "--quick", "--pages-only", "--out", str(tmp_path), data=False)
    assert third.returncode == 0, third.stderr
    assert picture.exists()


def test_a_wrong_name_is_one_line_and_exit_code_two(tmp_path):
    done = run("table-9", "--out", str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.startswith("python -m benchmarks.paper: no experiment 'table-9'; there are")
    assert len(done.stderr.splitlines()) == 1


def test_what_there_is_can_be_listed():
    done = run("--list", data=False)
    assert done.returncode == 0
    assert "six-data-sets" in done.stdout
    assert "rcv1-4: " in done.stdout
