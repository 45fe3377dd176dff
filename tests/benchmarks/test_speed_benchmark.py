"""The benchmark of speed runs on tiny data, goes on where it stopped, and says what is slow, absent or ahead."""

import importlib
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import DATA_FOLDERS

ROOT = Path(__file__).parents[2]
# On tiny data threads that wait for each other would take most of the time.
ENVIRONMENT = os.environ | {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "KEDGE_DATA": os.pathsep.join(map(str, DATA_FOLDERS)),
}
FAST = ("kedge", "kedge, coarse", "KMeans, n_init=1")


@pytest.fixture
def program(monkeypatch):
    """Import a module of the benchmark, which is not installed."""
    monkeypatch.syspath_prepend(ROOT)
    return lambda name: importlib.import_module(f"benchmarks.speed.{name}")


def run(*arguments):
    command = [sys.executable, "-m", "benchmarks.speed", "--quick", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "QUICK RUN" in done.stdout
    return done.stdout


def line_of(out, method):
    """Return the cells of the line of a method."""
    return re.split(r" {2,}", next(line for line in out.splitlines() if line.startswith(f"{method}  ")))


def test_every_data_set_is_printed_with_kedge_in_bare_products():
    out = run("--methods", "kedge, coarse", "KMeans, n_init=1")
    for title in ("poker: poker hands", "subspaces: 10 subspaces of dimension 3", "embedded: 20 bent patches"):
        assert title in out
    assert float(line_of(out, "kedge, coarse")[-1]) > 0
    assert line_of(out, "KMeans, n_init=1")[-1] == "-"


def test_every_method_runs_or_is_said_to_be_absent(program):
    out = run("--only", "embedded")
    assert "FAILED" not in out
    for name, method in program("rivals").METHODS.items():
        assert (f"{name}: NOT INSTALLED" in out) == any(find_spec(module) is None for module in method.modules)
        assert f"\n{name}" in out


def test_what_is_not_installed_is_named(program, monkeypatch):
    rivals = program("rivals")
    monkeypatch.setattr(rivals, "find_spec", lambda name: None)
    assert rivals.METHODS["faiss Kmeans, sampled"].missing() == ["faiss-cpu"]
    assert rivals.METHODS["UMAP graph + Leiden"].missing() == ["umap-learn", "igraph", "leidenalg"]
    assert rivals.METHODS["kedge"].missing() == []


def test_a_fit_over_the_limit_is_stopped_and_has_no_scores():
    out = run("--only", "subspaces", "--methods", "kedge", "MiniBatchKMeans", "--limit", "0.0001")
    assert line_of(out, "MiniBatchKMeans")[-1] == "-"
    assert out.count("> 0.0001") == 2


@pytest.fixture
def measurement(program, monkeypatch, tmp_path):
    """Return a measurement whose fits are not run: each takes as long as ``seconds`` says by its method."""
    runs = program("runs")
    made = SimpleNamespace(
        seconds={}, fits=[], path=tmp_path / "runs.jsonl", read=runs.read, records=program("runs").records
    )

    def outcome(self, method, seed):
        made.fits.append((method, seed))
        if made.seconds[method] == "error":
            raise runs.FitFailed("no")
        return {"seconds": made.seconds[method], "acc": 0.5, "nmi": 0.5, "n_found": 3}

    monkeypatch.setattr(runs.Measurement, "_outcome", outcome)
    rows = SimpleNamespace(X=np.zeros((2, 2)))

    def start(methods, n_rounds, known, limit=300.0):
        made.fits.clear()
        return runs.Measurement("a", rows, tmp_path, made.path, limit, known).run_rounds(methods, n_rounds)

    made.start = start
    return made


def test_slow_methods_have_one_round_and_failed_ones_are_named(measurement):
    measurement.seconds = {
        "kedge": 1.0,
        "UMAP + k-means": 61.0,
        "UMAP graph + Leiden": None,
        "MiniBatchKMeans": "error",
    }
    failed = measurement.start(list(measurement.seconds), 2, known := {})
    assert sorted(measurement.fits) == [
        ("MiniBatchKMeans", 0),
        ("UMAP + k-means", 0),
        ("UMAP graph + Leiden", 0),
        ("kedge", 0),
        ("kedge", 1),
    ]
    assert list(failed) == ["MiniBatchKMeans"]
    assert {method: len(by_seed) for method, by_seed in known.items()} == {
        "kedge": 2,
        "UMAP + k-means": 1,
        "UMAP graph + Leiden": 1,
    }


def test_a_stopped_run_goes_on_only_with_the_same_code_and_limit(measurement, program, monkeypatch):
    runs = program("runs")
    monkeypatch.setattr(runs.provenance, "commit", lambda: "0123456789")
    measurement.seconds = {"kedge": 1.0}
    measurement.start(["kedge"], 1, {})
    known, n_others = measurement.read(measurement.path, 300.0)
    measurement.start(["kedge"], 2, known["a"])
    assert (measurement.fits, n_others) == ([("kedge", 1)], 0)
    assert measurement.read(measurement.path, 20.0) == ({}, 2)
    for other in ("0123456789, with changes", "9876543210", "unknown"):
        monkeypatch.setattr(runs.provenance, "commit", lambda other=other: other)
        assert measurement.read(measurement.path, 300.0) == ({}, 2)


def test_what_begins_with_a_stopped_method_counts_as_stopped(program, tmp_path):
    known = {"UMAP graph + Leiden": {0: {"seconds": None}}}
    one = program("runs").Measurement("a", None, tmp_path, tmp_path / "runs.jsonl", 5.0, known)
    assert one._outcome("UMAP graph + Leiden at k", 0) == {"seconds": None}


@pytest.mark.parametrize(
    ("rival", "ahead_of"),
    [
        ((0.5, 0.5), ["kedge, coarse"]),
        ((4.0, 0.9), ["kedge"]),
        ((0.5, 0.9), ["kedge", "kedge, coarse"]),
        ((2.0, 0.7), []),
    ],
)
def test_a_rival_is_ahead_where_it_is_no_slower_and_no_worse(program, rival, ahead_of):
    points = {"kedge": (5.0, 0.8), "kedge, coarse": (1.0, 0.5), "other": rival}
    ahead = program("front").rivals_ahead(points)
    assert [name for name, rivals in ahead.items() if rivals == ["other"]] == ahead_of


def test_a_point_of_kedge_behind_the_other_does_not_count(program):
    points = {"kedge": (5.0, 0.4), "kedge, coarse": (1.0, 0.5), "other": (2.0, 0.45)}
    assert program("front").rivals_ahead(points) == {"kedge, coarse": []}


def test_summaries_are_medians_of_seconds_and_means_of_scores(program):
    runs = [
        {"seconds": s, "acc": a, "nmi": 0.5, "n_found": 4, "limit": 9.0, "product_seconds": 0.5}
        for s, a in [(1, 0.2), (2, 0.6), (6, 0.7)]
    ]
    one = program("table").Summary.of(runs)
    assert (one.seconds, one.best, one.acc, one.n_products) == (2, 1, pytest.approx(0.5), 4)
    runs[0]["seconds"] = runs[1]["seconds"] = None
    assert program("table").Summary.of(runs).seconds is None


def test_what_is_printed_is_read_back_and_drawn(program, tmp_path, capsys):
    table, recorded, picture, page = (program(name) for name in ("table", "recorded", "picture", "page"))
    ran = {"acc": 0.5, "n_found": 3, "limit": 300.0}
    known = {
        "kedge": {seed: ran | {"seconds": 2.0 + seed, "nmi": 0.9, "product_seconds": 0.5} for seed in range(3)},
        "KMeans, n_init=1": {seed: ran | {"seconds": 1.0, "nmi": 0.91} for seed in range(3)},
        "UMAP + k-means": {0: {"seconds": None, "limit": 300.0}},
    }
    table.print_set("mnist: MNIST, raw: 70,000 x 784, k = 10", table.summaries(known), ["faiss: NOT INSTALLED: x"])
    out = capsys.readouterr().out
    assert "ahead of kedge by NMI: KMeans, n_init=1" in out
    (tmp_path / "speed.txt").write_text(f"Title\ndate  today: 1\n\n{out}\nmore:\n")
    found = recorded.read(tmp_path / "speed.txt")
    assert found["mnist"].points() == {"kedge": (3.0, 0.9), "KMeans, n_init=1": (1.0, 0.91)}
    assert found["mnist"].stopped() == {"UMAP + k-means": "> 300"}
    shown = page.measured(found)
    assert "| **kedge** | 90.0 / 3.00 s |" in shown
    assert "| UMAP + k-means | > 300 s |" in shown
    ahead = "these reach kedge's front, no slower and with no lower NMI than a point on it: KMeans, n_init=1."
    assert f"On MNIST, {ahead}" in shown
    picture.save(tmp_path / "speed.txt", tmp_path / "front.png")
    assert (tmp_path / "front.png").stat().st_size > 10_000
