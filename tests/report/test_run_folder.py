"""``kedge report`` writes the page of a run folder, with its data or without."""

import json

import numpy as np
import pytest
from report.page_structure import check_page

from kedge import SGL, save
from kedge.cli.run_folder import write_run_report


@pytest.fixture
def run_dir(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 20)
    X = np.round(8 * rng.normal(size=(3, 4))[labels] + rng.normal(size=(60, 4)), 3)
    kinds = ["abc"[label] for label in labels]
    lines = [f"s{row},{','.join(map(str, X[row]))},{kind}" for row, kind in enumerate(kinds)]
    data = tmp_path / "rows.csv"
    data.write_text("\n".join(["name,one,two,three,four,kind", *lines]) + "\n")
    folder = tmp_path / "run"
    folder.mkdir()
    model = SGL(3, random_state=0).fit(X)
    save(model, folder / "model.kedge")
    rows = [f"s{row},{label},1.0" for row, label in enumerate(model.labels_)]
    (folder / "labels.csv").write_text("\n".join(["row,label,confidence", *rows]) + "\n")
    names = ["one", "two", "three", "four"]
    view = {"name": "rows", "path": str(data), "kind": "csv", "n_rows": 60, "n_columns": 4, "feature_names": names}
    run = {"kedge": "0.1.0", "data": [view], "n_rows": 60, "labels_given": {"column": "kind", "scores": {}}}
    (folder / "run.json").write_text(json.dumps(run))
    return folder


def page_of(run_dir):
    return check_page((run_dir / "report.html").read_text(encoding="utf-8"))


def test_the_data_are_read_again(run_dir, capsys):
    assert write_run_report(run_dir) == 0
    out, err = capsys.readouterr()
    assert out.strip() == f"report: {run_dir / 'report.html'}"
    assert err == ""
    page = page_of(run_dir)
    assert {"features", "scores"} <= set(page.sections())
    assert page.data["map-hover"]["names"][7] == "s7"
    assert set(page.data["map-hover"]["views"][0]["names"]) <= {"one", "two", "three", "four"}


@pytest.mark.parametrize("change", ["gone", "shorter", "broken"])
def test_data_that_are_gone_or_changed_are_named_on_the_page(run_dir, capsys, change):
    data = run_dir.parent / "rows.csv"
    lines = data.read_text().splitlines()
    data.unlink()
    if change != "gone":
        data.write_text("\n".join(lines[:-1] if change == "shorter" else ["<>", *lines]) + "\n")
    assert write_run_report(run_dir) == 0
    assert "the data are not used" in capsys.readouterr().err
    page = page_of(run_dir)
    assert "rows.csv" in page.words
    assert "features" not in page.sections()
    assert page.data["map-hover"]["names"][7] == "s7"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("run.json", None, "holds no run.json; give a folder that kedge fit wrote"),
        ("run.json", "{", "is not valid JSON"),
        ("run.json", "[]", "is not the record of a run"),
        ("run.json", '{"data": [{}], "n_rows": 3}', "entry 0 of 'data' lacks 'name' or 'path'"),
        ("model.kedge", None, "holds no model.kedge"),
        ("model.kedge", "x", "cannot be loaded"),
    ],
)
def test_a_folder_that_is_no_run_is_refused(run_dir, name, content, message):
    (run_dir / name).unlink()
    if content is not None:
        (run_dir / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        write_run_report(run_dir)
    assert not (run_dir / "report.html").exists()
