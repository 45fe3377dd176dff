"""Rows rebuilt from all other rows by ridge regression."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

Array = NDArray[np.float64]


def ridge_coefficients(X: Any, ridge: float, *, own_row: bool) -> Array:
    """Return C with ``X ~ C X``: row i minimises |x_i - c X|^2 + ridge |c|^2.

    With G = X X' and P = (G + ridge I)^(-1), C = P G if a row may rebuild itself, and otherwise c_ij = -p_ij / p_ii off
    the diagonal, which is ridge regression on the other rows.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n, d)
        The rows.
    ridge : float
        Positive.
    own_row : bool
        Whether a row may rebuild itself; if not, the diagonal is zero.

    Notes
    -----
    O(n^3), or O(n^2 d) where rows are dense and d < n: then P = (I - X (X'X + ridge I)^(-1) X') / ridge.
    """
    n_rows, n_features = X.shape
    if not sparse.issparse(X) and n_features < n_rows:
        gram = X.T @ X
        gram[np.diag_indices(n_features)] += ridge
        inverse = -(X @ linalg.solve(gram, X.T, assume_a="pos"))
        if own_row:
            return np.asarray(-inverse)
        inverse[np.diag_indices(n_rows)] += 1.0
    else:
        product = X @ X.T
        gram = product.toarray() if sparse.issparse(product) else product
        gram[np.diag_indices(n_rows)] += ridge
        inverse = linalg.inv(gram, overwrite_a=True)
        if own_row:
            inverse *= -ridge
            inverse[np.diag_indices(n_rows)] += 1.0
            return np.asarray(inverse)
    coefficients = inverse / -inverse.diagonal()[:, None]
    coefficients[np.diag_indices(n_rows)] = 0.0
    return np.asarray(coefficients)
