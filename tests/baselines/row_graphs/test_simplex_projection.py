"""The projection on the simplex obeys its definition."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kedge import simplex_qp
from kedge.baselines.sobg import project_segments

ROWS = hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.floats(-1e3, 1e3))


def project_rows(values):
    return project_segments(values.ravel(), np.full(len(values), values.shape[1])).reshape(values.shape)


@given(ROWS)
def test_it_solves_the_row_problem_with_the_identity(values):
    found = project_rows(values)
    np.testing.assert_allclose(found, simplex_qp(np.eye(values.shape[1]), -values), atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
    assert found.min() >= 0


@given(ROWS)
def test_a_second_projection_or_a_shift_changes_nothing(values):
    once = project_rows(values)
    np.testing.assert_allclose(project_rows(once), once, atol=1e-12)
    np.testing.assert_allclose(project_rows(values + 3.25), once, atol=1e-9)


def test_entries_ruled_out_stay_zero():
    found = project_rows(np.array([[0.2, -np.inf, 0.1], [-np.inf, -np.inf, -900.0]]))
    np.testing.assert_allclose(found, [[0.55, 0, 0.45], [0, 0, 1]])
