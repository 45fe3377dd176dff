"""ESSC: rows rebuilt from few others by proximal and active-set steps, then spectral clustering."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import eigsh

from kedge.baselines import self_expression as rebuilt
from kedge.baselines.base import Array, Flags, Indices, RowGraphBaseline, baseline, parameter
from kedge.core.l1_problems import L1Block
from kedge.core.rows import View
from kedge.parameters import COUNT, POSITIVE, one_of

# Steps and tolerance of each solver where none are given.
_DEFAULTS = {("l1", "proximal"): (2000, 1e-2), ("l1", "admm"): (2000, 2e-4), ("l0", "proximal"): (500, 1e-3)}
# Up to this order all eigenvalues are cheap; of a larger matrix the largest is approximate, and this covers the error.
_SMALL_ORDER, _SAFETY = 1000, 1.01
# Steps from one look at the entries in use to the next.
_LOOK_EVERY = 10
# Proximal steps that every row takes, and the cost of a matrix entry that is looked up, in multiplications.
_FEW_STEPS, _LOOK_UP = 20, 10
# Halving alone would reach the right shift in about a hundred steps; Newton steps take a few.
_MAX_STEPS = 200


@baseline(
    "sparse subspace clustering by proximal gradients",
    cost="n^2 d per step",
    grid={"fidelity": [20.0, 800.0]},
    grid_source="values in the authors' programs",
)
class ESSC(RowGraphBaseline):
    """Efficient sparse subspace clustering: rows rebuilt from few others by proximal gradient steps, then a graph.

    This solves the problem of :class:`SSC` under an l1 penalty by accelerated proximal gradient steps, also if
    coefficients sum to one; or, with a limit on the number of coefficients instead (l0), it finds a local optimum.
    O(n^2 d) time per step if there are less than half as many features d as rows, O(n^3) otherwise. Under the l1
    penalty an active-set method, our addition, finishes rows that use few others. Memory holds the nonzero
    coefficients, and one n x n matrix if there are more features or X is sparse: about 50,000 rows on 24 GB then.
    Thousands of rows take minutes. The authors' program ends with the coefficients; the graph is that of SSC.

    Parameters
    ----------
    penalty : {"l1", "l0"}, default="l1"
        Penalty of the absolute sum, or a limit on the number of coefficients per row.
    solver : {"proximal", "admm"}, default="proximal"
        Proximal gradient steps, or for l1 the alternating direction method with a matrix of order d inverted once.
    fidelity : float, default=20.0
        l1 only. Weight of the squared error, in units of the smallest weight at which no row is left without
        coefficients. The authors' default is 800, which takes a few times as long.
    n_nonzero : int, default=10
        l0 only. Largest number of coefficients per row.
    affine : bool, default=False
        Whether coefficients of a row sum to one, for subspaces that do not pass through the origin.
    max_iter : int or None, default=None
        Largest number of steps, and of active-set rounds after them; None means 2000 for l1 and 500 for l0 (the
        authors: 200 and 50).
    tol : float or None, default=None
        Steps end, for l1, when no subgradient is off by more than this share of the l1 weight (None: 0.01); with
        ``solver="admm"``, when the two copies of the coefficients differ by at most this (None: 2e-4); for l0, when a
        step changes a row by less than this share (None: 0.001).

    Attributes
    ----------
    coefficients_ : CSR array of shape (n_samples, n_samples)
        Row i holds the coefficients that rebuild row i; the diagonal is empty.
    n_iter_ : int
        Steps and active-set rounds taken.

    References
    ----------
    Pourkamali-Anaraki, Folberth and Becker, "Efficient solvers for sparse subspace clustering", Signal Processing 172,
    2020.
    """

    penalty: str = parameter(one_of("l1", "l0"), default="l1")
    solver: str = parameter(one_of("proximal", "admm"), default="proximal")
    fidelity: float = parameter(POSITIVE, default=20.0)
    n_nonzero: int = parameter(COUNT, default=10)
    affine: bool = parameter("boolean", default=False)
    max_iter: int | None = parameter(COUNT, None, default=None)
    tol: float | None = parameter(POSITIVE, None, default=None)

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        n_matrices = 3 if self.solver == "admm" else 1 + self.affine
        n_nonzero = self.n_nonzero if self.penalty == "l0" else n_features
        return rebuilt.l1_block_memory(n_samples, n_features, n_nonzero, n_matrices)

    def _cluster(self, X: View, random_state: np.random.RandomState) -> dict[str, Any]:
        if (self.penalty, self.solver) not in _DEFAULTS:
            raise ValueError("solver='admm' is for penalty='l1' only; use solver='proximal' for 'l0'")
        coefficients, n_iter = rebuilt.solve_all_rows(self._solver(X), X.shape[0], rebuilt.L1_ADVICE)
        return rebuilt.cluster_coefficients(coefficients, self.n_clusters, random_state) | {"n_iter_": n_iter}

    def _solver(self, X: View) -> Callable[[slice], rebuilt.Solved]:
        """Return the function that solves a block of rows."""
        steps, tol = _DEFAULTS[self.penalty, self.solver]
        max_iter = steps if self.max_iter is None else self.max_iter
        tol = tol if self.tol is None else self.tol
        products, weight = rebuilt.prepare_l1(X, self.fidelity if self.penalty == "l1" else None, self.affine)
        if self.solver == "admm":
            step = min(self.fidelity, rebuilt.LARGEST_STEP)
            return rebuilt.AdmmSolver(products, weight, step, self.affine, max_iter, tol).solve
        solver = ProximalSolver(products, largest_eigenvalue(products), self.affine, max_iter, tol)
        if self.penalty == "l1":
            return partial(solver.solve_l1, fidelity=weight)
        return partial(solver.solve_l0, n_nonzero=min(self.n_nonzero, X.shape[0] - 1))


@dataclass(frozen=True)
class ProximalSolver:
    """Proximal gradient steps for the l1 or the l0 problem; settings that all blocks share."""

    products: rebuilt.SelfProducts  # Products with G.
    curvature: float  # At least the largest eigenvalue of G.
    is_affine: bool  # Whether coefficients of a row sum to one.
    max_iter: int  # Largest number of steps, and of rounds of the active-set method.
    # l1: a row is solved when no subgradient is off by more than this, where one is the weight of the l1 norm. l0: when
    # a step changes it by less than this, relative to its length.
    tol: float

    def solve_l1(self, rows: slice, fidelity: float) -> rebuilt.Solved:
        """Take proximal steps for a block, then finish the rows that these leave unsolved by active sets."""
        start, n_steps, is_open = self.approach_l1(rows, fidelity, self._steps_as_costly)
        costs = self._steps_as_costly(np.count_nonzero(start, axis=1))
        # Rows with so many entries that proximal steps would cost less have had all of those.
        is_wanted = is_open & (costs <= max(self.max_iter, _FEW_STEPS))
        n_rounds, n_open = self.finish(start, rows, np.flatnonzero(is_wanted), fidelity, self.max_iter)
        return sparse.csr_array(start), n_steps + n_rounds, n_open + int(np.count_nonzero(is_open & ~is_wanted))

    def approach_l1(
        self, rows: slice, fidelity: float, enough_steps: Callable[[Indices], Array] | None = None
    ) -> tuple[Array, int, Flags]:
        """Take accelerated steps with restarts (FISTA); return coefficients, steps, and which rows are unsolved.

        ``enough_steps`` maps numbers of nonzero entries to the steps after which such a row is left as it is.
        """
        own = np.arange(rows.start, rows.stop)
        target = self.products.rows(rows)
        solution, is_unsolved = np.zeros_like(target), np.zeros(len(own), dtype=bool)
        if self.curvature <= 0:
            return solution, 0, is_unsolved
        places = np.arange(len(own))
        now, ahead, momentum, shifts = solution.copy(), solution.copy(), np.ones(len(own)), None
        n_iter, threshold = 0, 1.0 / (fidelity * self.curvature)
        while len(places) and n_iter < self.max_iter:
            n_iter += 1
            moved = target - self.products.multiply(ahead)
            moved /= self.curvature
            moved += ahead
            if self.is_affine:
                new, shifts = shrink_to_sum_one(moved, threshold, own, shifts)
            else:
                new = rebuilt.shrink(moved, threshold, own)
            error, change = np.subtract(ahead, new, out=moved), np.subtract(new, now, out=now)
            # The next step would go uphill: start again from here.
            is_uphill = np.einsum("ij,ij->i", error, change) > 0
            momentum[is_uphill] = 1.0
            faster = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
            change *= np.where(is_uphill, 0.0, (momentum - 1.0) / faster)[:, None]
            ahead = np.add(new, change, out=ahead)
            now, momentum = new, faster
            is_open = np.maximum(error.max(axis=1), -error.min(axis=1)) > self.tol * threshold
            goes_on = is_open
            if enough_steps is not None and n_iter % _LOOK_EVERY == 0:
                goes_on = is_open & (enough_steps(np.count_nonzero(now, axis=1)) > n_iter)
            # Taking out rows copies all others, so it waits until enough are done.
            if n_iter == self.max_iter or np.count_nonzero(goes_on) <= 0.8 * len(places):
                solution[places], is_unsolved[places] = now, is_open
                places, own, target, now = places[goes_on], own[goes_on], target[goes_on], now[goes_on]
                ahead, momentum = ahead[goes_on], momentum[goes_on]
                shifts = None if shifts is None else shifts[goes_on]
        return solution, n_iter, is_unsolved

    def solve_l0(self, rows: slice, n_nonzero: int) -> rebuilt.Solved:
        """Take projected gradient steps for the l0 problem of a block; they end at a local optimum."""
        own = np.arange(rows.start, rows.stop)
        target = self.products.rows(rows)
        project = keep_largest_of_sum_one if self.is_affine else keep_largest
        solution = np.zeros_like(target)
        if self.curvature <= 0:
            return sparse.csr_array(solution), 0, 0
        places = np.arange(len(own))
        n_iter = 0
        while len(places) and n_iter < self.max_iter:
            n_iter += 1
            now = solution[places]
            moved = now - (self.products.multiply(now) - target[places]) / self.curvature
            new = project(moved, n_nonzero, own[places])
            solution[places] = new
            sizes = np.linalg.norm(now, axis=1)
            places = places[np.linalg.norm(new - now, axis=1) > self.tol * np.where(sizes > 0, sizes, 1.0)]
        return sparse.csr_array(solution), n_iter, len(places)

    def finish(self, values: Array, rows: slice, places: Indices, fidelity: float, max_rounds: int) -> tuple[int, int]:
        """Solve some rows of a block by active sets, in place; return rounds taken and how many are left unsolved."""
        most, own = self._most_independent(), places + rows.start
        # Rows that use more than can be independent keep the largest entries; others would leave one by one.
        is_crowded = np.count_nonzero(values[places], axis=1) > most
        if is_crowded.any():
            keep = keep_largest_of_sum_one if self.is_affine else keep_largest
            values[places[is_crowded]] = keep(values[places[is_crowded]], (most + 1) // 2, own[is_crowded])
        block = L1Block(
            values,
            self.products.rows(rows),
            np.full((len(values), 1), 1.0 / fidelity),
            self.tol,
            multiply=lambda _, some: self.products.multiply(some),
            grams=lambda _, columns: self.products.between(columns),
            own=np.arange(rows.start, rows.stop),
            is_affine=self.is_affine,
            n_gathered=self.products.X.shape[1],
        )
        n_rounds, is_open = block.finish(places, max_rounds)
        return n_rounds, int(np.count_nonzero(is_open))

    def _most_independent(self) -> int:
        """Return how many rows can be independent; one more if coefficients sum to one."""
        n_rows, n_features = self.products.X.shape
        return int(min(n_features + self.is_affine, n_rows - 1))

    def _steps_as_costly(self, n_used: Indices) -> Array:
        """Return about how many proximal steps cost as much as the active-set method, per row, from its entries in use.

        It takes about two rounds per entry, each with a linear system, and looks at all entries in every other round.
        """
        n_rows, n_features = self.products.X.shape
        has_gram = self.products.gram is not None
        in_use = np.minimum(n_used, self._most_independent()).astype(np.float64)
        per_round = in_use**3 + in_use**2 * (_LOOK_UP if has_gram else n_features)
        per_step = 2.0 * n_rows * (n_rows if has_gram else 2.0 * n_features)
        return np.asarray(np.maximum(in_use + 2.0 * in_use * per_round / per_step, _FEW_STEPS))


def largest_eigenvalue(products: rebuilt.SelfProducts) -> float:
    """Return at least the largest eigenvalue of G, and hardly more."""
    matrix = products.X.T @ products.X if products.gram is None else products.gram
    order = len(matrix)
    if order > _SMALL_ORDER:
        start = np.random.RandomState(0).uniform(-1, 1, order)
        found = eigsh(matrix, k=1, which="LA", v0=start, tol=1e-3, return_eigenvectors=False)
        return float(found[0]) * _SAFETY
    return float(linalg.eigvalsh(matrix, subset_by_index=[order - 1, order - 1])[0]) * (1 + 1e-12)


def shrink_to_sum_one(vectors: Array, threshold: float, own: Indices, start: Array | None) -> tuple[Array, Array]:
    """Return what ``shrink`` does among rows whose entries sum to one, and one shift per row.

    The solution is the shrunk v - shift for the shift with the right sum. The sum is piecewise linear in the shift, so
    Newton steps, held within a shrinking bracket, are exact once they reach the right piece. ``start`` may hold a first
    guess of the shifts.
    """
    others = vectors.copy()
    rows = np.arange(len(own))
    # The neighbour's value takes the own entry out of both ends of the bracket.
    others[rows, own] = vectors[rows, np.where(own == 0, 1, own - 1)]
    low, high = others.min(axis=1) - threshold - 1.0, others.max(axis=1) - threshold
    shifts = (low + high) / 2 if start is None else np.clip(start, low, high)
    solution = np.empty_like(vectors)
    for _ in range(_MAX_STEPS):
        shrunk = rebuilt.shrink(vectors[rows] - shifts[rows, None], threshold, own[rows])
        solution[rows] = shrunk
        excess = shrunk.sum(axis=1) - 1.0
        n_used = np.count_nonzero(shrunk, axis=1)
        low[rows] = np.where(excess > 0, shifts[rows], low[rows])
        high[rows] = np.where(excess <= 0, shifts[rows], high[rows])
        moved = shifts[rows] + excess / np.maximum(n_used, 1)
        is_outside = (n_used == 0) | (moved < low[rows]) | (moved > high[rows])
        moved = np.where(is_outside, (low[rows] + high[rows]) / 2, moved)
        size = 1.0 + np.abs(shrunk).sum(axis=1)
        is_open = (np.abs(excess) > 4 * np.finfo(np.float64).eps * size) & (moved != shifts[rows])
        shifts[rows] = np.where(is_open, moved, shifts[rows])
        rows = rows[is_open]
        if not len(rows):
            break
    return solution, shifts


def keep_largest(vectors: Array, n_kept: int, own: Indices) -> Array:
    """Return the nearest points with at most ``n_kept`` nonzero entries, the largest absolute ones."""
    sizes = np.abs(vectors)
    sizes[np.arange(len(own)), own] = -1.0
    kept = np.argpartition(-sizes, n_kept - 1, axis=1)[:, :n_kept]
    result = np.zeros_like(vectors)
    np.put_along_axis(result, kept, np.take_along_axis(vectors, kept, axis=1), axis=1)
    return result


def keep_largest_of_sum_one(vectors: Array, n_kept: int, own: Indices) -> Array:
    """Return the nearest points with ``n_kept`` entries that sum to one, picked one by one.

    First the largest entry, then always the one that is farthest from the shift that those before need. This greedy
    choice is optimal (Kyrillidis, Becker, Cevher and Koch, "Sparse projections onto the simplex", ICML 2013).
    """
    rows = np.arange(len(own))
    is_barred = np.zeros(vectors.shape, dtype=bool)
    is_barred[rows, own] = True
    picks = np.empty((len(own), n_kept), dtype=np.intp)
    picks[:, 0] = np.where(is_barred, -np.inf, vectors).argmax(axis=1)
    sums = vectors[rows, picks[:, 0]]
    for count in range(1, n_kept):
        is_barred[rows, picks[:, count - 1]] = True
        distances = np.abs(vectors - ((sums - 1.0) / count)[:, None])
        distances[is_barred] = -1.0
        picks[:, count] = distances.argmax(axis=1)
        sums = sums + vectors[rows, picks[:, count]]
    result = np.zeros_like(vectors)
    result[rows[:, None], picks] = vectors[rows[:, None], picks] - ((sums - 1.0) / n_kept)[:, None]
    return result
