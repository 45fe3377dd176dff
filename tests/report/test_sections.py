"""Every kind of fit gets a page with the sections that it has numbers for, and no others."""

from copy import copy

import numpy as np
import pytest
from report.page_structure import check_page, unpacked
from scipy import sparse

from kedge import MSGL, SGL, SGLClassifier
from kedge.datasets import make_multiview
from kedge.report import write_report

ALWAYS = ["sizes", "map", "layers", "prototypes", "confidence", "graph", "objective", "parameters"]


@pytest.fixture
def written(tmp_path):
    """Write a report and return its page."""

    def write(model, views, **more):
        path = tmp_path / "report.html"
        names = more.pop("view_names", [f"view {i}" for i in range(len(views or [0]))])
        assert write_report(path, model, views, view_names=names, **more) is None
        return check_page(path.read_text(encoding="utf-8"))

    return write


def test_one_view_with_classes_and_images(written, digits, digits_model):
    X, y = digits
    names = [[f"pixel {i}" for i in range(64)]]
    page = written(digits_model, [X], true_labels=y, image_shape=(8, 8), feature_names=names)
    assert set(page.sections()) == {*ALWAYS, "features", "scores"}
    assert "10 clusters in 600 rows" in page.words
    share = 100 * (digits_model.confidence_ < 0.5).mean()
    assert f"{share:.1f} % of the rows" in page.words
    assert np.array_equal(unpacked(page.data["sizes-figure"]["data"][0]["y"]), np.bincount(digits_model.labels_))
    canvases = [given for tag, given in page.tags if tag == "canvas"]
    pixels = page.data["prototypes-pixels-0"]["pixels"]
    assert len(canvases) == len(pixels) == 50
    row = int(canvases[0]["aria-label"].rpartition(" ")[2])
    assert np.array_equal(pixels[0], np.round(255 * X[row] / 16))


def test_counts_of_classes_are_those_of_the_labels(written, digits, digits_model):
    X, y = digits
    table = unpacked(written(digits_model, [X], true_labels=y).data["scores-figure"]["data"][0]["z"])
    expected = np.zeros((10, 10), dtype=int)
    np.add.at(expected, (y, digits_model.labels_), 1)
    assert np.array_equal(table, expected)


def test_several_views_have_weights_and_features_each(written):
    views, y = make_multiview(200, n_clusters=3, n_views=2, n_features=(8, 12), missing=0.1, random_state=0)
    model = MSGL(3, beta=0.1, random_state=0).fit(views)
    page = written(model, views, view_names=["sound", "picture"], true_labels=y)
    assert set(page.sections()) == {*ALWAYS, "features", "scores", "views"}
    assert {"features-figure-0", "features-figure-1", "objective-figure"} <= set(page.data)
    lines = page.data["views-figure"]["data"]
    assert [line["name"] for line in lines] == ["sound", "picture"]
    assert np.allclose(unpacked(lines[1]["y"]), model.view_weights_history_[:, 1])


def test_classes_contradicted_labels_and_rows_worth_one(written, digits):
    X, y = digits
    known = np.where(np.arange(600) < 150, y, -1)
    wrong = 17
    known[wrong] = (y[wrong] + 1) % 10
    model = SGLClassifier(random_state=0).fit(X, known)
    names = [f"scan {row}" for row in range(600)]
    page = written(model, [X], row_names=names)
    assert {"classes", "worth-a-label"} <= set(page.sections())
    assert "150 rows had a label." in page.words
    doubtful = model.label_disagreement_.tolist()
    assert wrong in doubtful
    table = " ".join(f"scan {row} {known[row]}" for row in doubtful[:20])
    assert table in page.words
    given, found = (np.bincount(own, minlength=10) for own in (known[:150], model.transduction_))
    assert f"{given[3]} {found[3]} {100 * found[3] / 600:.1f} %" in page.words
    rows = model.rows_to_label(20)
    listed = (f"scan {row} {model.transduction_[row]} {model.label_distributions_[row].max():.2f}" for row in rows)
    assert " ".join(listed) in page.words


def test_a_number_of_clusters_that_the_data_chose_is_explained(written):
    X = np.random.default_rng(0).normal(size=(240, 5))
    X[:80] += 30
    X[80:160, 0] -= 40
    model = SGL(random_state=0).fit(X)
    page = written(model, [X])
    assert "cluster-count" in page.sections()
    assert f"The data suggest {model.n_clusters_} cluster" in page.words
    assert "chosen from the data" in page.words
    second = model.auto_report_["n_clusters"]["second"]
    assert second is None or f"Second best is {second}" in page.words


