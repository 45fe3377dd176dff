"""A fit that is interrupted or killed leaves no output, and the next run clears what it left behind."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from data_file_writers import write_npy

# A fit that says when it is under way and then never ends.
PROGRAM = """
import contextlib, sys, threading
from kedge.cli import fit, run_folder
from kedge.cli.commands import app

def endless(*arguments, **options):
    print("fitting", flush=True)
    threading.Event().wait()

if sys.argv[1] == "fit":
    fit._fit = endless
elif sys.argv[1] == "replace":
    run_folder.Path.rename = lambda path, target, rename=run_folder.Path.rename: (rename(path, target), endless())
else:
    run_folder.write_table = endless
if sys.argv[1] == "alone":
    run_folder.watched = lambda *paths: contextlib.nullcontext()
app(["fit", "rows.npy", "-k", "2", "--json", *sys.argv[2:]])
"""

pytestmark = pytest.mark.needs("linux")


@pytest.fixture
def folder(tmp_path):
    write_npy(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(40, 3)))
    return tmp_path


def stop_during(stage, folder, how, *options):
    command = [sys.executable, "-c", PROGRAM, stage, *options]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "fitting\n"
        process.send_signal(how)
        _, err = process.communicate(timeout=60)
    return process.returncode, err


def listed(folder):
    return sorted(path.name for path in folder.iterdir())


def wait_until_listed(folder, names):
    """Wait for the process that clears up."""
    for _ in range(600):
        if listed(folder) == names:
            return
        time.sleep(0.05)
    assert listed(folder) == names


def run(folder, *options):
    command = [sys.executable, "-m", "kedge", "fit", "rows.npy", "-k", "2", "--json", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("stage", ["fit", "write"])
def test_an_interrupt_leaves_nothing(stage, folder):
    code, err = stop_during(stage, folder, signal.SIGINT)
    assert (code, err) == (130, "kedge fit: stopped; nothing was written\n")
    assert listed(folder) == ["rows.npy"]


def test_a_kill_during_the_fit_leaves_nothing(folder):
    code, _ = stop_during("fit", folder, signal.SIGKILL)
    assert code == -signal.SIGKILL
    assert listed(folder) == ["rows.npy"]


def test_a_kill_during_writing_leaves_nothing(folder):
    code, _ = stop_during("write", folder, signal.SIGKILL)
    assert code == -signal.SIGKILL
    wait_until_listed(folder, ["rows.npy"])


def test_a_kill_while_an_earlier_run_is_replaced_leaves_that(folder):
    assert run(folder).returncode == 0
    before = (folder / "kedge-run" / "run.json").read_bytes()
    code, _ = stop_during("replace", folder, signal.SIGKILL, "--overwrite")
    assert code == -signal.SIGKILL
    wait_until_listed(folder, ["kedge-run", "rows.npy"])
    assert (folder / "kedge-run" / "run.json").read_bytes() == before


@pytest.mark.check
def test_after_a_kill_that_nothing_watched_the_next_run_clears_up(folder):
    code, _ = stop_during("alone", folder, signal.SIGKILL)
    assert code == -signal.SIGKILL
    assert "kedge-run" not in listed(folder)
    assert any(name.endswith(".kedge-partial") for name in listed(folder))
    done = run(folder)
    assert done.returncode == 0, done.stderr
    assert listed(folder) == ["kedge-run", "rows.npy"]


@pytest.mark.check
def test_the_earlier_run_survives_a_kill_of_the_one_that_replaces_it(folder):
    assert run(folder).returncode == 0
    before = (folder / "kedge-run" / "run.json").read_bytes()
    stop_during("write", folder, signal.SIGKILL, "--overwrite")
    wait_until_listed(folder, ["kedge-run", "rows.npy"])
    assert (folder / "kedge-run" / "run.json").read_bytes() == before


@pytest.mark.check
def test_what_a_living_run_writes_is_left_alone(folder):
    command = [sys.executable, "-c", PROGRAM, "write"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "fitting\n"
            [partial] = folder.glob(".kedge-run.*.kedge-partial")
            done = run(folder)
            assert done.returncode == 0, done.stderr
            assert partial.is_dir()
        finally:
            os.kill(process.pid, signal.SIGKILL)
