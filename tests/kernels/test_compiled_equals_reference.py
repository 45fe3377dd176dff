"""The compiled solver and its NumPy twin return the same rows."""

import numpy as np
from fuzzing import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from invariants import objectives
from strategies import STARTS, make_start, problems

from kedge.kernels import solve_rows


def assert_same_rows(problem, left, right):
    # Two exact solvers may differ by rounding times the condition number, no more. Gradients are as large as the linear
    # terms, so their rounding counts relative to the smallest eigenvalue of the Hessian.
    smallest = np.abs(problem.hessian).max() / problem.condition
    rounding = np.finfo(np.float64).eps * np.abs(problem.linear).max(initial=0.0) / smallest
    allowed = 1e-11 + 1e-14 * problem.condition + rounding
    np.testing.assert_allclose(left, right, rtol=0, atol=min(allowed, 1e-6))
    scale = np.abs(problem.hessian).max() + np.abs(problem.linear).max(initial=0.0)
    gap = objectives(problem.hessian, problem.linear, left) - objectives(problem.hessian, problem.linear, right)
    assert np.abs(gap).max(initial=0.0) <= 1e-13 * scale


@given(problems(), st.sampled_from(STARTS), st.integers(0, 2**32 - 1))
@settings(max_examples=examples(250))
def test_compiled_equals_reference(problem, start_kind, seed):
    expected = solve_rows(problem.hessian, problem.linear, kernel="reference")
    start = make_start(start_kind, problem, expected.coefficients, np.random.default_rng(seed))
    got = solve_rows(problem.hessian, problem.linear, start=start, kernel="compiled")
    assert_same_rows(problem, got.coefficients, expected.coefficients)


@given(problems(max_anchors=30))
@settings(max_examples=examples(60))
def test_sums_and_sparse_form_equal_the_reference(problem):
    expected = solve_rows(problem.hessian, problem.linear, kernel="reference", want_sums=True)
    got = solve_rows(problem.hessian, problem.linear, kernel="compiled", want_sums=True, sparse_output=True)
    assert_same_rows(problem, got.coefficients.toarray(), expected.coefficients)
    atol = 1e-10 + 1e-13 * problem.condition
    np.testing.assert_allclose(got.sums.gram, expected.sums.gram, atol=atol)
    np.testing.assert_allclose(got.sums.column_sums, expected.sums.column_sums, atol=atol)
    scale = 1 + np.abs(problem.linear).max(initial=0.0)
    assert abs(got.sums.linear_part - expected.sums.linear_part) <= atol * scale
    assert abs(got.sums.quadratic_part - expected.sums.quadratic_part) <= atol * scale
    assert abs(got.sums.objective - expected.sums.objective) <= 1e-10 * scale


def test_many_rows_of_large_support_equal_the_reference():
    rng = np.random.default_rng(3)
    anchors = rng.normal(size=(30, 8))
    hessian = 2 * anchors @ anchors.T + 60 * np.eye(30)
    linear = -2 * rng.normal(size=(200, 8)) @ anchors.T
    expected = solve_rows(hessian, linear, kernel="reference").coefficients
    assert (expected > 0).mean() > 0.5
    got = solve_rows(hessian, linear, kernel="compiled").coefficients
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(got > 0, expected > 0)
