"""LSR: rows rebuilt from all others by ridge regression, then spectral clustering."""

from typing import Any

import numpy as np
from scipy import linalg, sparse

from kedge.baselines.affinity import cluster_affinity, symmetric_graph
from kedge.baselines.base import Array, RowGraphBaseline, as_dense, baseline, parameter
from kedge.core.rows import View
from kedge.parameters import POSITIVE


@baseline(
    "ridge regression of the rows on each other",
    cost="n^2 d",
    grid={"ridge": [0.001, 0.004, 0.01, 0.1, 1.0], "own_row": [False, True]},
    grid_source="around the values of the authors' programs (0.004 and 0.001)",
)
class LSR(RowGraphBaseline):
    """Least squares regression: rows rebuilt from each other by ridge regression, then spectral clustering.

    Rows of one subspace get large coefficients on each other; the ridge spreads the weight over all of them. O(n^2 d)
    time for n rows of d features, at most O(n^3); three n x n matrices of memory, so about 30,000 rows on 24 GB.

    Parameters
    ----------
    ridge : float, default=0.004
        Weight of the squared coefficients, for rows of unit length. The authors use 0.004 with ``own_row=False`` and
        0.001 with ``own_row=True``.
    own_row : bool, default=False
        Whether a row may rebuild itself (the authors' LSR2) or not (LSR1).

    Attributes
    ----------
    coefficients_ : ndarray of shape (n_samples, n_samples)
        Row i holds the coefficients that rebuild row i.

    References
    ----------
    Lu, Min, Zhao, Zhu, Huang and Yan, "Robust and efficient subspace segmentation via least squares regression", ECCV
    2012.
    """

    ridge: float = parameter(POSITIVE, default=0.004)
    own_row: bool = parameter("boolean", default=False)

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        return 8 * (3 * n_samples**2 + n_samples * n_features)

    def _cluster(self, X: View, random_state: np.random.RandomState) -> dict[str, Any]:
        coefficients = ridge_coefficients(X, self.ridge, own_row=self.own_row)
        found = cluster_affinity(symmetric_graph(coefficients), self.n_clusters, random_state)
        return found | {"coefficients_": coefficients}


def ridge_coefficients(X: Any, ridge: float, *, own_row: bool) -> Array:
    """Return C with ``X ~ C X``: row i minimises |x_i - c X|^2 + ridge |c|^2.

    With G = X X' and P = (G + ridge I)^(-1), C = P G if a row may rebuild itself; otherwise c_ij = -p_ij / p_ii off the
    diagonal. For dense rows with d < n, P = (I - X (X'X + ridge I)^(-1) X') / ridge takes O(n^2 d) instead of O(n^3).
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
        gram = as_dense(X @ X.T)
        gram[np.diag_indices(n_rows)] += ridge
        inverse = linalg.inv(gram, overwrite_a=True)
        if own_row:
            inverse *= -ridge
            inverse[np.diag_indices(n_rows)] += 1.0
            return np.asarray(inverse)
    coefficients = inverse / -inverse.diagonal()[:, None]
    coefficients[np.diag_indices(n_rows)] = 0.0
    return np.asarray(coefficients)
