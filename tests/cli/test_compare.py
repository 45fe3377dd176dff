"""``kedge compare`` from the outside."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest
from fit_in_process import fit_here
from sklearn.datasets import make_blobs
from typer.testing import CliRunner

from kedge.cli import compare as compare_module
from kedge.cli.commands import app


def run_outside(*arguments):
    command = [sys.executable, "-m", "kedge", "compare", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture
def run(monkeypatch):
    """Return what runs the command in this process."""
    fit_here(monkeypatch)
    return lambda *arguments: CliRunner().invoke(app, ["compare", *map(str, arguments)])


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    X, y = make_blobs(60, centers=3, n_features=3, cluster_std=0.4, random_state=0)
    path = tmp_path_factory.mktemp("data") / "rows.csv"
    lines = [["a", "b", "c", "kind"], *([*row, f"kind {label}"] for row, label in zip(X, y, strict=True))]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(lines)
    return path


def test_the_table_has_a_line_per_method_and_scores(table):
    done = run_outside(table, "--methods", "kmeans,lsr:ridge=-1", "-k", 3, "--label-column", "kind")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "60 rows"
    assert lines[2].split()[:3] == ["kmeans", "3", "100.0"]
    assert "failed" in lines[3]
    assert "ridge" in lines[3]


def test_without_labels_json_holds_agreement(run, table):
    done = run(table, "--drop", "kind", "--methods", "kmeans,agglomerative", "-k", 3, "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["agreement"]["nmi"] == [[1.0, 1.0], [1.0, 1.0]]
    assert [row["method"] for row in told["methods"]] == ["kmeans", "agglomerative"]
    assert not told["has_labels"]


@pytest.mark.parametrize(
    ("suffix", "beginning"), [(".csv", "method,settings"), (".md", "**60 rows**"), (".html", "<!doctype html>")]
)
def test_a_file_is_written_in_the_form_of_its_ending(run, table, tmp_path, suffix, beginning):
    out = tmp_path / f"table{suffix}"
    done = run(table, "--methods", "kmeans", "-k", 3, "--label-column", "kind", "--out", out)
    assert done.exit_code == 0, done.stderr
    assert out.read_text().startswith(beginning)
    assert "kmeans" in out.read_text()
    assert [path.name for path in tmp_path.iterdir()] == [out.name]


def test_several_files_are_several_views(run, tmp_path):
    rng = np.random.default_rng(0)
    kinds = np.repeat([0, 5], 20)[:, None]
    for name, width in (("rna", 4), ("protein", 2)):
        np.save(tmp_path / f"{name}.npy", kinds + rng.normal(size=(40, width)))
    files = (tmp_path / "rna.npy", tmp_path / "protein.npy")
    done = run(*files, "--methods", "lmvsc,kmeans", "-k", 2)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("40 rows, views rna, protein")
    assert "views side by side at unit energy" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--methods", "kmean"), "did you mean 'kmeans'"),
        (("--methods", "kmeans:starts=3", "--drop", "kind"), "kmeans has no setting 'starts'"),
        (("-k", "many"), "must be a whole number above zero, or auto: 'many'"),
        (("-k", "61", "--drop", "kind"), "n_clusters=61"),
        (("--out", "table.txt"), "must end in one of .csv, .md, .html"),
        (("--out", "no/such/folder/table.md"), "there is no folder"),
        (("--seed", "-1"), "Invalid value for '--seed'"),
        (("--label-column", "species", "--drop", "kind"), "species"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(run, table, arguments, complaint):
    done = run(table, *arguments)
    assert done.exit_code == 2
    assert len(done.stderr.splitlines()) == 1
    assert complaint in done.stderr
    assert done.stdout == ""


def test_a_wrong_name_is_one_line_from_the_outside_too(table):
    done = run_outside(table, "--methods", "kmean")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("kedge compare: methods: no method 'kmean'; did you mean 'kmeans'?")


def test_exit_code_is_one_where_no_method_has_a_result(run, table):
    done = run(table, "--drop", "kind", "--methods", "kmeans:n_init=0", "-k", 3)
    assert done.exit_code == 1
    assert "failed" in done.stdout


def test_rows_that_were_left_on_disk_are_read_and_too_many_are_refused(tmp_path, monkeypatch):
    from kedge.readers.contents import FileView
    from kedge.readers.npy import NpyFile

    np.save(tmp_path / "rows.npy", np.arange(12.0).reshape(4, 3))
    view = FileView("rows", tmp_path / "rows.npy", "npy", NpyFile(tmp_path / "rows.npy"))
    assert (compare_module._in_memory(view) == np.arange(12.0).reshape(4, 3)).all()
    monkeypatch.setattr(compare_module, "machine_memory", lambda: 200)
    with pytest.raises(ValueError, match="compare methods on a part of its rows"):
        compare_module._in_memory(view)


def test_without_names_kmeans_stands_beside_the_method_for_that_many_views(run, table, tmp_path):
    np.save(tmp_path / "second.npy", np.repeat([[0.0], [9.0], [4.0]], 20, axis=0))
    for files, ours in (([table], "sgl"), ([table, tmp_path / "second.npy"], "msgl")):
        done = run(*files, "-k", 3, "--label-column", "kind", "--json")
        assert [row["method"] for row in json.loads(done.stdout)["methods"]] == [ours, "kmeans"]
