"""The clustering benchmarks run on tiny data, and the rivals written for them are right."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import DATA_FOLDERS, find_data
from sklearn.neighbors import KNeighborsClassifier

ROOT = Path(__file__).parents[2]


# On tiny data and a busy machine, threads that wait for each other would take most of the time.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def run_program(name, *arguments, of="clustering"):
    command = [sys.executable, "-m", f"benchmarks.{of}.{name}", *arguments]
    environment = os.environ | ONE_THREAD | {"KEDGE_DATA": os.pathsep.join(map(str, DATA_FOLDERS))}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_quick(name, *arguments, of="clustering"):
    out = run_program(name, "--quick", *arguments, of=of)
    assert "QUICK RUN" in out
    return out


@pytest.fixture
def program(monkeypatch):
    """Import a module of the benchmarks, which are not installed."""
    monkeypatch.syspath_prepend(ROOT)
    return lambda name: importlib.import_module(f"benchmarks.clustering.{name}")


@pytest.mark.needs("linux")
def test_scaling_prints_both_exponents():
    out = run_quick("scaling")
    assert out.count("target <= 1.05") == 2


def test_prediction_prints_rows_alone_ratios_and_agreement():
    out = run_quick("prediction")
    assert "equal labels" in out
    assert out.count("a row alone: ") == 2
    assert out.count("KNeighborsClassifier(1) over ours: ") == out.count("ours over the bare product: ") >= 4


def test_subspaces_prints_all_rivals():
    out = run_quick("subspaces")
    assert "SSC-OMP, 6 nonzeros" in out
    assert "kedge SGL, signed, 60 anchors" in out
    assert "SpectralClustering" in out


def test_absent_files_are_said_aloud_and_hands_are_drawn(program, monkeypatch, tmp_path, capsys):
    data = program("data")
    monkeypatch.setattr(data, "FOLDERS", [tmp_path])
    assert data.load("mnist", quick=True) is None
    assert "mnist: LEFT OUT" in capsys.readouterr().out
    poker = data.load("poker", quick=True)
    assert "DRAWN HERE" in poker.description
    assert poker.X.shape == (data.QUICK_ROWS, 10)


def test_verdict_reads_the_target_on_the_right_side(program):
    verdict = program("measure").verdict
    assert verdict(0.2, 0.2) == "<= 0.2: met"
    assert verdict(0.21, 0.2) == "<= 0.2: MISSED"
    assert verdict(4.9, 5, at_most=False) == ">= 5: MISSED"


def test_embeddings_are_rows_of_unit_length_near_patches_that_overlap(program):
    X, y = program("embeddings").draw_embeddings(4_000)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, atol=1e-5)
    sizes = np.bincount(y)
    assert len(sizes) == 20
    assert sizes.max() > 5 * sizes.min()
    nearest = KNeighborsClassifier(10).fit(X[:3_000], y[:3_000])
    assert 0.85 < nearest.score(X[3_000:], y[3_000:]) < 0.99


def test_drawn_hands_have_five_different_cards_and_the_known_shares(program):
    hands, classes = program("poker").draw_hands(20_000)
    cards = np.sort(hands[:, 0::2].astype(int) * 100 + hands[:, 1::2], axis=1)
    assert (np.diff(cards, axis=1) > 0).all()
    shares = np.bincount(classes, minlength=10) / len(classes)
    # Shares of nothing, one pair, two pairs, three of a kind among all hands, to four standard errors.
    np.testing.assert_allclose(shares[:4], [0.5012, 0.4226, 0.0475, 0.0211], rtol=0, atol=0.015)


@pytest.mark.needs("data")
def test_rule_gives_the_classes_of_real_hands(program):
    with np.load(find_data("Pokerhand_real43k.npz")) as file:
        np.testing.assert_array_equal(program("poker").class_hands(file["X"]), file["y"])


def test_exact_graphs_run_on_the_papers_data():
    run_quick("exact")


@pytest.mark.parametrize("name", ["speed", "quality", "missing"])
def test_multi_view_programs_run(name):
    run_quick(name, of="multi_view")


@pytest.mark.parametrize("name", ["mnist", "matching_pursuit"])
def test_benchmarks_of_baselines_run(name):
    run_quick(name, of="baselines")


@pytest.mark.needs("data")
def test_the_program_of_disagreements_runs():
    assert "LEFT OUT" not in run_quick("disagreements", of="paper")


@pytest.mark.parametrize("name", ["out_of_core", "dask_traffic", "ten_billion", "command_line", "hundred_million"])
def test_benchmarks_of_scale_run(name):
    run_quick(name, of="scale")


def test_cells_are_dropped_at_the_share_asked_for_and_no_row_loses_all(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    missing = importlib.import_module("benchmarks.multi_view.missing")
    observed = missing.drop_cells(2_000, 3, 0.5, seed=0)
    assert observed.any(axis=1).all()
    assert 0.5 <= observed.mean() <= 0.56
    filled = missing.impute_means(np.arange(12.0).reshape(6, 2), np.array([True, True, False, True, True, True]))
    np.testing.assert_allclose(filled[2], filled[[0, 1, 3, 4, 5]].mean(axis=0), rtol=1e-6)
