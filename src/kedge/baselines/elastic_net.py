"""Active-set solvers of many small l1 problems side by side.

For inner products p, a Gram matrix H and a threshold t the problem is

    min_c  c'Hc / 2 - p'c + t ||c||_1.

At the optimum the slope p - Hc is t sign(c) where c is not zero, and at most t in size elsewhere. A step goes toward
the minimum for the present signs until a sign would change. Once the coordinates in use are settled, the one that
violates the condition most enters. Both only go downhill. (Compare the feature-sign search of Lee, Battle, Raina and
Ng, "Efficient sparse coding algorithms", NIPS 2006.)
"""

from typing import Any

import numpy as np

from kedge.baselines.base import Array, Flags, Indices
from kedge.baselines.self_expression import SelfProducts

# Keeps linear systems solvable where rows in use depend on each other. It shortens steps but does not move the
# solution. Along directions in which the error stays the same, steps remain long and end where an entry is zero.
_RIDGE = 1e-10
# Steps without an entry coming or going, after which a row is given up.
_MAX_IDLE = 20
# Bytes of rows in use that are gathered at a time.
_GATHERED_BYTES = 1 << 22


def solve_elastic_nets(
    grams: Array, products: Array, thresholds: Array, start: Array, *, tol: float, max_steps: int
) -> tuple[Array, Flags]:
    """Solve a batch of problems: H of shape (b, m, m), p and the first coefficients (b, m), positive t (b,).

    Returns coefficients, and which problems violate the condition by more than ``tol`` times t.
    """
    values = start.copy()
    rows = np.arange(len(values))
    for _ in range(max_steps):
        slopes = _slopes(grams, products, values, rows)
        limits = thresholds[rows][:, None]
        errors = np.where(
            values[rows] != 0, np.abs(slopes - limits * np.sign(values[rows])), np.maximum(np.abs(slopes) - limits, 0.0)
        )
        is_left = errors.max(axis=1, initial=0.0) > tol * thresholds[rows]
        rows, slopes, errors = rows[is_left], slopes[is_left], errors[is_left]
        if not len(rows):
            break
        # A coordinate that enters before the others are settled can be thrown out at once, again and again.
        is_settled = np.where(values[rows] != 0, errors, 0.0).max(axis=1, initial=0.0) <= tol * thresholds[rows]
        _enter_worst(
            grams, values, rows[is_settled], slopes[is_settled], errors[is_settled], thresholds[rows[is_settled]]
        )
        _step_within_signs(grams, products, values, rows, thresholds[rows])
    is_open = np.zeros(len(values), dtype=bool)
    is_open[rows] = True
    return values, is_open


def _slopes(grams: Array, products: Array, values: Array, rows: Indices) -> Array:
    """Return p - Hc of some problems."""
    places, is_used = _supports(values[rows])
    used = np.where(is_used, np.take_along_axis(values[rows], places, axis=1), 0.0)
    return np.asarray(products[rows] - np.matmul(used[:, None, :], grams[rows[:, None], places])[:, 0, :])


def _enter_worst(grams: Array, values: Array, rows: Indices, slopes: Array, errors: Array, thresholds: Array) -> None:
    """Move the zero coordinate with the largest error to its minimum; ``values`` is input and output."""
    errors = np.where(values[rows] == 0, errors, 0.0)
    worst = errors.argmax(axis=1)
    order = np.arange(len(rows))
    breaks = errors[order, worst] > 0
    rows, worst, order = rows[breaks], worst[breaks], order[breaks]
    slope = slopes[order, worst]
    pull = np.sign(slope) * (np.abs(slope) - thresholds[order])
    values[rows, worst] = pull / np.maximum(grams[rows, worst, worst], np.finfo(np.float64).tiny)


def _step_within_signs(grams: Array, products: Array, values: Array, rows: Indices, thresholds: Array) -> None:
    """Go toward the minimum for the present signs as far as they allow; ``values`` is input and output."""
    places, is_used = _supports(values[rows])
    now = np.where(is_used, np.take_along_axis(values[rows], places, axis=1), 0.0)
    system = grams[rows[:, None, None], places[:, :, None], places[:, None, :]]
    wanted = np.take_along_axis(products[rows], places, axis=1)
    moved, _ = _move(now, np.sign(now), is_used, system, wanted, thresholds[:, None])
    values[np.broadcast_to(rows[:, None], places.shape)[is_used], places[is_used]] = moved[is_used]


def _move(
    now: Array, signs: Array, is_used: Flags, grams: Array, products: Array, threshold: Any, sums: Array | None = None
) -> tuple[Array, Flags]:
    """Return entries moved toward the minimum for their signs as far as these allow, and which of them would cross.

    ``sums`` are those that the change has to have, where entries sum to one. ``grams`` is overwritten.
    """
    slopes = products - np.matmul(now[:, None], grams)[:, 0]
    change = _newton_step(grams, np.where(is_used, slopes - threshold * signs, 0.0), is_used, sums)
    is_crossing = is_used & (np.sign(now + change) != signs)
    shares = np.divide(np.abs(now), np.abs(change), out=np.ones_like(now), where=is_crossing & (change != 0))
    share = np.minimum(shares.min(axis=1, initial=1.0, keepdims=True), 1.0)
    return np.where(is_crossing & (shares <= share), 0.0, now + share * change), is_crossing


class L1Block:
    """Coefficients of a block of rows, rebuilt from all rows under an l1 penalty, on their way to the solution.

    Here t = 1 / fidelity, p is a row of G = X X' and H = G; the own entry stays zero. If entries sum to one, all slopes
    are shifted by a constant. A round of a row takes O(w^3 + w^2 d) time for w entries in use, and O(n d) when all
    others are checked (O(n w) if G is kept). Each round that changes a support goes downhill, so none comes back.
    """

    def __init__(
        self, products: SelfProducts, is_affine: bool, fidelity: float, tol: float, rows: slice, start: Array
    ) -> None:
        self.products, self.is_affine, self.tol = products, is_affine, tol
        self.threshold = 1.0 / fidelity
        self.own = np.arange(rows.start, rows.stop)
        self.target = self.products.rows(rows)
        self.values = start

    def finish(self, places: Indices, max_rounds: int) -> tuple[int, int]:
        """Solve these rows; return the rounds taken and how many rows are left unsolved."""
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
        """Return the largest error of rows, the zero entry that violates the condition most or -1, and its sign."""
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
        """Go toward the minimum for the signs; return which rows went all the way and whose support changed."""
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
        wanted = np.take_along_axis(self.target[places], columns, axis=1)
        sums = (1.0 - now.sum(axis=1)) if self.is_affine else None
        grams = _grams(self.products, columns)
        moved, is_crossing = _move(now, signs, is_used, grams, wanted, self.threshold, sums)
        self.values[np.broadcast_to(places[:, None], columns.shape)[is_used], columns[is_used]] = moved[is_used]
        is_changed = is_used & ((now != 0) != (moved != 0))
        return ~np.asarray(is_crossing.any(axis=1)), np.asarray(is_changed.any(axis=1))


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
    """Return d with G d = right on the entries in use, up to a shift if sums of d are given; overwrites ``grams``."""
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
