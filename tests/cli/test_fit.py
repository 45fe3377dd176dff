"""``kedge fit`` from the outside: the folder it leaves, what it prints, and bad input in one line."""

import json
import subprocess
import sys

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from data_file_writers import write_csv, write_npz, write_parquet, write_sparse_npz

import kedge
from kedge.datasets import make_multiview
from kedge.metrics import clustering_accuracy


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    return rng.normal(size=(90, 4)) + 10.0 * np.eye(3, 4)[labels], labels


def test_the_folder_of_a_run_holds_everything(run, blobs, tmp_path):
    rows, labels = blobs
    write_csv(tmp_path / "blobs.csv", rows, labels)
    code, out, err = run("fit", "blobs.csv", "-k", 3, "--label-column", "y", "--out", "done")
    assert (code, err) == (0, "")
    for word in ("rows", "90", "4 columns, from blobs.csv", "30, 30, 30", "accuracy 1.000", str(tmp_path / "done")):
        assert word in out
    folder = tmp_path / "done"
    tables = {"labels.csv", "labels.parquet", "layers.csv", "layers.parquet"}
    assert {path.name for path in folder.iterdir()} == tables | {"model.kedge", "run.json"}
    model = kedge.load(folder / "model.kedge")
    expected = kedge.SGL(3, random_state=0).fit(rows)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert list(model.feature_names_in_) == ["a", "b", "c", "d"]
    assert model.verbose == 0
    for table in (pyarrow.csv.read_csv(folder / "labels.csv"), pyarrow.parquet.read_table(folder / "labels.parquet")):
        assert table.column_names == ["row", "label", "confidence"]
        assert table["row"].to_pylist() == list(range(90))
        np.testing.assert_array_equal(table["label"].to_numpy(), expected.labels_)
        np.testing.assert_allclose(table["confidence"].to_numpy(), expected.confidence_)
    record = json.loads((folder / "run.json").read_text())
    assert record["kedge"] == kedge.__version__
    assert set(record["seconds"]) == {"read", "fit", "write"}
    [view] = record["data"]
    assert view == {
        "name": "blobs",
        "path": str(tmp_path / "blobs.csv"),
        "kind": "csv",
        "n_rows": 90,
        "n_columns": 4,
        "feature_names": ["a", "b", "c", "d"],
        "image_shape": None,
    }
    assert (record["estimator"], record["n_rows"], record["n_clusters"]) == ("SGL", 90, 3)
    assert record["parameters"]["random_state"] == 0
    assert record["labels_given"] == {"column": "y", "scores": {"accuracy": 1.0, "nmi": 1.0, "purity": 1.0}}


def test_json_is_all_that_is_printed(run, blobs, tmp_path):
    write_parquet(tmp_path / "blobs.parquet", *blobs)
    code, out, err = run("fit", "blobs.parquet", "--drop", "y", "--json", "--seed", 5)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["n_clusters"] == 3
    assert found["cluster_sizes"] == [30, 30, 30]
    assert found["labels_given"] is None
    assert found["parameters"]["random_state"] == 5
    assert found["out"] == str(tmp_path / "kedge-run")


def test_several_files_are_views_of_one_fit(run, tmp_path):
    views, labels = make_multiview(200, n_clusters=3, n_views=2, n_features=(4, 4), random_state=0)
    write_csv(tmp_path / "one.csv", views[0], labels)
    write_sparse_npz(tmp_path / "two.npz", views[1])
    code, _, err = run("fit", "one.csv", "two.npz", "-k", 3, "--label-column", "y")
    assert (code, err) == (0, "")
    model = kedge.load("kedge-run/model.kedge")
    assert isinstance(model, kedge.MSGL)
    assert model.view_names_ == ["one", "two"]
    assert clustering_accuracy(labels, model.labels_) > 0.9


def test_names_of_rows_go_into_the_labels(run, tmp_path):
    (tmp_path / "t.csv").write_text("id,a\n" + "\n".join(f'"r, {i}",{i}' for i in range(12)))
    code, _, err = run("fit", "t.csv", "-k", 2)
    assert (code, err) == (0, "")
    names = [f"r, {number}" for number in range(12)]
    assert pyarrow.csv.read_csv("kedge-run/labels.csv")["row"].to_pylist() == names
    assert pyarrow.parquet.read_table("kedge-run/labels.parquet")["row"].to_pylist() == names


