"""Every row rebuilt from others under an elastic net, each on a small active set of rows that is checked against all.

For rows X, an own entry c_ii = 0 and a threshold t_i and ridge h_i per row the problem is

    min ||x_i - c_i X||^2 / 2 + t_i ||c_i||_1 + (h_i / 2) ||c_i||^2.

A solution on an active set is one over all rows if no row outside correlates with the residual by more than t_i.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.baselines.coefficients.elastic_net_rows import solve_elastic_nets
from kedge.core.rows import View

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_FIRST_SIZE = 100
# The active set grows when so much of it is in use.
_FULL_SHARE, _GROWTH = 0.8, 1.5
# Rows looked at again and again, and steps on one active set per member.
_MAX_ROUNDS, _STEPS_PER_MEMBER = 40, 5
# Bytes that a block of rows may take: its active rows, and its correlations with all rows.
_GATHERED_BYTES, _CORRELATION_BYTES = 1 << 25, 1 << 26
_SPARSE_BLOCK_ROWS = 16


def rows_per_block(n_rows: int, n_features: int, is_sparse: bool) -> int:
    """Return how many rows to solve for at a time."""
    if is_sparse:
        return _SPARSE_BLOCK_ROWS
    most = min(_GATHERED_BYTES // (8 * _FIRST_SIZE * max(n_features, _FIRST_SIZE)), _CORRELATION_BYTES // (8 * n_rows))
    return int(np.clip(most, 8, 256))


@dataclass(frozen=True)
class ActiveSetSolver:
    """Elastic nets of all rows; settings that all blocks share."""

    X: View  # Shape (n, d). The rows.
    # Largest correlation of a row with another, over its threshold; above 1 for coefficients other than zero.
    fidelity: float
    l1_share: float  # Above 0, at most 1: threshold and ridge are as l1_share to 1 - l1_share.
    tol: float  # Largest violation of the optimality condition, in units of the threshold.

    def solve(self, rows: slice) -> tuple[sparse.csr_array, int, int]:
        """Solve a block of rows.

        Returns
        -------
        coefficients : CSR array of shape (b, n)
            The solutions.
        n_rounds, n_open : int
            Active sets tried, and rows not solved.
        """
        own = np.arange(rows.start, rows.stop)
        vectors = _dense(self.X[rows])
        sizes = self._correlation_sizes(vectors, own)
        largest = sizes.max(axis=1)
        thresholds = largest / self.fidelity
        solution = np.zeros((len(own), self.X.shape[0]))
        places = np.flatnonzero(largest > 0)
        count = min(_FIRST_SIZE, self.X.shape[0] - 1)
        active = _strongest(sizes[places], count)
        n_rounds = 0
        while len(places) and n_rounds < _MAX_ROUNDS:
            n_rounds += 1
            start = np.take_along_axis(solution[places], active, axis=1)
            values, is_open = self._solve_active(vectors[places], thresholds[places], active, start)
            mixture = _csr_rows(active, values, self.X.shape[0])
            solution[places] = mixture.toarray()
            sizes = self._correlation_sizes(vectors[places] - _dense(mixture @ self.X), own[places])
            # Members of the active set are solved for; what is in use stays in it.
            np.put_along_axis(sizes, active, np.where(values != 0, np.inf, 0.0), axis=1)
            outside = np.where(np.isinf(sizes), 0.0, sizes).max(axis=1)
            is_open |= outside > (1.0 + self.tol) * thresholds[places]
            places = places[is_open]
            count = self._grow(count, values[is_open])
            active = _strongest(sizes[is_open], count)
        return sparse.csr_array(solution), n_rounds, len(places)

    def _grow(self, size: int, values: Array) -> int:
        in_use = int(np.count_nonzero(values, axis=1).max(initial=0))
        return min(int(_GROWTH * size) + 1, self.X.shape[0] - 1) if in_use > _FULL_SHARE * size else size

    def _solve_active(
        self, vectors: Array, thresholds: Array, active: Indices, start: Array
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Solve on the active sets; return coefficients, and which are unsolved."""
        grams, products = self._inner_products(vectors, active)
        diagonal = np.arange(active.shape[1])
        grams[:, diagonal, diagonal] += (thresholds * (1.0 - self.l1_share) / self.l1_share)[:, None]
        steps = _STEPS_PER_MEMBER * active.shape[1]
        return solve_elastic_nets(grams, products, thresholds, start, tol=self.tol, max_steps=steps)

    def _inner_products(self, vectors: Array, active: Indices) -> tuple[Array, Array]:
        if sparse.issparse(self.X):
            members, places = np.unique(active, return_inverse=True)
            places = places.reshape(active.shape)
            some = self.X[members]
            gram = (some @ some.T).toarray()
            by_member = np.asarray(some @ vectors.T).T
            return gram[places[:, :, None], places[:, None, :]], np.take_along_axis(by_member, places, axis=1)
        gathered = self.X[active]
        products = np.matmul(gathered, vectors[:, :, None])[:, :, 0]
        return np.matmul(gathered, gathered.transpose(0, 2, 1)), products

    def _correlation_sizes(self, vectors: Array, own: Indices) -> Array:
        """Return absolute inner products of vectors with all rows; less than any for the own row."""
        sizes = np.abs((self.X @ vectors.T).T if sparse.issparse(self.X) else vectors @ self.X.T)
        sizes[np.arange(len(own)), own] = -1.0
        return np.asarray(sizes)


def _csr_rows(columns: Indices, values: Array, n_columns: int) -> sparse.csr_array:
    """Return rows with these values in these columns, which ascend."""
    is_used = values != 0
    pointers = np.concatenate([[0], np.cumsum(is_used.sum(axis=1))])
    return sparse.csr_array((values[is_used], columns[is_used], pointers), shape=(len(columns), n_columns))


def _strongest(sizes: Array, count: int) -> Indices:
    """Return the places of the largest entries of each row, in their order."""
    if not len(sizes):
        return np.empty((0, count), dtype=np.intp)
    return np.sort(np.argpartition(-sizes, count - 1, axis=1)[:, :count], axis=1)


def _dense(rows: View) -> Array:
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows)
