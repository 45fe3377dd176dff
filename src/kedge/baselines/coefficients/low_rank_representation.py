"""Rows rebuilt from each other with coefficients of low rank, and the graph that such coefficients make."""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from kedge.baselines.coefficients.row_space import RowSpace
from kedge.baselines.coefficients.shrinkage import left_singular_pairs, shrink_rows, shrink_singular_values
from kedge.core.labels import unit_rows

Array = NDArray[np.float64]

# Constants of the authors' solver: penalty of a violated constraint at the start, its growth, its largest value.
FIRST_PENALTY, PENALTY_GROWTH, LARGEST_PENALTY = 1e-6, 1.1, 1e10
# Singular values of the coefficients below this part of the largest are dropped from the graph.
_NEGLIGIBLE = 1e-4
# Rows shorter than this part of the longest are zero but for rounding.
_ROUNDING = 1e-13
# Rows that are worked on at a time.
_BLOCK_ROWS = 512


@dataclass(frozen=True)
class LowRankFit:
    """Coefficients between rows in factors."""

    factor: Array  # Shape (n_rows, rank). F with coefficients ``F basis'``, or ``basis F basis'`` for square F.
    n_iter: int  # Iterations; one for a closed form.
    residual: float  # Largest violation of a constraint at the end, relative to the longest row of X.


def closed_form(space: RowSpace, noise_weight: float) -> LowRankFit:
    """Minimise ``|C|_* + noise_weight / 2 |X - C X|_F^2``.

    With X = V diag(s) U' the optimum is C = V diag(1 - 1 / (noise_weight s^2)) V' over the s above
    1 / sqrt(noise_weight). Directions left out of ``space`` count as noise, which changes nothing if they are below
    that.
    """
    squares = noise_weight * space.singular_values**2
    return LowRankFit(np.diag(np.where(squares > 1.0, 1.0 - 1.0 / squares, 0.0)), 1, 0.0)


def robust_coefficients(
    space: RowSpace, noise_weight: float, *, square: bool, max_iter: int, tol: float, stacklevel: int = 3
) -> LowRankFit:
    """Minimise ``|C|_* + noise_weight * sum of the lengths of the rows of E`` with ``X = C X + E``.

    Solved by the inexact augmented Lagrangian method of Lin, Chen and Ma with the constants of the LRR authors. Let X =
    V diag(s) U' + R with R orthogonal to U. Coefficients are sought in the form C = F V', so that C X = F diag(s) U';
    for ``square`` F = V T with T of order rank. Lengths of rows do not change under rotation of the features, so that
    E is kept in the coordinates U, and of its part outside U, which is always a multiple of the row of R, only the
    length. Nothing has more columns than the rank plus one, and the steps are those of the method on X itself.

    Parameters
    ----------
    space : RowSpace
        Decomposition of X.
    noise_weight : float
        Positive.
    square : bool
        Whether F = V T.
    max_iter : int
        Most iterations.
    tol : float
        Largest violation of the constraints, rows of X relative to the longest.
    stacklevel : int, default=3
        Whom the warning below is about.

    Warns
    -----
    ConvergenceWarning
        If the tolerance is not reached.

    Notes
    -----
    O(n rank^2) per iteration, in blocks of rows; about 150 to 250 iterations.
    """
    noise = _Noise(space, noise_weight)
    scale, basis = noise.scale, space.basis if square else None
    factor = np.zeros((len(scale) if square else len(space.basis), len(scale)))
    multiplier = np.zeros_like(factor)
    penalty, residual = FIRST_PENALTY, np.inf
    for n_iter in range(1, max_iter + 1):
        low_rank = shrink_singular_values(factor + multiplier / penalty, 1.0 / penalty)
        factor = noise.pull(basis, penalty)
        factor *= scale
        factor += low_rank
        factor -= multiplier / penalty
        factor /= scale**2 + 1.0
        residual = noise.update(basis, factor * scale, penalty)
        difference = factor - low_rank
        residual = max(residual, float(np.abs(difference).max(initial=0.0)))
        if residual < tol:
            return LowRankFit(low_rank, n_iter, residual)
        difference *= penalty
        multiplier += difference
        penalty = min(PENALTY_GROWTH * penalty, LARGEST_PENALTY)
    warnings.warn(
        f"the constraints are violated by {residual:.1e} after {max_iter} iterations, more than tol={tol:g}; raise "
        "max_iter or tol",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )
    return LowRankFit(low_rank, max_iter, residual)


class _Noise:
    """The noise of all rows in the coordinates of the directions, with one more for what lies outside of them.

    X is divided by the length of its longest row, so that the penalties, made for rows of unit length, suit it.
    """

    def __init__(self, space: RowSpace, weight: float) -> None:
        lengths = np.sqrt(space.basis**2 @ space.singular_values**2 + space.remainder**2)
        longest = float(lengths.max(initial=0.0)) or 1.0
        self.scale = space.singular_values / longest
        self.weight = weight * longest
        n_rows, self.rank = space.basis.shape
        self.target = np.empty((n_rows, self.rank + int(space.remainder.any())))
        self.target[:, : self.rank] = space.basis * self.scale
        self.target[:, self.rank :] = space.remainder[:, None] / longest
        self.values, self.multiplier = np.zeros_like(self.target), np.zeros_like(self.target)
        # A block of rows stays in the cache of the processor through all its steps.
        self.blocks = [slice(start, start + _BLOCK_ROWS) for start in range(0, n_rows, _BLOCK_ROWS)]

    def pull(self, basis: Array | None, penalty: float) -> Array:
        """Return where the noise would have the rebuilt rows, or ``basis'`` times that."""
        shape = (len(self.target), self.rank) if basis is None else (self.rank, self.rank)
        total = np.zeros(shape)
        for block in self.blocks:
            wanted = self.multiplier[block, : self.rank] / penalty
            wanted += self.target[block, : self.rank]
            wanted -= self.values[block, : self.rank]
            if basis is None:
                total[block] = wanted
            else:
                total += basis[block].T @ wanted
        return total

    def update(self, basis: Array | None, rebuilding: Array, penalty: float) -> float:
        """Find the noise beside the rows rebuilt as ``rebuilding``, or ``basis rebuilding``; return the violation."""
        worst = 0.0
        for block in self.blocks:
            gap = self.target[block].copy()
            gap[:, : self.rank] -= rebuilding[block] if basis is None else basis[block] @ rebuilding
            self.values[block] = shrink_rows(gap + self.multiplier[block] / penalty, self.weight / penalty)
            gap -= self.values[block]
            worst = max(worst, float(np.einsum("ij,ij->i", gap, gap).max()))
            gap *= penalty
            self.multiplier[block] += gap
        return float(np.sqrt(worst))


def graph_points(basis: Array, factor: Array) -> Array:
    """Return unit rows m_i whose ``(m_i . m_j)^4`` is LRR's graph; rows that nothing uses are zero.

    With the singular value decomposition ``U S W'`` of the coefficients as the authors write them, for samples in
    columns, these are the rows of U S^(1/2); singular values below 1e-4 of the largest are dropped. The coefficients
    for samples in columns are ``basis factor'``, so that only the factor is decomposed.
    """
    values, vectors = left_singular_pairs(factor.T) if factor.size else (np.empty(0), np.empty((0, 0)))
    kept = values > _NEGLIGIBLE * values.max(initial=0.0)
    points = basis @ (vectors[:, kept] * np.sqrt(values[kept]))
    lengths = np.sqrt(np.einsum("ij,ij->i", points, points))
    points[lengths <= _ROUNDING * lengths.max(initial=0.0)] = 0.0
    return unit_rows(points)