def test_options_reach_the_estimator(run, blobs, tmp_path):
    write_npz(tmp_path / "b.npz", *blobs)
    options = ("--alpha", "0.5", "--beta", "0.25", "--anchors", 12, "--structure", "exact", "--threads", 1)
    code, _, err = run("fit", "b.npz", "-k", 3, *options, "--label-column", "y")
    assert (code, err) == (0, "")
    model = kedge.load("kedge-run/model.kedge")
    chosen = (model.alpha, model.beta, model.n_anchors, model.structure, model.n_jobs)
    assert chosen == (0.5, 0.25, 12, "exact", 1)


def test_without_a_number_the_data_decide(run, blobs, tmp_path):
    write_npz(tmp_path / "b.npz", blobs[0])
    assert run("fit", "b.npz", "--out", "left")[0] == 0
    assert run("fit", "b.npz", "-k", "auto", "--out", "asked")[0] == 0
    left, asked = (kedge.load(tmp_path / name / "model.kedge") for name in ("left", "asked"))
    assert left.n_clusters == asked.n_clusters == "auto"
    assert left.auto_report_["n_clusters"]["chosen"] == left.n_clusters_
    np.testing.assert_array_equal(left.labels_, asked.labels_)


def test_layers_have_a_column_per_number_of_clusters_and_the_record_their_merges(run, tmp_path):
    rng = np.random.default_rng(0)
    centers = 10.0 * np.eye(6)[:, :5]
    write_npz(tmp_path / "b.npz", rng.normal(size=(120, 5)) + centers[np.arange(120) % 6])
    assert run("fit", "b.npz", "-k", 3, "--out", "done")[0] == 0
    folder = tmp_path / "done"
    model = kedge.load(folder / "model.kedge")
    counts = list(range(model.n_communities_, 1, -1))
    assert len(counts) > 2
    for table in (pyarrow.csv.read_csv(folder / "layers.csv"), pyarrow.parquet.read_table(folder / "layers.parquet")):
        assert table.column_names == ["row", *(f"clusters_{count}" for count in counts)]
        assert table["row"].to_pylist() == list(range(120))
        for count in counts:
            np.testing.assert_array_equal(table[f"clusters_{count}"].to_numpy(), model.labels_at(count))
    record = json.loads((folder / "run.json").read_text())["layers"]
    assert record["n_communities"] == model.n_communities_
    assert [(one["from"], one["to"]) for one in record["merges"]] == [(count, count - 1) for count in counts[:-1]]
    np.testing.assert_allclose([one["loss"] for one in record["merges"]], model.tree_[:-1, 2])
    for one in record["merges"]:
        [joined] = one["joined"]
        before, after = model.labels_at(one["from"]), model.labels_at(one["to"])
        for cluster in joined["clusters"]:
            assert np.mean(after[before == cluster] == joined["into"]) > 0.5


def test_a_run_is_replaced_only_when_asked_and_only_after_success(run, refused, blobs, tmp_path):
    write_npz(tmp_path / "b.npz", blobs[0])
    assert run("fit", "b.npz", "-k", 2)[0] == 0
    before = (tmp_path / "kedge-run" / "run.json").read_bytes()
    refused(run("fit", "b.npz", "-k", 3), "kedge-run exists", "--overwrite")
    refused(run("fit", "b.npz", "-k", 300, "--overwrite"), "n_clusters=300")
    assert (tmp_path / "kedge-run" / "run.json").read_bytes() == before
    assert run("fit", "b.npz", "-k", 3, "--overwrite")[0] == 0
    assert json.loads((tmp_path / "kedge-run" / "run.json").read_text())["n_clusters"] == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.npz", "kedge-run"]


