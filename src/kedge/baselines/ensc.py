"""EnSC: every row rebuilt from others under an elastic net by active sets, then spectral clustering."""

import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import enet_path
from sklearn.utils._param_validation import Interval

from kedge.baselines import self_expression as rebuilt
from kedge.baselines.base import Array, Indices, RowGraphBaseline, as_dense, baseline, parameter
from kedge.core.rows import View
from kedge.parameters import COUNT, POSITIVE

# Rows of an active set, if fewer than half of them are in use; otherwise it has twice as many as are in use.
_FIRST_SIZE = 100
# Most active sets of a row, and passes of coordinate descent on one of them.
_MAX_ROUNDS, _MAX_PASSES = 40, 1000
# Keeps linear systems solvable where rows in use depend on each other, as a share of the largest squared length.
_RIDGE = 1e-12


@baseline(
    "elastic-net representation of the rows by an active set of others",
    cost="n^2 d per round",
    grid={"fidelity": [50.0, 200.0], "l1_share": [0.9, 1.0]},
    grid_source="values in the authors' programs",
)
class EnSC(RowGraphBaseline):
    """Elastic net subspace clustering: rows rebuilt from others under an elastic net, then spectral clustering.

    The l1 part picks few rows; the squared part spreads the weight over similar rows, which connects a subspace better.
    A row is solved on about a hundred other rows, the active set, and checked against all others, until none of them
    could help. O(n^2 d) time per check, two to five checks per row: about 20,000 rows in a minute or two.

    Parameters
    ----------
    fidelity : float, default=50.0
        Weight of the squared error of each row, in units of the smallest weight at which the row has coefficients. The
        authors use 50, and 200 for handwritten digits.
    l1_share : float, default=0.9
        Share of the l1 penalty, above 0 and at most 1; the rest is the squared one. 1 is sparse subspace clustering
        with a weight per row.
    n_nonzero : int, default=50
        Entries of each row of coefficients that are kept, the largest first.
    tol : float, default=1e-6
        Largest violation of the optimality condition, in units of the l1 weight.

    Attributes
    ----------
    coefficients_ : CSR array of shape (n_samples, n_samples)
        Row i holds the coefficients that rebuild row i; the diagonal is empty.
    n_iter_ : int
        Most active sets that a row needed.

    References
    ----------
    You, Li, Robinson and Vidal, "Oracle based active set algorithm for scalable elastic net subspace clustering", CVPR
    2016.
    """

    fidelity: float = parameter(POSITIVE, default=50.0)
    l1_share: float = parameter(Interval(Real, 0, 1, closed="right"), default=0.9)
    n_nonzero: int = parameter(COUNT, default=50)
    tol: float = parameter(POSITIVE, default=1e-6)

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        blocks = rebuilt.l1_block_memory(n_samples, n_features, self.n_nonzero, n_matrices=0)
        return blocks + 8 * n_samples * n_features

    def _cluster(self, X: View, random_state: np.random.RandomState) -> dict[str, Any]:
        solver = ActiveSetSolver(X, self.fidelity, self.l1_share, self.tol)

        def solve(rows: slice) -> rebuilt.Solved:
            coefficients, n_rounds, n_open = solver.solve(rows)
            return rebuilt.keep_largest_entries(coefficients, self.n_nonzero), n_rounds, n_open

        with warnings.catch_warnings():
            # The rows that scikit-learn leaves unsolved are counted instead.
            warnings.filterwarnings("ignore", "Objective did not converge")
            coefficients, n_iter = rebuilt.solve_all_rows(solve, X.shape[0], "raise tol or lower fidelity")
        return rebuilt.cluster_coefficients(coefficients, self.n_clusters, random_state) | {"n_iter_": n_iter}


