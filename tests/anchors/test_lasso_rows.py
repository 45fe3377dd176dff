"""The lasso solver behind farthest-first anchors: exact, with bounds that hold on the way."""

import numpy as np
import pytest
from lasso_minima import solve_lasso
from sklearn.linear_model import Lasso

from kedge.anchors.farthest_first import improve_lasso, lasso_bounds


def make_problem(n, k, d, seed, likeness=0.0):
    """Return unit points and dictionary; likeness moves all of them toward one direction."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n + k, d)) + likeness * rng.normal(size=d)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    points, dictionary = rows[:n], rows[n:]
    return points, dictionary, dictionary @ dictionary.T, points @ dictionary.T


@pytest.mark.parametrize("fidelity", [1.5, 15.0, 150.0])
@pytest.mark.parametrize("likeness", [0.0, 3.0])
def test_costs_equal_those_of_an_independent_solver(fidelity, likeness):
    points, dictionary, gram, products = make_problem(12, 10, 6, 0, likeness)
    _, upper, lower = solve_lasso(gram, products, fidelity)
    model = Lasso(alpha=1 / (fidelity * 6), fit_intercept=False, tol=1e-14, max_iter=100_000)
    other = np.array([model.fit(dictionary.T, point).coef_ for point in points])
    residuals = points - other @ dictionary
    expected = np.abs(other).sum(axis=1) + fidelity / 2 * (residuals**2).sum(axis=1)
    np.testing.assert_allclose(upper, expected, atol=1e-7)
    assert (upper - lower).max() <= 1e-9


@pytest.mark.parametrize("likeness", [0.0, 3.0])
def test_the_optimality_conditions_hold(likeness):
    _, _, gram, products = make_problem(40, 15, 8, 1, likeness)
    coefficients, _, _ = solve_lasso(gram, products, 50.0, tolerance=1e-12)
    slopes = 50.0 * (products - coefficients @ gram)
    assert np.abs(slopes).max() <= 1 + 1e-5
    used = coefficients != 0
    # A gap of 1e-12 leaves slopes off by about its square root.
    np.testing.assert_allclose(slopes[used], np.sign(coefficients[used]), atol=1e-5)
    assert used.any()


def test_more_alike_vectors_than_dimensions_are_solved():
    _, _, gram, products = make_problem(30, 60, 5, 2, likeness=5.0)
    _, upper, lower = solve_lasso(gram, products, 150.0)
    assert (upper - lower).max() <= 1e-9


def test_bounds_hold_for_any_coefficients():
    _, _, gram, products = make_problem(30, 12, 6, 3)
    _, exact, _ = solve_lasso(gram, products, 20.0)
    for seed in range(5):
        upper, lower = lasso_bounds(gram, products, np.random.default_rng(seed).normal(size=(30, 12)), 20.0)
        assert (upper >= exact - 1e-9).all()
        assert (lower <= exact + 1e-9).all()


def test_an_improvement_never_raises_a_cost():
    _, _, gram, products = make_problem(50, 20, 8, 4, likeness=2.0)
    coefficients = np.random.default_rng(0).normal(size=(50, 20))
    before, _ = lasso_bounds(gram, products, coefficients, 80.0)
    for _ in range(6):
        coefficients = improve_lasso(gram, products, coefficients, 80.0)
        after, _ = lasso_bounds(gram, products, coefficients, 80.0)
        assert (after <= before + 1e-10).all()
        before = after


def test_zero_is_the_solution_when_no_product_exceeds_the_threshold():
    gram, products = np.eye(3), np.array([[0.0, 0.09, -0.1]])
    coefficients, upper, lower = solve_lasso(gram, products, 10.0)
    np.testing.assert_array_equal(coefficients, 0.0)
    np.testing.assert_allclose([upper, lower], 5.0, atol=1e-12)


def test_an_orthogonal_dictionary_gives_shrunken_products():
    products = np.array([[0.6, -0.5, 0.02]])
    coefficients, _, _ = solve_lasso(np.eye(3), products, 10.0)
    np.testing.assert_allclose(coefficients, [[0.5, -0.4, 0.0]], atol=1e-12)
