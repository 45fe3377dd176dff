"""Many lasso problems over one dictionary of unit vectors, from inner products alone, with bounds on the minima.

For a unit vector x and a dictionary D of unit rows the cost is

    f(x) = min_c ||c||_1 + (fidelity / 2) ||x - c D||^2,

and it needs only the products p = D x and the Gram matrix K = D D'. Any c bounds f from above; the residual of c,
scaled until no dictionary row correlates with it by more than 1 / fidelity, bounds f from below.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Sweeps of coordinate descent and steps of fixed signs between two looks at the bounds.
SWEEPS = 2
SIGN_STEPS = 8
# Keeps linear systems solvable; moves slopes, and so the lower bound, by as much times the fidelity.
_RIDGE = 1e-14


def lasso_bounds(gram: Array, products: Array, coefficients: Array, fidelity: float) -> tuple[Array, Array]:
    """Return upper and lower bounds of the costs at the given coefficients; they meet at the solution.

    Parameters
    ----------
    gram : array of shape (k, k)
        Inner products of the dictionary rows, ones on the diagonal.
    products : array of shape (n, k)
        Inner products of the n unit vectors with the dictionary.
    coefficients : array of shape (n, k)
        Any coefficients.
    fidelity : float
        Weight of the squared error, above 1.

    Returns
    -------
    upper, lower : arrays of shape (n,)
        Bounds of the minimal costs. O(n k^2).
    """
    correlations = products - coefficients @ gram
    # x'r and r'r for the residual r = x - c D, with x'x = 1.
    with_point = 1.0 - np.einsum("ij,ij->i", products, coefficients)
    squared = np.maximum(with_point - np.einsum("ij,ij->i", correlations, coefficients), 0.0)
    upper = np.abs(coefficients).sum(axis=1) + 0.5 * fidelity * squared
    largest = np.abs(correlations).max(axis=1, initial=0.0)
    # The dual value of s * fidelity * r is fidelity (s x'r - s^2 r'r / 2), feasible while |s| fidelity largest <= 1.
    tiny = np.finfo(np.float64).tiny
    limit = 1.0 / np.maximum(fidelity * largest, tiny)
    scale = np.clip(with_point / np.maximum(squared, tiny), -limit, limit)
    return upper, fidelity * (scale * with_point - 0.5 * scale * scale * squared)


def improve_lasso(gram: Array, products: Array, coefficients: Array, fidelity: float) -> Array:
    """Return better coefficients: sweeps of coordinate descent to find the signs, then steps that keep them.

    Coordinate descent alone creeps when dictionary rows are alike; with the right signs one linear system is exact.
    All n problems go side by side. O(n a^2) per sweep and O(n b^3) per step for a coordinates in use by some problem
    and at most b by any one.
    """
    improved = _sweep(gram, products, coefficients, fidelity)
    costs = _costs(gram, products, improved, fidelity)
    rows = np.arange(len(products))
    for _ in range(SIGN_STEPS):
        stepped = _step_within_signs(gram, products[rows], improved[rows], fidelity)
        after = _costs(gram, products[rows], stepped, fidelity)
        # The solution, or a singular system, yields no descent and ends the steps of its problem.
        better = after < costs[rows]
        rows = rows[better]
        if not len(rows):
            break
        improved[rows], costs[rows] = stepped[better], after[better]
    return improved


def _sweep(gram: Array, products: Array, coefficients: Array, fidelity: float) -> Array:
    """Sweep the coordinates that are in use or break the optimality condition for some problem."""
    threshold = 1.0 / fidelity
    correlations = products - coefficients @ gram
    swept = np.flatnonzero((coefficients != 0).any(axis=0) | (np.abs(correlations) > threshold).any(axis=0))
    # One coordinate of all problems is then one stretch of memory.
    values = np.ascontiguousarray(coefficients[:, swept].T)
    slopes = np.ascontiguousarray(correlations[:, swept].T)
    local = np.ascontiguousarray(gram[np.ix_(swept, swept)])
    for _ in range(SWEEPS):
        for j in range(len(swept)):
            target = values[j] + slopes[j]
            new = target - np.minimum(np.maximum(target, -threshold), threshold)
            slopes -= np.multiply.outer(local[j], new - values[j])
            values[j] = new
    improved = coefficients.copy()
    improved[:, swept] = values.T
    return improved


def _step_within_signs(gram: Array, products: Array, coefficients: Array, fidelity: float) -> Array:
    """Go toward the minimiser for the present signs, K_SS c_S = p_S - sign(c_S) / fidelity, as far as signs allow."""
    used = coefficients != 0
    width = int(used.sum(axis=1).max(initial=0))
    # The coordinates in use come first; the rest of a problem with fewer is padding.
    support = np.argsort(~used, axis=1, kind="stable")[:, :width]
    inside = np.take_along_axis(used, support, axis=1)
    now = np.take_along_axis(coefficients, support, axis=1)
    system = gram[support[:, :, None], support[:, None, :]] * (inside[:, :, None] & inside[:, None, :])
    system[:, np.arange(width), np.arange(width)] += np.where(inside, _RIDGE, 1.0)
    right = (np.take_along_axis(products, support, axis=1) - np.sign(now) / fidelity) * inside
    try:
        target = np.linalg.solve(system, right[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        return coefficients
    crossing = inside & (np.sign(target) != np.sign(now))
    shares = np.divide(np.abs(now), np.abs(now) + np.abs(target), out=np.ones_like(now), where=crossing)
    share = shares.min(axis=1, initial=1.0, keepdims=True)
    moved = np.where(crossing & (shares <= share), 0.0, now + share * (target - now))
    stepped = coefficients.copy()
    np.put_along_axis(stepped, support, np.where(inside, moved, 0.0), axis=1)
    return stepped


def _costs(gram: Array, products: Array, coefficients: Array, fidelity: float) -> Array:
    """Return ||c||_1 + (fidelity / 2) (1 - 2 p'c + c'Kc)."""
    squared = 1.0 + np.einsum("ij,ij->i", coefficients @ gram - 2.0 * products, coefficients)
    return np.asarray(np.abs(coefficients).sum(axis=1) + 0.5 * fidelity * squared)
