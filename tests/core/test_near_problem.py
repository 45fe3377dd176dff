"""Rows joined to their nearest anchors: the weights solve the stated problem."""

import numpy as np
import pytest
from invariants import assert_on_simplex, assert_optimal
from scipy import sparse

from kedge.core.rows import build_near_problem, join_to_nearest

rng = np.random.default_rng(0)
VIEWS = [rng.normal(size=(60, 4)), rng.normal(size=(60, 7))]
ANCHORS = [rng.normal(size=(20, 4)), rng.normal(size=(20, 7))]
WEIGHTS = [0.3, 1.4]


def solved(problem, views, observed=None):
    """Weights of the rows, and the value of the problem."""
    weights, (value,) = join_to_nearest([problem], views, observed)
    return weights, value


def squared_distances(observed=None):
    """Weighted squared distances over the views that each row has."""
    total = np.zeros((60, 20))
    for number, (view, anchors, weight) in enumerate(zip(VIEWS, ANCHORS, WEIGHTS, strict=True)):
        own = weight * np.square(view[:, None] - anchors).sum(axis=2)
        total += own if observed is None else own * observed[:, [number]]
    return total


@pytest.mark.parametrize("n_near", [1, 3, 5, 19])
@pytest.mark.parametrize("gaps", [False, True])
def test_weights_solve_the_problem_at_the_ridge_that_leaves_n_near_anchors(n_near, gaps):
    observed = np.ones((60, 2), dtype=bool)
    if gaps:
        observed[::3, 0] = False
        observed[1::3, 1] = False
    views = [view * observed[:, [number]] for number, view in enumerate(VIEWS)]
    found, value = solved(build_near_problem(ANCHORS, WEIGHTS, n_near), views, observed if gaps else None)
    Z, distances = found.toarray(), squared_distances(observed)
    assert_on_simplex(Z)
    assert ((Z > 0).sum(axis=1) == n_near).all()
    ordered = np.sort(distances, axis=1)
    ridges = (n_near * ordered[:, n_near] - ordered[:, :n_near].sum(axis=1)) / 2
    for row in range(60):
        assert_optimal(2 * ridges[row] * np.eye(20), distances[[row]], Z[[row]])
    norms = sum(w * np.square(x).sum() for w, x in zip(WEIGHTS, views, strict=True))
    np.testing.assert_allclose(value + norms, (Z * distances).sum(), rtol=1e-10)


def test_sparse_rows_give_the_weights_of_dense_ones():
    problem = build_near_problem(ANCHORS, WEIGHTS, 4)
    dense, _ = solved(problem, VIEWS)
    in_csr, _ = solved(problem, [sparse.csr_array(view) for view in VIEWS], None)
    np.testing.assert_allclose(in_csr.toarray(), dense.toarray(), atol=1e-12)


def test_equally_near_anchors_share_a_row():
    found, _ = solved(build_near_problem([np.zeros((6, 2))], [1.0], 3), [np.ones((2, 2))])
    np.testing.assert_allclose(found.toarray(), [[1 / 3] * 3 + [0] * 3] * 2)


def test_the_only_anchor_takes_all_weight():
    problem = build_near_problem([np.ones((1, 2))], [1.0], 5)
    found, value = solved(problem, [np.zeros((3, 2))], None)
    np.testing.assert_array_equal(found.toarray(), np.ones((3, 1)))
    assert value == pytest.approx(6.0)


def test_indices_are_in_order():
    found, _ = solved(build_near_problem(ANCHORS, WEIGHTS, 5), VIEWS, None)
    assert (np.diff(found.indices.reshape(60, 5), axis=1) > 0).all()


def test_several_sets_stand_side_by_side_and_rows_still_sum_to_one():
    problems = [build_near_problem([ANCHORS[0][:12]], [1.0], 3), build_near_problem([ANCHORS[0][12:]], [1.0], 3)]
    joined, values = join_to_nearest(problems, VIEWS[:1], None)
    alone = [solved(problem, VIEWS[:1]) for problem in problems]
    expected = np.hstack([weights.toarray() for weights, _ in alone]) / 2
    np.testing.assert_array_equal(joined.toarray(), expected)
    assert values == [value for _, value in alone]
