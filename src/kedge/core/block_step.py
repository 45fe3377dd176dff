"""One pass over one block of rows: what it gets, what it solves, and the sums it returns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.core.rows import NearProblem, Pattern, RowProblem, View, join_sets, join_to_nearest
from kedge.kernels import RowSolution, RowSums, solve_rows

Array = NDArray[np.float64]


class StructurePenalty(Protocol):
    """What a pass adds to the linear terms of its rows."""

    def linear_terms(self, rows: slice, coefficients: sparse.csr_array | None) -> Array:
        """Return the addition for these rows, given their coefficients of the last pass."""
        ...


@dataclass(frozen=True)
class PassState:
    """The row problems of all anchor sets, and the structure penalty on their joint graph.

    The coefficients of the sets stand side by side, each divided by the number of sets, so that rows sum to one.
    """

    problems: tuple[RowProblem | NearProblem, ...]  # One per anchor set, all of the same kind.
    penalty: StructurePenalty | None = None  # None in the first pass, or if beta is zero.
    want_change: bool = False  # Whether the summary should hold the Gram matrix of the change of the coefficients.

    @property
    def n_columns(self) -> int:
        """Number of columns of the coefficients of all problems together."""
        return sum(problem.n_columns for problem in self.problems)

    def column_ranges(self) -> list[slice]:
        """Return the columns of each problem."""
        ends = np.cumsum([problem.n_columns for problem in self.problems])
        return [slice(int(end) - p.n_columns, int(end)) for end, p in zip(ends, self.problems, strict=True)]

    def with_weights(self, weights: Sequence[float]) -> "PassState":
        """Return the state with other view weights."""
        if tuple(weights) == self.problems[0].weights:
            return self
        problems = tuple(problem.with_weights(weights) for problem in self.problems if isinstance(problem, RowProblem))
        return replace(self, problems=problems)


@dataclass(frozen=True)
class ColumnLayout:
    """The anchor of each column of the coefficients: column j is anchor j, but mirrored anchors have two columns."""

    anchor_of: NDArray[np.intp]
    n_anchors: int

    @property
    def is_plain(self) -> bool:
        """Whether every anchor has one column."""
        return len(self.anchor_of) == self.n_anchors

    def fold(self, dtype: Any = np.float64) -> sparse.csr_array:
        """Return the matrix of shape (n_columns, n_anchors) that adds up the columns of each anchor."""
        n_columns = len(self.anchor_of)
        parts = (np.ones(n_columns, dtype), self.anchor_of, np.arange(n_columns + 1))
        return sparse.csr_array(parts, shape=(n_columns, self.n_anchors))


def column_layout(set_sizes: list[int], signed: bool) -> ColumnLayout:
    """Lay out the columns of anchor sets of these sizes."""
    starts = np.cumsum([0, *set_sizes[:-1]])
    copies = 2 if signed else 1
    parts = [np.tile(np.arange(start, start + size), copies) for start, size in zip(starts, set_sizes, strict=True)]
    return ColumnLayout(np.concatenate(parts).astype(np.intp), sum(set_sizes))


@dataclass(frozen=True)
class PassSummary:
    """Sums over rows, all in double precision."""

    n_rows: int
    gram: Any  # Z'Z of the coefficients, dense or CSR, of shape (n_columns, n_columns).
    column_sums: Array  # Z'1.
    # Data term of each view in each row problem at unit weight, without the squared norms of the rows. Shape
    # (n_problems, n_views).
    view_values: Array
    squared_norms: Array  # Sum of squared entries of each view.
    row_counts: Array  # Number of rows that have each view.
    change_gram: Array | None = None  # D'D for the change D of the coefficients in this pass, on request.

    def merge(self, other: Self) -> Self:
        """Add the sums of other rows."""
        sums: dict[str, Any] = {}
        for name in (field.name for field in fields(self)):
            mine, others = getattr(self, name), getattr(other, name)
            sums[name] = None if mine is None or others is None else mine + others
        return type(self)(**sums)


# With a larger share of nonzeros than this, a dense product is faster than a sparse one.
_DENSE_SHARE = 0.1
# With more columns than this the joint Gram matrix is kept sparse: most pairs of anchors share no row.
MOST_DENSE_COLUMNS = 500


@dataclass(frozen=True)
class RowBlock:
    """Rows that are solved together."""

    rows: slice
    views: Sequence[View]  # Zero where a row lacks the view.
    coefficients: sparse.csr_array | None = None  # Those of the last pass.
    observed: NDArray[np.bool_] | None = None  # Which views each row has, shape (n_rows, n_views); None means all.


@dataclass(frozen=True)
class _Solution:
    """The coefficients of a block on one anchor set, or joined on several, and sums of them."""

    coefficients: sparse.csr_array
    gram: NDArray[np.float64] | None  # None if it was not summed on the way.
    column_sums: NDArray[np.float64]
    view_values: NDArray[np.float64]  # A row per set if there are several.


def solve_block(state: PassState, block: RowBlock, n_threads: int = 1) -> tuple[sparse.csr_array, PassSummary]:
    """Solve the rows of a block; return their new coefficients and the sums over them."""
    solved = _solve_sets(state, block, n_threads)
    coefficients, gram = solved.coefficients, solved.gram
    if gram is None or state.n_columns > MOST_DENSE_COLUMNS:
        gram = joint_gram(coefficients)
    change = None
    if state.want_change:
        before = block.coefficients if block.coefficients is not None else _uniform(coefficients)
        change = gram_of(sparse.csr_array(coefficients - before))
    n_rows, n_views = coefficients.shape[0], len(block.views)
    return coefficients, PassSummary(
        n_rows=n_rows,
        gram=gram,
        column_sums=solved.column_sums,
        view_values=solved.view_values,
        squared_norms=np.array([squared_norm(view) for view in block.views]),
        row_counts=np.full(n_views, float(n_rows)) if block.observed is None else block.observed.sum(axis=0) * 1.0,
        change_gram=change,
    )


def solve_rows_alone(state: PassState, block: RowBlock, n_threads: int = 1) -> sparse.csr_array:
    """Solve the rows of a block; return their coefficients alone."""
    return _solve_sets(state, block, n_threads).coefficients


def _solve_sets(state: PassState, block: RowBlock, n_threads: int) -> _Solution:
    """Solve the rows against every anchor set and join the coefficients."""
    near = [problem for problem in state.problems if isinstance(problem, NearProblem)]
    if near:
        return _join_nearest(near, block)
    pulls = None if state.penalty is None else state.penalty.linear_terms(block.rows, block.coefficients)
    solved = []
    for problem, columns in zip(state.problems, state.column_ranges(), strict=True):
        assert isinstance(problem, RowProblem)
        start = None if block.coefficients is None else block.coefficients[:, columns]
        pull = None if pulls is None else pulls[:, columns]
        solved.append(_solve_problem(problem, block, pull, start, n_threads))
    return _Solution(
        join_sets([one.coefficients for one in solved]),
        solved[0].gram if len(solved) == 1 else None,
        np.concatenate([one.column_sums for one in solved]) / len(solved),
        np.array([one.view_values for one in solved]),
    )


def _solve_problem(
    problem: RowProblem,
    block: RowBlock,
    pull: NDArray[Any] | None,
    start: sparse.csr_array | None,
    n_threads: int,
) -> _Solution:
    """Solve one anchor set; the values returned leave the structure penalty out."""
    terms = problem.view_terms(block.views, block.observed)
    linear = problem.weighted(terms)
    total = linear if pull is None else linear + pull.astype(linear.dtype)
    coefficients, sums = solve_patterns(problem, total, block.observed, start, n_threads=n_threads)
    if len(terms) == 1 and pull is None and problem.weights == (1.0,):
        inner = [sums.linear_part]
    else:
        inner = [_inner_product(term, coefficients) for term in terms]
    values = np.array(inner)
    for number, gram in enumerate(problem.grams):
        values[number] += np.vdot(gram, _gram_of_view(coefficients, sums.gram, block.observed, number))
    return _Solution(coefficients, sums.gram, sums.column_sums, values)


def _gram_of_view(
    coefficients: sparse.csr_array,
    gram: NDArray[np.float64],
    observed: NDArray[np.bool_] | None,
    number: int,
) -> NDArray[np.float64]:
    """Return ``Z'Z`` over the rows that have the view."""
    if observed is None or observed[:, number].all():
        return gram
    return gram_of(coefficients[np.flatnonzero(observed[:, number])])


