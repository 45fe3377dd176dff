"""``kedge predict``: the labels that the model gives in Python, from any file; what does not fit is refused."""

import io
import zipfile

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from data_file_writers import table_of, write_csv, write_npy

import kedge
from kedge.datasets import make_multiview


@pytest.fixture
def fitted(run, tmp_path):
    """Fit a table with names of columns; return its rows."""
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    rows = rng.normal(size=(90, 4)) + 10.0 * np.eye(3, 4)[labels]
    write_csv(tmp_path / "train.csv", rows, labels)
    assert run("fit", "train.csv", "-k", 3, "--label-column", "y", "--out", "done")[0] == 0
    return rows


def test_labels_and_confidence_go_to_the_terminal_or_a_file(run, fitted, tmp_path):
    model = kedge.load(tmp_path / "done" / "model.kedge")
    expected = model.labels_
    code, out, err = run("predict", "done", "train.csv")
    assert (code, err) == (0, "")
    table = pyarrow.csv.read_csv(io.BytesIO(out.encode()))
    assert table.column_names == ["row", "label", "confidence"]
    np.testing.assert_allclose(table["confidence"].to_numpy(), model.confidence_)
    np.testing.assert_array_equal(table["label"].to_numpy(), expected)
    for name in ("l.csv", "l.parquet", "l.npy"):
        assert run("predict", "done/model.kedge", "train.csv", "--out", name)[::2] == (0, "")
    np.testing.assert_array_equal(np.load("l.npy"), expected)
    np.testing.assert_array_equal(pyarrow.parquet.read_table("l.parquet")["label"].to_numpy(), expected)
    np.testing.assert_array_equal(pyarrow.csv.read_csv("l.csv")["label"].to_numpy(), expected)


def test_columns_are_found_by_name_in_any_order(run, fitted, tmp_path):
    expected = kedge.load(tmp_path / "done" / "model.kedge").labels_
    table = table_of(fitted).select(["d", "b", "a", "c"]).append_column("noise", [fitted[:, 0]])
    pyarrow.parquet.write_table(table, tmp_path / "new.parquet")
    assert run("predict", "done", "new.parquet", "--out", "l.npy")[::2] == (0, "")
    np.testing.assert_array_equal(np.load("l.npy"), expected)
    write_npy(tmp_path / "bare.npy", fitted)
    assert run("predict", "done", "bare.npy", "--out", "l.npy")[::2] == (0, "")
    np.testing.assert_array_equal(np.load("l.npy"), expected)


def test_what_does_not_fit_the_model_is_refused(run, refused, fitted, tmp_path):
    pyarrow.csv.write_csv(table_of(fitted).drop_columns(["b"]), tmp_path / "lacks.csv")
    refused(run("predict", "done", "lacks.csv"), "lacks.csv lacks column 'b'")
    np.save(tmp_path / "wide.npy", np.ones((3, 7)))
    refused(run("predict", "done", "wide.npy"), "wide.npy has 7 columns, but the model was fitted on 4")
    write_npy(tmp_path / "second.npy", fitted)
    refused(run("predict", "done", "train.csv", "second.npy"), "second.npy: the model was fitted on one view")
    refused(run("predict", "done", "train.csv", "--out", "l.txt"), "must end in one of .csv, .parquet, .npy")
    refused(run("predict", "nowhere", "train.csv"), "there is no model")
    refused(run("predict", "train.csv", "train.csv"), "train.csv cannot be loaded")
    assert not list(tmp_path.glob("l.*"))


def test_a_damaged_model_is_one_line(run, refused, fitted, tmp_path):
    content = bytearray((tmp_path / "done" / "model.kedge").read_bytes())
    with zipfile.ZipFile(tmp_path / "done" / "model.kedge") as archive:
        largest = max(archive.infolist(), key=lambda member: member.compress_size)
    content[largest.header_offset + largest.compress_size // 2] ^= 4
    (tmp_path / "bad.kedge").write_bytes(content)
    refused(run("predict", "bad.kedge", "train.csv"), "bad.kedge cannot be loaded")


def test_several_views_go_by_name_or_by_place(run, refused, tmp_path):
    views, _ = make_multiview(120, n_clusters=3, n_views=2, n_features=(4, 3), random_state=0)
    write_csv(tmp_path / "one.csv", views[0])
    write_csv(tmp_path / "two.csv", views[1])
    assert run("fit", "one.csv", "two.csv", "-k", 3, "--out", "done")[0] == 0
    model = kedge.load("done/model.kedge")
    expected = model.predict(views)
    assert run("predict", "done", "two.csv", "one.csv", "--out", "l.npy")[::2] == (0, "")
    np.testing.assert_array_equal(np.load("l.npy"), expected)
    (tmp_path / "one.csv").rename(tmp_path / "new_one.csv")
    (tmp_path / "two.csv").rename(tmp_path / "new_two.csv")
    assert run("predict", "done", "new_one.csv", "new_two.csv", "--out", "l.npy")[::2] == (0, "")
    np.testing.assert_array_equal(np.load("l.npy"), expected)
    refused(run("predict", "done", "new_two.csv", "new_one.csv"), "new_two.csv lacks column 'd'")
    refused(run("predict", "done", "new_one.csv"), "fitted on 2 views")
