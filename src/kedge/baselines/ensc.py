"""EnSC: every row rebuilt from others under an elastic net by active sets, then spectral clustering."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import Interval

from kedge.baselines.base import Array, Flags, Indices, RowGraphBaseline, as_dense, baseline, parameter
from kedge.baselines.elastic_net import L1Block, supports
from kedge.baselines.graphs import rows_as_graph
from kedge.baselines.self_expression import Solved, cluster_coefficients, keep_largest_entries, solve_all_rows
from kedge.core.rows import View
from kedge.kernels.selection import default_threads
from kedge.parameters import COUNT, POSITIVE

# Rows of the first active set. It grows when so much of it is in use.
_FIRST_SIZE = 100
_FULL_SHARE, _GROWTH = 0.8, 1.5
# Most active sets of a row, and steps on one active set per member.
_MAX_ROUNDS, _STEPS_PER_MEMBER = 40, 5
# Bytes that a block of rows may take: its active rows, and its correlations with all rows.
_GATHERED_BYTES, _CORRELATION_BYTES = 1 << 25, 1 << 26
_SPARSE_BLOCK_ROWS = 16


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
        # Kept coefficients with their graph, and blocks of rows.
        block_rows = min(rows_per_turn(n_samples, n_features, is_sparse=False), n_samples)
        active = 8 * block_rows * min(100, n_samples) * (n_features + 100)
        blocks = default_threads() * (8 * 3 * block_rows * n_samples + active)
        return blocks + n_samples * (60 * min(self.n_nonzero, n_samples) + 8 * n_features)

    def _cluster(self, X: View, random_state: np.random.RandomState) -> dict[str, Any]:
        solver = ActiveSetSolver(X, self.fidelity, self.l1_share, self.tol)

        def solve(rows: slice) -> Solved:
            coefficients, n_rounds, n_open = solver.solve(rows)
            return keep_largest_entries(coefficients, self.n_nonzero), n_rounds, n_open

        block_rows = rows_per_turn(X.shape[0], X.shape[1], sparse.issparse(X))
        coefficients, n_iter = solve_all_rows(solve, X.shape[0], "raise tol or lower fidelity", block_rows)
        return cluster_coefficients(coefficients, self.n_clusters, random_state) | {"n_iter_": n_iter}


def rows_per_turn(n_rows: int, n_features: int, is_sparse: bool) -> int:
    """Return how many rows to solve for at a time."""
    if is_sparse:
        return _SPARSE_BLOCK_ROWS
    most = min(_GATHERED_BYTES // (8 * _FIRST_SIZE * max(n_features, _FIRST_SIZE)), _CORRELATION_BYTES // (8 * n_rows))
    return int(np.clip(most, 8, 256))


@dataclass(frozen=True)
class ActiveSetSolver:
    """Elastic nets of all rows; settings that all blocks share."""

    X: View  # Shape (n, d). The rows.
    fidelity: float  # Largest correlation of a row with another, over its threshold; at most 1 means no coefficients.
    l1_share: float  # Above 0, at most 1. Threshold to ridge is as l1_share to 1 - l1_share.
    tol: float  # Largest violation of the optimality condition, in units of the threshold.

    def solve(self, rows: slice) -> Solved:
        """Solve a block of rows; a step is an active set."""
        own = np.arange(rows.start, rows.stop)
        vectors = as_dense(self.X[rows])
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
            mixture = rows_as_graph(active, values, self.X.shape[0])
            solution[places] = mixture.toarray()
            sizes = self._correlation_sizes(vectors[places] - as_dense(mixture @ self.X), own[places])
            # Members of the active set are solved for; what is in use stays in it.
            np.put_along_axis(sizes, active, np.where(values != 0, np.inf, 0.0), axis=1)
            outside = np.where(np.isinf(sizes), 0.0, sizes).max(axis=1)
            is_open |= outside > (1.0 + self.tol) * thresholds[places]
            places = places[is_open]
            if np.count_nonzero(values[is_open], axis=1).max(initial=0) > _FULL_SHARE * count:
                count = min(int(_GROWTH * count) + 1, self.X.shape[0] - 1)
            active = _strongest(sizes[is_open], count)
        return sparse.csr_array(solution), n_rounds, len(places)

    def _solve_active(self, vectors: Array, thresholds: Array, active: Indices, start: Array) -> tuple[Array, Flags]:
        """Solve on the active sets, overwriting ``start``; return coefficients and which rows are unsolved."""
        grams, products = self._inner_products(vectors, active)
        diagonal = np.arange(active.shape[1])
        grams[:, diagonal, diagonal] += (thresholds * (1.0 - self.l1_share) / self.l1_share)[:, None]

        def multiply(places: Indices, values: Array) -> Array:
            columns, is_used = supports(values)
            used = np.where(is_used, np.take_along_axis(values, columns, axis=1), 0.0)
            return np.asarray(np.matmul(used[:, None, :], grams[places[:, None], columns])[:, 0, :])

        def between(places: Indices, columns: Indices) -> Array:
            return np.asarray(grams[places[:, None, None], columns[:, :, None], columns[:, None, :]])

        block = L1Block(start, products, thresholds[:, None], self.tol, multiply, between)
        _, is_open = block.finish(np.arange(len(start)), _STEPS_PER_MEMBER * active.shape[1])
        return start, is_open

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
        """Return absolute inner products of vectors with all rows, and -1 for the own row."""
        sizes = np.abs((self.X @ vectors.T).T if sparse.issparse(self.X) else vectors @ self.X.T)
        sizes[np.arange(len(own)), own] = -1.0
        return np.asarray(sizes)


def _strongest(sizes: Array, count: int) -> Indices:
    """Return the places of the largest entries of each row, ascending."""
    if not len(sizes):
        return np.empty((0, count), dtype=np.intp)
    return np.sort(np.argpartition(-sizes, count - 1, axis=1)[:, :count], axis=1)
