"""What must hold of any solution, computed without the solvers."""

import numpy as np


def kkt_residuals(hessian, linear, weights):
    """Residual of each row in extended precision, relative to max|H| + max|f|."""
    H, F, Z = (np.asarray(a, dtype=np.longdouble) for a in (hessian, linear, weights))
    gradient = Z @ H + F
    level = (gradient * Z).sum(axis=1, keepdims=True)
    below = (level - gradient).max(axis=1)
    uneven = np.where(Z > 0, np.abs(gradient - level), 0).max(axis=1)
    scale = np.abs(H).max() + np.abs(F).max(axis=1)
    return (np.maximum(below, uneven) / np.maximum(scale, np.finfo(float).tiny)).astype(float)


def objectives(hessian, linear, weights):
    """Objective of each row in extended precision."""
    H, F, Z = (np.asarray(a, dtype=np.longdouble) for a in (hessian, linear, weights))
    return 0.5 * np.einsum("ij,jk,ik->i", Z, H, Z) + (F * Z).sum(axis=1)


def assert_on_simplex(weights, atol=1e-12):
    """Rows are nonnegative and sum to one."""
    weights = np.asarray(weights)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1, dtype=float), 1.0, rtol=0, atol=atol)


def assert_optimal(hessian, linear, weights, tol=1e-9):
    """Feasible and optimal, judged independently of any solver."""
    assert_on_simplex(weights)
    worst = kkt_residuals(hessian, linear, weights).max(initial=0.0)
    assert worst <= tol, f"KKT residual {worst:.2e}"


def l1_objective(X, coefficients, fidelity):
    """||C||_1 + (fidelity / 2) ||X - C X||_F^2."""
    left = X - coefficients @ X
    return float(abs(coefficients).sum() + 0.5 * fidelity * (left * left).sum())
