"""The active-set end of l1 problems is exact, also for dependent rows, and does not depend on the company of a row."""

import numpy as np
import pytest

from kedge.baselines import essc
from kedge.baselines.essc import ProximalSolver, largest_eigenvalue
from kedge.baselines.self_expression import center_products, prepare_products
from kedge.core.l1_problems import L1Block
from kedge.datasets import make_union_of_subspaces


def prepare(X, affine, tol, max_iter=2000):
    products = prepare_products(X)
    if affine:
        products = center_products(products)
    return ProximalSolver(products, largest_eigenvalue(products), affine, max_iter, tol)


def first_values(n_rows, affine, n_used):
    """Hollow rows with so many entries; with sum one if affine."""
    values = np.zeros((n_rows, n_rows))
    for row in range(n_rows):
        others = np.delete(np.arange(n_rows), row)
        values[row, np.random.default_rng(row).permutation(others)[:n_used]] = 1 / n_used if affine else 0.1
    return values


def finish(settings, fidelity, rows, start, max_rounds=2000):
    values = start.copy()
    n_rounds, n_open = settings.finish(values, rows, np.arange(len(start)), fidelity, max_rounds)
    return values, n_rounds, n_open


def violation(X, values, fidelity, affine):
    slopes = fidelity * (X - values @ X) @ X.T
    np.fill_diagonal(slopes, 0.0)
    used = values != 0
    if affine:
        shifts = np.array([np.mean((slopes[i] - np.sign(values[i]))[used[i]]) for i in range(len(X))])
        slopes -= shifts[:, None]
        np.fill_diagonal(slopes, 0.0)
    return np.where(used, np.abs(slopes - np.sign(values)), np.maximum(np.abs(slopes) - 1, 0)).max()


@pytest.mark.parametrize("affine", [False, True])
def test_rows_side_by_side_take_the_same_way_as_alone(affine):
    X, _ = make_union_of_subspaces(80, n_subspaces=4, dim=3, ambient_dim=12, noise=0.05, random_state=0)
    settings, start = prepare(X, affine, 1e-9), first_values(80, affine, 1)
    together, n_rounds, n_open = finish(settings, 300.0, slice(0, 80), start)
    alone = [finish(settings, 300.0, slice(i, i + 1), start[i : i + 1]) for i in range(80)]
    assert n_open == 0
    assert n_rounds == max(single[1] for single in alone)
    np.testing.assert_allclose(together, np.concatenate([single[0] for single in alone]), rtol=0, atol=1e-8)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("n_used", [1, 4, 40])
def test_any_start_ends_at_the_optimum_even_if_rows_depend_on_each_other(affine, n_used):
    some = np.random.default_rng(0).normal(size=(20, 3))
    X = np.concatenate([some, some[:10], -some[:10], np.zeros((2, 3)), 1e-4 * some[:3]])
    values, _, n_open = finish(prepare(X, affine, 1e-7), 50.0, slice(0, len(X)), first_values(len(X), affine, n_used))
    assert n_open == 0
    assert violation(X, values, 50.0, affine) < 1e-6
    assert not values.diagonal().any()
    if affine:
        np.testing.assert_allclose(values.sum(axis=1), 1, rtol=0, atol=1e-10)


def test_a_round_never_goes_uphill():
    X = np.random.default_rng(1).normal(size=(60, 8))
    settings, values, costs = prepare(X, True, 1e-9), first_values(60, True, 3), []
    for n_rounds in range(12):
        found, _, _ = finish(settings, 20.0, slice(0, 60), values, n_rounds)
        costs.append(np.abs(found).sum(axis=1) + 10 * ((X - found @ X) ** 2).sum(axis=1))
    assert (np.diff(costs, axis=0) <= 1e-10).all()
    assert (costs[-1] < costs[0]).all()


def test_a_tolerance_below_rounding_ends_early_and_counts_the_rows():
    X = np.random.default_rng(2).normal(size=(40, 6))
    _, n_rounds, n_open = finish(prepare(X, False, 1e-18), 20.0, slice(0, 40), first_values(40, False, 2), 10_000)
    assert n_open > 30
    assert n_rounds < 300


def test_rows_that_use_too_many_others_are_left_to_proximal_steps(monkeypatch):
    handed_over = []
    finish_block = essc.L1Block.finish

    def record(block, places, max_rounds):
        handed_over.append(len(places))
        return finish_block(block, places, max_rounds)

    monkeypatch.setattr(essc.L1Block, "finish", record)
    rng = np.random.default_rng(3)
    crowded, sparse_rows = rng.normal(size=(300, 400)), rng.normal(size=(300, 10))
    for X in (crowded, sparse_rows):
        X /= np.linalg.norm(X, axis=1)[:, None]
        _, _, n_open = prepare(X, False, 1e-12, max_iter=120).solve_l1(slice(0, 50), 200.0)
        assert n_open == (50 if X is crowded else 0)
    assert handed_over == [0, 50]


def solve_batch(grams, products, thresholds, start, max_rounds):
    values = start.copy()
    block = L1Block(
        values,
        products,
        thresholds[:, None],
        1e-10,
        multiply=lambda places, some: np.matmul(some[:, None], grams[places])[:, 0],
        grams=lambda places, columns: grams[places[:, None, None], columns[:, :, None], columns[:, None, :]],
    )
    return values, block.finish(np.arange(len(start)), max_rounds)[1]


def test_batch_solver_drops_what_it_took_in_wrongly():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(40, 8, 6))
    grams = factors @ factors.transpose(0, 2, 1) + 0.1 * np.eye(8)
    products, thresholds = 3 * rng.normal(size=(40, 8)), rng.uniform(0.2, 2.0, size=40)
    # Starts with wrong signs all over.
    start = 5 * rng.normal(size=(40, 8))
    found, is_open = solve_batch(grams, products, thresholds, start, 500)
    assert not is_open.any()
    from_zero, _ = solve_batch(grams, products, thresholds, np.zeros_like(start), 500)
    np.testing.assert_allclose(found, from_zero, atol=1e-8)
    _, unsolved = solve_batch(grams, products, thresholds, start, 1)
    assert unsolved.any()
