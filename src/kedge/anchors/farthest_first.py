"""Anchors by farthest-first search: each new one is the row that the others rebuild worst."""

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from kedge.anchors.rows import SAME_LINE, cosines, unit_rows
from kedge.core.l1_problems import L1Block
from kedge.core.rows import dense_rows, sample_rows, take_rows

Array = NDArray[np.float64]

# Rounds of the lasso between two looks at the bounds, and the largest violation of its conditions.
_ROUNDS, _PRECISION = 8, 1e-10


def lasso_bounds(gram: Array, products: Array, coefficients: Array, fidelity: float) -> tuple[Array, Array]:
    """Return upper and lower bounds of the costs at the given coefficients; they meet at the solution.

    ``gram`` holds the inner products of the dictionary rows, with ones on the diagonal, ``products`` those of the unit
    vectors with them, and ``fidelity``, above 1, is the weight of the squared error.
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
    """Return the solutions of all problems, or better coefficients where these take too many rounds."""
    improved = coefficients.copy()
    thresholds = np.full((len(products), 1), 1.0 / fidelity)
    block = L1Block(
        improved,
        products,
        thresholds,
        _PRECISION,
        multiply=lambda _, some: some @ gram,
        grams=lambda _, columns: gram[columns[:, :, None], columns[:, None, :]],
    )
    block.finish(np.arange(len(products)), _ROUNDS)
    return improved


LEAST_CANDIDATES, CANDIDATES_PER_ANCHOR = 5_000, 5
FIDELITY = 150.0
# Costs that differ by less than the larger of these (the second times fidelity^2) count as equal, because of rounding.
TOLERANCE, ROUNDING = 1e-9, 1e-13
# Problems improved at a time in the search for the worst row.
BATCH = 16
# Rounds of improvement per anchor: far more than needed, unless costs are equal up to rounding.
MAX_ROUNDS = 200


def farthest_first_anchors(X: Any, n_anchors: int, random_state: RandomState) -> NDArray[Any]:
    """Return the rows of X that :func:`farthest_first_rows` chooses."""
    return dense_rows(X, farthest_first_rows(X, n_anchors, random_state))


def farthest_first_rows(
    X: Any, n_anchors: int, random_state: RandomState, *, fidelity: float = FIDELITY
) -> NDArray[np.intp]:
    """Choose rows greedily: a random one, then always the one that the chosen rows rebuild worst.

    The cost of a row x is min_c ||c||_1 + (fidelity / 2) ||x - c D||^2 over the chosen rows D, all at unit length. Zero
    rows are never chosen, and only one row of each line is. Returns row numbers in the order chosen; fewer than
    ``n_anchors`` if every candidate lies on a chosen line.

    Candidates are a uniform sample in random order, which breaks ties. Costs only fall as rows are added, so earlier
    costs are upper bounds, and only rows whose bound exceeds the best lower bound are solved again (lazy search).

    References
    ----------
    You, Li, Robinson and Vidal, "Self-representation based unsupervised exemplar selection in a union of subspaces",
    IEEE Transactions on Pattern Analysis and Machine Intelligence, 2020.
    """
    if not fidelity > 1:
        raise ValueError(f"fidelity={fidelity} should be above 1; below it all costs are equal. Try 15 to 200")
    size = max(LEAST_CANDIDATES, CANDIDATES_PER_ANCHOR * n_anchors)
    rows = sample_rows(X.shape[0], size, random_state)
    units, nonzero = unit_rows(take_rows(X, rows))
    if not len(nonzero):
        return np.empty(0, dtype=np.intp)
    # Exact ties, such as rows orthogonal to all chosen ones, go to the first in a random order.
    order = random_state.permutation(len(nonzero))
    search = _LazySearch(units[order], min(n_anchors, len(nonzero)), fidelity)
    worst: int | None = 0
    while worst is not None and search.n_chosen < search.capacity:
        search.choose(worst)
        worst = search.find_worst()
    return np.asarray(rows[nonzero[order[search.chosen]]], dtype=np.intp)


class _LazySearch:
    """Coefficients and upper bounds of the costs of all candidates for the rows chosen so far."""

    def __init__(self, units: Any, capacity: int, fidelity: float) -> None:
        n_rows = units.shape[0]
        self.units, self.capacity, self.fidelity = units, capacity, fidelity
        self.tolerance = max(TOLERANCE, ROUNDING * fidelity**2)
        self.chosen: list[int] = []
        self.products = np.zeros((n_rows, capacity))
        self.coefficients = np.zeros((n_rows, capacity))
        self.gram = np.zeros((capacity, capacity))
        self.upper = np.full(n_rows, 0.5 * fidelity)
        # A row at the angle t to a chosen row costs about (fidelity - 1) t^2 / 2 more than the chosen row.
        self.on_a_chosen_line = 1.0 - 0.5 / fidelity + (fidelity - 1.0) * SAME_LINE

    @property
    def n_chosen(self) -> int:
        return len(self.chosen)

    def choose(self, row: int) -> None:
        """Add a row to the chosen ones and lower all bounds by the best step along it."""
        k = self.n_chosen
        products = cosines(self.units, dense_rows(self.units, np.array([row])))[:, 0]
        self.chosen.append(row)
        self.products[:, k] = products
        self.gram[k, : k + 1] = self.gram[: k + 1, k] = self.products[row, : k + 1]
        self.gram[k, k] = 1.0
        slopes = products - self.coefficients[:, :k] @ self.gram[:k, k]
        steps = slopes - np.clip(slopes, -1.0 / self.fidelity, 1.0 / self.fidelity)
        self.coefficients[:, k] = steps
        self.upper += np.abs(steps) + self.fidelity * steps * (0.5 * steps - slopes)
        # Below every cost, so that a chosen row is never found again.
        self.upper[self.chosen] = -1.0

    def find_worst(self) -> int | None:
        """Return the candidate with the largest cost, or None if every candidate lies on a chosen line.

        Bounds are tightened until no other candidate can cost more.
        """
        lower = np.full(len(self.upper), -np.inf)
        for _ in range(MAX_ROUNDS):
            best = int(lower.argmax())
            level = max(float(lower[best]), self.on_a_chosen_line)
            in_doubt = (self.upper > level + self.tolerance) & (self.upper - lower > self.tolerance)
            if lower[best] > self.on_a_chosen_line:
                in_doubt[best] = False
            rows = np.flatnonzero(in_doubt)
            if not len(rows):
                break
            self._tighten(rows[np.argsort(-self.upper[rows], kind="stable")[:BATCH]], lower)
        best = int(lower.argmax())
        if lower[best] <= self.on_a_chosen_line:
            return None
        ties = np.flatnonzero(lower >= self.upper[best] - self.tolerance)
        return int(ties[0]) if len(ties) else best

    def _tighten(self, rows: NDArray[np.intp], lower: Array) -> None:
        k = self.n_chosen
        gram, products = self.gram[:k, :k], self.products[rows, :k]
        improved = improve_lasso(gram, products, self.coefficients[rows, :k], self.fidelity)
        self.coefficients[rows, :k] = improved
        self.upper[rows], lower[rows] = lasso_bounds(gram, products, improved, self.fidelity)
