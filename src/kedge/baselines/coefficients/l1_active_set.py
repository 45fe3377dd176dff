"""Exact end of the l1 problems of rows: proximal steps find nearly the right support, an active-set method the rest.

For rows X, G = X X', an own entry c_ii = 0 and possibly entries that sum to one the problem is

    min ||c_i||_1 + (fidelity / 2) ||x_i - c_i X||^2.

With slopes g = fidelity (x_i - c_i X) X' it is solved when g_j - shift = sign(c_j) where c_j is not zero and
|g_j - shift| <= 1 elsewhere, the shift being zero unless entries sum to one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.baselines.coefficients.sparse_self_expression import ProximalSolver, SelfProducts
from kedge.baselines.coefficients.sum_to_one_shrinkage import keep_largest, keep_largest_of_sum_one

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]

# Keeps linear systems solvable where rows in use depend on each other. It shortens steps and does not move the
# solution; along directions in which the error stays the same steps remain long, and end where an entry is zero.
_RIDGE = 1e-10
# Steps without an entry coming or going, after which a row is given up.
_MAX_IDLE = 20
# Proximal steps that every row takes, and the cost of a matrix entry that is looked up, in multiplications.
_FEW_STEPS, _LOOK_UP = 20, 10
# Bytes of rows in use that are gathered at a time.
_GATHERED_BYTES = 1 << 22


@dataclass(frozen=True)
class ExactL1Solver:
    """Some proximal steps, then an active-set method for the rows that they leave unsolved; settings of all blocks."""

    # First steps. Its tolerance is that of the result: the largest error of a subgradient, where one is the weight of
    # the l1 norm. Its largest number of steps holds for the active-set method too.
    proximal: ProximalSolver
    fidelity: float  # Weight of the squared error.

    def solve(self, rows: slice) -> tuple[sparse.csr_array, int, int]:
        """Solve a block of rows.

        Returns
        -------
        coefficients : CSR array of shape (b, n)
            The solutions.
        n_iter, n_open : int
            Steps of both kinds, and rows left unsolved.
        """
        start, n_steps, is_open = self.proximal.approach_l1(rows, self.fidelity, self._steps_as_costly)
        costs = self._steps_as_costly(np.count_nonzero(start, axis=1))
        # Rows with so many entries that proximal steps would cost less have had all of those.
        is_wanted = is_open & (costs <= max(self.proximal.max_iter, _FEW_STEPS))
        block = _Block(self.proximal, self.fidelity, rows, start)
        n_rounds, n_open = block.finish(np.flatnonzero(is_wanted), self.proximal.max_iter)
        return sparse.csr_array(block.values), n_steps + n_rounds, n_open + int(np.count_nonzero(is_open & ~is_wanted))

    def _steps_as_costly(self, n_used: Indices) -> Array:
        """Return about how many proximal steps cost what the active-set method does, per row, from its entries in use.

        It takes some two rounds per entry, each with a linear system, and looks at all entries in every other round.
        A row that has had so many steps without being solved is better handed over.
        """
        products = self.proximal.products
        n_rows, n_features = products.X.shape
        in_use = np.minimum(n_used, _most_independent(products, self.proximal.is_affine)).astype(np.float64)
        per_round = in_use**3 + in_use**2 * (n_features if products.gram is None else _LOOK_UP)
        per_step = 2.0 * n_rows * (2.0 * n_features if products.gram is None else n_rows)
        return np.asarray(np.maximum(in_use + 2.0 * in_use * per_round / per_step, _FEW_STEPS))


def _most_independent(products: SelfProducts, is_affine: bool) -> int:
    """Return how many rows can be independent; of rows that sum to one, one more."""
    n_rows, n_features = products.X.shape
    return int(min(n_features + is_affine, n_rows - 1))


class _Block:
    """Coefficients of a block of rows on their way to the solution.

    One round of a row takes O(w^3 + w^2 d) time for w entries in use, and O(n d) when its support is settled and all
    others are looked at (O(n w) where G is kept). Each round that changes a support goes downhill, so none comes back.
    """

    def __init__(self, settings: ProximalSolver, fidelity: float, rows: slice, start: Array) -> None:
        self.products, self.is_affine, self.tol = settings.products, settings.is_affine, settings.tol
        self.threshold = 1.0 / fidelity
        self.own = np.arange(rows.start, rows.stop)
        self.target = self.products.rows(rows)
        self.values = start

    def _thin_out(self, places: Indices) -> None:
        """Keep the largest entries of rows that use more than can be independent; the others would leave one by one."""
        most = _most_independent(self.products, self.is_affine)
        crowded = places[np.count_nonzero(self.values[places], axis=1) > most]
        if len(crowded):
            keep = keep_largest_of_sum_one if self.is_affine else keep_largest
            self.values[crowded] = keep(self.values[crowded], (most + 1) // 2, self.own[crowded])

    def finish(self, places: Indices, max_rounds: int) -> tuple[int, int]:
        """Solve these rows; return rounds taken and how many are left unsolved."""
        self._thin_out(places)
        is_settled, n_idle = np.zeros(len(self.own), dtype=bool), np.zeros(len(self.own), dtype=np.intp)
        n_given_up = n_rounds = 0
        while len(places) and n_rounds < max_rounds:
            n_rounds += 1
            entering, signs = np.full(len(self.own), -1), np.zeros(len(self.own))
            # An entry that enters before the others are settled can be thrown out at once, again and again.
            settled = places[is_settled[places]]
            errors, entering[settled], signs[settled] = self._violations(settled)
            is_solved = np.zeros(len(self.own), dtype=bool)
            is_solved[settled] = errors <= self.tol
            places = places[~is_solved[places]]
            is_full, is_changed = self._step(places, entering[places], signs[places])
            is_settled[places] = is_full
            n_idle[places] = np.where(is_changed, 0, n_idle[places] + 1)
            n_given_up += int(np.count_nonzero(n_idle[places] > _MAX_IDLE))
            places = places[n_idle[places] <= _MAX_IDLE]
        if len(places):
            errors, _, _ = self._violations(places)
            places = places[errors > self.tol]
        return n_rounds, len(places) + n_given_up

    def _violations(self, places: Indices) -> tuple[Array, Indices, Array]:
        """Return the largest error of rows, the zero entry that breaks the condition most or -1, and its sign."""
        values = self.values[places]
        order, is_used, signs = np.arange(len(places)), values != 0, np.sign(values)
        slopes = (self.target[places] - self.products.multiply(values)) / self.threshold
        if self.is_affine:
            n_used = np.maximum(np.count_nonzero(is_used, axis=1), 1)
            slopes -= (np.where(is_used, slopes - signs, 0.0).sum(axis=1) / n_used)[:, None]
        slopes[order, self.own[places]] = 0.0
        inside = np.where(is_used, np.abs(slopes - signs), 0.0).max(axis=1, initial=0.0)
        outside = np.where(is_used, 0.0, np.abs(slopes) - 1.0)
        worst = outside.argmax(axis=1) if len(places) else np.empty(0, dtype=np.intp)
        excess = outside[order, worst]
        # What is in use may need another step first.
        enters = (excess > self.tol) & (excess >= inside)
        return np.maximum(excess, inside), np.where(enters, worst, -1), np.sign(slopes[order, worst])

    def _step(self, places: Indices, entering: Indices, signs: Array) -> tuple[Flags, Flags]:
        """Go toward the minimum for the present signs as far as they allow.

        Returns
        -------
        is_full, is_changed : bool array of shape (b,)
            Rows that went all the way, and rows whose support is another one now.
        """
        is_full, is_changed = np.zeros(len(places), dtype=bool), np.zeros(len(places), dtype=bool)
        sizes = np.count_nonzero(self.values[places], axis=1) + (entering >= 0)
        # Rows with supports of like size go together, since all are padded to the largest.
        order = np.argsort(sizes, kind="stable")
        while len(order):
            per_row = 8 * max(int(sizes[order[-1]]), 1) * max(self.products.X.shape[1], int(sizes[order[-1]]))
            count = max(_GATHERED_BYTES // per_row, 1)
            part, order = order[-count:], order[:-count]
            is_full[part], is_changed[part] = self._step_part(places[part], entering[part], signs[part])
        return is_full, is_changed

    def _step_part(self, places: Indices, entering: Indices, entering_signs: Array) -> tuple[Flags, Flags]:
        values = self.values[places]
        enters = entering >= 0
        signs = np.sign(values)
        signs[enters, entering[enters]] = entering_signs[enters]
        columns, is_used = _supports(signs)
        now, signs = (np.where(is_used, np.take_along_axis(part, columns, axis=1), 0.0) for part in (values, signs))
        grams = _grams(self.products, columns)
        slopes = np.take_along_axis(self.target[places], columns, axis=1) - np.matmul(now[:, None], grams)[:, 0]
        right = np.where(is_used, slopes - self.threshold * signs, 0.0)
        change = _newton_step(grams, right, is_used, (1.0 - now.sum(axis=1)) if self.is_affine else None)
        is_crossing = is_used & (np.sign(now + change) != signs)
        shares = np.divide(np.abs(now), np.abs(change), out=np.ones_like(now), where=is_crossing & (change != 0))
        share = np.minimum(shares.min(axis=1, initial=1.0, keepdims=True), 1.0)
        moved = np.where(is_crossing & (shares <= share), 0.0, now + share * change)
        self.values[np.broadcast_to(places[:, None], columns.shape)[is_used], columns[is_used]] = moved[is_used]
        is_full = ~is_crossing.any(axis=1)
        is_changed = ((now != 0) != (moved != 0)).any(axis=1, where=is_used)
        return is_full, is_changed


def _supports(signs: Array) -> tuple[Indices, Flags]:
    """Return the places of nonzero entries of each row, padded to equal length, and which of them are real."""
    is_used = signs != 0
    counts = np.count_nonzero(is_used, axis=1)
    width = int(counts.max(initial=0))
    is_real = np.arange(width) < counts[:, None]
    columns = np.zeros((len(signs), width), dtype=np.intp)
    columns[is_real] = np.nonzero(is_used)[1]
    return columns, is_real


def _grams(products: SelfProducts, columns: Indices) -> Array:
    """Return the part of G between the columns of each row."""
    if products.gram is not None:
        return np.asarray(products.gram[columns[:, :, None], columns[:, None, :]])
    gathered = products.X[columns]
    return np.asarray(np.matmul(gathered, gathered.transpose(0, 2, 1)))


def _newton_step(grams: Array, right: Array, is_used: Flags, sums: Array | None) -> Array:
    """Return changes d with G d = right on the entries in use, up to a shift where the sums of d are given.

    ``grams`` is overwritten.
    """
    n_rows, width = right.shape
    diagonal = np.arange(width)
    grams *= is_used[:, :, None] & is_used[:, None, :]
    sizes = grams[:, diagonal, diagonal].max(axis=1, initial=0.0)
    sizes = np.where(sizes > 0, sizes, 1.0)
    grams[:, diagonal, diagonal] += np.where(is_used, _RIDGE * sizes[:, None], sizes[:, None])
    if sums is None:
        return np.asarray(np.linalg.solve(grams, right[:, :, None])[:, :, 0])
    system = np.zeros((n_rows, width + 1, width + 1))
    system[:, :width, :width] = grams
    # The border is as large as the rest; the shift absorbs its scale.
    border = sizes[:, None] * is_used
    system[:, :width, width] = system[:, width, :width] = border
    sides = np.concatenate([right, (sums * sizes)[:, None]], axis=1)
    return np.asarray(np.linalg.solve(system, sides[:, :, None])[:, :width, 0])
