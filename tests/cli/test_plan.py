"""``kedge plan``, and what ``kedge fit`` says before a long fit."""

import json

import numpy as np
import pytest

from kedge.readers.delimited import RepeatedRows
from kedge.readers.open import read_data_files

N_ROWS = 4_500


@pytest.fixture(autouse=True)
def short_probe(monkeypatch):
    monkeypatch.setattr("kedge.planning.PROBE_SECONDS", 0.0)


def rows(n_rows=N_ROWS):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n_rows, 4)) + 8 * rng.integers(0, 3, n_rows)[:, None]


def write_text(path, n_rows=N_ROWS, *, labels=False):
    table = np.column_stack([rows(n_rows), np.arange(n_rows) % 3]) if labels else rows(n_rows)
    names = ["a", "b", "c", "d", "y"][: table.shape[1]]
    np.savetxt(path, table, fmt="%.4f", delimiter=",", header=",".join(names), comments="")
    return path


@pytest.fixture
def small_pieces(monkeypatch):
    """Take a text of some hundred kilobytes for a large one, of which a part is read."""
    monkeypatch.setattr("kedge.readers.contents._WHOLE_BYTES", 1 << 10)
    monkeypatch.setattr("kedge.readers.delimited._BLOCK_BYTES", 1 << 14)
    monkeypatch.setattr("kedge.cli.plan._TEXT_BYTES", 1 << 16)


def test_the_parts_are_printed_and_nothing_is_written(run, tmp_path):
    np.save(tmp_path / "rows.npy", rows())
    code, out, err = run("plan", "rows.npy", "-k", 3, "--anchors", 400)
    assert (code, err) == (0, "")
    assert out.startswith("about ")
    for part in ("starting", "reading files", "passes over the rows", "writing results", "4,500 rows"):
        assert part in out
    assert [path.name for path in tmp_path.iterdir()] == ["rows.npy"]


def test_json_has_everything(run, tmp_path):
    np.save(tmp_path / "rows.npy", rows())
    code, out, _ = run("plan", "rows.npy", "-k", 3, "--anchors", 400, "--threads", 1, "--memory", 1, "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["n_rows"], found["notes"]) == (N_ROWS, [])
    assert found["seconds"] == pytest.approx(sum(found["parts"].values()))
    assert found["disk_bytes"] > 0  # the folder of the run


def test_the_disk_has_room_for_the_folder_of_the_run(run, tmp_path):
    np.save(tmp_path / "rows.npy", rows())
    _, out, _ = run("plan", "rows.npy", "-k", 3, "--anchors", 400, "--json")
    run("fit", "rows.npy", "-k", 3, "--anchors", 400)
    written = sum(path.stat().st_size for path in (tmp_path / "kedge-run").iterdir())
    assert json.loads(out)["disk_bytes"] == pytest.approx(written, rel=0.2)


def test_columns_and_labels_are_those_of_the_fit(run, tmp_path):
    write_text(tmp_path / "rows.csv", labels=True)
    code, out, _ = run("plan", "rows.csv", "-k", 3, "--label-column", "y", "--columns", "a,b", "--json")
    assert (code, json.loads(out)["n_rows"]) == (0, N_ROWS)


def test_a_large_text_is_read_in_part(tmp_path, small_pieces):
    path = write_text(tmp_path / "rows.csv", 20_000)
    files = read_data_files([path], text_bytes=1 << 16)
    view = files.views[0].rows
    assert isinstance(view, RepeatedRows)
    assert view._first.n_rows < 5_000
    assert files.n_rows == pytest.approx(20_000, rel=0.02)
    whole = read_data_files([path]).views[0].rows
    assert np.array_equal(view.read(slice(0, 100)), whole.read(slice(0, 100)))
    # Behind the rows that were read, they begin again.
    first = view._first.n_rows
    assert np.array_equal(view.read(slice(first - 2, first + 2)), view.read(slice(0, first))[[-2, -1, 0, 1]])
    assert np.array_equal(view.read(np.array([1, first + 1])), view.read(np.array([1, 1])))
    assert view.scratch_bytes == files.n_rows * 4 * 8


def test_a_large_text_is_planned_with_its_conversion(run, tmp_path, small_pieces):
    write_text(tmp_path / "rows.csv", 20_000, labels=True)
    code, out, _ = run("plan", "rows.csv", "-k", 3, "--label-column", "y", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["n_rows"] == pytest.approx(20_000, rel=0.02)
    assert found["parts"]["reading files"] > 0
    assert found["disk_bytes"] > 20_000 * 4 * 8


def test_texts_and_other_files_have_the_same_rows(run, tmp_path, small_pieces):
    write_text(tmp_path / "left.csv", 20_000)
    np.save(tmp_path / "right.npy", rows(20_000))
    code, out, _ = run("plan", "left.csv", "right.npy", "-k", 3, "--json")
    assert (code, json.loads(out)["n_rows"]) == (0, 20_000)


def test_a_label_column_must_be_in_a_large_text(run, tmp_path, small_pieces, refused):
    write_text(tmp_path / "rows.csv", 20_000)
    refused(run("plan", "rows.csv", "--label-column", "y"), "no data file has a column or array 'y'")


@pytest.mark.parametrize(
    "words",
    [("nowhere.npy",), ("rows.npy", "-k", 0), ("rows.npy", "-k", 9_000), ("rows.npy", "--columns", "z")],
    ids=str,
)
def test_errors_are_those_of_the_fit(run, tmp_path, words):
    np.save(tmp_path / "rows.npy", rows())
    planned, fitted = run("plan", *words), run("fit", *words)
    assert planned[0] == fitted[0] == 2
    assert planned[2].replace("kedge plan", "kedge fit") == fitted[2]


@pytest.fixture
def long_fit(monkeypatch):
    """Take every fit for a long one."""
    monkeypatch.setattr("kedge.planning._WORTH_A_PROBE", 0)
    monkeypatch.setattr("kedge.cli.fit.LONG", 0.0)


def test_a_long_fit_is_announced(run, tmp_path, long_fit):
    np.save(tmp_path / "rows.npy", rows())
    code, _, err = run("fit", "rows.npy", "-k", 3, "--anchors", 400)
    assert code == 0
    assert len(err.splitlines()) == 1
    assert err.startswith("kedge fit: about ")
    assert err.endswith("; kedge plan shows the parts\n")
    assert json.loads((tmp_path / "kedge-run" / "run.json").read_text())["planned"]["n_rows"] == N_ROWS


def test_json_has_the_announcement_instead(run, tmp_path, long_fit):
    np.save(tmp_path / "rows.npy", rows())
    code, out, err = run("fit", "rows.npy", "-k", 3, "--anchors", 400, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["planned"]["n_rows"] == N_ROWS


def test_a_short_fit_is_neither_probed_nor_announced(run, tmp_path, monkeypatch):
    def probe(*arguments):
        raise AssertionError("a short fit is not worth a probe")

    monkeypatch.setattr("kedge.cli.plan.plan_run", probe)
    np.save(tmp_path / "rows.npy", rows())
    code, _, err = run("fit", "rows.npy", "-k", 3, "--anchors", 400)
    assert (code, err) == (0, "")
    assert "planned" not in json.loads((tmp_path / "kedge-run" / "run.json").read_text())


def test_a_fit_that_proves_short_is_not_announced(run, tmp_path, monkeypatch):
    monkeypatch.setattr("kedge.planning._WORTH_A_PROBE", 0)
    np.save(tmp_path / "rows.npy", rows())
    code, _, err = run("fit", "rows.npy", "-k", 3, "--anchors", 400)
    assert (code, err) == (0, "")
