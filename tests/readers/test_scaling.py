"""Scaling learnt over blocks equals scaling of the whole, and is applied to new rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler, StandardScaler, normalize

from kedge import SGL
from kedge.readers import arrays
from kedge.readers.arrays import ArraySource, learn_array_scaling

rng = np.random.default_rng(0)
X = np.column_stack([rng.normal(5, 3, size=(300, 4)), np.full(300, 7.0)])


def unit_energy(rows):
    return rows / np.sqrt(np.square(rows).sum(axis=1).mean())


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("none", X),
        ("zscore", unit_energy(StandardScaler().fit_transform(X))),
        ("minmax", unit_energy(MinMaxScaler().fit_transform(X))),
        ("l2", unit_energy(normalize(X))),
        ("zscore_l2", unit_energy(normalize(StandardScaler().fit_transform(X)))),
        ("auto", X),
    ],
)
def test_scaled_rows(kind, expected, monkeypatch):
    monkeypatch.setattr(arrays, "ROWS_AT_ONCE", 37)
    before = X.copy()
    source = ArraySource([X], [learn_array_scaling(kind, X)])
    np.testing.assert_allclose(source.read(slice(0, 300))[0], expected, atol=1e-12)
    np.testing.assert_allclose(source.read(np.array([3, 99]))[0], expected[[3, 99]], atol=1e-12)
    np.testing.assert_array_equal(X, before)


def test_one_view_alone_and_one_of_several_are_scaled_differently():
    assert learn_array_scaling("auto", X).kind == "none"
    assert learn_array_scaling("auto", X, to_unit_rows=True).kind == "zscore_l2"


def test_sparse_rows_stay_sparse_and_zero_rows_zero():
    rows = sparse.csr_array(np.array([[3.0, 4.0], [0.0, 0.0]]))
    scaled = learn_array_scaling("l2", rows).apply(rows)
    assert sparse.issparse(scaled)
    np.testing.assert_allclose(scaled.toarray(), np.array([[0.6, 0.8], [0, 0]]) * np.sqrt(2))


def test_constant_rows_are_not_divided_by_zero():
    rows = np.full((10, 3), 4.0)
    for kind in ("zscore", "minmax", "l2"):
        assert np.isfinite(learn_array_scaling(kind, rows).apply(rows)).all()


def test_units_of_columns_do_not_matter_after_standardising():
    units = np.array([1.0, 1e-3, 1e4, 10.0, 1.0])
    one = SGL(3, scale="zscore", random_state=0).fit(X)
    other = SGL(3, scale="zscore", random_state=0).fit(X * units)
    np.testing.assert_allclose(one.graph_.toarray(), other.graph_.toarray(), atol=1e-6)
    np.testing.assert_array_equal(one.predict(X), other.predict(X * units))


def test_float32_rows_stay_float32():
    narrow = X.astype(np.float32)
    for kind in ("zscore", "minmax", "l2"):
        assert learn_array_scaling(kind, narrow).apply(narrow).dtype == np.float32


def test_a_view_of_several_has_unit_variance_whatever_its_constant_columns():
    assert X.std(axis=0)[-1] == 0
    scaling = learn_array_scaling("auto", X, unit_energy=True)
    assert scaling.apply(X).var(axis=0).sum() == pytest.approx(1.0)
    assert learn_array_scaling("auto", np.ones((9, 2)), unit_energy=True).size == 1.0