@dataclass(frozen=True)
class ActiveSetSolver:
    """Elastic nets of all rows; settings that all blocks share."""

    X: View  # Shape (n, d). The rows.
    fidelity: float  # Largest correlation of a row with another, over its threshold; at most 1 means no coefficients.
    l1_share: float  # Above 0, at most 1. Threshold to ridge is as l1_share to 1 - l1_share.
    tol: float  # Largest violation of the optimality condition, in units of the threshold.

    def solve(self, rows: slice) -> rebuilt.Solved:
        """Solve a block of rows; a step is an active set.

        At the optimum the slope x_j'(x_i - cX) - ridge c_j is threshold sign(c_j) where c_j is not zero, and at most
        the threshold in size elsewhere.
        """
        own = np.arange(rows.start, rows.stop)
        vectors = as_dense(self.X[rows])
        slopes = self._correlations(vectors, own)
        thresholds = np.abs(slopes).max(axis=1, keepdims=True) / self.fidelity
        solution = np.zeros_like(slopes)
        places = np.flatnonzero(thresholds > 0)
        slopes = slopes[places]
        n_rounds = 0
        while len(places) and n_rounds < _MAX_ROUNDS:
            n_rounds += 1
            for place, slope in zip(places, slopes, strict=True):
                active = _strongest(slope, solution[place], own[place])
                problem = vectors[place], float(thresholds[place, 0]), active, solution[place, active]
                # The first active sets often lack rows, so more digits would be wasted on them.
                solution[place, active] = self._solve_active(*problem, tol=10.0 ** (-1 - n_rounds))
            values, units = solution[places], thresholds[places]
            residuals = vectors[places] - as_dense(sparse.csr_array(values) @ self.X)
            slopes = self._correlations(residuals, own[places]) / units - (1.0 / self.l1_share - 1.0) * values
            errors = np.where(values != 0, np.abs(slopes - np.sign(values)), np.abs(slopes) - 1.0)
            is_open = errors.max(axis=1) > self.tol
            places, slopes = places[is_open], slopes[is_open]
        return sparse.csr_array(solution), n_rounds, len(places)

    def _solve_active(self, vector: Array, threshold: float, active: Indices, start: Array, tol: float) -> Array:
        """Descend by coordinates on an active set; then take the exact solution for these signs, if it keeps them."""
        some, weight = self.X[active], threshold / self.l1_share
        gram, products = np.ascontiguousarray(as_dense(some @ some.T)), np.asarray(some @ vector)
        # With a Gram matrix, scikit-learn needs the features only for their number, by which it divides the error.
        features, length = np.zeros((1, len(active)), order="F"), np.array([np.linalg.norm(vector)])
        given = {"precompute": gram, "Xy": products, "coef_init": start, "check_input": False}
        limits = {"tol": tol, "max_iter": _MAX_PASSES}
        _, path, _ = enet_path(features, length, l1_ratio=self.l1_share, alphas=[weight], **given, **limits)
        values = np.asarray(path[:, 0])
        used = np.flatnonzero(values)
        signs = np.sign(values[used])
        gram[np.diag_indices(len(gram))] += weight - threshold + _RIDGE * gram.diagonal().max()
        exact = np.linalg.solve(gram[np.ix_(used, used)], products[used] - threshold * signs)
        if np.array_equal(np.sign(exact), signs):
            values[used] = exact
        return values

    def _correlations(self, vectors: Array, own: Indices) -> Array:
        """Return inner products of vectors with all rows, and zero for the own row."""
        products = np.asarray((self.X @ vectors.T).T)
        products[np.arange(len(own)), own] = 0.0
        return products


def _strongest(slopes: Array, values: Array, own: int) -> Indices:
    """Return the active set of a row: what is in use, and the other rows with the largest slopes."""
    sizes = np.where(values != 0, np.inf, np.abs(slopes))
    sizes[own] = -1.0
    count = min(max(_FIRST_SIZE, 2 * int(np.count_nonzero(values))), len(sizes) - 1)
    return np.argpartition(-sizes, count - 1)[:count]
