"""LRR and ALRR: low-rank coefficients are the optimum, keep subspaces apart, and are found in few coordinates."""

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from kedge.baselines import ALRR, LRR
from kedge.datasets import make_union_of_subspaces
from kedge.metrics import clustering_accuracy

NOISY = normalize(make_union_of_subspaces(80, n_subspaces=3, dim=2, ambient_dim=10, noise=0.2, random_state=0)[0])


def coefficients_of(model):
    if isinstance(model, ALRR):
        return model.row_basis_ @ model.core_ @ model.row_basis_.T
    return model.coefficient_factor_ @ model.row_basis_.T


def objective(X, C, weight):
    return linalg.svdvals(C).sum() + weight * np.linalg.norm(X - C @ X, axis=1).sum()


def plain_solver(X, weight, basis, n_iter):
    """Do the published steps on X itself, samples in columns; basis None means LRR, else ALRR."""
    D, (n, d) = X.T, X.shape
    Q = linalg.orth(X) if basis is None else basis
    B, V = D @ Q, np.eye(n) if basis is None else basis
    S = np.zeros((Q.shape[1], V.shape[1]))
    Y2, E, Y1, mu = np.zeros_like(S), np.zeros((d, n)), np.zeros((d, n)), 1e-6
    inverse = linalg.inv(B.T @ B + np.eye(len(S)))
    for _ in range(n_iter):
        U, s, W = linalg.svd(S + Y2 / mu, full_matrices=False)
        J = (U * np.maximum(s - 1 / mu, 0)) @ W
        S = inverse @ (B.T @ (D - E) @ V + J + (B.T @ Y1 @ V - Y2) / mu)
        E = D - B @ S @ V.T + Y1 / mu
        lengths = np.linalg.norm(E, axis=0)
        E = E * np.maximum(1 - weight / mu / lengths, 0)
        Y1 = Y1 + mu * (D - B @ S @ V.T - E)
        Y2 = Y2 + mu * (S - J)
        mu *= 1.1
    return (Q @ J @ V.T).T


@pytest.mark.parametrize("weight", [0.1, 0.4])
@pytest.mark.parametrize("rank", [None, 10, 4])
def test_few_coordinates_give_the_coefficients_of_the_published_steps(weight, rank):
    if rank is None:
        model = LRR(3, noise_weight=weight, random_state=0).fit(NOISY)
        expected = plain_solver(NOISY, weight, None, model.n_iter_)
    else:
        model = ALRR(3, rank=rank, noise_weight=weight, random_state=0).fit(NOISY)
        expected = plain_solver(NOISY, weight, model.row_basis_, model.n_iter_)
    np.testing.assert_allclose(coefficients_of(model), expected, atol=1e-9)


def test_lrr_reaches_the_minimum():
    weight = 0.15
    model = LRR(3, noise_weight=weight, random_state=0).fit(NOISY)
    C = coefficients_of(model)
    residual = NOISY - C @ NOISY
    lengths = np.linalg.norm(residual, axis=1, keepdims=True)
    assert lengths.min() > 1e-3
    # All rows are noisy, which fixes the solution of the dual problem, max <X, Y> with rows of Y at most ``weight``
    # long and Y X' of spectral norm at most one; any such Y bounds the minimum from below.
    dual = weight * residual / lengths
    dual /= max(1.0, np.linalg.norm(dual @ NOISY.T, 2))
    assert objective(NOISY, C, weight) - (dual * NOISY).sum() < 1e-4 * objective(NOISY, C, weight)


@pytest.mark.parametrize("method", [LRR, ALRR])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_without_noise_of_independent_subspaces_are_projected_and_separated(method, kind):
    X, y = make_union_of_subspaces(150, n_subspaces=3, dim=3, ambient_dim=20, random_state=0)
    model = method(3, noise_weight=10.0, tol=1e-8, random_state=0).fit(kind(X))
    C, basis = coefficients_of(model), linalg.orth(X)
    np.testing.assert_allclose(C, basis @ basis.T, atol=1e-7)
    np.testing.assert_allclose(C @ C, C, atol=1e-7)
    assert np.trace(C) == pytest.approx(9, abs=1e-6)
    assert np.abs(C[y[:, None] != y]).max() < 1e-8
    assert clustering_accuracy(y, model.labels_) == 1


@pytest.mark.parametrize("method", [LRR, ALRR])
def test_squared_noise_has_a_formula_that_no_step_improves(method):
    model = method(3, noise="frobenius", noise_weight=0.25, random_state=0).fit(NOISY)
    C = coefficients_of(model)
    # At the minimum the gradient of the squared part is minus a subgradient of the nuclear norm: U W' on the singular
    # vectors of C, of norm at most one elsewhere.
    gradient = 0.25 * (C @ NOISY - NOISY) @ NOISY.T
    U, s, W = linalg.svd(C)
    rank = int((s > 1e-8).sum())
    assert 0 < rank < 10
    np.testing.assert_allclose(U[:, :rank].T @ -gradient @ W[:rank].T, np.eye(rank), atol=1e-8)
    assert np.linalg.norm(gradient, 2) < 1 + 1e-8
    assert model.n_iter_ == 1


def test_nuclear_norm_is_that_of_the_small_matrix_and_the_objective_above_lrrs():
    weight = 0.2
    small = ALRR(3, noise_weight=weight, tol=1e-8, random_state=0).fit(NOISY)
    whole = LRR(3, noise_weight=weight, random_state=0).fit(NOISY)
    assert linalg.svdvals(small.core_).sum() == pytest.approx(linalg.svdvals(coefficients_of(small)).sum(), rel=1e-10)
    lowest = objective(NOISY, coefficients_of(whole), weight)
    assert lowest < objective(NOISY, coefficients_of(small), weight) < 1.02 * lowest


def test_sparse_rows_give_what_dense_rows_give():
    X = sparse.random_array((60, 300), density=0.05, rng=np.random.default_rng(0)).tocsr()
    for columns in (300, 40):
        part = X[:, :columns]
        for method in (LRR, ALRR):
            model = method(3, random_state=0)
            dense = coefficients_of(model.fit(part.toarray()))
            np.testing.assert_allclose(coefficients_of(model.fit(part)), dense, atol=1e-6)


def test_zero_rows_take_no_part():
    X = np.concatenate([NOISY, np.zeros((2, 10))])
    for method in (LRR, ALRR):
        model = method(3, random_state=0).fit(X)
        assert not np.abs(coefficients_of(model)[80:]).max() > 1e-12
        assert not model.embedding_[80:].any()


@pytest.mark.parametrize("method", [LRR, ALRR])
def test_noise_that_costs_nothing_leaves_no_graph_and_says_so(method):
    with pytest.warns(ConvergenceWarning, match="raise the weight of the noise"):
        model = method(3, noise_weight=1e-4, random_state=0).fit(NOISY)
    assert not model.labels_.any()


@pytest.mark.parametrize("method", [LRR, ALRR])
def test_too_few_iterations_are_warned_about(method):
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        method(3, max_iter=140, random_state=0).fit(NOISY)


def test_the_unit_of_x_only_rescales_the_weight():
    first = LRR(3, scale="none", noise_weight=0.2, random_state=0).fit(NOISY)
    second = LRR(3, scale="none", noise_weight=0.2e-5, random_state=0).fit(1e5 * NOISY)
    np.testing.assert_allclose(coefficients_of(first), coefficients_of(second), atol=1e-9)
