"""Both kernels solve the problem; the check knows neither."""

import warnings

import numpy as np
import pytest
from fuzzing import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from invariants import assert_on_simplex, assert_optimal, kkt_residuals
from sklearn.exceptions import ConvergenceWarning
from strategies import STARTS, make_start, problems

from kedge.kernels import PreparedHessian, RowStatus, solve_rows


@given(problems(), st.sampled_from(STARTS), st.integers(0, 2**32 - 1))
@settings(max_examples=examples(400))
def test_compiled_rows_are_optimal_from_any_start(problem, start_kind, seed):
    solution = solve_rows(problem.hessian, problem.linear, kernel="compiled").coefficients
    start = make_start(start_kind, problem, solution, np.random.default_rng(seed))
    result = solve_rows(problem.hessian, problem.linear, start=start, kernel="compiled")
    assert_optimal(problem.hessian, problem.linear, result.coefficients)
    assert set(result.status) <= {RowStatus.SOLVED, RowStatus.SOLVED_CAREFULLY}


@given(problems(max_anchors=25, max_rows=3), st.sampled_from(STARTS), st.integers(0, 2**32 - 1))
@settings(max_examples=examples(100))
def test_reference_rows_are_optimal_from_any_start(problem, start_kind, seed):
    solution = solve_rows(problem.hessian, problem.linear, kernel="reference").coefficients
    start = make_start(start_kind, problem, solution, np.random.default_rng(seed))
    result = solve_rows(problem.hessian, problem.linear, start=start, kernel="reference")
    assert_optimal(problem.hessian, problem.linear, result.coefficients)


@pytest.mark.parametrize("ridge", [1e-3, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("warm", [False, True])
def test_large_supports_are_optimal_on_the_dual_path(ridge, warm):
    rng = np.random.default_rng(0)
    anchors = rng.normal(size=(40, 10))
    hessian = 2 * anchors @ anchors.T + 2 * ridge * np.eye(40)
    linear = -2 * rng.normal(size=(300, 10)) @ anchors.T
    start = rng.dirichlet(np.full(40, 5.0), size=300) if warm else None
    weights = solve_rows(hessian, linear, start=start, kernel="compiled").coefficients
    assert_optimal(hessian, linear, weights, tol=1e-11)


def test_dual_path_is_taken_when_supports_are_large():
    from kedge.kernels.selection import expects_large_supports

    rng = np.random.default_rng(0)
    anchors = rng.normal(size=(40, 10))
    linear = -2 * rng.normal(size=(300, 10)) @ anchors.T
    spread = PreparedHessian(2 * anchors @ anchors.T + 2e4 * np.eye(40))
    narrow = PreparedHessian(2 * anchors @ anchors.T + 2e-3 * np.eye(40))
    assert expects_large_supports(spread, linear, None)
    assert not expects_large_supports(narrow, linear, None)
    assert expects_large_supports(narrow, linear, np.ones((300, 40)))


def test_nearly_singular_hessian_is_solved_or_said_so():
    rng = np.random.default_rng(0)
    anchors = rng.normal(size=(30, 3))
    hessian = 2 * anchors @ anchors.T + 1e-13 * np.eye(30)
    linear = -2 * rng.normal(size=(50, 3)) @ anchors.T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = solve_rows(hessian, linear, kernel="compiled")
    assert_on_simplex(result.coefficients, atol=1e-9)
    claimed = result.status != RowStatus.TOLERANCE_MISSED
    assert claimed.any()
    assert (kkt_residuals(hessian, linear, result.coefficients)[claimed] <= 1e-9).all()
