"""The graph between rows and their few nearest anchors, for anchors by the thousand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches

from kedge.kernels.selection import choose_kernel
from kedge.model.row_problem import View

# Distances that are held at a time: as many as stay in the cache.
_DISTANCES_HELD = 1 << 19


@dataclass(frozen=True)
class NearProblem:
    """Minimise over the simplex  sum_j z_j d_j + r |z|^2, where d_j are squared distances to the anchors.

    The distance to anchor j is ``sum_v w_v |x_v - a_vj|^2`` over the views that the row has. The ridge r of each row is
    the one at which just its ``n_near`` nearest anchors have weight; the solution is then in closed form,
    ``z_j ~ d_(n_near + 1) - d_j`` (Nie, Wang and Huang, "Clustering and projected clustering with adaptive neighbors",
    2014).

    Attributes
    ----------
    factors : tuple of arrays of shape (n_columns, n_features of the view)
        ``-2 w_v A_v`` in the dtype of the rows.
    offsets : tuple of arrays of shape (n_columns,)
        ``w_v |a_vj|^2``.
    weights : tuple of floats
        ``w_v``.
    n_near : int
        How many anchors each row is joined to: fewer than there are, or the only one.
    """

    factors: tuple[NDArray[Any], ...]
    offsets: tuple[NDArray[Any], ...]
    weights: tuple[float, ...]
    n_near: int
    ridge: float = 0.0
    locality: float = 0.0

    @property
    def n_columns(self) -> int:
        """Columns of the coefficients of this problem."""
        return len(self.offsets[0])

    def solve(self, views: Sequence[View], observed: NDArray[np.bool_] | None) -> tuple[sparse.csr_array, float]:
        """Return the weights of a block of rows, and the sum over them of weighted squared distances."""
        columns, nearest = self.nearest(views, observed, min(self.n_near + 1, self.n_columns))
        if self.n_columns == 1:  # a second anchor, just as far, that gets no weight
            columns, nearest = np.repeat(columns, 2, axis=1), np.repeat(nearest, 2, axis=1)
        weights = nearest[:, -1:] - nearest[:, :-1]
        totals = weights.sum(axis=1, keepdims=True)
        # Anchors that are all equally far share the row alike.
        even = nearest.dtype.type(1.0 / self.n_near)
        weights = np.where(totals > 0, weights / np.where(totals > 0, totals, 1), even)
        order = np.argsort(columns[:, :-1], axis=1)
        indices = np.take_along_axis(columns[:, :-1], order, axis=1)
        data = np.take_along_axis(weights, order, axis=1)
        starts = np.arange(0, len(data) * self.n_near + 1, self.n_near)
        found = sparse.csr_array((data.ravel(), indices.ravel(), starts), shape=(len(data), self.n_columns))
        return found, float(np.vdot(weights.astype(np.float64), nearest[:, :-1].astype(np.float64)))

    def nearest(
        self, views: Sequence[View], observed: NDArray[np.bool_] | None, count: int
    ) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """Return the columns of the nearest anchors of every row, nearest first, and how far they are.

        The numbers are squared distances, each row's less its own squared norm, which changes nothing.
        """
        kernel = choose_kernel()
        shape = (max(1, _DISTANCES_HELD // self.n_columns), self.n_columns)
        # Filled again and again: memory asked for anew costs more than the products themselves.
        total, term = (np.empty(shape, dtype=self.offsets[0].dtype) for _ in range(2))
        found = []
        for rows in gen_batches(views[0].shape[0], len(total)):
            self._fill_distances([view[rows] for view in views], None if observed is None else observed[rows], total, term)
            found.append(kernel.smallest_columns(total[: rows.stop - rows.start], count))
        columns, nearest = zip(*found, strict=True)
        return np.concatenate(columns), np.concatenate(nearest)

    def _fill_distances(
        self, views: list[View], observed: NDArray[np.bool_] | None, total: NDArray[Any], term: NDArray[Any]
    ) -> None:
        """Write the distances of some rows into the head of ``total``; ``term`` is room to work in."""
        n_rows = views[0].shape[0]
        into = total[:n_rows]
        counted = [number for number, weight in enumerate(self.weights) if weight != 0.0]
        for number in counted:
            view, factor, offset = views[number], self.factors[number], self.offsets[number]
            if sparse.issparse(view):
                into[...] = view @ factor.T
            else:
                np.matmul(view, factor.T, out=into)
            into += offset if observed is None else np.where(observed[:, [number]], offset, offset.dtype.type(0))
            if number != counted[0]:
                total[:n_rows] += into
            into = term[:n_rows]


def build_near_problem(
    anchors: Sequence[NDArray[np.floating[Any]]], weights: Sequence[float], n_near: int
) -> NearProblem:
    """Set up the search among one set of anchors, given per view."""
    factors = tuple(np.ascontiguousarray(a * a.dtype.type(-2.0 * w)) for a, w in zip(anchors, weights, strict=True))
    offsets = tuple(
        (w * np.einsum("ij,ij->i", a, a, dtype=np.float64)).astype(a.dtype)
        for a, w in zip(anchors, weights, strict=True)
    )
    return NearProblem(factors, offsets, tuple(map(float, weights)), max(1, min(n_near, len(anchors[0]) - 1)))
