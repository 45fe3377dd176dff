"""Lasso problems solved to the end, by the rounds that farthest-first anchors take a few of."""

import numpy as np

from kedge.anchors.farthest_first import improve_lasso, lasso_bounds

MAX_ROUNDS = 500


def solve_lasso(gram, products, fidelity, *, tolerance=1e-9):
    """Return coefficients and bounds of their costs, which are within the tolerance unless the rounds run out."""
    coefficients = np.zeros_like(products)
    upper, lower = lasso_bounds(gram, products, coefficients, fidelity)
    for _ in range(MAX_ROUNDS):
        rows = np.flatnonzero(upper - lower > tolerance)
        if not len(rows):
            break
        coefficients[rows] = improve_lasso(gram, products[rows], coefficients[rows], fidelity)
        upper[rows], lower[rows] = lasso_bounds(gram, products[rows], coefficients[rows], fidelity)
    return coefficients, upper, lower
