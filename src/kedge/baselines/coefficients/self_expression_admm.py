"""Every row rebuilt from others under an l1 penalty, by the alternating direction method of multipliers (ADMM)."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from kedge.baselines.coefficients.sparse_self_expression import SelfProducts
from kedge.baselines.coefficients.sum_to_one_shrinkage import shrink

Array = NDArray[np.float64]

# Steps that go somewhat past the exact one reach the solution sooner; anything from 1 to below 2 converges.
_RELAXATION = 1.6
# Multipliers are compared with the weight one of the l1 norm, coefficients with those that matter.
_DUAL_SHARE = 100.0


@dataclass(frozen=True)
class AdmmSolver:
    """Solver of min ||c_i||_1 + (fidelity / 2) ||x_i - c_i X||^2, c_ii = 0, possibly with sum one; settings of blocks.

    Coefficients are held twice: Z fits the rows, C is sparse and hollow, and multipliers pull them together.
    Z alone is not made hollow: that would no longer be the exact minimum that the method needs.
    """

    products: SelfProducts  # Products with G = X X'.
    fidelity: float  # Weight of the squared error.
    step: float  # Penalty of the difference of Z and C.
    # Shape (n, p). (fidelity G + step (I + 11'))^(-1) = (I - left right') / step, the term 11' only where sums are one.
    left: Array | None
    right: Array | None
    inverse: Array | None  # Shape (n, n). The inverse itself, where G is kept.
    is_affine: bool  # Whether coefficients of a row sum to one.
    max_iter: int  # Largest number of steps.
    tol: float  # A row is solved when Z and C differ by at most this and C changes by at most 100 tol / step.

    @classmethod
    def prepare(
        cls, products: SelfProducts, fidelity: float, step: float, is_affine: bool, max_iter: int, tol: float
    ) -> Self:
        """Invert once: a matrix of order d by the matrix inversion lemma, or one of order n where G is kept."""
        n_rows = products.X.shape[0]
        left = right = inverse = None
        if products.gram is None:
            columns = [np.sqrt(fidelity / step) * products.X] + [np.ones((n_rows, 1))] * is_affine
            right = np.concatenate(columns, axis=1)
            inner = right.T @ right
            inner[np.diag_indices(len(inner))] += 1.0
            left = linalg.solve(inner, right.T, assume_a="pos").T
        else:
            matrix = fidelity * products.gram
            matrix += step * is_affine
            matrix[np.diag_indices(n_rows)] += step
            inverse = linalg.inv(matrix, overwrite_a=True)
        return cls(products, fidelity, step, left, right, inverse, is_affine, max_iter, tol)

    def solve(self, rows: slice) -> tuple[sparse.csr_array, int, int]:
        """Solve a block of rows.

        Returns
        -------
        coefficients : CSR array of shape (b, n)
            C.
        n_iter, n_open : int
            Steps, and rows that the last step left unsolved.
        """
        own = np.arange(rows.start, rows.stop)
        target = self.fidelity * self.products.rows(rows)
        solution = np.zeros_like(target)
        places = np.arange(len(own))
        sparse_part, multipliers, sum_multipliers = solution.copy(), solution.copy(), np.zeros((len(own), 1))
        n_iter = 0
        while len(places) and n_iter < self.max_iter:
            n_iter += 1
            right_side = target + self.step * sparse_part - multipliers
            if self.is_affine:
                right_side += self.step - sum_multipliers
            fitted = self._apply_inverse(right_side)
            relaxed = _RELAXATION * fitted + (1.0 - _RELAXATION) * sparse_part
            new = shrink(relaxed + multipliers / self.step, 1.0 / self.step, own)
            multipliers += self.step * (relaxed - new)
            gap = np.abs(fitted - new).max(axis=1)
            if self.is_affine:
                excess = fitted.sum(axis=1, keepdims=True) - 1.0
                sum_multipliers += _RELAXATION * self.step * excess
                gap = np.maximum(gap, np.abs(excess[:, 0]))
            change = np.abs(new - sparse_part).max(axis=1)
            sparse_part = new
            is_open = (gap > self.tol) | (self.step * change > _DUAL_SHARE * self.tol)
            # Taking out rows copies all others, so it waits until enough are solved.
            if n_iter == self.max_iter or np.count_nonzero(is_open) <= 0.8 * len(places):
                solution[places] = sparse_part
                places, own, target, sparse_part = places[is_open], own[is_open], target[is_open], sparse_part[is_open]
                multipliers, sum_multipliers = multipliers[is_open], sum_multipliers[is_open]
        return sparse.csr_array(solution), n_iter, len(places)

    def _apply_inverse(self, block: Array) -> Array:
        if self.inverse is not None:
            return block @ self.inverse
        assert self.left is not None
        assert self.right is not None
        return (block - (block @ self.right) @ self.left.T) / self.step
