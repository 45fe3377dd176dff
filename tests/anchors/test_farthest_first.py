"""Farthest-first anchors: the facts of the method, and the lazy search against the plain one."""

import numpy as np
import pytest
from lasso_minima import solve_lasso
from scipy import sparse
from sklearn.datasets import load_digits

from kedge.anchors import farthest_first
from kedge.anchors.farthest_first import farthest_first_anchors, farthest_first_rows


def costs_after(units, chosen, fidelity):
    exemplars = units[chosen]
    _, upper, _ = solve_lasso(exemplars @ exemplars.T, units @ exemplars.T, fidelity, tolerance=1e-10)
    return upper


def plain_search(units, first, n_anchors, fidelity):
    """Solve every problem anew for every exemplar."""
    chosen = [first]
    while len(chosen) < n_anchors:
        costs = costs_after(units, chosen, fidelity)
        costs[chosen] = -np.inf
        chosen.append(int(costs.argmax()))
    return chosen


def digits(n):
    X = load_digits().data[:n]
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize(("data", "fidelity"), [("subspaces", 200.0), ("digits", 15.0), ("digits", 200.0)])
def test_lazy_and_plain_search_choose_the_same_sequence(union_of_subspaces, data, fidelity):
    units = digits(200) if data == "digits" else union_of_subspaces(12, (3, 3, 3), (100, 60, 8))[0]
    chosen = farthest_first_rows(units, 12, np.random.RandomState(0), fidelity=fidelity)
    assert chosen.tolist() == plain_search(units, int(chosen[0]), 12, fidelity)


def test_every_chosen_row_has_the_largest_cost_even_among_ties(union_of_subspaces):
    # At a low fidelity many rows are not represented at all and tie.
    units, _ = union_of_subspaces(12, (3, 3, 3), (100, 60, 8))
    chosen = farthest_first_rows(units, 12, np.random.RandomState(0), fidelity=15.0)
    for k in range(1, 12):
        costs = costs_after(units, chosen[:k], 15.0)
        assert costs[chosen[k]] >= costs.max() - 1e-8


def test_the_lazy_search_solves_few_problems(monkeypatch, union_of_subspaces):
    solved = []
    original = farthest_first.improve_lasso
    monkeypatch.setattr(
        farthest_first, "improve_lasso", lambda g, p, c, f: solved.append(len(p)) or original(g, p, c, f)
    )
    units, _ = union_of_subspaces(30, (3,) * 5, (400,) * 5)
    farthest_first_rows(units, 15, np.random.RandomState(0))
    # The plain search solves 14 * 2000, each of them in several rounds.
    assert 0 < sum(solved) < 14 * 2000 / 5


def test_an_exemplar_costs_its_known_value(union_of_subspaces):
    units, _ = union_of_subspaces(12, (3, 3), (40, 40))
    chosen = farthest_first_rows(units, 6, np.random.RandomState(0), fidelity=50.0)
    np.testing.assert_allclose(costs_after(units, chosen, 50.0)[chosen], 1 - 1 / 100, atol=1e-10)


def test_costs_lie_between_that_of_an_exemplar_and_that_of_nothing(union_of_subspaces):
    units, _ = union_of_subspaces(12, (3, 3), (40, 40))
    chosen = farthest_first_rows(units, 6, np.random.RandomState(0), fidelity=50.0)
    costs = costs_after(units, chosen, 50.0)
    assert costs.min() >= 1 - 1 / 100 - 1e-10
    assert costs.max() <= 25 + 1e-10


def test_the_largest_cost_never_rises(union_of_subspaces):
    units, _ = union_of_subspaces(12, (3, 3, 3), (50, 50, 50))
    chosen = farthest_first_rows(units, 12, np.random.RandomState(1), fidelity=50.0)
    largest = [costs_after(units, chosen[: k + 1], 50.0).max() for k in range(12)]
    assert np.diff(largest).max() <= 1e-10
    assert largest[-1] < largest[0] / 4


@pytest.mark.parametrize("seed", range(5))
def test_exemplars_span_every_subspace_under_imbalance(union_of_subspaces, seed):
    units, owner = union_of_subspaces(12, (3, 3, 3), (100, 60, 8), seed)
    chosen = farthest_first_rows(units, 9, np.random.RandomState(seed), fidelity=200.0)
    assert [np.linalg.matrix_rank(units[chosen[owner[chosen] == group]]) for group in range(3)] == [3, 3, 3]


def test_rows_are_returned_at_their_own_length():
    X = np.diag([1.0, 20.0, 300.0])
    anchors = farthest_first_anchors(X, 3, np.random.RandomState(0))
    np.testing.assert_array_equal(np.sort(anchors.max(axis=1)), [1.0, 20.0, 300.0])


def test_the_search_stops_when_every_row_lies_on_a_chosen_line():
    lines = np.random.default_rng(0).normal(size=(4, 3))
    X = np.vstack([lines, -3 * lines, lines * 1e-5, np.zeros((2, 3))])
    chosen = farthest_first_rows(X, 10, np.random.RandomState(0))
    assert sorted(chosen % 4) == [0, 1, 2, 3]
    assert chosen.max() < 12


def test_no_row_is_chosen_twice():
    X = np.random.default_rng(0).normal(size=(60, 3))
    chosen = farthest_first_rows(X, 60, np.random.RandomState(0))
    assert sorted(chosen) == list(range(60))


def test_zero_rows_alone_choose_nothing():
    assert len(farthest_first_rows(np.zeros((5, 2)), 3, np.random.RandomState(0))) == 0


def test_sparse_rows_choose_the_same_sequence():
    X = np.random.default_rng(2).normal(size=(150, 10))
    X[np.abs(X) < 0.8] = 0
    dense = farthest_first_rows(X, 20, np.random.RandomState(0))
    np.testing.assert_array_equal(farthest_first_rows(sparse.csr_array(X), 20, np.random.RandomState(0)), dense)


def test_candidates_are_a_bounded_sample(monkeypatch):
    monkeypatch.setattr(farthest_first, "LEAST_CANDIDATES", 50)
    sizes = []
    original = farthest_first._LazySearch
    monkeypatch.setattr(
        farthest_first, "_LazySearch", lambda units, *rest: sizes.append(units.shape[0]) or original(units, *rest)
    )
    X = np.random.default_rng(0).normal(size=(300, 4))
    farthest_first_rows(X, 4, np.random.RandomState(0))
    farthest_first_rows(X, 20, np.random.RandomState(0))
    assert sizes == [50, 100]


@pytest.mark.parametrize("fidelity", [1.0, 0.5, -3.0, float("nan")])
def test_a_fidelity_at_which_all_costs_are_equal_is_refused(fidelity):
    with pytest.raises(ValueError, match=r"fidelity=.* should be above 1"):
        farthest_first_rows(np.eye(3), 2, np.random.RandomState(0), fidelity=fidelity)
