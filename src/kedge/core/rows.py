"""Rows: where they come from, and the problem that each one solves."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches
from sklearn.utils.random import sample_without_replacement

from kedge.kernels import PreparedHessian
from kedge.kernels.selection import join_weights, smallest_columns

Array = NDArray[np.float64]
# A block of rows of one view: an ndarray or a CSR array. SciPy's sparse arrays carry no types.
View: TypeAlias = Any
# Which views a row has.
Pattern: TypeAlias = tuple[bool, ...]


@dataclass(frozen=True)
class RowProblem:
    """Minimise over the simplex  sum_v w_v (|x_v - A_v'z|^2 + mu sum_j z_j |x_v - a_vj|^2) + alpha |z|^2.

    The sum is over the views that the row has. Multiplied out this is ``1/2 z'Hz + f_i'z`` plus a constant of the row,
    with ``H = 2 alpha I + 2 sum_v w_v A_v A_v'`` and ``f_i = sum_v w_v (mu |a_vj|^2 - 2 (1 + mu) A_v x_vi)``.
    """

    factors: tuple[NDArray[np.floating[Any]], ...]  # -2 (1 + mu) A_v in the dtype of the rows, a row per column of Z.
    grams: tuple[Array, ...]  # A_v A_v'.
    weights: tuple[float, ...]  # w_v.
    ridge: float  # alpha in absolute units.
    locality: float  # mu.
    _hessians: dict[Pattern, PreparedHessian] = field(default_factory=dict, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the large parts that follow from the rest: problems are sent to the workers of a cluster."""
        return {name: part for name, part in vars(self).items() if name not in ("grams", "_hessians")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Compute the Gram matrices again."""
        anchors = (factor.astype(np.float64) / (-2.0 * (1.0 + state["locality"])) for factor in state["factors"])
        grams = tuple(own @ own.T for own in anchors)
        vars(self).update(state, grams=grams, _hessians={})

    @property
    def n_columns(self) -> int:
        """Number of columns of the coefficients: one per anchor, two if anchors are mirrored."""
        return len(self.grams[0])

    @property
    def row_entries(self) -> int:
        """Number of entries of its linear term that a row holds while it is solved."""
        return self.n_columns

    def with_weights(self, weights: Sequence[float]) -> "RowProblem":
        """Return the problem with other view weights."""
        return replace(self, weights=tuple(float(w) for w in weights), _hessians={})

    def hessian(self, pattern: Pattern | None = None) -> PreparedHessian:
        """Return H for rows that have these views (None: all of them); H is kept for each pattern."""
        has = pattern or (True,) * len(self.grams)
        if has not in self._hessians:
            total = self.ridge * np.eye(self.n_columns)
            for weight, gram, included in zip(self.weights, self.grams, has, strict=True):
                total += (weight if included else 0.0) * gram
            # Two threads may both build it, with the same result.
            self._hessians[has] = PreparedHessian(2.0 * total)
        return self._hessians[has]

    def view_terms(self, views: Sequence[View], observed: NDArray[np.bool_] | None) -> list[NDArray[Any]]:
        """Return, per view, the linear terms of a block of rows at unit weight; zero for rows without the view."""
        terms = []
        for number, (view, factor) in enumerate(zip(views, self.factors, strict=True)):
            term = np.asarray(view @ factor.T)
            if self.locality > 0:
                offset = (self.locality * self.grams[number].diagonal()).astype(term.dtype)
                term += offset if observed is None else np.where(observed[:, [number]], offset, offset.dtype.type(0))
            terms.append(term)
        return terms

    def weighted(self, terms: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return ``f_i``: the sum of the terms of the views, each times its weight."""
        total = terms[0] if self.weights[0] == 1.0 else terms[0] * terms[0].dtype.type(self.weights[0])
        for term, weight in zip(terms[1:], self.weights[1:], strict=True):
            total = total + term * term.dtype.type(weight)
        return total


def mean_squared_norm(anchors: Sequence[NDArray[Any]], weights: Sequence[float]) -> float:
    """Return the weighted mean squared anchor norm, or one if all anchors are zero."""
    squares = [np.einsum("ij,ij->", a, a, dtype=np.float64) / len(a) for a in anchors]
    return float(np.dot(weights, squares)) or 1.0


def anchor_spread(anchors: Sequence[NDArray[Any]], weights: Sequence[float]) -> float:
    """Return the weighted mean squared distance of the anchors from their mean: the unit of relative penalties.

    Like the weights of rows, it does not depend on the origin.
    """
    return mean_squared_norm([a - a.mean(axis=0, dtype=np.float64) for a in anchors], weights)


def mirrored(anchors: NDArray[Any]) -> NDArray[Any]:
    """Return a and -a for every anchor, so that x and -x are rebuilt from the same anchors."""
    return np.concatenate([anchors, -anchors])


def build_row_problem(
    anchors: Sequence[NDArray[np.floating[Any]]],
    *,
    weights: Sequence[float],
    ridge: float,
    locality: float = 0.0,
    signed: bool = False,
) -> RowProblem:
    """Set up the row problem of one anchor set, given per view; ``ridge`` is alpha in absolute units.

    With ``signed`` the anchors are mirrored, and the coefficients have 2 n_anchors columns.
    """
    columns = [mirrored(a) if signed else a for a in anchors]
    factors = tuple(
        np.ascontiguousarray((-2.0 * (1.0 + locality)) * block).astype(block.dtype, copy=False) for block in columns
    )
    wide = [np.asarray(block, dtype=np.float64) for block in columns]
    grams = tuple(block @ block.T for block in wide)
    return RowProblem(factors, grams, tuple(float(w) for w in weights), float(ridge), float(locality))


# Distances computed at a time: as many as stay in the cache.
_DISTANCES_HELD = 1 << 19


@dataclass(frozen=True)
class NearProblem:
    """Minimise over the simplex  sum_j z_j d_j + r |z|^2, where d_j are squared distances to the anchors.

    The distance to anchor j is ``sum_v w_v |x_v - a_vj|^2`` over the views that the row has. Each row has the ridge r
    at which exactly its ``n_near`` nearest anchors get weight. The solution then has a closed form,
    ``z_j ~ d_(n_near + 1) - d_j`` (Nie, Wang and Huang, "Clustering and projected clustering with adaptive neighbors",
    2014).
    """

    factors: tuple[NDArray[Any], ...]  # -2 w_v A_v in the dtype of the rows, with w_v |a_vj|^2 as the last column.
    weights: tuple[float, ...]  # w_v.
    n_near: int  # How many anchors each row is joined to: fewer than there are, or the only one.
    ridge: float = 0.0
    locality: float = 0.0

    @property
    def n_columns(self) -> int:
        """Number of columns of the coefficients."""
        return len(self.factors[0])

    @property
    def row_entries(self) -> int:
        """Number of distances that a row keeps; all others are dropped a few rows at a time."""
        return self.n_near

    def join(
        self, views: Sequence[View], observed: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int32], NDArray[Any], float]:
        """Return the columns of each row's anchors, their weights, and the sum of weights times squared distances.

        All rows have ``n_near`` weights.
        """
        columns, nearest = self.nearest(views, observed, min(self.n_near + 1, self.n_columns))
        if self.n_columns == 1:  # a second anchor, just as far, that gets no weight
            columns, nearest = np.repeat(columns, 2, axis=1), np.repeat(nearest, 2, axis=1)
        return join_weights(columns, nearest)

    def nearest(
        self, views: Sequence[View], observed: NDArray[np.bool_] | None, count: int
    ) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """Return the columns of each row's nearest anchors, nearest first, and their squared distances.

        The squared norm of the row is left out of the distances; it does not change their order.
        """
        n_rows, dtype = views[0].shape[0], self.factors[0].dtype
        held = max(1, min(_DISTANCES_HELD // self.n_columns, n_rows))
        # The buffer is reused: fresh memory would cost more than the products themselves.
        total = np.empty((held, self.n_columns), dtype)
        columns, nearest = np.empty((n_rows, count), dtype=np.int32), np.empty((n_rows, count), dtype)
        for start in range(0, n_rows, held):
            rows = slice(start, min(start + held, n_rows))
            distances = total[: rows.stop - start]
            own = None if observed is None else observed[rows]
            self._fill_distances([view[rows] for view in views], own, distances)
            if count == 1:
                columns[rows, 0] = distances.argmin(axis=1)
                nearest[rows] = np.take_along_axis(distances, columns[rows], axis=1)
            else:
                columns[rows], nearest[rows] = smallest_columns(distances, count)
        return columns, nearest

    def _fill_distances(self, views: list[View], observed: NDArray[np.bool_] | None, distances: NDArray[Any]) -> None:
        """Write the distances of some rows; a dense view takes a single product."""
        counted = [number for number, weight in enumerate(self.weights) if weight != 0.0]
        for number in counted:
            view, factor = views[number], self.factors[number]
            present = np.ones((len(distances), 1), factor.dtype)
            if observed is not None:
                present = observed[:, [number]].astype(factor.dtype)
            into = distances if number == counted[0] else np.empty_like(distances)
            if sparse.issparse(view):
                into[...] = view @ factor[:, :-1].T
                into += present * factor[:, -1]
            else:
                np.matmul(np.hstack([view, present]), factor.T, out=into)
            if number != counted[0]:
                distances += into


def build_near_problem(
    anchors: Sequence[NDArray[np.floating[Any]]], weights: Sequence[float], n_near: int
) -> NearProblem:
    """Set up the search among one anchor set, given per view."""
    factors = tuple(
        np.column_stack([a * a.dtype.type(-2.0 * w), w * np.einsum("ij,ij->i", a, a, dtype=np.float64)]).astype(a.dtype)
        for a, w in zip(anchors, weights, strict=True)
    )
    return NearProblem(factors, tuple(map(float, weights)), max(1, min(n_near, len(anchors[0]) - 1)))


# A range of rows, or row numbers in any order.
Rows: TypeAlias = slice | NDArray[np.intp]


class RowSource(Protocol):
    """Rows of one or several views, in one order."""

    n_rows: int
    dtype: np.dtype[Any]  # Of every block that is read, float32 or float64.
    view_names: tuple[str, ...]  # Names used in messages.
    in_memory: bool  # Whether all rows are in memory.
    on_dask: bool  # Whether the rows are those of Dask arrays.
    bytes_per_row: int  # Approximate memory of one row of all views once read.

    def read(self, rows: Rows) -> Sequence[View]:
        """Return these rows of every view, scaled; rows that lack a view are zero there."""
        ...

    def observed(self, rows: Rows) -> NDArray[np.bool_] | None:
        """Return which views these rows have, shape (n_rows, n_views); None if no row of the source lacks a view."""
        ...


# Entries of a block held at a time: 8 MiB in double precision.
BLOCK_ENTRIES = 1 << 20


def canonical_rows(X: Any) -> Any:
    """Return X as an ndarray, or as a CSR array with repeated entries summed; X itself does not change."""
    if not sparse.issparse(X):
        return np.asarray(X)
    rows = sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def sample_rows(n_rows: int, size: int, random_state: RandomState) -> NDArray[np.intp]:
    """Return ``size`` distinct row numbers in ascending order, or all rows, without a draw, if there are no more."""
    if n_rows <= size:
        return np.arange(n_rows)
    chosen = sample_without_replacement(n_rows, size, random_state=random_state)
    return np.sort(np.asarray(chosen, dtype=np.intp))


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return the given rows, or X itself without a copy if these are all of its rows in order."""
    if len(rows) == X.shape[0] and np.array_equal(rows, np.arange(len(rows))):
        return X
    return X[rows]


def split_rows(rows: NDArray[np.intp], starts: NDArray[np.intp]) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield the number of every block that holds some of these ascending rows, and their places in it."""
    for number, (first, last) in enumerate(pairwise(np.searchsorted(rows, starts))):
        if last > first:
            yield number, rows[first:last] - starts[number]


def dense_rows(X: Any, rows: NDArray[np.intp]) -> NDArray[Any]:
    """Return a dense copy of the given rows, in C order and with the dtype of X."""
    chosen = X[rows]
    return np.ascontiguousarray(chosen.toarray() if sparse.issparse(chosen) else chosen)


def row_blocks(X: Any, most_rows: int) -> Iterator[slice]:
    """Yield slices over the rows, each of at most ``most_rows`` rows and of bounded memory."""
    width = X.nnz // max(X.shape[0], 1) + 1 if sparse.issparse(X) else X.shape[1]
    if X.shape[0]:
        yield from gen_batches(X.shape[0], max(1, min(most_rows, BLOCK_ENTRIES // max(width, 1))))


def side_by_side(views: Sequence[Any]) -> Any:
    """Return the views as one matrix, which is CSR if any of several views is sparse."""
    if len(views) == 1:
        return views[0]
    if any(sparse.issparse(view) for view in views):
        return sparse.csr_array(sparse.hstack(views, format="csr"))
    return np.hstack(views)


def build_problems(
    anchors: Sequence[NDArray[Any]],
    set_sizes: Sequence[int],
    n_near: int | None,
    weights: Sequence[float],
    ridge: float,
    locality: float,
    signed: bool,
) -> tuple[RowProblem | NearProblem, ...]:
    """Set up the problems of all anchor sets; every view holds their anchors one set after the other."""
    problems: list[RowProblem | NearProblem] = []
    start = 0
    for size in set_sizes:
        one = [view[start : start + size] for view in anchors]
        if n_near is not None:
            problems.append(build_near_problem(one, weights, n_near))
        else:
            problems.append(build_row_problem(one, weights=weights, ridge=ridge, locality=locality, signed=signed))
        start += size
    return tuple(problems)


def join_sets(coefficients: Sequence[sparse.csr_array]) -> sparse.csr_array:
    """Join the coefficients on several sets side by side, scaled so that rows still sum to one."""
    if len(coefficients) == 1:
        return coefficients[0]
    joined = sparse.hstack(coefficients, format="csr", dtype=coefficients[0].dtype)
    joined.data /= joined.dtype.type(len(coefficients))
    return joined


def join_to_nearest(
    problems: Sequence[NearProblem], views: Sequence[View], observed: NDArray[np.bool_] | None
) -> tuple[sparse.csr_array, list[float]]:
    """Join rows to their nearest anchors in every set; return the weights, and the value of each problem."""
    parts = [problem.join(views, observed) for problem in problems]
    starts = np.cumsum([0, *(problem.n_columns for problem in problems)]).tolist()
    columns = np.hstack([own + np.int32(start) for (own, _, _), start in zip(parts, starts, strict=False)])
    weights = np.hstack([own for _, own, _ in parts])
    if len(parts) > 1:
        weights /= weights.dtype.type(len(parts))
    ends = np.arange(0, columns.size + 1, columns.shape[1])
    shape = (len(columns), starts[-1])
    return sparse.csr_array((weights.ravel(), columns.ravel(), ends), shape=shape), [value for _, _, value in parts]
