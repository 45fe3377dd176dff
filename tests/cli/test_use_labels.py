"""Labels of some rows on the command line: classes of all others, new rows, and which rows to label next."""

import csv
import json

import numpy as np
import pytest
from sklearn.datasets import make_blobs

X, Y = make_blobs(240, centers=3, n_features=4, cluster_std=0.6, random_state=4)
NAMES = np.array(["ant", "bee", "cat"])[Y]


@pytest.fixture
def table(tmp_path):
    """Write a CSV file in which every tenth row has a class."""
    path = tmp_path / "insects.csv"
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["id", "a", "b", "c", "d", "kind"])
        for row, (values, name) in enumerate(zip(X, NAMES, strict=True)):
            out.writerow([f"i{row}", *values, name if row % 10 == 0 else ""])
    return path


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


def test_classes_are_filled_in_and_new_rows_get_them(run, table, tmp_path):
    code, out, err = run("fit", table, "--label-column", "kind", "--use-labels", "--out", "run", "--report")
    assert (code, err) == (0, "")
    assert "24 rows, from kind" in out
    found = rows_of((tmp_path / "run" / "labels.csv").read_text())
    assert [one["row"] for one in found[:2]] == ["i0", "i1"]
    assert np.mean([one["label"] for one in found] == NAMES) > 0.97
    assert all(0 < float(one["confidence"]) <= 1 for one in found)
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["classes"]["labelled"] == 24
    assert record["estimator"] == "SGLClassifier"
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Classes" in page
    assert "Rows worth a label" in page
    code, out, err = run("predict", "run", table)
    assert (code, err) == (0, "")
    again = [one["label"] for one in rows_of(out)]
    assert np.mean([one == other["label"] for one, other in zip(again, found, strict=True)]) > 0.99
    assert run("report", "run")[0] == 0


def test_suggest_names_rows_for_clusters_and_for_classes(run, table):
    assert run("fit", table, "--drop", "kind", "-k", 3, "--out", "clusters")[0] == 0
    assert run("fit", table, "--label-column", "kind", "--use-labels", "--out", "classes")[0] == 0
    for folder, labels in (("clusters", {"0", "1", "2"}), ("classes", {"ant", "bee", "cat"})):
        code, out, err = run("suggest", folder, "-n", 3)
        assert (code, err) == (0, "")
        found = rows_of(out)
        assert {one["label"] for one in found} == labels
        assert all(one["row"].startswith("i") for one in found)
    labelled = {f"i{row}" for row in range(0, 240, 10)}
    assert not labelled & {one["row"] for one in rows_of(run("suggest", "classes", "-n", 30)[1])}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--use-labels"], "--use-labels needs --label-column"),
        (["--new-classes", "--label-column", "kind"], "--new-classes needs --use-labels"),
        (["--use-labels", "--label-column", "kind", "-k", "3"], "-k does not go with --use-labels"),
        (["--use-labels", "--label-column", "kind", "--beta", "0.1"], "--beta does not go with --use-labels"),
        (["--label-column", "kind"], "row 1: no label in 'kind'; fill it, use the labels you have with --use-labels"),
    ],
)
def test_options_that_do_not_go_together_are_refused(run, refused, table, tmp_path, options, message):
    refused(run("fit", table, *options, "--out", "run"), message)
    assert not (tmp_path / "run").exists()
