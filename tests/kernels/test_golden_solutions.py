"""612 rows solved by two other programs and refined in extended precision."""

import numpy as np
import pytest
from conftest import GOLDEN

from kedge.kernels import solve_rows

CASES = np.load(GOLDEN / "simplex_qp.npz")
NAMES = [str(name) for name in CASES["group_names"]]


@pytest.mark.parametrize("group", range(len(NAMES)), ids=NAMES)
def test_rows_equal_the_recorded_solutions(group, kernel):
    hessian, linear, expected = (CASES[f"{part}_{group}"] for part in "HFZ")
    got = solve_rows(hessian, linear, kernel=kernel).coefficients
    loose = "cond1e8" in NAMES[group] or "low_rank" in NAMES[group]
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-6 if loose else 1e-9)
    np.testing.assert_array_equal(got == 0, expected == 0)


@pytest.mark.parametrize("group", [5, 12, 19])
def test_duplicate_anchors_share_their_weight_equally(group, kernel):
    hessian, linear = CASES[f"H_{group}"], CASES[f"F_{group}"]
    got = solve_rows(hessian, linear, kernel=kernel).coefficients
    np.testing.assert_allclose(got[:, 0], got[:, 1], atol=1e-12)
    np.testing.assert_allclose(got[:, 2], got[:, -1], atol=1e-12)


@pytest.mark.parametrize("group", range(len(NAMES)), ids=NAMES)
def test_dual_path_equals_the_recorded_solutions(group):
    hessian, linear, expected = (CASES[f"{part}_{group}"] for part in "HFZ")
    # Enough rows, all started with every anchor: each row begins on the dual path.
    repeats = -(-hessian.shape[0] // len(linear))
    linear, expected = np.tile(linear, (repeats, 1)), np.tile(expected, (repeats, 1))
    got = solve_rows(hessian, linear, start=np.ones_like(linear), kernel="compiled").coefficients
    loose = "cond1e8" in NAMES[group] or "low_rank" in NAMES[group]
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-6 if loose else 1e-9)
    np.testing.assert_array_equal(got == 0, expected == 0)
