"""Active-set solvers of many small l1 problems side by side.

For inner products p, a Gram matrix H and a threshold t the problem is

    min_c  c'Hc / 2 - p'c + t ||c||_1.

At the optimum the slope p - Hc is t sign(c) where c is not zero, and at most t in size elsewhere. A step goes toward
the minimum for the present signs until a sign would change. Once the entries in use are settled, the one that violates
the condition most enters (Lee, Battle, Raina and Ng, "Efficient sparse coding algorithms", NIPS 2006).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]

# Keeps linear systems solvable where rows in use depend on each other. It shortens steps but does not move the
# solution. Along directions in which the error stays the same, steps remain long and end where an entry is zero.
_RIDGE = 1e-10
# Steps without an entry coming or going, after which a row is given up.
_MAX_IDLE = 20
# Bytes of rows in use that are gathered at a time.
_GATHERED_BYTES = 1 << 22


@dataclass
class L1Block:
    """Problems that are solved side by side, on their way to the solution; ``values`` is input and output.

    If entries sum to one, all slopes are shifted by a constant. A round of a problem takes O(w^3) time for w entries in
    use, beside the products. Each round that changes a support goes downhill, so none comes back.
    """

    values: Array  # Shape (b, m). c of every problem.
    products: Array  # Shape (b, m). p.
    thresholds: Array  # Shape (b, 1). t, positive.
    tol: float  # Largest violation of the condition, in units of t.
    multiply: Callable[[Indices, Array], Array]  # H c of some problems, from their places and c.
    grams: Callable[[Indices, Indices], Array]  # The part of H between some columns of each of some problems.
    own: Indices | None = None  # Shape (b,). Entry of each problem that stays zero.
    is_affine: bool = False  # Whether entries sum to one.
    n_gathered: int = 1  # Numbers that ``grams`` gathers per column.

    def finish(self, places: Indices, max_rounds: int) -> tuple[int, Flags]:
        """Solve the problems in these places; return the rounds taken and which problems are left unsolved."""
        count = len(self.values)
        is_settled, is_open, n_idle = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool), np.zeros(count)
        n_rounds = 0
        while len(places) and n_rounds < max_rounds:
            n_rounds += 1
            entering, signs = np.full(count, -1), np.zeros(count)
            # An entry that enters before the others are settled can be thrown out at once, again and again.
            settled = places[is_settled[places]]
            errors, entering[settled], signs[settled] = self._violations(settled)
            is_solved = np.zeros(count, dtype=bool)
            is_solved[settled] = errors <= self.tol
            places = places[~is_solved[places]]
            is_full, is_changed = self._step(places, entering[places], signs[places])
            is_settled[places] = is_full
            n_idle[places] = np.where(is_changed, 0, n_idle[places] + 1)
            is_open[places[n_idle[places] > _MAX_IDLE]] = True
            places = places[n_idle[places] <= _MAX_IDLE]
        is_open[places] = self._violations(places)[0] > self.tol
        return n_rounds, is_open

    def _violations(self, places: Indices) -> tuple[Array, Indices, Array]:
        """Return the largest error of rows, the zero entry that violates the condition most or -1, and its sign."""
        values = self.values[places]
        order, is_used, signs = np.arange(len(places)), values != 0, np.sign(values)
        slopes = (self.products[places] - self.multiply(places, values)) / self.thresholds[places]
        if self.is_affine:
            n_used = np.maximum(np.count_nonzero(is_used, axis=1), 1)
            slopes -= (np.where(is_used, slopes - signs, 0.0).sum(axis=1) / n_used)[:, None]
        if self.own is not None:
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
            per_row = 8 * max(int(sizes[order[-1]]), 1) * max(self.n_gathered, int(sizes[order[-1]]))
            count = max(_GATHERED_BYTES // per_row, 1)
            part, order = order[-count:], order[:-count]
            is_full[part], is_changed[part] = self._step_part(places[part], entering[part], signs[part])
        return is_full, is_changed

    def _step_part(self, places: Indices, entering: Indices, entering_signs: Array) -> tuple[Flags, Flags]:
        values = self.values[places]
        enters = entering >= 0
        signs = np.sign(values)
        signs[enters, entering[enters]] = entering_signs[enters]
        columns, is_used = supports(signs)
        now, signs = (np.where(is_used, np.take_along_axis(part, columns, axis=1), 0.0) for part in (values, signs))
        wanted = np.take_along_axis(self.products[places], columns, axis=1)
        sums = (1.0 - now.sum(axis=1)) if self.is_affine else None
        grams = self.grams(places, columns)
        slopes = wanted - np.matmul(now[:, None], grams)[:, 0]
        wanted_change = np.where(is_used, slopes - self.thresholds[places] * signs, 0.0)
        change = _newton_step(grams, wanted_change, is_used, sums)
        # Go toward the minimum for these signs, as far as they allow.
        is_crossing = is_used & (np.sign(now + change) != signs)
        shares = np.divide(np.abs(now), np.abs(change), out=np.ones_like(now), where=is_crossing & (change != 0))
        share = np.minimum(shares.min(axis=1, initial=1.0, keepdims=True), 1.0)
        moved = np.where(is_crossing & (shares <= share), 0.0, now + share * change)
        self.values[np.broadcast_to(places[:, None], columns.shape)[is_used], columns[is_used]] = moved[is_used]
        is_changed = is_used & ((now != 0) != (moved != 0))
        return ~np.asarray(is_crossing.any(axis=1)), np.asarray(is_changed.any(axis=1))


def supports(signs: Array) -> tuple[Indices, Flags]:
    """Return the places of nonzero entries of each row, padded to equal length, and which of them are real."""
    is_used = signs != 0
    counts = np.count_nonzero(is_used, axis=1)
    width = int(counts.max(initial=0))
    is_real = np.arange(width) < counts[:, None]
    columns = np.zeros((len(signs), width), dtype=np.intp)
    columns[is_real] = np.nonzero(is_used)[1]
    return columns, is_real


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