def test_a_folder_that_is_no_run_is_never_replaced(run, refused, blobs, tmp_path):
    write_npz(tmp_path / "b.npz", blobs[0])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("keep")
    refused(run("fit", "b.npz", "--out", "mine", "--overwrite"), "holds other things than a run of kedge")
    assert (tmp_path / "mine" / "letter.txt").read_text() == "keep"
    refused(run("fit", "b.npz", "--out", "b.npz", "--overwrite"), "is not a folder")
    refused(run("fit", "b.npz", "--out", "no/where"), "there is no folder")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["absent.csv"], ["there is no file", "absent.csv"]),
        (["empty.csv"], ["empty.csv is empty"]),
        (["b.csv", "-k", "none"], ["'-k'", "must be a whole number", "'none'"]),
        (["b.csv", "-k", "0"], ["'-k'", "must be a whole number above zero, or auto"]),
        (["b.csv", "-k", "91"], ["n_samples=90", "n_clusters=91"]),
        (["b.csv", "--alpha", "-1"], ["'--alpha': must be a number that is not negative"]),
        (["b.csv", "--anchors", "2", "-k", "3"], ["n_anchors=2"]),
        (["b.csv", "--structure", "hard"], ["--structure", "'hard' is not one of 'soft', 'exact'"]),
        (["b.csv", "--threads", "0"], ["--threads"]),
        (["b.csv", "--memory", "0"], ["memory must be a positive number"]),
        (["b.csv", "--seed", "-1"], ["'--seed'", "0"]),
        (["b.csv", "--label-column", "w"], ["--label-column", "'w'"]),
        (["b.csv", "short.csv"], ["short.csv has 2 rows", "b.csv has 90"]),
        (["gap.csv"], ["gap.csv, row 1, column 'b': NaN"]),
        (["text.csv"], ["text.csv", "column 'kind'", "--drop 'kind'"]),
        (["b.csv", "--nonsense"], ["--nonsense", "kedge fit --help"]),
        ([], ["DATA"]),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(arguments, words, run, refused, blobs, tmp_path):
    write_csv(tmp_path / "b.csv", blobs[0])
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "short.csv").write_text("x,y\n1,2\n3,4\n")
    (tmp_path / "gap.csv").write_text("a,b\n1,2\n3,\n5,6\n")
    (tmp_path / "text.csv").write_text("a,kind\n1,x\n3,y\n5,z\n")
    before = sorted(path.name for path in tmp_path.iterdir())
    refused(run("fit", *arguments), *words)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_warnings_are_lines_after_success(run, tmp_path):
    rng = np.random.default_rng(0)
    write_npz(tmp_path / "same.npz", np.repeat(rng.normal(size=(2, 4)), 20, axis=0))
    code, _, err = run("fit", "same.npz", "-k", 5)
    assert code == 0, err
    assert err
    assert all(line.startswith("kedge fit: note: ") for line in err.splitlines())


def test_a_report_is_written_on_request(run, blobs, tmp_path):
    pytest.importorskip("plotly")
    write_csv(tmp_path / "blobs.csv", *blobs)
    code, out, err = run("fit", "blobs.csv", "-k", 3, "--label-column", "y", "--report")
    assert (code, err) == (0, "")
    assert "report.html" in out
    assert "<html" in (tmp_path / "kedge-run" / "report.html").read_text(encoding="utf-8")


def test_help_tells_of_completion_and_kinds():
    def call(*arguments):
        command = [sys.executable, "-m", "kedge", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    text = call("--help").stdout
    assert "--install-completion" in text
    assert ".h5mu" in text
    assert "--label-column" in call("fit", "--help").stdout


def test_a_place_that_cannot_be_written_is_refused_before_the_data_are_read(run, refused, tmp_path, monkeypatch):
    # Permissions do not bind those who often run tests.
    monkeypatch.setattr("os.access", lambda *arguments: False)
    refused(run("fit", "not-there.csv", "--out", "done"), f"nothing can be written to {tmp_path}")


def test_a_fit_loads_no_baseline(tmp_path):
    np.savetxt(tmp_path / "rows.csv", np.random.default_rng(0).normal(size=(40, 3)), delimiter=",", header="a,b,c")
    program = (
        "import sys; from kedge.cli.commands import app; app(['fit', 'rows.csv', '-k', '2'], standalone_mode=False); "
        "print([name for name in sys.modules if name.startswith('kedge.baselines')])"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
