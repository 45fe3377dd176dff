"""Every kind of model comes back from its file with the same bits."""

from functools import cache
from pathlib import Path

import dask
import dask.array
import numpy as np
import pandas as pd
import pytest
from fuzzing import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from model_file_checks import anchor_graphs, assert_same_model, assert_same_value, read_parts
from numpy.random import RandomState
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

import kedge
from kedge.baselines import available
from kedge.datasets import make_multiview, make_union_of_subspaces
from kedge.model_files import declared_attributes

X, _ = make_union_of_subspaces(45, n_subspaces=3, dim=2, ambient_dim=8, random_state=0)
VIEWS = make_multiview(45, random_state=0)[0]
COUNTS = sparse.csr_array(np.maximum(X, 0))
PREDICTORS = {"SGL", "MSGL", "SLSR", "KMeans", "LMVSC", "JoinedKMeans"}


def through_file(model, folder):
    kedge.save(model, folder / "model.kedge")
    return kedge.load(folder / "model.kedge")


def assert_round_trip(model, folder, new_rows):
    """Assert that the copy is the model and does what it does."""
    copy = through_file(model, folder)
    check_is_fitted(copy)
    assert_same_model(copy, model)
    for method in ("predict", "transform"):
        if hasattr(model, method):
            assert_same_value(getattr(copy, method)(new_rows), getattr(model, method)(new_rows), method)


@settings(max_examples=examples(25))
@given(
    anchor_graphs,
    st.sampled_from([X, X.astype(np.float32), np.asfortranarray(X), COUNTS, pd.DataFrame(X, columns=list("abcdefgh"))]),
    st.sampled_from(["none", "zscore", "minmax", "l2", "zscore_l2", "auto"]),
    st.booleans(),
)
def test_sgl_of_any_kind_comes_back(tmp_path_factory, options, rows, scale, with_anchors):
    scale = "auto" if sparse.issparse(rows) else scale
    anchors = {"anchors": np.asfortranarray(X[:7]), "n_init": 1} if with_anchors else {}
    model = kedge.SGL(3, scale=scale, **(options | anchors)).fit(rows)
    assert_round_trip(model, tmp_path_factory.mktemp("sgl"), rows[:20])


WITHOUT_ROWS = [view.copy() for view in VIEWS]
WITHOUT_ROWS[1][3:6] = np.nan
VIEW_FORMS = [
    (VIEWS, {}),
    (WITHOUT_ROWS, {}),
    ({"dense": VIEWS[0], "sparse": sparse.csr_array(np.maximum(VIEWS[1], 0))}, {"scale": {"sparse": "l2"}}),
    ([view.astype(np.float32) for view in VIEWS], {"view_prior": [1.0, 2.0, 1][: len(VIEWS)]}),
    (X, {"views": [3, 5]}),
    (X, {"views": {"left": [0, 2, 4], "right": slice(5, None)}}),
    (pd.DataFrame(X, columns=list("abcdefgh")), {"views": {"p": ("a", "c"), "q": ["b", "h"]}}),
    ([X], {"anchors": [X[:6]]}),
]


# Six anchors of views that are not aligned cannot always tell three clusters apart.
@pytest.mark.filterwarnings("ignore:only . of n_clusters=3 clusters:sklearn.exceptions.ConvergenceWarning")
@settings(max_examples=examples(25))
@given(anchor_graphs, st.sampled_from(VIEW_FORMS), st.sampled_from(["joint", "aligned", "per_view"]))
def test_msgl_of_any_kind_comes_back(tmp_path_factory, options, form, alignment):
    views, own = form
    model = kedge.MSGL(3, **(options | {"anchor_alignment": alignment, "n_init": 1} | own)).fit(views)
    assert_round_trip(model, tmp_path_factory.mktemp("msgl"), views)


@cache
def fitted_baseline(name, form):
    method = next(method for method in available() if method.name == name)
    rows = {"dense": X, "sparse": COUNTS, "views": VIEWS}[form]
    return method.make(3, random_state=0).fit(rows), rows


FORMS = [(method.name, form) for method in available() for form in ("dense", "sparse")]
FORMS += [(method.name, "views") for method in available("multi")]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("name", "form"), FORMS)
def test_every_baseline_comes_back(tmp_path, name, form):
    model, rows = fitted_baseline(name, form)
    assert hasattr(model, "predict") == (name in PREDICTORS)
    assert_round_trip(model, tmp_path, rows)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["SGL", "MSGL", *(method.name for method in available())])
def test_a_fit_leaves_every_attribute_that_its_class_declares(name):
    if name in ("SGL", "MSGL"):
        model = getattr(kedge, name)(3, n_anchors=6, random_state=0).fit([X] if name == "MSGL" else X)
    else:
        model, _ = fitted_baseline(name, "dense")
    left = set(vars(model)) - set(model.get_params())
    declared = set(declared_attributes(type(model)))
    assert declared <= left
    if name in ("SGL", "MSGL"):
        assert left - declared == {"n_features_in_", "_n_features_out"}


@pytest.mark.parametrize("name", ["SGL", "MSGL", *(method.name for method in available())])
def test_model_without_a_fit_comes_back(tmp_path, name):
    estimator = getattr(kedge, name, None) or getattr(kedge.baselines, name)
    model = estimator(5, random_state=3)
    assert_same_model(through_file(model, tmp_path), model)


def test_published_recipe_comes_back(tmp_path):
    model = kedge.SGL.as_published(3, 9, 1.0, 1e-3, random_state=0).fit(X)
    assert_round_trip(model, tmp_path, X)


def test_output_container_comes_back(tmp_path):
    model = kedge.SGL(3, n_anchors=6, random_state=0).set_output(transform="pandas").fit(X)
    pd.testing.assert_frame_equal(through_file(model, tmp_path).transform(X), model.transform(X))


