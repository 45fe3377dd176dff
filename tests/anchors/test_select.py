"""Promises that hold for every method: count, dtype, determinism, sparse input, errors."""

import re

import numpy as np
import pytest
from scipy import sparse

from kedge.anchors.select import ANCHOR_METHODS, choose_anchors, select_anchors
from kedge.core.rows import canonical_rows

every_method = pytest.mark.parametrize("method", ANCHOR_METHODS)
both_kinds = pytest.mark.parametrize("signed", [False, True])


def some_rows(n=200, d=12, density=0.4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * (rng.random((n, d)) < density)


def cosine_table(anchors):
    anchors = anchors.astype(np.float64)
    anchors = anchors / np.linalg.norm(anchors, axis=1, keepdims=True)
    return np.abs(anchors @ anchors.T) - 2 * np.eye(len(anchors))


@every_method
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@both_kinds
def test_shape_and_dtype_are_those_asked_for(method, dtype, signed):
    X = some_rows().astype(dtype)
    anchors = choose_anchors(X, 15, method, np.random.RandomState(0), signed=signed)
    assert anchors.shape == (15, 12)
    assert anchors.dtype == dtype
    assert anchors.flags.c_contiguous
    assert np.isfinite(anchors).all()


@every_method
def test_the_same_seed_gives_the_same_anchors(method):
    X = some_rows()
    first = select_anchors(X, 10, method, random_state=3)
    np.testing.assert_array_equal(first, select_anchors(X, 10, method, random_state=np.random.RandomState(3)))


@every_method
def test_another_seed_gives_other_anchors(method):
    X = some_rows()
    assert not np.array_equal(select_anchors(X, 10, method, random_state=3), select_anchors(X, 10, method, 4))


def test_the_global_generator_is_left_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    select_anchors(some_rows(), 10, random_state=0)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@every_method
@both_kinds
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_rows_give_the_anchors_of_dense_rows(method, signed, kind):
    X = some_rows()
    dense = choose_anchors(X, 15, method, np.random.RandomState(1), signed=signed)
    from_sparse = choose_anchors(kind(X), 15, method, np.random.RandomState(1), signed=signed)
    assert isinstance(from_sparse, np.ndarray)
    # Sums of a few dozen rows in another order.
    np.testing.assert_allclose(from_sparse, dense, atol=1e-8)


@every_method
def test_repeated_entries_of_a_sparse_matrix_stand_for_their_sum(method):
    X = some_rows(60)
    whole = sparse.csr_array(X)
    halves = sparse.csr_array(
        (np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), 2 * whole.indptr), shape=whole.shape
    )
    assert not halves.has_canonical_format
    np.testing.assert_allclose(select_anchors(halves, 8, method, 0), select_anchors(X, 8, method, 0), atol=1e-8)
    assert halves.nnz == 2 * whole.nnz


@every_method
def test_sixty_four_bit_indices_are_accepted(method):
    X = sparse.csr_array(some_rows(60))
    wide = sparse.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)
    np.testing.assert_array_equal(select_anchors(wide, 8, method, 0), select_anchors(X, 8, method, 0))


@every_method
@both_kinds
def test_read_only_rows_are_accepted_and_kept(method, signed):
    X = some_rows()
    copy = X.copy()
    X.flags.writeable = False
    choose_anchors(X, 15, method, np.random.RandomState(0), signed=signed)
    np.testing.assert_array_equal(X, copy)


@every_method
@both_kinds
def test_read_only_sparse_rows_are_accepted_and_kept(method, signed):
    X = sparse.csr_array(some_rows())
    copy = X.copy()
    for part in (X.data, X.indices, X.indptr):
        part.flags.writeable = False
    choose_anchors(X, 15, method, np.random.RandomState(0), signed=signed)
    np.testing.assert_array_equal(X.toarray(), copy.toarray())


@every_method
@both_kinds
def test_a_sparse_matrix_too_large_to_be_dense_works(method, signed):
    rng = np.random.default_rng(0)
    n, d, per_row = 6_000, 1_000_000, 3
    # Columns over a long range: a dense copy of X would take 48 GB.
    columns = rng.integers(0, 50, size=(n, per_row)) * 20_000
    X = sparse.csr_array((rng.random(n * per_row), columns.ravel(), np.arange(0, n * per_row + 1, per_row)), (n, d))
    assert choose_anchors(X, 2, method, np.random.RandomState(0), signed=signed).shape == (2, d)