def solve_patterns(
    problem: RowProblem,
    linear: NDArray[Any],
    observed: NDArray[np.bool_] | None,
    start: sparse.csr_array | None = None,
    n_threads: int = 1,
) -> tuple[sparse.csr_array, RowSums]:
    """Solve rows with these linear terms; rows with the same views share a Hessian and are solved together."""
    options: dict[str, Any] = {"sparse_output": True, "want_sums": True, "n_threads": n_threads}
    if observed is None or observed.all():
        return _solved(solve_rows(problem.hessian(), linear, start=start, **options))
    parts, sums, order = [], [], []
    for pattern, rows in rows_by_pattern(observed):
        hessian = problem.hessian(pattern)
        warm = None if start is None else start[rows]
        part, part_sums = _solved(solve_rows(hessian, linear[rows], start=warm, **options))
        parts.append(part)
        sums.append(part_sums)
        order.append(rows)
    back = np.argsort(np.concatenate(order), kind="stable")
    coefficients = sparse.csr_array(sparse.csr_array(sparse.vstack(parts, format="csr"))[back])
    totals = (sum(getattr(s, name) for s in sums) for name in ("gram", "column_sums", "linear_part", "quadratic_part"))
    return coefficients, RowSums(*totals)


def rows_by_pattern(observed: NDArray[np.bool_]) -> Iterator[tuple[Pattern, NDArray[np.intp]]]:
    """Yield every pattern of views that occurs, and the rows that have exactly these views."""
    patterns, group_of = np.unique(observed, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        yield tuple(bool(has) for has in pattern), np.flatnonzero(group_of.ravel() == number)


def _solved(solution: RowSolution) -> tuple[sparse.csr_array, RowSums]:
    assert solution.sums is not None
    return solution.coefficients, solution.sums


def _inner_product(linear: NDArray[Any], coefficients: sparse.csr_array) -> float:
    rows = np.repeat(np.arange(linear.shape[0]), np.diff(coefficients.indptr))
    return float(np.dot(linear[rows, coefficients.indices].astype(np.float64), coefficients.data.astype(np.float64)))


def _join_nearest(problems: Sequence[NearProblem], block: RowBlock) -> _Solution:
    """Join rows to their nearest anchors; the value of a set is its weighted sum of squared distances."""
    joined, values = join_to_nearest(problems, block.views, block.observed)
    column_sums = np.bincount(joined.indices, joined.data, joined.shape[1]).astype(np.float64)
    view_values = np.zeros((len(problems), len(block.views)))
    view_values[:, 0] = values
    return _Solution(joined, None, column_sums, view_values)


def joint_gram(coefficients: sparse.csr_array) -> Any:
    """Return ``Z'Z`` in double precision: dense for few columns, else as a CSR array."""
    if coefficients.shape[1] <= MOST_DENSE_COLUMNS:
        return gram_of(coefficients)
    wide = coefficients.astype(np.float64)
    return sparse.csr_array(wide.T @ wide)


def cross_product(left: sparse.csr_array, right: sparse.csr_array) -> NDArray[np.float64]:
    """Return ``left' right`` in double precision, by the cheaper of a dense and a sparse product."""
    left, right = left.astype(np.float64), right.astype(np.float64)
    if min(left.nnz / left.shape[1], right.nnz / right.shape[1]) > _DENSE_SHARE * left.shape[0]:
        return np.asarray(left.toarray().T @ right.toarray())
    return np.asarray((left.T @ right).toarray())


def gram_of(coefficients: sparse.csr_array) -> NDArray[np.float64]:
    """Return ``Z'Z`` in double precision."""
    return cross_product(coefficients, coefficients)


def squared_norm(view: View) -> float:
    """Return the sum of squared entries: row by row in the dtype of the view, then over rows in double precision."""
    if sparse.issparse(view):
        return float(np.dot(view.data.astype(np.float64), view.data.astype(np.float64)))
    return float(np.einsum("ij,ij->i", view, view).sum(dtype=np.float64))


def _uniform(coefficients: sparse.csr_array) -> sparse.csr_array:
    """Return equal weights on all columns, where the published algorithm starts."""
    return sparse.csr_array(np.full(coefficients.shape, 1.0 / coefficients.shape[1]))
