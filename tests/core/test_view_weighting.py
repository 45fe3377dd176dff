"""Weights of views: the closed forms are minimisers, and nothing breaks them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.core.view_weights import NormalisedWeighting, PublishedWeighting, ViewErrors

GAMMAS = st.sampled_from([-0.1, -1.0, -3.0, -20.0])


@st.composite
def view_errors(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n_views = draw(st.integers(2, 6))
    counts = rng.integers(1, 50, n_views).astype(float)
    energies = 10.0 ** rng.uniform(-2, 2, n_views)
    return ViewErrors(energies * rng.uniform(1e-3, 1, n_views), energies, counts), 50, rng.uniform(0.1, 3, n_views)


@given(view_errors(), GAMMAS)
def test_published_weights_minimise_their_objective(problem, gamma):
    errors, n_rows, _ = problem
    weighting = PublishedWeighting(gamma)
    weights = weighting.weights(errors, n_rows)
    np.testing.assert_allclose(weights * errors.values, -gamma * weights**gamma, rtol=1e-9)
    for factor in (0.99, 1.01):
        moved = factor * weights
        assert weighting.value(errors, n_rows) <= moved @ errors.values + np.sum(moved**gamma)


@given(view_errors(), GAMMAS)
def test_normalised_weights_are_the_slope_of_a_concave_value(problem, gamma):
    errors, n_rows, prior = problem
    weighting = NormalisedWeighting(gamma, prior)
    weights = weighting.weights(errors, n_rows)
    for view in range(len(weights)):
        step = np.zeros(len(weights))
        step[view] = 1e-5 * errors.values[view]
        values = [
            weighting.value(ViewErrors(errors.values + sign * step, errors.squared_norms, errors.row_counts), n_rows)
            for sign in (-1, 0, 1)
        ]
        np.testing.assert_allclose((values[2] - values[0]) / (2 * step[view]), weights[view], rtol=1e-4)
        # Concave: the tangent lies above, so lower weighted errors can only lower the value.
        assert values[0] + values[2] <= 2 * values[1] * (1 + 1e-12)


@given(view_errors(), GAMMAS)
def test_proportions_are_the_published_ones_for_equal_counts_and_priors(problem, gamma):
    errors, n_rows, _ = problem
    same = ViewErrors(errors.values, errors.squared_norms, np.full(len(errors.values), 50.0))
    ours = NormalisedWeighting(gamma, np.ones(len(errors.values))).weights(same, n_rows)
    paper = PublishedWeighting(gamma).weights(same, n_rows)
    # Ours add a millionth of the energy to each error.
    np.testing.assert_allclose(ours / ours.sum(), paper / paper.sum(), rtol=2e-3)


def test_units_and_row_numbers_cancel():
    weighting = NormalisedWeighting(-2.0, np.ones(2))
    small = ViewErrors(np.array([1.0, 3.0]), np.array([4.0, 4.0]), np.array([10.0, 10.0]))
    large = ViewErrors(1e8 * small.values, 1e8 * small.squared_norms, 1e3 * small.row_counts)
    np.testing.assert_allclose(weighting.weights(large, 10_000), weighting.weights(small, 10), rtol=1e-9)


@pytest.mark.parametrize("weighting", [NormalisedWeighting(-1.0, np.ones(3)), PublishedWeighting(-1.0)])
def test_perfect_and_empty_views_keep_weights_finite(weighting):
    errors = ViewErrors(np.array([0.0, 1.0, 0.0]), np.array([5.0, 5.0, 0.0]), np.full(3, 7.0))
    weights = weighting.weights(errors, 7)
    assert np.isfinite(weights).all()
    assert weights[0] > weights[1] > 0
    assert weights[2] == 0
    assert np.isfinite(weighting.value(errors, 7))
    nothing = ViewErrors(np.zeros(3), np.zeros(3), np.full(3, 7.0))
    assert np.isfinite(weighting.weights(nothing, 7)).all()


def test_a_prior_multiplies_the_weight():
    errors = ViewErrors(np.array([2.0, 2.0]), np.array([4.0, 4.0]), np.array([10.0, 10.0]))
    weights = NormalisedWeighting(-1.0, np.array([1.5, 0.5])).weights(errors, 10)
    np.testing.assert_allclose(weights, [0.75, 0.25])
