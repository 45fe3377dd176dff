"""The one function that works on rows: solve a block, and sum what the driver needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.kernels import RowSums, solve_rows
from kedge.model.pass_state import PassState
from kedge.model.pass_summary import PassSummary
from kedge.model.row_problem import RowProblem, View

# With more than this share of nonzeros a dense product is quicker than a sparse one.
_DENSE_SHARE = 0.1


@dataclass(frozen=True)
class RowBlock:
    """Rows that are solved together: where they stand, their views, and their coefficients of the last pass."""

    rows: slice
    views: Sequence[View]
    coefficients: sparse.csr_array | None = None


def solve_block(state: PassState, block: RowBlock, n_threads: int = 1) -> tuple[sparse.csr_array, PassSummary]:
    """Solve the rows of a block; return their new coefficients and the sums over them."""
    pulls = None if state.penalty is None else state.penalty.linear_terms(block.rows, block.coefficients)
    n_sets = len(state.problems)
    parts, sums, values = [], [], []
    for problem, columns in zip(state.problems, state.column_ranges(), strict=True):
        start = None if block.coefficients is None else block.coefficients[:, columns]
        pull = None if pulls is None else pulls[:, columns]
        solution = _solve_problem(problem, block.views, pull, start, n_threads)
        parts.append(solution[0])
        sums.append(solution[1])
        values.append(solution[2])
    coefficients = parts[0] if n_sets == 1 else sparse.hstack(parts, format="csr", dtype=parts[0].dtype)
    if n_sets > 1:
        coefficients.data /= coefficients.dtype.type(n_sets)
    gram = sums[0].gram if n_sets == 1 else _joint_gram([s.gram for s in sums], parts, state.column_ranges())
    column_sums = np.concatenate([s.column_sums for s in sums]) / n_sets
    norms = np.array([squared_norm(view) for view in block.views])
    change = None
    if state.want_change:
        before = block.coefficients if block.coefficients is not None else _uniform(coefficients)
        change = gram_of(sparse.csr_array(coefficients - before))
    return coefficients, PassSummary(gram, column_sums, np.array(values), norms, change)


def _solve_problem(
    problem: RowProblem,
    views: Sequence[View],
    pull: NDArray[Any] | None,
    start: sparse.csr_array | None,
    n_threads: int,
) -> tuple[sparse.csr_array, RowSums, float]:
    """Solve one anchor set; the value returned leaves the structure penalty out."""
    linear = problem.linear_terms(views)
    total = linear if pull is None else linear + pull.astype(linear.dtype)
    solution = solve_rows(problem.hessian, total, start=start, sparse_output=True, want_sums=True, n_threads=n_threads)
    sums, coefficients = solution.sums, solution.coefficients
    assert sums is not None
    linear_part = sums.linear_part if pull is None else _inner_product(linear, coefficients)
    return coefficients, sums, 0.5 * sums.quadratic_part + linear_part


def _inner_product(linear: NDArray[Any], coefficients: sparse.csr_array) -> float:
    rows = np.repeat(np.arange(linear.shape[0]), np.diff(coefficients.indptr))
    return float(np.dot(linear[rows, coefficients.indices].astype(np.float64), coefficients.data.astype(np.float64)))


def _joint_gram(
    grams: list[NDArray[np.float64]], parts: list[sparse.csr_array], ranges: list[slice]
) -> NDArray[np.float64]:
    """Join the Gram matrices of the sets, each part divided by their number; only products across sets are missing."""
    joint = np.zeros((ranges[-1].stop, ranges[-1].stop))
    for number, (gram, part, own) in enumerate(zip(grams, parts, ranges, strict=True)):
        joint[own, own] = gram
        if number + 1 < len(parts):
            rest = slice(own.stop, None)
            across = cross_product(part, sparse.hstack(parts[number + 1 :], format="csr"))
            joint[own, rest], joint[rest, own] = across, across.T
    return joint / len(parts) ** 2


def cross_product(left: sparse.csr_array, right: sparse.csr_array) -> NDArray[np.float64]:
    """Return ``left' right`` in double precision, by whichever product is cheaper."""
    left, right = left.astype(np.float64), right.astype(np.float64)
    if min(left.nnz / left.shape[1], right.nnz / right.shape[1]) > _DENSE_SHARE * left.shape[0]:
        return np.asarray(left.toarray().T @ right.toarray())
    return np.asarray((left.T @ right).toarray())


def gram_of(coefficients: sparse.csr_array) -> NDArray[np.float64]:
    """Return ``Z'Z`` in double precision."""
    return cross_product(coefficients, coefficients)


def squared_norm(view: View) -> float:
    """Sum of squares, row by row in the dtype of the view, then over rows in double precision."""
    if sparse.issparse(view):
        return float(np.dot(view.data.astype(np.float64), view.data.astype(np.float64)))
    return float(np.einsum("ij,ij->i", view, view).sum(dtype=np.float64))


def _uniform(coefficients: sparse.csr_array) -> sparse.csr_array:
    """Equal weights on all columns, where the published algorithm starts."""
    return sparse.csr_array(np.full(coefficients.shape, 1.0 / coefficients.shape[1]))
