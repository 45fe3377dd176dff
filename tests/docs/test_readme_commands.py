"""Every command that the README shows is run as it stands there, and leaves what the README says."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from fit_in_process import fit_here
from typer.testing import CliRunner

from kedge.cli.commands import app

pytestmark = pytest.mark.check
ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
# Run by tests of their own, or about the shell alone.
ELSEWHERE = {"make demo", "make test", "source .venv/bin/activate"}


def shown_commands():
    blocks = re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL)
    return [shlex.join(shlex.split(line, comments=True)) for block in blocks for line in block.splitlines()]


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Run the commands one after another in a folder that holds what the demo leaves; return it and the outputs."""
    folder = tmp_path_factory.mktemp("readme")
    program = [sys.executable, str(ROOT / "examples" / "digits_views.py"), "demo/digits"]
    subprocess.run(program, cwd=folder, check=True, capture_output=True)
    outputs = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        fit_here(patch)
        for command in shown_commands():
            if command not in ELSEWHERE:
                name, *arguments = shlex.split(command)
                assert name == "kedge", command
                done = CliRunner().invoke(app, arguments)
                assert done.exit_code == 0, f"{command}: {done.output}"
                outputs[arguments[0]] = done.stdout
    return folder, outputs


def test_every_command_of_kedge_is_among_them(ran):
    assert set(ran[1]) == {"fit", "plan", "predict", "report", "compare", "doctor"}


def test_the_folder_of_the_run_holds_what_the_readme_lists(ran):
    run = ran[0] / "run"
    for name in ("labels", "layers"):
        assert {path.suffix for path in run.glob(f"{name}.*")} == {".csv", ".parquet"}
    assert (run / "report.html").exists()
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    assert {"parameters", "versions", "labels_given", "seconds"} <= set(record)
    assert (ran[0] / "labels.csv").read_text().count("\n") == 1 + record["n_rows"]


def test_without_a_number_the_run_found_one(ran):
    record = json.loads((ran[0] / "run-auto" / "run.json").read_text(encoding="utf-8"))
    assert record["parameters"]["n_clusters"] == "auto"
    assert record["n_clusters"] > 1
    assert record["labels_given"] is None


def test_the_comparison_has_a_line_per_method(ran):
    names = [line.split()[0] for line in ran[1]["compare"].splitlines()[2:]]
    assert names == ["sgl", "kmeans", "lsc"]
