"""Units are chosen in stages, run within limits, recorded once, and go on after being killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_experiment import CUT, DECLARED, EXPERIMENT, RESOURCES

from benchmarks.paper.campaign import Resources, run_campaign
from benchmarks.paper.plan import (
    WHOLE,
    Cut,
    choice_units,
    chosen_setting,
    pending_units,
    read_experiment,
    reported_units,
)
from benchmarks.paper.results import ResultsFile, read_records, summarise
from kedge.progress import Progress

ROOT = Path(__file__).parents[3]


def test_settings_are_compared_first_and_the_best_gets_all_seeds():
    records = {}
    first = pending_units(EXPERIMENT, records, CUT)
    assert len(first) == 2 * 2 + 2
    for unit in first:
        records[unit.key] = {"acc": 30.0 + unit.settings().get("n_init", 0) + unit.seed}
    left = pending_units(EXPERIMENT, records, CUT)
    assert [(unit.settings()["n_init"], unit.seed) for unit in left] == [(2, 2)]
    records[left[0].key] = {"acc": 1.0}
    assert pending_units(EXPERIMENT, records, CUT) == []
    lines = summarise(EXPERIMENT, records, CUT)
    assert [line.n_tried for line in lines] == [2, 1]
    assert lines[0].means["acc"].value == pytest.approx((32 + 33 + 1) / 3)


def test_a_setting_that_failed_is_not_chosen():
    records, column = {}, EXPERIMENT.columns[0]
    candidates = choice_units(EXPERIMENT, column, "generated-subspaces", CUT)
    for cell, units in candidates.items():
        for unit in units:
            failed = '"n_init": 2' in cell and unit.seed == 1
            records[unit.key] = {"failed": "took too long"} if failed else {"acc": unit.settings()["n_init"]}
    assert '"n_init": 1' in chosen_setting(candidates, records)
    assert '"n_init": 1' in next(iter(reported_units(EXPERIMENT, column, "generated-subspaces", records, CUT)))


def test_a_campaign_runs_everything_once(tmp_path):
    results = ResultsFile(tmp_path / "results.jsonl")
    assert run_campaign([EXPERIMENT], results, RESOURCES, CUT, Progress()) == 7
    assert run_campaign([EXPERIMENT], results, RESOURCES, CUT, Progress()) == 0
    lines = summarise(EXPERIMENT, results.records, CUT)
    assert all(line.reason is None for line in lines)
    assert all(0 < line.means["acc"].value <= 100 for line in lines)
    results.close()


def test_failures_and_limits_are_recorded(tmp_path):
    broken = DECLARED.replace("ridge = 0.01", "ridge = -1.0").replace("[1, 2]", "[3000000]")
    experiment = read_experiment("broken", broken.replace("n_choice", "seconds = 6\nn_choice"))
    results = ResultsFile(tmp_path / "results.jsonl")
    run_campaign([experiment], results, RESOURCES, Cut(n_rows=80, n_seeds=1), Progress())
    reasons = {line.label: line.reason for line in summarise(experiment, results.records, Cut(n_rows=80, n_seeds=1))}
    assert "took more than 6 s" in reasons["k-means"]
    assert "ridge" in reasons["fixed"]
    results.close()
    small = ResultsFile(tmp_path / "small.jsonl")
    run_campaign([EXPERIMENT], small, Resources(2, 1000), Cut(n_rows=80), Progress())
    assert all("GiB" in line.reason for line in summarise(EXPERIMENT, small.records, Cut(n_rows=80)))
    small.close()


PROGRAM = """
import sys
from pathlib import Path
from benchmarks.paper.campaign import Resources, run_campaign
from benchmarks.paper.plan import Cut, read_experiment
from benchmarks.paper.results import ResultsFile
from kedge.progress import Progress

if __name__ == "__main__":
    text = Path(sys.argv[1]).read_text()
    results = ResultsFile(Path(sys.argv[2]))
    run_campaign([read_experiment("long", text)], results, Resources(2, 8 * 2**30), Cut(n_rows=400), Progress())
"""


@pytest.mark.needs("linux")
def test_killed_runs_lose_no_finished_unit_and_repeat_none(tmp_path):
    text = DECLARED.replace("n_seeds = 3", "n_seeds = 12").replace("n_seeds = 2", "n_seeds = 12")
    declared, program, results = tmp_path / "long.toml", tmp_path / "run.py", tmp_path / "results.jsonl"
    declared.write_text(text.replace("[1, 2]", "[20, 40]"))
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), str(declared), str(results)]
    # The program is outside of the repository, which is not installed.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    process = subprocess.Popen(command, env=environment)
    deadline = time.monotonic() + 120
    while len(_lines(results)) < 3:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = _lines(results)
    done = subprocess.run(command, env=environment, check=False, timeout=300)
    assert done.returncode == 0
    after = _lines(results)
    assert len(kept) < len(after), "the kill came too late"
    whole = len(kept) if not (tmp_path / "results.torn").exists() else len(kept) - 1
    assert after[:whole] == kept[:whole]
    # Records are by key: a unit that was run twice would have a line without a record of its own.
    assert len(read_records(results)) == len(after)
    assert pending_units(read_experiment("long", declared.read_text()), read_records(results), Cut(n_rows=400)) == []


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def test_the_whole_of_an_experiment_is_the_default():
    assert Cut() == WHOLE
