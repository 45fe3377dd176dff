"""``kedge reproduce`` opens benchmarks.paper where the repository is, and says so where it is not."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from kedge.cli import commands


def run(*arguments):
    command = [sys.executable, "-m", "kedge", "reproduce", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.check
@pytest.mark.parametrize("option", ["--list", "--help"])
def test_options_go_to_the_program_of_the_repository(option):
    done = run(option)
    assert done.returncode == 0, done.stderr
    assert ("six-data-sets" if option == "--list" else "usage: kedge reproduce") in done.stdout


@pytest.mark.check
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["table-9"], "no experiment 'table-9'; there are"),
        (["--jobs", "0"], "--jobs 0 should be at least 1"),
        (["--nothing"], "unrecognized arguments: --nothing"),
    ],
)
def test_wrong_arguments_are_one_line_and_exit_code_two(arguments, told, tmp_path):
    done = run(*arguments, "--out", str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.startswith(f"kedge reproduce: {told}")
    assert len(done.stderr.splitlines()) == 1


def test_without_the_repository_one_line_says_what_is_needed(monkeypatch, tmp_path):
    monkeypatch.setattr(commands, "__file__", str(tmp_path / "lib" / "kedge" / "cli" / "commands.py"))
    done = CliRunner().invoke(commands.app, ["reproduce", "--list"])
    assert done.exit_code == 2
    assert done.stderr.splitlines() == [
        "kedge reproduce: needs kedge's repository: clone it and run `python -m benchmarks.paper` there"
    ]
