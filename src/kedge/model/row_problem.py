"""The quadratic problem that every row solves against one set of anchors."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kedge.kernels import PreparedHessian

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

    Attributes
    ----------
    factors : tuple of arrays of shape (n_columns, n_features of the view)
        ``-2 (1 + mu) A_v`` in the dtype of the rows.
    grams : tuple of arrays of shape (n_columns, n_columns)
        ``A_v A_v'``.
    weights : tuple of floats
        ``w_v``.
    ridge : float
        alpha in absolute units.
    locality : float
        mu.
    """

    factors: tuple[NDArray[np.floating[Any]], ...]
    grams: tuple[Array, ...]
    weights: tuple[float, ...]
    ridge: float
    locality: float
    _hessians: dict[Pattern, PreparedHessian] = field(default_factory=dict, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what follows from the rest and is far larger: the problem travels to the workers of clusters."""
        return {name: part for name, part in vars(self).items() if name not in ("grams", "_hessians")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Compute the Gram matrices anew."""
        anchors = (factor.astype(np.float64) / (-2.0 * (1.0 + state["locality"])) for factor in state["factors"])
        grams = tuple(own @ own.T for own in anchors)
        vars(self).update(state, grams=grams, _hessians={})

    @property
    def n_columns(self) -> int:
        """Columns of the coefficients of this problem: anchors, or twice as many with mirrored ones."""
        return len(self.grams[0])

    def with_weights(self, weights: Sequence[float]) -> "RowProblem":
        """Return the problem with other weights of the views."""
        return replace(self, weights=tuple(float(w) for w in weights), _hessians={})

    def with_ridge(self, ridge: float) -> "RowProblem":
        """Return the problem with another ridge; the linear terms of rows stay the same."""
        return replace(self, ridge=float(ridge), _hessians={})

    def hessian(self, pattern: Pattern | None = None) -> PreparedHessian:
        """Return H for rows that have these views, None meaning all; one per pattern is kept."""
        has = pattern or (True,) * len(self.grams)
        if has not in self._hessians:
            total = self.ridge * np.eye(self.n_columns)
            for weight, gram, included in zip(self.weights, self.grams, has, strict=True):
                total += (weight if included else 0.0) * gram
            # Two threads may both build it; they build the same.
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
    """Weighted mean squared anchor norm; one where all anchors are zero."""
    squares = [np.einsum("ij,ij->", a, a, dtype=np.float64) / len(a) for a in anchors]
    return float(np.dot(weights, squares)) or 1.0


def anchor_spread(anchors: Sequence[NDArray[Any]], weights: Sequence[float]) -> float:
    """Weighted mean squared distance of the anchors from their mean: the unit of relative penalties.

    It does not depend on the origin, and neither do the weights of rows.
    """
    return mean_squared_norm([a - a.mean(axis=0, dtype=np.float64) for a in anchors], weights)


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
    factors = tuple(
        np.ascontiguousarray((-2.0 * (1.0 + locality)) * block).astype(block.dtype, copy=False) for block in columns
    )
    wide = [np.asarray(block, dtype=np.float64) for block in columns]
    grams = tuple(block @ block.T for block in wide)
    return RowProblem(factors, grams, tuple(float(w) for w in weights), float(ridge), float(locality))
