"""What does not fit the model is refused in one sentence, and no file is left."""

import numpy as np
import pytest

from kedge import SGL
from kedge.baselines import KMeans
from kedge.report import write_report


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"view_names": ["a", "b"]}, "view_names has 2 names, but the model has 1 views"),
        ({"row_names": ["a"]}, "row_names has 1 entries, but the model has 600 rows"),
        ({"true_labels": [1, 2]}, "true_labels has 2 entries"),
        ({"feature_names": [["a"]]}, "feature_names of view 'X' has 1 names, but the view has 64 columns"),
        ({"feature_names": [None, None]}, "feature_names has 2 lists"),
        ({"image_shape": (9, 9)}, r"image_shape \(9, 9\) fits no view"),
        ({"image_shape": [(9, 9)]}, "does not fit view 'X'"),
        ({"image_shape": (64,)}, "must be a height and a width"),
        ({"true_labels": [None] * 600}, "every row needs a label"),
    ],
)
def test_wrong_parameters_are_named(tmp_path, digits, digits_model, wrong, message):
    with pytest.raises(ValueError, match=message):
        write_report(tmp_path / "report.html", digits_model, [digits[0]], **({"view_names": ["X"]} | wrong))
    assert list(tmp_path.iterdir()) == []


def test_views_of_another_shape_are_named(tmp_path, digits, digits_model):
    with pytest.raises(ValueError, match=r"view 'X' has shape \(599, 64\)"):
        write_report(tmp_path / "report.html", digits_model, [digits[0][1:]], view_names=["X"])


def test_models_without_a_graph_are_refused(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(ValueError, match="a report needs a fitted SGL or MSGL"):
        write_report(tmp_path / "report.html", KMeans(2, random_state=0).fit(X), [X], view_names=["X"])
    with pytest.raises(ValueError, match="not fitted"):
        write_report(tmp_path / "report.html", SGL(2), [X], view_names=["X"])


def test_an_error_midway_leaves_the_old_page(tmp_path, digits, digits_model, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr("kedge.report.page.render_page", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_report(path, digits_model, [digits[0]], view_names=["X"])
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
