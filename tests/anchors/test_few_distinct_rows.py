"""Rows that repeat: anchors stay distinct, and a shortage is said aloud."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kedge.anchors.rows import fill_up, row_fingerprints
from kedge.anchors.select import ANCHOR_METHODS, choose_anchors, select_anchors

every_method = pytest.mark.parametrize("method", ANCHOR_METHODS)
either_form = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])


def in_order(rows):
    return rows[np.lexsort(rows.T[::-1])]


@every_method
@either_form
def test_anchors_are_the_distinct_rows_when_these_are_few(method, form):
    distinct = np.random.default_rng(0).normal(size=(7, 4))
    X = form(np.tile(distinct, (30, 1)))
    with pytest.warns(
        ConvergenceWarning, match="only 7 distinct rows, n_anchors=12 were asked for .* at most 7 anchors"
    ):
        anchors = select_anchors(X, 12, method, random_state=0)
    np.testing.assert_array_equal(in_order(anchors), in_order(distinct))


@every_method
def test_as_many_anchors_as_distinct_rows_need_no_warning(method):
    distinct = np.random.default_rng(0).normal(size=(7, 4))
    anchors = select_anchors(np.tile(distinct, (30, 1)), 7, method, random_state=0)
    # k-means returns means of thirty equal rows.
    np.testing.assert_allclose(in_order(anchors), in_order(distinct), atol=1e-12)


@every_method
@either_form
def test_all_zero_rows_give_one_zero_anchor(method, form):
    with pytest.warns(ConvergenceWarning, match="only 1 distinct rows"):
        anchors = select_anchors(form(np.zeros((20, 3))), 4, method, random_state=0)
    np.testing.assert_array_equal(anchors, np.zeros((1, 3)))


@every_method
@either_form
def test_all_zero_rows_give_one_zero_anchor_when_signed(method, form):
    with pytest.warns(ConvergenceWarning, match="only 1 distinct rows up to sign and length"):
        anchors = choose_anchors(form(np.zeros((20, 3))), 4, method, np.random.RandomState(0), signed=True)
    np.testing.assert_array_equal(anchors, np.zeros((1, 3)))


@every_method
@pytest.mark.parametrize("value", [0.1, -1e6, 1e-300])
def test_constant_rows_give_one_anchor(method, value):
    with pytest.warns(ConvergenceWarning, match="only 1 distinct rows"):
        anchors = select_anchors(np.full((20, 3), value), 4, method, random_state=0)
    np.testing.assert_array_equal(anchors, np.full((1, 3), value))


@every_method
def test_zero_rows_among_others_do_no_harm(method):
    X = np.random.default_rng(0).normal(size=(50, 4))
    X[::2] = 0
    anchors = select_anchors(X, 26, method, random_state=0)
    assert len(np.unique(anchors, axis=0)) == 26
    assert (np.abs(anchors).max(axis=1) < 1e-12).sum() == 1


@pytest.mark.parametrize("method", ["ffs", "hierarchical"])
def test_methods_blind_to_length_are_filled_up_with_rows_of_other_lengths(method):
    X = np.outer([1.0, 2.0, 3.0, -4.0, 5.0], [1.0, 1.0])
    anchors = select_anchors(np.vstack([X, X]), 5, method, random_state=0)
    np.testing.assert_array_equal(in_order(anchors), in_order(X))


@every_method
def test_opposite_rows_are_one_anchor_when_signed(method):
    lines = np.random.default_rng(0).normal(size=(5, 4))
    X = np.vstack([lines, -lines, 7 * lines])
    with pytest.warns(ConvergenceWarning, match="only 5 distinct rows up to sign and length"):
        anchors = choose_anchors(X, 8, method, np.random.RandomState(0), signed=True)
    units = lines / np.linalg.norm(lines, axis=1, keepdims=True)
    np.testing.assert_allclose(np.sort(np.abs(anchors @ units.T).max(axis=1)), 1.0, atol=1e-12)
    assert len(anchors) == 5


@every_method
def test_opposite_rows_are_two_anchors_when_not_signed(method):
    X = np.tile([[1.0, 2.0], [-1.0, -2.0]], (10, 1))
    assert len(select_anchors(X, 2, method, random_state=0)) == 2


@every_method
def test_a_rare_row_outside_the_sample_is_found_when_anchors_are_missing(method):
    X = np.zeros((30_000, 2))
    X[[17, 20_000]] = [[1.0, 0.0], [0.0, 1.0]]
    anchors = select_anchors(X, 3, method, random_state=0)
    np.testing.assert_allclose(in_order(anchors), [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]], atol=1e-12)


@either_form
def test_filling_up_keeps_the_anchors_found_and_adds_new_rows(form):
    X = np.arange(12.0).reshape(6, 2)
    filled = fill_up(form(X), np.array([[100.0, 0.0], X[2], X[2]]), 4, np.random.RandomState(0))
    np.testing.assert_array_equal(filled[:2], [[100.0, 0.0], X[2]])
    assert len(np.unique(filled, axis=0)) == 4
    assert all(row in X.tolist() for row in filled[2:].tolist())


def test_no_more_anchors_than_asked_for_are_kept():
    np.testing.assert_array_equal(fill_up(np.eye(3), np.eye(3), 2, np.random.RandomState(0)), np.eye(3)[:2])


def test_nothing_is_drawn_when_no_anchor_is_missing():
    random_state = np.random.RandomState(0)
    fill_up(np.eye(3), np.eye(3), 3, random_state)
    assert random_state.randint(1000) == np.random.RandomState(0).randint(1000)


def test_negative_zero_equals_zero():
    assert len(np.unique(row_fingerprints(np.array([[0.0, -0.0], [-0.0, 0.0]])))) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fingerprints_tell_apart_rows_that_differ_in_place_sign_or_exponent_only(dtype):
    rows = [
        [s * 2.0**e if j == i else 0.0 for j in range(40)] for i in range(40) for e in range(-60, 60) for s in (1, -1)
    ]
    X = np.array(rows, dtype=dtype)
    assert len(np.unique(row_fingerprints(X))) == len(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fingerprints_of_sparse_and_dense_rows_agree(dtype):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(50, 9)) * (rng.random((50, 9)) < 0.3)).astype(dtype)
    stored_zeros = sparse.csr_array(np.ones_like(X))
    stored_zeros.data = X.ravel().copy()
    np.testing.assert_array_equal(row_fingerprints(sparse.csr_array(X)), row_fingerprints(X))
    np.testing.assert_array_equal(row_fingerprints(stored_zeros), row_fingerprints(X))
