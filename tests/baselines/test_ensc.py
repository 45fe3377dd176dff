"""EnSC solves the elastic net of every row over all others exactly, and separates subspaces."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import ElasticNet

from kedge.baselines import EnSC, ensc
from kedge.baselines.ensc import ActiveSetSolver
from kedge.baselines.self_expression import keep_largest_entries
from kedge.datasets import make_union_of_subspaces
from kedge.metrics import clustering_accuracy


def noisy_subspaces(n_rows, ambient_dim=20, seed=0):
    X, y = make_union_of_subspaces(n_rows, n_subspaces=4, dim=4, ambient_dim=ambient_dim, noise=0.05, random_state=seed)
    return X / np.linalg.norm(X, axis=1)[:, None], y


def solve_all(X, fidelity, l1_share, tol=1e-9):
    solver = ActiveSetSolver(X, fidelity, l1_share, tol)
    with warnings.catch_warnings():
        # As in the fit: what counts is the rows that are left unsolved.
        warnings.filterwarnings("ignore", "Objective did not converge")
        found = [solver.solve(slice(start, min(start + 64, X.shape[0]))) for start in range(0, X.shape[0], 64)]
    assert not any(block[2] for block in found)
    return sparse.vstack([block[0] for block in found]).toarray()


def weights(X, fidelity, l1_share):
    """Threshold and ridge of each row."""
    gram = np.abs(X @ X.T)
    np.fill_diagonal(gram, 0)
    thresholds = gram.max(axis=1) / fidelity
    return thresholds, thresholds * (1 - l1_share) / l1_share


@pytest.mark.parametrize("l1_share", [1.0, 0.9, 0.2])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_optimality_condition_holds_over_all_rows(l1_share, kind):
    X, _ = noisy_subspaces(400)
    found = solve_all(kind(X), 50.0, l1_share)
    thresholds, ridges = (values[:, None] for values in weights(X, 50.0, l1_share))
    slopes = (X - found @ X) @ X.T - ridges * found
    errors = np.where(
        found != 0, np.abs(slopes - thresholds * np.sign(found)), np.maximum(np.abs(slopes) - thresholds, 0)
    )
    np.fill_diagonal(errors, 0)
    assert (errors / thresholds).max() < 1e-8
    assert not found.diagonal().any()


@pytest.mark.parametrize("l1_share", [0.9, 0.3])
def test_rows_equal_scikit_learns_elastic_net_on_the_other_rows(l1_share):
    X, _ = noisy_subspaces(150, ambient_dim=30)
    found = solve_all(X, 30.0, l1_share)
    thresholds, ridges = weights(X, 30.0, l1_share)
    for row in range(0, 150, 10):
        others = np.delete(np.arange(150), row)
        # Its objective is divided by the number of features, and its share is of the sum of both weights.
        total = thresholds[row] + ridges[row]
        model = ElasticNet(
            total / 30, l1_ratio=thresholds[row] / total, fit_intercept=False, tol=1e-12, max_iter=100_000
        )
        np.testing.assert_allclose(found[row, others], model.fit(X[others].T, X[row]).coef_, atol=1e-6)


def test_a_small_active_set_gives_the_solution_over_all_rows(monkeypatch):
    X, _ = noisy_subspaces(300)
    whole = solve_all(X, 50.0, 0.8)
    monkeypatch.setattr(ensc, "_FIRST_SIZE", 5)
    np.testing.assert_allclose(solve_all(X, 50.0, 0.8), whole, atol=1e-7)


def test_more_of_the_squared_penalty_uses_more_rows():
    X, _ = noisy_subspaces(200)
    counts = [np.count_nonzero(solve_all(X, 50.0, share)) for share in (1.0, 0.8, 0.4, 0.1)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1] / 2


def test_fidelity_of_one_gives_no_coefficients_and_more_gives_some_to_every_row():
    X, _ = noisy_subspaces(100)
    assert not solve_all(X, 1.0, 0.9).any()
    assert solve_all(X, 1.01, 0.9).any(axis=1).all()


def test_twins_share_the_weight_and_zero_rows_have_none():
    X, _ = noisy_subspaces(80)
    X = np.concatenate([X, X[:1], X[:1], np.zeros((2, 20))])
    found = solve_all(X, 50.0, 0.9)
    assert not found[82:].any()
    assert not found[:, 82:].any()
    # Columns of equal rows are equal where neither is the row itself.
    np.testing.assert_allclose(found[1:80, 80], found[1:80, 81], atol=1e-8)
    np.testing.assert_allclose(found[1:80, 0], found[1:80, 80], atol=1e-8)
    # With l1 alone the split between twins is free, and still nothing breaks.
    assert np.isfinite(solve_all(X, 50.0, 1.0)).all()


def test_largest_entries_are_kept():
    rows = np.array([[0.0, 3.0, -4.0, 1.0], [0.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    kept = keep_largest_entries(sparse.csr_array(rows), 2).toarray()
    np.testing.assert_array_equal(kept, [[0, 3, -4, 0], [0, 0, 2, 0], [0, 0, 0, 0]])
    X, _ = noisy_subspaces(100)
    found = EnSC(4, l1_share=0.1, n_nonzero=7, random_state=0).fit(X).coefficients_
    assert np.diff(found.indptr).max() == 7


def test_orthogonal_subspaces_are_separated():
    X, y = make_union_of_subspaces(120, n_subspaces=3, dim=3, ambient_dim=9, orthogonal=True, random_state=0)
    model = EnSC(3, random_state=0).fit(X)
    assert np.abs(model.coefficients_.toarray()[y[:, None] != y]).max() < 1e-10
    assert clustering_accuracy(y, model.labels_) == 1


def test_rounds_that_run_out_are_said_aloud(monkeypatch):
    monkeypatch.setattr(ensc, "_FIRST_SIZE", 3)
    monkeypatch.setattr(ensc, "_MAX_ROUNDS", 1)
    X, _ = noisy_subspaces(100)
    with pytest.warns(UserWarning, match="rows were not solved to the tolerance; raise tol or lower fidelity"):
        EnSC(4, random_state=0).fit(X)
