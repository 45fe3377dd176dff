"""Defined results at the edges, clear errors beyond them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import kedge
from kedge.kernels import PreparedHessian, solve_rows


def test_one_anchor_takes_all_the_weight(kernel):
    np.testing.assert_array_equal(solve_rows([[2.0]], [[5.0], [-5.0]], kernel=kernel).coefficients, [[1.0], [1.0]])


@pytest.mark.parametrize("sparse_output", [False, True])
def test_no_rows_give_an_empty_result(kernel, sparse_output):
    options = {"kernel": kernel, "want_sums": True, "sparse_output": sparse_output}
    result = solve_rows(np.eye(4), np.empty((0, 4)), **options)
    assert result.coefficients.shape == (0, 4)
    assert result.status.shape == (0,)
    np.testing.assert_array_equal(result.sums.gram, np.zeros((4, 4)))
    assert result.sums.objective == 0


@pytest.mark.parametrize("value", [0.0, 7.0, -1e9])
def test_rows_of_equal_entries_give_the_smallest_norm(kernel, value):
    got = solve_rows(np.eye(5), np.full((3, 5), value), kernel=kernel).coefficients
    np.testing.assert_allclose(got, 0.2, rtol=0, atol=1e-15)


def test_identity_gives_the_projection_onto_the_simplex(kernel):
    rows = np.array([[0.5, 0.4, -3.0], [10.0, 0.0, 0.0], [0.2, 0.3, 0.5]])
    got = solve_rows(np.eye(3), -rows, kernel=kernel).coefficients
    np.testing.assert_allclose(got, [[0.55, 0.45, 0.0], [1.0, 0.0, 0.0], [0.2, 0.3, 0.5]], atol=1e-15)


def test_exact_ties_keep_exact_zeros(kernel):
    got = solve_rows(np.eye(4), [[0.0, 1.0, 1.0, 1.0]], kernel=kernel).coefficients
    np.testing.assert_array_equal(got, [[1.0, 0.0, 0.0, 0.0]])


@pytest.mark.parametrize(
    ("hessian", "message"),
    [
        ([[1.0, 0.0], [0.0, -1.0]], "positive definite.*smallest eigenvalue is -1"),
        (np.ones((3, 3)), "positive definite"),
        ([[1.0, np.nan], [np.nan, 1.0]], "hessian has nan in row 0, column 1"),
        ([[1.0, np.inf], [np.inf, 1.0]], "hessian has inf in row 0, column 1"),
        ([[1.0, 0.5], [0.0, 1.0]], r"symmetric.*\(0, 1\)"),
        ([[1.0, 0.5]], "square matrix"),
        (np.empty((0, 0)), "at least one row"),
        ([1.0, 2.0], "square matrix"),
    ],
)
def test_bad_hessian_is_refused(hessian, message):
    with pytest.raises(ValueError, match=message):
        kedge.simplex_qp(hessian, np.zeros((1, 2)))


@pytest.mark.parametrize(
    ("linear", "message"),
    [
        (np.zeros(3), r"linear\[None, :\]"),
        (np.zeros((2, 4)), r"shape \(n_rows, 3\)"),
        (np.zeros((2, 3, 1)), "got shape"),
        ([[0.0, 0.0, 0.0], [0.0, np.nan, 0.0]], "linear has nan in row 1, column 1"),
        ([[0.0, 0.0, np.inf]] * 3, r"linear has inf in row 0, column 2 \(and 2 more rows\)"),
    ],
)
def test_bad_linear_is_refused(linear, message, kernel):
    with pytest.raises(ValueError, match=message):
        solve_rows(np.eye(3), linear, kernel=kernel)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_bad_start_is_refused(form, kernel):
    with pytest.raises(ValueError, match="start has NaN or infinity in row 1"):
        solve_rows(np.eye(2), np.zeros((2, 2)), start=form([[1.0, 0.0], [np.nan, 0.0]]), kernel=kernel)
    with pytest.raises(ValueError, match=r"shape of linear, \(2, 2\), got \(1, 2\)"):
        solve_rows(np.eye(2), np.zeros((2, 2)), start=form([[1.0, 0.0]]), kernel=kernel)


def test_wrong_kinds_are_type_errors():
    with pytest.raises(TypeError, match="hessian must hold real numbers"):
        kedge.simplex_qp(np.eye(2) + 1j, np.zeros((1, 2)))
    with pytest.raises(TypeError, match="linear must hold real numbers"):
        kedge.simplex_qp(np.eye(2), [["a", "b"]])
    with pytest.raises(TypeError, match="linear must be a dense array"):
        kedge.simplex_qp(np.eye(2), sparse.csr_array(np.eye(2)))
    with pytest.raises(TypeError, match="start must hold real numbers"):
        kedge.simplex_qp(np.eye(2), np.zeros((1, 2)), start=[["a", "b"]])


@pytest.mark.parametrize("n_threads", [0, -1, 1.5, "two"])
def test_bad_thread_count_is_refused(n_threads):
    with pytest.raises(ValueError, match="n_threads must be a positive integer"):
        kedge.simplex_qp(np.eye(2), np.zeros((1, 2)), n_threads=n_threads)


@pytest.mark.parametrize("tol", [0, 1, -1e-3, np.nan, "small"])
def test_bad_tolerance_is_refused(tol):
    with pytest.raises(ValueError, match="tol must be a number between 0 and 1"):
        kedge.simplex_qp(np.eye(2), np.zeros((1, 2)), tol=tol)


def test_unknown_kernel_is_refused():
    with pytest.raises(ValueError, match="kernel must be one of"):
        solve_rows(np.eye(2), np.zeros((1, 2)), kernel="magic")


def test_missed_tolerance_warns_and_names_the_row(kernel):
    rng = np.random.default_rng(0)
    anchors = rng.normal(size=(12, 4))
    hessian = 2 * anchors @ anchors.T + 0.1 * np.eye(12)
    linear = -2 * rng.normal(size=(5, 4)) @ anchors.T
    # No double can meet this, so both paths must say so.
    with pytest.warns(ConvergenceWarning, match=r"row \d.*missed tol=1e-30"):
        weights = solve_rows(hessian, linear, tol=1e-30, kernel=kernel).coefficients
    np.testing.assert_allclose(weights, solve_rows(hessian, linear, kernel=kernel).coefficients, atol=1e-12)


def test_prepared_hessian_serves_many_blocks(kernel):
    rng = np.random.default_rng(0)
    prepared = PreparedHessian(np.diag(rng.uniform(1, 2, size=6)))
    rows = rng.normal(size=(30, 6))
    whole = solve_rows(prepared.matrix, rows, kernel=kernel).coefficients
    blocks = [solve_rows(prepared, rows[i : i + 10], kernel=kernel).coefficients for i in (0, 10, 20)]
    np.testing.assert_allclose(np.vstack(blocks), whole, rtol=0, atol=1e-15)


def test_sparse_start_with_duplicate_entries_is_summed(kernel):
    start = sparse.csr_array((np.ones(3), np.array([2, 2, 0]), np.array([0, 3])), shape=(1, 3))
    got = solve_rows(np.eye(3), np.zeros((1, 3)), start=start, kernel=kernel).coefficients
    np.testing.assert_allclose(got, 1 / 3, atol=1e-15)
    assert start.nnz == 3
