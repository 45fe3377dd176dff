"""Recorded outputs, from which the pages take their figures, say what made them and when, and are of this version."""

import json
import re
from pathlib import Path

import pytest

import kedge

ROOT = Path(__file__).parents[2]
OUTPUTS = sorted((ROOT / "benchmarks").glob("**/results/*.txt"))


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda path: path.stem)
def test_outputs_are_of_this_version_and_name_their_commit(output):
    header = "\n".join(output.read_text().splitlines()[:5])
    assert "QUICK RUN" not in output.read_text()
    assert re.search(r"^date      \d{4}-\d\d-\d\d \d\d:\d\d UTC, commit [0-9a-f]{10}, load", header, re.M)
    assert re.search(rf"^versions  .*kedge {re.escape(kedge.__version__)},", header, re.M)


@pytest.mark.parametrize("name", ["quality", "held_out", "last_version"])
def test_recorded_runs_say_what_made_them(name):
    lines = (ROOT / f"benchmarks/quality/results/{name}.jsonl").read_text().splitlines()
    for run in map(json.loads, lines):
        assert re.fullmatch(r"[0-9a-f]{10}", run["commit"]), run
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", run["when"]), run
        if run["method"].startswith("kedge") or run["method"] == "LSC":
            assert run["kedge"] == kedge.__version__, run