@pytest.mark.parametrize(("second", "closeness", "advice"), [(5, 0.95, "look at both"), (5, 0.2, "fairly clear")])
def test_the_second_guess_and_its_closeness_are_told(written, digits, digits_model, second, closeness, advice):
    ranked = [{"n_clusters": 10, "score": 2.0}, {"n_clusters": second, "score": 2.0 * closeness}]
    told = copy(digits_model)
    told.auto_report_ = {"n_clusters": {"chosen": 10, "ranked": ranked, "second": second, "closeness": closeness}}
    page = written(told, [digits[0]])
    assert f"Second best is 5, with {100 * closeness:.0f} % of the score" in page.words
    assert advice in page.words
    assert unpacked(page.data["cluster-count-figure"]["data"][0]["y"]).tolist() == pytest.approx([2 * closeness, 2.0])


def test_layers_tell_which_clusters_become_one_and_what_it_costs(written, digits, digits_model):
    page = written(digits_model, [digits[0]])
    joins = [trace for trace in page.data["layers-figure"]["data"] if trace["mode"] == "lines"]
    assert len(joins) == 9
    assert "Fewer clusters: which ones merge" in page.captions
    n_communities = digits_model.n_communities_
    assert ("More clusters: which ones split" in page.captions) == (n_communities > 10)
    lost = digits_model.tree_[n_communities - 10, 2]
    assert joins[0]["text"] == f"9 clusters left, {lost:.4f} of modularity lost"
    assert f"{lost:.4f}" in page.words


def test_the_map_can_be_coloured_by_a_handful_of_layers(written, digits, digits_model):
    page = written(digits_model, [digits[0]])
    layers = page.data["map-layers"]
    options = [given for tag, given in page.tags if tag == "option"]
    assert len(layers) == len(options) > 2
    for layer, option in zip(layers, options, strict=True):
        assert ("selected" in option) == (layer["n_clusters"] == 10)
        expected = digits_model.labels_at(layer["n_clusters"])
        np.testing.assert_array_equal(unpacked(layer["labels"]), expected)
        assert len(layer["colours"]) == len(layer["symbols"]) == layer["n_clusters"]
        assert [number[0] for number in layer["numbers"]] == np.unique(expected).tolist()


def test_exact_structure_has_all_weight_in_its_blocks(written, digits):
    X = digits[0]
    page = written(SGL(6, structure="exact", random_state=0).fit(X), [sparse.csr_array(X)])
    assert "100 % of the weight" in page.words
    assert "6 connected components" in page.words


def test_one_cluster_has_no_map_and_no_features(written):
    X = np.random.default_rng(0).normal(size=(60, 4))
    page = written(SGL(1, random_state=0).fit(X), [X])
    assert set(page.sections()) - {"layers"} == {*ALWAYS} - {"map", "layers"}
    assert "1 cluster in 60 rows" in page.words


def test_a_fit_as_published_has_no_confidence(written, digits):
    X = digits[0][:200]
    page = written(SGL.as_published(4, 20, 10.0, 0.1, random_state=0).fit(X), [X])
    assert "confidence" not in page.sections()
    assert "The confidence of the labels is not known" in page.words


def test_without_data_the_page_says_what_is_missing(written, digits_model):
    page = written(digits_model, None, image_shape=(8, 8), run={"data_missing": "rows.csv is <gone>"})
    assert set(page.sections()) == set(ALWAYS)
    assert "does not show which features distinguish" in page.words
    assert "rows.csv is <gone>" in page.words
    assert "views" not in page.data["map-hover"]


def test_a_run_gives_times_versions_and_recorded_scores(written, digits_model):
    run = {
        "kedge": "9.8",
        "versions": {"numpy": "7.6"},
        "started": "2026-01-02T03:04:05",
        "seconds": {"fit": 1.5},
        "data": [{"name": "a", "path": "/data/rows.csv", "n_rows": 600, "n_columns": 64}],
        "labels_given": {"column": "kind", "scores": {"accuracy": 0.123, "nmi": 0.4, "purity": 0.5}},
    }
    words = written(digits_model, None, run=run).words
    for part in ("9.8", "7.6", "2026-01-02T03:04:05", "1.50 seconds", "/data/rows.csv", "0.123"):
        assert part in words


def test_many_rows_are_sampled_and_the_file_stays_small(written, tmp_path, many_rows, many_rows_model):
    page = written(many_rows_model, [many_rows])
    hover = page.data["map-hover"]
    assert len(hover["rows"]) == 20_000
    assert "A sample of 20,000 of the 30,000 rows is shown" in page.words
    assert set(hover["labels"]) == set(range(24))
    assert all(isinstance(number, int) for number in hover["views"][0]["tenths"][:100])
    assert (tmp_path / "report.html").stat().st_size < 8_000_000
    assert sum(unpacked(page.data["sizes-figure"]["data"][0]["y"])) == 30_000
    shown = page.data["map-figure"]["data"][1:]
    kinds = {(trace["marker"]["color"], trace["marker"]["symbol"]) for trace in shown}
    assert len(kinds) == 24, "two clusters look alike"


def test_clusters_have_the_same_colours_in_all_figures(written, digits, digits_model):
    page = written(digits_model, [digits[0]])
    bars = page.data["sizes-figure"]["data"][0]["marker"]["color"]
    assert [trace["marker"]["color"] for trace in page.data["map-figure"]["data"][1:]] == bars