@every_method
def test_as_many_anchors_as_rows_are_the_rows(method):
    X = some_rows(40, density=1.0)
    anchors = select_anchors(X, 40, method, random_state=0)
    order = np.lexsort(X.T[::-1])
    # k-means returns each row as the mean of one.
    np.testing.assert_allclose(anchors[np.lexsort(anchors.T[::-1])], X[order], atol=1e-12)


@every_method
def test_one_anchor_of_one_row_is_the_row(method):
    np.testing.assert_allclose(select_anchors([[3.0, 4.0]], 1, method, random_state=0), [[3.0, 4.0]], atol=1e-15)


@every_method
@pytest.mark.parametrize("scale", [1e200, 1e-200, 5e-324])
@both_kinds
def test_extreme_scales_give_finite_distinct_anchors(method, scale, signed):
    X = np.random.default_rng(0).integers(-50, 50, size=(60, 3)) * scale
    anchors = choose_anchors(X, 10, method, np.random.RandomState(0), signed=signed)
    assert np.isfinite(anchors).all()
    assert len(np.unique(anchors, axis=0)) == 10


@every_method
@pytest.mark.parametrize("scale", [1e35, 1e-35])
def test_extreme_single_precision_gives_finite_distinct_anchors(method, scale):
    X = (np.random.default_rng(0).integers(-50, 50, size=(60, 3)) * scale).astype(np.float32)
    anchors = select_anchors(X, 10, method, random_state=0)
    assert np.isfinite(anchors).all()
    assert len(np.unique(anchors, axis=0)) == 10


@every_method
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_signed_anchors_have_unit_length_and_are_different_lines(method, dtype):
    rng = np.random.default_rng(0)
    lines = rng.normal(size=(30, 5))
    X = np.vstack([lines, -2 * lines, 0.3 * lines, np.zeros((4, 5))]).astype(dtype)
    anchors = choose_anchors(X, 30, method, np.random.RandomState(0), signed=True)
    assert anchors.shape == (30, 5)
    np.testing.assert_allclose(np.linalg.norm(anchors, axis=1), 1.0, atol=4 * np.finfo(dtype).eps)
    assert cosine_table(anchors).max() <= 1 - 1e-9


@pytest.mark.parametrize("n_anchors", [0, -1, 6])
def test_an_impossible_number_of_anchors_names_the_range(n_anchors):
    message = f"n_anchors={n_anchors} should be an int from 1 to n_samples=5; ask for at most 5 anchors"
    with pytest.raises(ValueError, match=message):
        select_anchors(np.eye(5), n_anchors)


@pytest.mark.parametrize("n_anchors", [2.0, "2", None, True])
def test_a_number_of_anchors_that_is_no_int_is_a_type_error(n_anchors):
    with pytest.raises(TypeError, match=re.escape(f"n_anchors={n_anchors!r} should be an int from 1 to n_samples=5")):
        select_anchors(np.eye(5), n_anchors)


def test_a_numpy_int_is_an_int():
    assert len(select_anchors(np.eye(5), np.int64(2), random_state=0)) == 2


def test_an_unknown_method_names_the_known_ones():
    with pytest.raises(ValueError, match="method='median' should be one of 'kmeans', 'random', 'plusplus', 'ffs'"):
        select_anchors(np.eye(5), 2, "median")


def test_an_unknown_method_is_refused_without_validation_too():
    with pytest.raises(ValueError, match="method='median' should be one of"):
        choose_anchors(np.eye(5), 2, "median", np.random.RandomState(0))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rows_that_are_not_finite_are_refused(bad):
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        select_anchors([[1.0, bad], [0.0, 1.0]], 1)


def test_whole_numbers_become_double_precision():
    assert select_anchors(np.eye(5, dtype=int), 2, random_state=0).dtype == np.float64


def test_canonical_sparse_rows_share_their_memory():
    X = sparse.csr_array(some_rows())
    assert np.shares_memory(canonical_rows(X).data, X.data)
