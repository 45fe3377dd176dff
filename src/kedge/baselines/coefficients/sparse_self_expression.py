"""Every row rebuilt from a few others under an l1 penalty or a limit on nonzeros, by proximal gradient steps.

The problems, for rows X, an own entry c_ii = 0 and possibly entries that sum to one, are

    l1:  min ||c_i||_1 + (fidelity / 2) ||x_i - c_i X||^2
    l0:  min ||x_i - c_i X||^2 / 2  with at most so many nonzeros.

Each row is a problem of its own, so blocks of rows are solved one after another or side by side.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import eigsh

from kedge.baselines.coefficients.sum_to_one_shrinkage import (
    keep_largest,
    keep_largest_of_sum_one,
    shrink,
    shrink_to_sum_one,
)
from kedge.core.rows import View

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# Up to this order all eigenvalues are cheap.
_SMALL_ORDER = 1000
# Covers the error of an approximate largest eigenvalue.
_SAFETY = 1.01
# Bytes of one block of coefficients.
_BLOCK_BYTES = 1 << 22
# Steps from one look at the entries in use to the next.
_LOOK_EVERY = 10


@dataclass(frozen=True)
class SelfProducts:
    """Products of coefficients with G = X X', through X itself or through G, whichever is less work."""

    X: View  # Shape (n, d). The rows.
    gram: Array | None  # Shape (n, n). G where it is kept.

    def multiply(self, coefficients: Array) -> Array:
        """Return C G for a block of coefficients."""
        if self.gram is not None:
            return np.asarray(coefficients @ self.gram)
        return np.asarray((coefficients @ self.X) @ self.X.T)

    def rows(self, rows: slice) -> Array:
        """Return rows of G."""
        return self.gram[rows].copy() if self.gram is not None else np.asarray(self.X[rows] @ self.X.T)


def keeps_gram(n_rows: int, n_features: int, is_sparse: bool) -> bool:
    """Say whether products go through the n x n matrix G."""
    return is_sparse or 2 * n_features > n_rows


def prepare_products(X: View) -> SelfProducts:
    """Form G where it pays."""
    if not keeps_gram(X.shape[0], X.shape[1], sparse.issparse(X)):
        return SelfProducts(X, None)
    product = X @ X.T
    return SelfProducts(X, np.asarray(product.toarray() if sparse.issparse(product) else product))


def center_products(products: SelfProducts) -> SelfProducts:
    """Return products of the rows less their mean.

    Where the coefficients of a row sum to one, the mean cancels from x_i - c_i X: the problem is the same and, with a
    mean far from zero, solved in far fewer steps.
    """
    if products.gram is None:
        return SelfProducts(products.X - products.X.mean(axis=0), None)
    means = products.gram.mean(axis=0)
    gram = products.gram - means
    gram -= means[:, None] - means.mean()
    return SelfProducts(products.X, gram)


