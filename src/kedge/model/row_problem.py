"""The quadratic problem that every row solves against one set of anchors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kedge.kernels import PreparedHessian

Array = NDArray[np.float64]
# A block of rows of one view: an ndarray or a CSR array. SciPy's sparse arrays carry no types.
View: TypeAlias = Any


@dataclass(frozen=True)
class RowProblem:
    """Minimise over the simplex  sum_v w_v (|x_v - A_v'z|^2 + mu sum_j z_j |x_v - a_vj|^2) + alpha |z|^2.

    Multiplied out this is ``1/2 z'Hz + f_i'z`` plus a constant of the row, with
    ``H = 2 alpha I + 2 sum_v w_v A_v A_v'`` and ``f_i = offset - 2 (1 + mu) sum_v w_v A_v x_vi``.

    Attributes
    ----------
    factors : tuple of arrays of shape (n_columns, n_features of the view)
        ``-2 (1 + mu) w_v A_v`` in the dtype of the rows.
    offset : array of shape (n_columns,)
        ``mu sum_v w_v |a_vj|^2``.
    hessian : PreparedHessian
        H, the same for all rows.
    row_weights : tuple of floats
        ``(1 + mu) w_v``: what the squared norm of a row adds to the objective, per view.
    """

    factors: tuple[NDArray[np.floating[Any]], ...]
    offset: Array
    hessian: PreparedHessian
    row_weights: tuple[float, ...]

    @property
    def n_columns(self) -> int:
        """Columns of the coefficients of this problem: anchors, or twice as many with mirrored ones."""
        return self.hessian.n_anchors

    def linear_terms(self, views: Sequence[View]) -> NDArray[np.floating[Any]]:
        """Return ``f_i`` for a block of rows, without the structure penalty."""
        linear = np.asarray(views[0] @ self.factors[0].T)
        for view, factor in zip(views[1:], self.factors[1:], strict=True):
            linear += view @ factor.T
        if self.offset.any():
            linear += self.offset.astype(linear.dtype)
        return linear


def mean_squared_norm(anchors: Sequence[NDArray[Any]], weights: Sequence[float]) -> float:
    """Weighted mean squared anchor norm, the unit of relative penalties; one where all anchors are zero."""
    squares = [np.einsum("ij,ij->", a, a, dtype=np.float64) / len(a) for a in anchors]
    return float(np.dot(weights, squares)) or 1.0


def mirrored(anchors: NDArray[Any]) -> NDArray[Any]:
    """Return a and -a for every anchor: with both, x and -x of one subspace are rebuilt from the same anchors."""
    return np.concatenate([anchors, -anchors])


def build_row_problem(
    anchors: Sequence[NDArray[np.floating[Any]]],
    *,
    weights: Sequence[float],
    ridge: float,
    locality: float = 0.0,
    signed: bool = False,
) -> RowProblem:
    """Set up the row problem of one set of anchors, given per view.

    Parameters
    ----------
    anchors : sequence of arrays of shape (n_anchors, n_features of the view)
        Anchor j of all views together is one prototype.
    weights : sequence of float
        Weight of each view.
    ridge : float
        alpha in absolute units.
    locality : float, default=0.0
        mu, the weight of the distance to each anchor.
    signed : bool, default=False
        Mirror the anchors; the coefficients then have 2 n_anchors columns.
    """
    columns = [mirrored(a) if signed else a for a in anchors]
    size = len(columns[0])
    gram, offset = np.zeros((size, size)), np.zeros(size)
    for weight, block in zip(weights, columns, strict=True):
        wide = np.asarray(block, dtype=np.float64)
        product = wide @ wide.T
        gram += weight * product
        offset += locality * weight * product.diagonal()
    factors = tuple(
        np.ascontiguousarray((-2.0 * (1.0 + locality) * weight) * block).astype(block.dtype, copy=False)
        for weight, block in zip(weights, columns, strict=True)
    )
    hessian = PreparedHessian(2.0 * (gram + ridge * np.eye(size)))
    return RowProblem(factors, offset, hessian, tuple((1.0 + locality) * w for w in weights))
