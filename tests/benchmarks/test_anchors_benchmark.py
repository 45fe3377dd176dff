"""The benchmark of anchors runs on tiny data, names what is absent, and sums and compares as it says."""

import importlib
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from conftest import DATA_FOLDERS
from sklearn.cluster import KMeans

ROOT = Path(__file__).parents[2]
# On tiny data threads that wait for each other would take most of the time.
ENVIRONMENT = os.environ | {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "KEDGE_DATA": os.pathsep.join(map(str, DATA_FOLDERS)),
}


@pytest.fixture
def program(monkeypatch):
    """Import a module of the benchmark, which is not installed."""
    monkeypatch.syspath_prepend(ROOT)
    return lambda name: importlib.import_module(f"benchmarks.anchors.{name}")


def run(*arguments):
    command = [sys.executable, "-m", "benchmarks.anchors", "--quick", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "QUICK RUN" in done.stdout
    return done.stdout


def cells_of(out, method):
    """Return the cells of every line of a method."""
    return [re.split(r" {2,}", line) for line in out.splitlines() if line.startswith(f"{method}  ")]


def test_every_method_runs_or_is_said_to_be_absent(program):
    out = run("--only", "embedded")
    methods = program("methods")
    for method in methods.METHODS:
        module = methods.NEEDED.get(method, ("numpy",))[0]
        assert (f"{method}: NOT INSTALLED" in out) == (find_spec(module) is None)
        assert len(cells_of(out, method)) == (2 if find_spec(module) else 0)
    for title in ("100 of 300 rows x 128, m = 10", "200 of 300 rows x 128, m = 20"):
        assert title in out
    for ours, theirs in zip(cells_of(out, "kedge"), cells_of(out, "scikit-learn KMeans"), strict=True):
        assert ours[-1] == "4"
        assert theirs[5] == "1.00000"
        assert float(ours[5]) == pytest.approx(1, abs=1e-3)
    assert out.count("sum of squares, kedge / best of the others") == 2


@pytest.mark.needs("data")
def test_images_are_searched_in_samples_and_as_a_whole():
    out = run("--only", "mnist")
    assert "mnist: MNIST, raw grey levels: 100 of 300 rows x 784, m = 10" in out
    assert "mnist: MNIST, raw grey levels: all 300 rows x 784, m = 10" in out


def test_what_is_not_installed_is_named(program, monkeypatch):
    methods = program("methods")
    monkeypatch.setattr(methods, "find_spec", lambda name: None)
    assert methods.package_missing("faiss Kmeans") == "faiss-cpu"
    assert methods.package_missing("SuperKMeans") == "superkmeans"
    assert methods.package_missing("kedge") == ""


def test_the_sum_of_squares_is_that_of_the_nearest_centres(program):
    rows = np.random.RandomState(0).normal(5, 1, size=(2_500, 6)).astype(np.float32)
    model = KMeans(30, n_init=1, max_iter=3, random_state=0).fit(rows)
    assert program("runs").sum_of_squares(rows, model.cluster_centers_) == pytest.approx(model.inertia_, rel=1e-4)


def test_samples_and_starts_are_distinct_rows_and_depend_on_the_repeat(program):
    draw = program("runs").draw
    X = np.arange(400.0).reshape(200, 2)
    rows, starts = draw(X, 50, 5, 0)
    assert (rows.shape, rows.dtype, len(set(starts))) == ((50, 2), np.float32, 5)
    assert len(np.unique(rows, axis=0)) == 50
    again, other = draw(X, 50, 5, 0), draw(X, 50, 5, 1)
    assert np.array_equal(again[0], rows)
    assert np.array_equal(again[1], starts)
    assert not np.array_equal(other[0], rows)


def test_kedge_is_set_beside_the_best_of_the_other_libraries(program, capsys):
    def outcomes(seconds, *squares):
        return [{"seconds": one, "squares": other, "rounds": 4} for one, other in zip(seconds, squares, strict=True)]

    found = {
        "kedge": outcomes([1.0, 3.0, 2.0], 100.0, 200.0, 300.0),
        "faiss Kmeans": outcomes([4.0, 4.0, 4.0], 99.0, 198.0, 297.0),
        "scikit-learn KMeans": outcomes([9.0, 9.0, 9.0], 100.0, 200.0, 300.0),
        "bare products": [{"seconds": 0.5, "rounds": 4}] * 3,
    }
    program("table").print_found("a title", found, ["SuperKMeans: NOT INSTALLED: pip install superkmeans"])
    out = capsys.readouterr().out
    assert cells_of(out, "kedge") == [["kedge", "2.000", "1.000", "4.00", "200", "1.00000", "4"]]
    assert cells_of(out, "bare products") == [["bare products", "0.500", "0.500", "1.00", "-", "-", "4"]]
    assert "seconds, kedge / best of the others (faiss Kmeans): 0.50, <= 1: met" in out
    assert "sum of squares, kedge / best of the others (faiss Kmeans): 1.01010, <= 1.001: MISSED" in out
    assert "NOT INSTALLED" in out


def test_without_the_yardstick_only_seconds_are_compared(program, capsys):
    one = [{"seconds": 1.0, "squares": 2.0, "rounds": 4}]
    program("table").print_found("a title", {"kedge": one, "faiss Kmeans": one}, [])
    out = capsys.readouterr().out
    assert "seconds, kedge / best of the others (faiss Kmeans): 1.00, <= 1: met" in out
    assert "sum of squares, kedge" not in out
