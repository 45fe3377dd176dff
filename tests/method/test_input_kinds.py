"""What X may be, and what is said when it is not."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from invariants import assert_on_simplex
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from kedge import SGL


@pytest.fixture(scope="module")
def X():
    return make_blobs(200, centers=3, n_features=5, random_state=0)[0]


def fitted_graph(X, **options):
    return SGL(3, n_anchors=12, random_state=0, **options).fit(X).graph_.toarray()


@pytest.mark.parametrize(
    "wrap",
    [
        np.asfortranarray,
        lambda X: X[::-1][::-1],
        lambda X: np.hstack([X, X])[:, :5],
        lambda X: X.tolist(),
        pd.DataFrame,
        lambda X: pl.DataFrame(X, schema=list("abcde")),
        lambda X: X.astype(">f8"),
    ],
    ids=["fortran", "reversed", "strided", "list", "pandas", "polars", "byte-swapped"],
)
def test_kinds_of_arrays_give_the_same_graph(X, wrap):
    np.testing.assert_allclose(fitted_graph(wrap(X)), fitted_graph(X), atol=1e-12)


def test_read_only_memory_map(X, tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(fitted_graph(mapped), fitted_graph(X))


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_kinds(X, kind):
    assert_on_simplex(fitted_graph(kind(np.maximum(X, 0))))


def test_sparse_rows_are_never_made_dense():
    """A million columns: one dense copy of the 400 rows would be 3.2 GB, one anchor is 8 MB."""
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 1_000_000, size=(400, 20)) // 2 + 500_000 * (np.arange(400) % 2)[:, None]
    X = sparse.csr_array((np.ones(8000), columns.ravel(), np.arange(0, 8001, 20)), shape=(400, 1_000_000))
    X.sum_duplicates()

    tracemalloc.start()
    model = SGL(2, n_anchors=4, n_init=1, random_state=0).fit(X)
    assert model.predict(X).shape == (400,)
    assert model.transform(X).shape == (400, 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.graph_.shape == (400, 4)
    assert peak < 1e9


def test_float32_is_kept_everywhere(X):
    model = SGL(3, beta=0.1, random_state=0).fit(X.astype(np.float32))
    for name in ("graph_", "anchors_", "embedding_"):
        assert getattr(model, name).dtype == np.float32, name
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    wide = SGL(3, beta=0.1, random_state=0).fit(X)
    assert adjusted_rand_score(model.labels_, wide.labels_) == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"anchors": np.ones((4, 3))}, "anchors have 3 features, but X has 5"),
        ({"anchors": np.ones((2, 5))}, "2 anchors were given, but n_clusters=3"),
        ({"anchors": np.full((4, 5), np.nan)}, "anchors contains NaN"),
        ({"anchors": "nearest"}, "The 'anchors' parameter of SGL"),
        ({"alpha": 0.0}, "The 'alpha' parameter of SGL"),
        ({"beta": -1.0}, "The 'beta' parameter of SGL"),
        ({"locality": -0.1}, "The 'locality' parameter of SGL"),
        ({"scale": "log"}, "The 'scale' parameter of SGL"),
        ({"structure": "hard"}, "The 'structure' parameter of SGL"),
        ({"n_init": 0}, "The 'n_init' parameter of SGL"),
        ({"n_clusters_range": (5, 2)}, r"n_clusters_range=\(5, 2\) must satisfy"),
        ({"partition": "k-means"}, "The 'partition' parameter of SGL"),
    ],
)
def test_bad_parameters_are_named(X, parameters, message):
    with pytest.raises(ValueError, match=message):
        SGL(3, **({"n_anchors": 12, "n_init": 1} | parameters)).fit(X)


def test_a_first_penalty_of_another_shape_is_refused(X):
    with pytest.raises(ValueError, match=r"first_penalty must have shape \(200, 12\), got \(3, 3\)"):
        SGL.as_published(3, 12, 1.0, 0.1, first_penalty=np.ones((3, 3))).fit(X)


def test_scaling_that_would_make_sparse_rows_dense_is_refused(X):
    with pytest.raises(ValueError, match="scale='zscore' shifts columns and would make the sparse X dense; use"):
        SGL(3, scale="zscore").fit(sparse.csr_array(X))


def test_nan_is_named(X):
    broken = X.copy()
    broken[17, 2] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        SGL(3).fit(broken)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        SGL(3, random_state=0).fit(X).predict(broken)


def test_fewer_rows_than_default_anchors():
    X = np.random.default_rng(0).normal(size=(7, 3))
    model = SGL(3, random_state=0).fit(X)
    assert set(model.labels_) == {0, 1, 2}
    assert max(model.anchor_set_sizes_) <= 7


def test_as_many_clusters_as_rows():
    X = np.random.default_rng(0).normal(size=(6, 3))
    model = SGL(6, alpha=1e-6, random_state=0).fit(X)
    assert model.embedding_.shape == (6, 6)


@pytest.mark.filterwarnings("ignore:only 1 of n_clusters:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_constant_rows(value):
    model = SGL(2, random_state=0).fit(np.full((30, 4), value))
    assert set(model.labels_) == {0}
    assert_on_simplex(model.graph_.toarray())
    assert set(model.predict(np.full((3, 4), value))) == {0}


def test_rows_of_zeros_among_others(X):
    with_zeros = np.vstack([X, np.zeros((5, 5))])
    for options in ({}, {"scale": "l2"}, {"signed": True}):
        assert_on_simplex(fitted_graph(with_zeros, **options))


def test_duplicated_rows_have_one_label(X):
    model = SGL(3, random_state=0).fit(np.repeat(X, 3, axis=0))
    assert (model.labels_.reshape(-1, 3) == model.labels_[::3, None]).all()