def rows_per_block(n_rows: int) -> int:
    """Return how many rows to solve for at a time."""
    return int(np.clip(_BLOCK_BYTES // (8 * n_rows), 32, 256))


def least_coherence(products: SelfProducts) -> float:
    """Return min_i max_{j != i} |x_i'x_j|, rows that are orthogonal to all others left out; 0 if all are.

    The fidelity 1 / coherence is the smallest at which no row is left without coefficients.
    """
    n_rows = products.X.shape[0]
    smallest = np.inf
    for start in range(0, n_rows, rows_per_block(n_rows)):
        rows = slice(start, min(start + rows_per_block(n_rows), n_rows))
        sizes = np.abs(products.rows(rows))
        sizes[np.arange(len(sizes)), np.arange(rows.start, rows.stop)] = 0.0
        largest = sizes.max(axis=1)
        smallest = min(smallest, largest[largest > 0].min(initial=np.inf))
    return float(smallest) if np.isfinite(smallest) else 0.0


def largest_eigenvalue(products: SelfProducts) -> float:
    """Return at least the largest eigenvalue of G, and hardly more."""
    matrix = products.X.T @ products.X if products.gram is None else products.gram
    order = len(matrix)
    if order > _SMALL_ORDER:
        start = np.random.RandomState(0).uniform(-1, 1, order)
        found = eigsh(matrix, k=1, which="LA", v0=start, tol=1e-3, return_eigenvectors=False)
        return float(found[0]) * _SAFETY
    return float(linalg.eigvalsh(matrix, subset_by_index=[order - 1, order - 1])[0]) * (1 + 1e-12)


@dataclass(frozen=True)
class ProximalSolver:
    """Proximal gradient steps for the l1 or the l0 problem; settings that all blocks share."""

    products: SelfProducts  # Products with G.
    curvature: float  # At least the largest eigenvalue of G.
    is_affine: bool  # Whether coefficients of a row sum to one.
    max_iter: int  # Largest number of steps.
    # l1: a row is solved when no subgradient is off by more than this, where one is the weight of the l1 norm. l0: when
    # a step changes it by less than this, relative to its length.
    tol: float

    def approach_l1(
        self, rows: slice, fidelity: float, enough_steps: Callable[[Indices], Array] | None = None
    ) -> tuple[Array, int, NDArray[np.bool_]]:
        """Take accelerated steps with restarts (FISTA) for the l1 problem of a block.

        Parameters
        ----------
        rows : slice
            The block.
        fidelity : float
            Weight of the squared error.
        enough_steps : callable or None, default=None
            Takes the numbers of nonzero entries of rows; after so many steps as it returns a row is left as it is.

        Returns
        -------
        coefficients : array of shape (b, n)
            The solutions, or what is reached.
        n_iter : int
            Steps.
        is_unsolved : bool array of shape (b,)
            Rows not solved to the tolerance.
        """
        own = np.arange(rows.start, rows.stop)
        target = self.products.rows(rows)
        solution, is_unsolved = np.zeros_like(target), np.zeros(len(own), dtype=bool)
        if self.curvature <= 0:
            return solution, 0, is_unsolved
        places = np.arange(len(own))
        now, ahead, momentum, shifts = solution.copy(), solution.copy(), np.ones(len(own)), None
        n_iter, threshold = 0, 1.0 / (fidelity * self.curvature)
        while len(places) and n_iter < self.max_iter:
            n_iter += 1
            moved = target - self.products.multiply(ahead)
            moved /= self.curvature
            moved += ahead
            new, shifts = self._shrink(moved, threshold, own, shifts)
            error, change = np.subtract(ahead, new, out=moved), np.subtract(new, now, out=now)
            # Going on would lead uphill: start anew from here.
            is_uphill = np.einsum("ij,ij->i", error, change) > 0
            momentum[is_uphill] = 1.0
            faster = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
            change *= np.where(is_uphill, 0.0, (momentum - 1.0) / faster)[:, None]
            ahead = np.add(new, change, out=ahead)
            now, momentum = new, faster
            is_open = np.maximum(error.max(axis=1), -error.min(axis=1)) > self.tol * threshold
            goes_on = is_open
            if enough_steps is not None and n_iter % _LOOK_EVERY == 0:
                goes_on = is_open & (enough_steps(np.count_nonzero(now, axis=1)) > n_iter)
            # Taking out rows copies all others, so it waits until enough are done.
            if n_iter == self.max_iter or np.count_nonzero(goes_on) <= 0.8 * len(places):
                solution[places], is_unsolved[places] = now, is_open
                places, own, target, now = places[goes_on], own[goes_on], target[goes_on], now[goes_on]
                ahead, momentum = ahead[goes_on], momentum[goes_on]
                shifts = None if shifts is None else shifts[goes_on]
        return solution, n_iter, is_unsolved

    def solve_l0(self, rows: slice, n_nonzero: int) -> tuple[sparse.csr_array, int, int]:
        """Take projected gradient steps for the l0 problem of a block; they end at a local optimum.

        Returns coefficients, CSR of shape (b, n), the steps, and how many rows they left unsolved.
        """
        own = np.arange(rows.start, rows.stop)
        target = self.products.rows(rows)
        project = keep_largest_of_sum_one if self.is_affine else keep_largest
        solution = np.zeros_like(target)
        if self.curvature <= 0:
            return sparse.csr_array(solution), 0, 0
        places = np.arange(len(own))
        n_iter = 0
        while len(places) and n_iter < self.max_iter:
            n_iter += 1
            now = solution[places]
            moved = now - (self.products.multiply(now) - target[places]) / self.curvature
            new = project(moved, n_nonzero, own[places])
            solution[places] = new
            sizes = np.linalg.norm(now, axis=1)
            places = places[np.linalg.norm(new - now, axis=1) > self.tol * np.where(sizes > 0, sizes, 1.0)]
        return sparse.csr_array(solution), n_iter, len(places)

    def _shrink(self, moved: Array, threshold: float, own: Indices, shifts: Array | None) -> tuple[Array, Array | None]:
        if self.is_affine:
            return shrink_to_sum_one(moved, threshold, own, shifts)
        return shrink(moved, threshold, own), None
