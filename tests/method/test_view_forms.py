"""Every form in which views may come, and what is said about the others."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score, make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kedge import MSGL
from kedge.datasets import make_multiview
from kedge.inputs import split_views

VIEWS, Y = make_multiview(150, n_clusters=3, n_views=3, n_features=(4, 6, 5), noise=0.2, random_state=0)
JOINED = np.hstack(VIEWS)
MODEL = MSGL(3, scale="zscore", random_state=0)
EXPECTED = clone(MODEL).fit(VIEWS)
FORMS = {
    "tuple": tuple(VIEWS),
    "nested lists": [view.tolist() for view in VIEWS],
    "pandas": [pd.DataFrame(view) for view in VIEWS],
    "polars": [pl.DataFrame(view) for view in VIEWS],
    "fortran": [np.asfortranarray(view) for view in VIEWS],
    "dict": dict(zip("abc", VIEWS, strict=True)),
    "mixed": [pd.DataFrame(VIEWS[0]), VIEWS[1].tolist(), pl.DataFrame(VIEWS[2])],
    "object dtype": [view.astype(object) for view in VIEWS],
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form_of_the_list_gives_the_same_fit(form):
    model = clone(MODEL).fit(form)
    np.testing.assert_array_equal(model.labels_, EXPECTED.labels_)
    np.testing.assert_allclose(model.graph_.toarray(), EXPECTED.graph_.toarray(), atol=1e-9)
    np.testing.assert_array_equal(model.predict(form), EXPECTED.predict(VIEWS))


NAMES = [f"f{i}" for i in range(15)]
COLUMN_FORMS = {
    "widths": [4, 6, 5],
    "slices": [slice(0, 4), slice(4, 10), slice(10, None)],
    "numbers": [list(range(4)), range(4, 10), np.arange(10, 15)],
    "negative numbers": [[0, 1, 2, 3], [4, 5, 6, 7, 8, 9], [-5, -4, -3, -2, -1]],
    "names": [NAMES[:4], NAMES[4:10], NAMES[10:]],
    "named widths": {"a": 4, "b": 6, "c": 5},
    "named columns": {"a": NAMES[:4], "b": slice(4, 10), "c": NAMES[10:]},
}


@pytest.mark.parametrize("views", COLUMN_FORMS.values(), ids=COLUMN_FORMS)
def test_every_form_of_columns_gives_the_same_fit(views):
    X = pd.DataFrame(JOINED, columns=NAMES)
    model = clone(MODEL).set_params(views=views).fit(X)
    np.testing.assert_array_equal(model.labels_, EXPECTED.labels_)
    np.testing.assert_array_equal(model.predict(X), EXPECTED.predict(VIEWS))
    assert model.n_features_in_ == 15
    if isinstance(views, dict):
        assert model.view_names_ == ["a", "b", "c"]


def test_sparse_and_dense_views_mix_and_sparse_ones_stay_sparse(monkeypatch):
    counts = sparse.random(150, 400, density=0.02, random_state=0, format="csr")
    expected = MSGL(3, n_anchors=20, scale=["zscore", "l2"], random_state=0).fit([VIEWS[1], counts])
    dense = sparse.csr_array.toarray

    def only_a_few_rows(matrix, *args, **kwargs):
        assert matrix.shape[0] < 150 or matrix.shape[1] < 400
        return dense(matrix, *args, **kwargs)

    monkeypatch.setattr(sparse.csr_array, "toarray", only_a_few_rows)
    for form in (counts, sparse.csc_array(counts), counts.tocoo()):
        given = form.copy()
        model = MSGL(3, n_anchors=20, random_state=0, scale={"view 0": "zscore"}).fit([VIEWS[1], given])
        np.testing.assert_allclose(model.view_weights_, expected.view_weights_, rtol=1e-8)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.scalings_[1]["kind"] == "l2"


def test_float32_and_float64_views_mix():
    model = clone(MODEL).fit([VIEWS[0].astype(np.float32), *VIEWS[1:]])
    assert model.graph_.dtype == np.float64
    assert adjusted_rand_score(model.labels_, EXPECTED.labels_) > 0.95


def test_a_list_of_rows_is_never_a_list_of_views():
    for rows in (JOINED.tolist(), list(JOINED), tuple(JOINED), [tuple(row) for row in JOINED]):
        assert split_views(rows) is None
        model = MSGL(3, random_state=0).fit(rows)
        assert model.view_names_ == ["X"]
        assert model.n_features_in_ == 15
    assert split_views([]) is None


def test_names_are_kept_and_used():
    named = {"words": VIEWS[0], "links": VIEWS[1]}
    model = MSGL(3, random_state=0).fit(named)
    assert model.view_names_ == ["words", "links"]
    turned = {"links": VIEWS[1], "words": VIEWS[0]}
    np.testing.assert_array_equal(model.predict(turned), model.predict(named))
    np.testing.assert_array_equal(model.predict({"links": VIEWS[1]}), model.predict([None, VIEWS[1]]))
    with pytest.raises(ValueError, match="fit did not see the view 'pictures'"):
        model.predict({"words": VIEWS[0], "pictures": VIEWS[1]})
    broken = VIEWS[1].copy()
    broken[3, 1] = np.nan
    with pytest.raises(ValueError, match="'links', row 3, column 1: NaN"):
        MSGL(3).fit({"words": VIEWS[0], "links": broken})


BAD = [
    ([VIEWS[0], VIEWS[1][:100]], {}, r"'view 0' has 150, 'view 1' has 100"),
    ([VIEWS[0], Y], {}, r"member 1 is not a 2-D array \(shape \(150,\)\)"),
    (np.stack([VIEWS[0]] * 2), {}, r"pass list\(X\)"),
    ([VIEWS[0], VIEWS[1][:, :0]], {}, r"'view 1': .*0 feature"),
    ([VIEWS[0], np.array([["a"] * 2] * 150)], {}, r"'view 1': "),
    ({}, {}, "X has no view"),
    ([None, None], {}, "no view that any row has"),
    (JOINED, {"views": [4, 6]}, "10 columns in all, but X has 15"),
    (JOINED, {"views": [4, 11, 0]}, "widths must be"),
    (JOINED, {"views": []}, "views is empty"),
    (JOINED, {"views": [["a"], ["b"]]}, "X has no column names"),
    (JOINED, {"views": [[0, 1], [99]]}, "asks for column 99"),
    (JOINED, {"views": [slice(0, 0), slice(0, 3)]}, "'view 0' has no columns"),
    (JOINED, {"views": [4, slice(4, 15)]}, "mixes widths"),
    (VIEWS, {"scale": ["l2"]}, "scale has 1 entries for 3 views"),
    (VIEWS, {"scale": ["l2", "l3", "none"]}, "scale='l3' of 'view 1'"),
    (VIEWS, {"scale": {"words": "l2"}}, "scale names the view 'words'"),
    (VIEWS, {"anchors": VIEWS[0][:5]}, "list with one array per view"),
    (VIEWS, {"anchors": [VIEWS[0][:5]]}, "anchors has 1 arrays, but there are 3 views"),
    (VIEWS, {"anchors": [VIEWS[0][:5], VIEWS[1][:6], VIEWS[2][:5]]}, "anchors of view 1 are 6"),
    (VIEWS, {"anchors": [VIEWS[0][:5], VIEWS[0][:5], VIEWS[2][:5]]}, "4 features, but view 1 has 6"),
    (VIEWS, {"gamma": 0.5}, "gamma"),
    (VIEWS, {"n_clusters": 151}, "n_samples=150"),
]


@pytest.mark.parametrize(("X", "options", "message"), BAD, ids=[message for *_, message in BAD])
def test_bad_views_get_a_clear_error(X, options, message):
    with pytest.raises(ValueError, match=message):
        MSGL(**({"n_clusters": 3} | options)).fit(X)


def test_new_rows_must_have_the_views_of_the_fit():
    with pytest.raises(ValueError, match="X has 2 views, but fit saw 3"):
        EXPECTED.predict(VIEWS[:2])
    with pytest.raises(ValueError, match=r"'view 1' has 4 features, but 6 in fit"):
        EXPECTED.predict([VIEWS[0], VIEWS[0], VIEWS[2]])
    with pytest.raises(ValueError, match="fit saw separate views"):
        EXPECTED.predict(JOINED)


def test_pipeline_and_grid_search_in_the_one_array_form():
    model = MSGL(3, views=[4, 6, 5], random_state=0)
    assert adjusted_rand_score(Y, make_pipeline(StandardScaler(), model).fit_predict(JOINED)) > 0.9
    scorer = make_scorer(adjusted_rand_score)
    search = GridSearchCV(model, {"alpha": [0.01, 0.1], "gamma": [-1.0, -5.0]}, scoring=scorer, cv=2).fit(JOINED, Y)
    assert search.best_score_ > 0.8


def test_copies_and_files_predict_alike(tmp_path):
    import skops.io

    copy = pickle.loads(pickle.dumps(EXPECTED))
    np.testing.assert_array_equal(copy.predict(VIEWS), EXPECTED.predict(VIEWS))
    skops.io.dump(EXPECTED, tmp_path / "model.skops")
    trusted = skops.io.get_untrusted_types(file=tmp_path / "model.skops")
    assert trusted == ["kedge.msgl.MSGL"]
    loaded = skops.io.load(tmp_path / "model.skops", trusted=trusted)
    np.testing.assert_allclose(loaded.transform(VIEWS), EXPECTED.transform(VIEWS))


def test_set_output_and_feature_names():
    model = MSGL(3, views=[4, 6, 5], random_state=0).set_output(transform="pandas").fit(JOINED)
    assert list(model.transform(JOINED).columns) == ["msgl0", "msgl1", "msgl2"]


def test_fit_again_in_another_form_forgets_the_first():
    model = MSGL(3, views=[4, 6, 5], random_state=0).fit(pd.DataFrame(JOINED, columns=NAMES))
    model.fit(VIEWS)
    assert not hasattr(model, "feature_names_in_")
    assert model.view_names_ == ["view 0", "view 1", "view 2"]
    with pytest.raises(ValueError, match="fit saw separate views"):
        model.predict(JOINED)