def assert_same_fit_as_in_memory(model, folder, rows):
    copy = through_file(model, folder)
    in_file = model.graph_.to_csr() if hasattr(model.graph_, "to_csr") else sparse.csr_array(model.graph_.compute())
    assert_same_value(copy.graph_, in_file)
    in_memory = model.__class__(**model.get_params()).fit(rows)
    # Products of other blocks of rows have other last bits.
    np.testing.assert_allclose(copy.graph_.toarray(), in_memory.graph_.toarray(), atol=1e-10)
    assert_same_value(copy.labels_, np.asarray(model.labels_))
    assert_same_value(copy.embedding_, np.asarray(model.embedding_))
    assert_same_value(copy.transform(rows), model.transform(rows))


def test_graph_on_disk_is_brought_into_the_file(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    model = kedge.SGL(3, n_anchors=6, beta=0.1, random_state=0).fit(tmp_path / "rows.npy")
    assert not sparse.issparse(model.graph_)
    assert_same_fit_as_in_memory(model, tmp_path, X)


def test_graph_on_a_cluster_is_brought_into_the_file(tmp_path):
    with dask.config.set(scheduler="synchronous"):
        model = kedge.SGL(3, n_anchors=6, random_state=0).fit(dask.array.from_array(X, chunks=(20, -1)))
        assert not sparse.issparse(model.graph_)
        assert_same_fit_as_in_memory(model, tmp_path, X)


def test_random_generator_goes_on_where_it_was(tmp_path):
    generator = RandomState(5)
    generator.standard_normal(3)  # an odd number, so that a normal value waits
    model = kedge.SGL(3, random_state=generator)
    copy = through_file(model, tmp_path)
    assert_same_value(copy.random_state, generator)


def test_function_is_left_out_with_a_warning(tmp_path):
    model = kedge.SGL(3, n_anchors=6, random_state=0, callback=lambda report: False).fit(X)
    with pytest.warns(UserWarning, match="callback of SGL is a function and was not saved"):
        copy = through_file(model, tmp_path)
    assert copy.callback is None
    assert_same_value(copy.predict(X), model.predict(X))
    assert read_parts(tmp_path / "model.kedge")[0]["left_out"] == ["callback"]


dtypes = st.sampled_from(["?", "i1", "<i4", ">i8", "u2", "u8", "f2", "<f4", ">f8", "c8", "c16", "U3", ">U2"]).map(
    np.dtype
)
plain = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False)
    | st.just(float("nan"))
    | st.text(st.characters(codec=None), max_size=5)
    | st.sampled_from(
        [np.float32(0.1), np.int8(-3), np.bool_(True), np.str_("ab"), np.complex128(1j), np.float64("nan")]
    )
    | st.sampled_from([Path("a/b"), slice(None, 3), slice(np.int64(1), 5, -1)])
    | st.builds(
        lambda dtype, order: np.asarray(np.ones((2, 3)), order=order).astype(dtype), dtypes, st.sampled_from("CF")
    )
    | st.sampled_from([np.array(3.5), np.empty((0, 5)), np.zeros((4, 6))[::2, ::-3], np.ones((2, 3, 4)).swapaxes(0, 2)])
    | st.lists(st.text(st.characters(codec=None), max_size=3), max_size=4).map(
        lambda names: np.array(names, dtype=object)
    )
    | st.just(COUNTS)
)
values = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=examples(150))
@given(values)
def test_any_value_of_the_closed_set_comes_back(tmp_path_factory, value):
    folder = tmp_path_factory.getbasetemp()
    model = kedge.SGL(3)
    model.extra_ = value
    assert_same_value(through_file(model, folder).extra_, value)


def test_mapped_array_comes_back_as_an_array(tmp_path):
    np.save(tmp_path / "anchors.npy", X[:6])
    model = kedge.SGL(3, anchors=np.load(tmp_path / "anchors.npy", mmap_mode="r"))
    assert_same_value(through_file(model, tmp_path).anchors, X[:6])


def test_equal_models_give_equal_files(tmp_path, model, path):
    again = kedge.load(path)
    kedge.save(again, tmp_path / "again.kedge")
    assert (tmp_path / "again.kedge").read_bytes() == path.read_bytes()


def test_any_path_is_accepted(tmp_path, model, rows):
    for name in ("model", "модель.zip", "a b.kedge", "x" * 250):
        kedge.save(model, str(tmp_path / name))
        assert_same_value(kedge.load(str(tmp_path / name)).predict(rows), model.predict(rows))


def test_part_of_an_array_keeps_the_order_of_its_axes(tmp_path):
    # Products with arrays in another order can have other last bits.
    by_columns, by_rows = np.asfortranarray(X)[::2, :5], X[:, :5]
    copy = through_file(kedge.MSGL(3, anchors=[by_columns, by_rows]), tmp_path)
    assert copy.anchors[0].flags.f_contiguous
    assert copy.anchors[1].flags.c_contiguous
    np.testing.assert_array_equal(copy.anchors[0], by_columns)


@pytest.mark.parametrize("names", [[0, 1, 2], ["ant", "bee", "cat"]])
def test_classifiers_come_back(names, tmp_path):
    y = np.array([None] * 45, dtype=object)
    y[::5] = np.array(names, dtype=object)[np.arange(9) % 3]
    model = kedge.SGLClassifier(random_state=0).fit(X, y)
    assert_round_trip(model, tmp_path, X[:20])
    copy = through_file(model, tmp_path)
    np.testing.assert_array_equal(copy.label_disagreement_, model.label_disagreement_)
    np.testing.assert_array_equal(copy.rows_to_label(5), model.rows_to_label(5))
