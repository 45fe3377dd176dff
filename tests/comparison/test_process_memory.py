"""Memory and time of a fit are those of the fit, not of its parent and not of its data."""

import subprocess
import sys

import numpy as np
import pytest

from kedge import memory as process_memory
from kedge.comparison import MethodChoice
from kedge.comparison.methods import fit_alone
from kedge.inputs import Views
from kedge.memory import PeakMemory

MIB = 2**20


def fit_kmeans(rows, **settings):
    choice = MethodChoice("kmeans", settings)
    return fit_alone(choice, choice.make(2, random_state=0, memory_limit=None), Views([rows], ("X",)), None)


@pytest.mark.needs("linux")
def test_a_peak_that_is_over_is_still_seen_and_an_older_one_is_not():
    # In a process of its own: what earlier tests leave behind is freed, or used again, at any time.
    program = (
        "import numpy as np; from kedge.memory import PeakMemory; older = np.ones(12 << 20); "
        "del older; memory = PeakMemory(); before = memory.read(); array = np.ones(6 << 20); del array; "
        "print(before, memory.read())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    before, peak = map(int, done.stdout.split())
    assert before < 16 * MIB
    assert 47 * MIB < peak < 64 * MIB


@pytest.mark.needs("linux")
def test_a_mark_that_cannot_be_set_back_and_did_not_rise_is_unknown(monkeypatch, tmp_path):
    monkeypatch.setattr(process_memory, "_CLEAR", tmp_path / "missing" / "file")
    monkeypatch.setattr(process_memory, "_highest_bytes", lambda: 10**12)
    assert PeakMemory().read() is None


def test_where_the_system_does_not_tell_the_peak_is_unknown(monkeypatch, tmp_path):
    monkeypatch.setattr(process_memory, "_STATUS", tmp_path / "missing")
    monkeypatch.setattr(process_memory, "_highest_bytes", lambda: None)
    assert process_memory.resident_bytes() is None
    assert PeakMemory().read() is None


@pytest.mark.needs("linux")
def test_neither_the_parent_nor_the_rows_count_in_the_memory_of_a_fit():
    ballast = np.ones(200 * MIB // 8)
    rows = np.random.default_rng(0).normal(size=(40_000, 100))
    assert rows.nbytes > 30 * MIB
    record = fit_kmeans(rows, n_init=1, max_iter=2)
    assert ballast[0] == 1
    # k-means copies the rows once and keeps some numbers per row.
    assert 0.9 * rows.nbytes < record.peak_bytes < 3 * rows.nbytes


def test_a_process_that_dies_is_said_in_the_record(monkeypatch):
    program = (
        "import os, sys; sys.stdin.buffer.read(); print('last words', file=sys.stderr); sys.stderr.flush(); os._exit(7)"
    )
    monkeypatch.setattr("kedge.comparison.methods._PROGRAM", program)
    record = fit_kmeans(np.eye(4))
    assert record.labels is None
    assert record.reason == "its process ended with code 7: last words"


def test_a_process_that_does_not_even_listen_is_said_in_the_record(monkeypatch):
    monkeypatch.setattr("kedge.comparison.methods._PROGRAM", "import os; os.close(0); os.kill(os.getpid(), 9)")
    rows = np.zeros((1_000_000, 4))
    record = fit_kmeans(rows)
    assert "killed" in record.reason
