"""Many small elastic nets side by side, each with a Gram matrix of its own.

For the rows of a batch, with inner products p, Gram matrix H (ridge included) and threshold t, the problem is

    min_c  c'Hc / 2 - p'c + t ||c||_1.

Optimal are coefficients whose slope p - Hc is t sign(c) where c is not zero, and at most t in size elsewhere.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# Keeps linear systems solvable where rows are alike. It shortens steps and does not move the solution.
_RIDGE = 1e-10


def solve_elastic_nets(
    grams: Array, products: Array, thresholds: Array, start: Array, *, tol: float, max_steps: int
) -> tuple[Array, NDArray[np.bool_]]:
    """Solve all problems of a batch.

    Each step goes toward the minimum for the present signs until a sign would change, which is exact with the right
    signs; where coordinates in use are settled, the one that breaks the condition most is first taken in at its own
    minimum. Both can only go downhill. (Compare the feature-sign search of Lee, Battle, Raina and Ng, "Efficient sparse
    coding algorithms", NIPS 2006.)

    Parameters
    ----------
    grams : array of shape (b, m, m)
        H of each problem.
    products : array of shape (b, m)
        p of each problem.
    thresholds : array of shape (b,)
        t of each problem, positive.
    start : array of shape (b, m)
        First coefficients. Not changed.
    tol : float
        Largest violation of the condition, in units of t.
    max_steps : int
        Largest number of steps.

    Returns
    -------
    coefficients : array of shape (b, m)
        The solutions.
    is_open : bool array of shape (b,)
        Problems not solved to the tolerance.
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


def _supports(values: Array) -> tuple[Indices, NDArray[np.bool_]]:
    """Return the places of nonzero entries of each row, padded to equal length, and which of them are real."""
    is_used = values != 0
    width = int(is_used.sum(axis=1).max(initial=0))
    places = np.argsort(~is_used, axis=1, kind="stable")[:, :width]
    return places, np.take_along_axis(is_used, places, axis=1)


def _slopes(grams: Array, products: Array, values: Array, rows: Indices) -> Array:
    """Return p - Hc of some problems."""
    places, _ = _supports(values[rows])
    used = np.take_along_axis(values[rows], places, axis=1)
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
    width = places.shape[1]
    now = np.take_along_axis(values[rows], places, axis=1)
    system = grams[rows[:, None, None], places[:, :, None], places[:, None, :]]
    slopes = np.take_along_axis(products[rows], places, axis=1) - np.matmul(now[:, None, :], system)[:, 0, :]
    right = np.where(is_used, slopes - thresholds[:, None] * np.sign(now), 0.0)
    system = system * (is_used[:, :, None] & is_used[:, None, :])
    diagonal = np.arange(width)
    sizes = system[:, diagonal, diagonal].max(axis=1, initial=0.0)
    system[:, diagonal, diagonal] += np.where(is_used, _RIDGE * sizes[:, None], 1.0)
    change = np.linalg.solve(system, right[:, :, None])[:, :, 0]
    is_crossing = is_used & (np.sign(now + change) != np.sign(now))
    shares = np.divide(np.abs(now), np.abs(change), out=np.ones_like(now), where=is_crossing & (change != 0))
    share = np.minimum(shares.min(axis=1, initial=1.0, keepdims=True), 1.0)
    moved = np.where(is_crossing & (shares <= share), 0.0, now + share * change)
    np.put_along_axis(block := values[rows], places, np.where(is_used, moved, 0.0), axis=1)
    values[rows] = block
