"""The row solver in plain NumPy: what the compiled one must return, in readable form.

For one row with linear term f the support S grows and shrinks until the optimality conditions hold: with
g = Hz + f and level = z'g, every g_j >= level, with equality where z_j > 0.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from kedge.kernels import reference_communities
from kedge.kernels.contract import (
    FloatArray,
    Floats,
    Kernel,
    PreparedHessian,
    RowMatrix,
    RowSolution,
    RowStatus,
    RowSums,
    SolveOptions,
)

Vector = NDArray[np.float64]
Support = NDArray[np.intp]

# Entries of a point on the simplex below this are rounding noise of the solve.
_NOISE = 1e-15
# In units of the largest entry of H: just above the rounding of one gradient.
_ENTRY_TOLERANCE = 16 * np.finfo(np.float64).eps


def minimise_on_support(hessian: Vector, linear: Vector, support: Support) -> Vector:
    """Minimise over entries of ``support`` with sum one and no sign constraint."""
    block, side = hessian[np.ix_(support, support)], linear[support]
    factor = linalg.cho_factor(block, lower=True, check_finite=False)
    by_ones = linalg.cho_solve(factor, np.ones(len(support)), check_finite=False)
    values = np.zeros(len(support))
    # The second round corrects what cancellation between the two solutions cost the first.
    for _ in range(2):
        gradient = block @ values + side
        by_gradient = linalg.cho_solve(factor, gradient - gradient.mean(), check_finite=False)
        missing = 1.0 - values.sum()
        values += (missing + by_gradient.sum()) / by_ones.sum() * by_ones - by_gradient
    return values


def settle(hessian: Vector, linear: Vector, support: Support) -> tuple[Support, Vector]:
    """Shrink the support until the minimiser on it is positive throughout."""
    while True:
        values = minimise_on_support(hessian, linear, support)
        if (values > _NOISE).all():
            return support, values
        support = support[values > _NOISE]


def step_inside(weights: Vector, support: Support, target: Vector) -> Support:
    """Move ``weights`` towards ``target`` until an entry reaches zero; return the support that is left."""
    now = weights[support]
    leaving = target <= 0
    reach = np.where(leaving, now / np.where(leaving, now - target, 1.0), np.inf)
    blocking = int(reach.argmin())
    moved = now + reach[blocking] * (target - now)
    moved[blocking] = 0.0
    weights[support] = np.maximum(moved, 0.0)
    return support[weights[support] > 0]


def admit(hessian: Vector, linear: Vector, weights: Vector, newcomer: int) -> bool:
    """Let one entry join and go to the minimiser of the new support; False if the entry gains nothing."""
    support = np.append(np.flatnonzero(weights), newcomer)
    target = minimise_on_support(hessian, linear, support)
    if target[-1] <= 0:
        return False
    while (target <= 0).any():
        support = step_inside(weights, support, target)
        target = minimise_on_support(hessian, linear, support)
    weights[:] = 0.0
    weights[support] = target
    return True


def solve_row(hessian: Vector, linear: Vector, start: Support) -> Vector:
    """Return the minimiser of ``1/2 z'Hz + f'z`` over the simplex, starting from a support (may be empty)."""
    linear = linear - linear.min()
    tolerance = _ENTRY_TOLERANCE * hessian.diagonal().max()
    if len(start) == 0:
        start = np.array([np.argmin(0.5 * hessian.diagonal() + linear)])
    weights = np.zeros(len(linear))
    support, values = settle(hessian, linear, start)
    weights[support] = values
    refused = np.zeros(len(linear), dtype=bool)
    for _ in range(100 + 10 * len(linear)):
        gradient = hessian @ weights + linear
        level = weights @ gradient
        allowed = (weights == 0) & ~refused
        if not (gradient[allowed] < level - tolerance).any():
            break
        newcomer = int(np.where(allowed, gradient, np.inf).argmin())
        if admit(hessian, linear, weights, newcomer):
            refused[:] = False
        else:
            refused[newcomer] = True
    support, values = settle(hessian, linear, np.flatnonzero(weights))
    weights[:] = 0.0
    weights[support] = values
    return weights


def optimality_gap(hessian: Vector, linear: Vector, weights: Vector) -> float:
    """Return the KKT residual of one row relative to ``max|H| + max|f|``, or to the range of f if that is smaller."""
    magnitude = min(float(np.abs(linear).max()), float(np.ptp(linear)))
    linear = linear - linear.min()
    gradient = hessian @ weights + linear
    level = weights @ gradient
    residual = max(float((level - gradient).max()), float(np.abs(gradient[weights > 0] - level).max()))
    return residual / (float(hessian.diagonal().max()) + magnitude)


def solve_rows(
    hessian: PreparedHessian, linear: FloatArray, start: RowMatrix | None, options: SolveOptions
) -> RowSolution:
    """Solve row by row: slow, and the definition of what is right."""
    status = np.zeros(len(linear), dtype=np.int8)
    weights = np.zeros(linear.shape)
    if start is not None and not isinstance(start, np.ndarray):
        start = start.toarray()
    for i, row in enumerate(linear.astype(np.float64)):
        given = np.empty(0) if start is None else start[i]
        if not np.isfinite(row).all():
            status[i] = RowStatus.LINEAR_NOT_FINITE
        elif not np.isfinite(given).all():
            status[i] = RowStatus.START_NOT_FINITE
        else:
            weights[i] = solve_row(hessian.matrix, row, np.flatnonzero(given > 0))
            if not optimality_gap(hessian.matrix, row, weights[i]) <= options.tol:
                status[i] = RowStatus.TOLERANCE_MISSED
    sums = None
    if options.want_sums:
        gram = weights.T @ weights
        linear_part = float(np.einsum("ij,ij->", linear, weights, dtype=np.float64))
        sums = RowSums(gram, weights.sum(axis=0), linear_part, float(np.einsum("ij,ij->", hessian.matrix, gram)))
    coefficients = weights.astype(linear.dtype)
    return RowSolution(sparse.csr_array(coefficients) if options.sparse_output else coefficients, status, sums)


def smallest_columns(values: FloatArray, count: int) -> tuple[NDArray[np.int32], FloatArray]:
    """Sort every row; ties go to the first column."""
    columns = np.argsort(values, axis=1, kind="stable")[:, :count]
    return columns.astype(np.int32), np.take_along_axis(values, columns, axis=1)


def nearest_centers(rows: Floats, centers: Floats, bounds: Floats, labels: NDArray[np.int32]) -> Floats:
    """Compute all distances; the bounds and the guesses in ``labels`` are for those who want to skip some."""
    squares = np.array([np.square(centers - row).sum(axis=1) for row in rows]).reshape(len(rows), len(centers))
    labels[:] = squares.argmin(axis=1)
    return squares[np.arange(len(rows)), labels]


def move_rows_between_sums(
    rows: Floats,
    before: NDArray[np.int32],
    after: NDArray[np.int32],
    first: int,
    last: int,
    sums: NDArray[np.float64],
) -> None:
    """Add each row whose label changed to the sum of its new centre, and subtract it from that of its old one."""
    for row in np.flatnonzero(before != after):
        sums[after[row], first:last] += rows[row, first:last]
        if before[row] >= 0:
            sums[before[row], first:last] -= rows[row, first:last]


def join_weights(columns: NDArray[np.int32], smallest: FloatArray) -> tuple[NDArray[np.int32], FloatArray, float]:
    """Join rows to all but the last of the columns; see the contract."""
    columns, values = columns[:, :-1], smallest[:, :-1]
    weights = smallest[:, -1:] - values
    totals = weights.sum(axis=1, keepdims=True)
    even = smallest.dtype.type(1) / smallest.dtype.type(values.shape[1])
    weights = np.where(totals > 0, weights / np.where(totals > 0, totals, 1), even)
    value = float(np.vdot(weights.astype(np.float64), values.astype(np.float64)))
    rows, order = np.arange(len(columns))[:, None], np.argsort(columns, axis=1)
    return columns[rows, order], weights[rows, order], value


REFERENCE = Kernel(
    name="reference",
    solve_rows=solve_rows,
    smallest_columns=smallest_columns,
    join_weights=join_weights,
    find_communities=reference_communities.find_communities,
    merge_communities=reference_communities.merge_communities,
    move_nodes=reference_communities.move_at_fixed_count,
    nearest_centers=nearest_centers,
    move_rows_between_sums=move_rows_between_sums,
)
