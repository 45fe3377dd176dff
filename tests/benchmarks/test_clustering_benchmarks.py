"""The clustering benchmarks run on tiny data, and the rivals written for them are right."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import DATA_FOLDERS, find_data

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


def test_speed_prints_every_data_set_that_can_be_had():
    out = run_quick("speed", "--repeats", "1")
    assert "10 subspaces of dimension 3" in out
    assert "10 cones of dimension 3" in out
    assert "poker hands" in out
    assert "<= 0.7" in out


def test_speed_takes_one_data_set():
    out = run_quick("speed", "--only", "subspaces", "--repeats", "2")
    assert "poker" not in out
    assert "Rounds: 2" in out


@pytest.mark.needs("linux")
def test_scaling_prints_both_exponents():
    out = run_quick("scaling")
    assert out.count("target <= 1.05") == 2


def test_prediction_prints_ratio_and_agreement():
    out = run_quick("prediction")
    assert "equal labels" in out
    assert "target >= 5" in out


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


@pytest.mark.parametrize("name", ["quality", "defaults", "exact"])
def test_programs_on_the_papers_data_run(name):
    run_quick(name)


@pytest.mark.parametrize("name", ["speed", "quality", "missing", "anchor_update"])
def test_multi_view_programs_run(name):
    run_quick(name, of="multi_view")


@pytest.mark.parametrize("name", ["mnist", "matching_pursuit"])
def test_benchmarks_of_baselines_run(name):
    run_quick(name, of="baselines")


@pytest.mark.needs("data")
@pytest.mark.parametrize("name", ["disagreements", "attempts"])
def test_programs_about_the_paper_run(name):
    assert "LEFT OUT" not in run_quick(name, of="reproduction")


@pytest.mark.parametrize("name", ["out_of_core", "dask_traffic", "sampling", "billion", "command_line"])
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


# The automatic mode.


def test_quality_of_the_automatic_mode_is_recorded_and_judged(tmp_path):
    records = tmp_path / "records.jsonl"
    run_quick("quality", "--sets", "digits", "--out", str(records), of="automatic")
    run_quick("grid", "--sets", "digits", "--out", str(records), of="automatic")
    assert len(records.read_text().splitlines()) == 2
    out = run_program("verdicts", "--records", str(records), of="automatic")
    methods = ("automatic", "defaults", "k-means best of 100", "LSC", "adaptive neighbours", "SpectralClustering")
    for method in (*methods, "label-tuned"):
        assert f"\n{method}" in out
    for verdict in ("worst beside the defaults", "standard deviation of ACC", "others wrong"):
        assert verdict in out


@pytest.mark.needs("data")
def test_label_tuned_scores_are_those_of_the_reproduction(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.setenv("KEDGE_DATA", os.pathsep.join(map(str, DATA_FOLDERS)))
    tuned = importlib.import_module("benchmarks.automatic.verdicts").tuned_scores()
    assert set(tuned) == {"ba", "orl", "tr11", "tr41", "tr45", "citeseer"}
    assert tuned["tr11"] == pytest.approx((75.6, 70.9), abs=0.1)


def test_the_docs_show_what_was_recorded(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    verdicts = importlib.import_module("benchmarks.automatic.verdicts")
    page = (ROOT / "docs/automatic.md").read_text()
    shown = page.split("<!-- table -->\n")[1].split("<!-- end -->")[0].split()
    assert shown == " ".join(verdicts.page_table(verdicts.read_records(verdicts.RECORDS))).split()


def test_the_docs_say_which_criterion_the_other_sets_choose():
    printed = (ROOT / "benchmarks/automatic/results/criteria.txt").read_text()
    table = printed.split("left out  criterion")[1].split("mean regret of criteria")[0].splitlines()[1:]
    chosen = {line.split()[0]: line[len(line.split()[0]) :].strip() for line in table if line}
    assert {name for name, line in chosen.items() if not line.startswith("modularity")} == {"citeseer"}
    assert chosen["citeseer"].startswith("mean share inside a cluster")
    regrets = [line.rsplit(maxsplit=1) for line in printed.split("mean regret over all sets\n")[1].splitlines()]
    assert len(regrets) == 11
    assert min(regrets, key=lambda line: float(line[1]))[0] == "modularity"
    page = " ".join((ROOT / "docs/automatic.md").read_text().split())
    assert "it is the one that all other data sets choose for seven of the eight" in page


def test_the_docs_give_the_cost_that_was_measured():
    printed = (ROOT / "benchmarks/automatic/results/cost.txt").read_text().split("ratio\n")[1].splitlines()
    ratios = [float(line.split()[-1]) for line in printed]
    assert len(ratios) == 5
    page = " ".join((ROOT / "docs/automatic.md").read_text().split())
    assert f"took {min(ratios)} to {max(ratios)} times as long as a plain fit on the five sets" in page


@pytest.mark.needs("data")
def test_rounds_of_sparse_rows_are_compared():
    out = run_quick("sparse_rounds", "--sets", "tr11")
    assert "100.00%" in out


def test_criteria_are_compared():
    out = run_quick("criteria", "--sets", "digits", of="automatic")
    for criterion in ("modularity", "eigengap", "silhouette of the embedding", "held-out reconstruction"):
        assert f"\n{criterion}" in out
    assert "its best eight" in out


def test_clusters_of_made_data_are_counted():
    out = run_quick("cluster_counts", of="automatic")
    assert "clouds: exact in 2 of 2" in out
    assert "orthogonal subspaces: exact in 2 of 2" in out
    assert "digits" in out
