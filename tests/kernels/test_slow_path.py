"""Rows that the fast path cannot finish are solved slowly, counted, and never wrong in silence."""

import warnings

import numpy as np
import pytest
from invariants import kkt_residuals
from sklearn.exceptions import ConvergenceWarning

from kedge.kernels import RowStatus, solve_rows


def test_tolerance_below_double_rounding_is_counted():
    rng = np.random.default_rng(1)
    anchors = rng.normal(size=(20, 6))
    hessian = 2 * anchors @ anchors.T + 1e-3 * np.eye(20)
    linear = -2 * rng.normal(size=(400, 6)) @ anchors.T
    # Near the rounding of one gradient some rows pass at once, some only on the slow path.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = solve_rows(hessian, linear, tol=1.2e-16, kernel="compiled")
    assert 0 < result.n_careful < 400
    assert np.count_nonzero(result.status == RowStatus.SOLVED) > 0
    assert kkt_residuals(hessian, linear, result.coefficients).max() < 1e-15


@pytest.mark.parametrize("ridge", [0.1, 10.0, 1e3])
def test_well_conditioned_rows_never_need_the_slow_path(ridge):
    rng = np.random.default_rng(2)
    anchors = rng.normal(size=(40, 12))
    hessian = 2 * anchors @ anchors.T + ridge * np.eye(40)
    linear = -2 * rng.normal(size=(2_000, 12)) @ anchors.T
    # The slow path would mend a fast one that stops too early; here it must have nothing to mend.
    assert not solve_rows(hessian, linear, kernel="compiled").status.any()
