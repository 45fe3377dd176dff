"""Every row rebuilt from few others: products with all rows, blocks on all processors, and one solver (ADMM).

For rows X, an own entry c_ii = 0 and possibly entries that sum to one, the problem of a row is

    min ||c_i||_1 + (fidelity / 2) ||x_i - c_i X||^2.

Each row is a problem of its own, so blocks of rows can be solved side by side.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy import linalg, sparse
from sklearn.utils import gen_batches

from kedge.baselines.affinity import cluster_affinity, symmetric_graph
from kedge.baselines.base import Array, Indices, as_dense
from kedge.core.rows import View
from kedge.kernels.selection import default_threads, one_thread_per_library
from kedge.user_warnings import warn_convergence

Result = TypeVar("Result")
# Coefficients of a block of rows, the steps taken, and how many rows are left unsolved.
Solved = tuple[sparse.csr_array, int, int]

# Even wide rows hardly ever need more others than this.
_MOST_NONZERO = 100
# Bytes of one block of coefficients.
_BLOCK_BYTES = 1 << 22
L1_ADVICE = "raise max_iter or tol, or lower fidelity"
# ADMM creeps with larger penalties.
LARGEST_STEP = 20.0
# Steps that go somewhat past the exact one reach the solution sooner; anything from 1 to below 2 converges.
_RELAXATION = 1.6
# Multipliers are compared with the weight one of the l1 norm, coefficients with those that matter.
_DUAL_SHARE = 100.0


def map_row_blocks(
    work: Callable[[slice], Result], n_rows: int, block_rows: int, *, n_threads: int | None = None
) -> list[Result]:
    """Return what the function makes of every block of rows; the number of threads does not change the blocks."""
    blocks = list(gen_batches(n_rows, block_rows))
    threads = min(len(blocks), default_threads() if n_threads is None else n_threads)
    with one_thread_per_library():
        if threads <= 1:
            return [work(block) for block in blocks]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(work, blocks))


def solve_all_rows(solve: Callable[[slice], Solved], n_rows: int, advice: str) -> tuple[sparse.csr_array, int]:
    """Return coefficients of all rows and the most steps of a block; ``advice`` says what to do about unsolved rows."""
    blocks = map_row_blocks(solve, n_rows, rows_per_block(n_rows))
    n_open = sum(block[2] for block in blocks)
    if n_open:
        warn_convergence(f"{n_open} of {n_rows} rows were not solved to the tolerance; {advice}")
    coefficients = sparse.csr_array(sparse.vstack([block[0] for block in blocks], format="csr"))
    return coefficients, max(block[1] for block in blocks)


def cluster_coefficients(
    coefficients: sparse.csr_array, n_clusters: int, random_state: np.random.RandomState
) -> dict[str, Any]:
    """Cluster by the graph |C| + |C|', each row of C over its largest absolute entry; return fitted attributes."""
    found = cluster_affinity(symmetric_graph(coefficients, "max"), n_clusters, random_state)
    return found | {"coefficients_": coefficients}


def keep_largest_entries(
    coefficients: sparse.csr_array, n_kept: float = np.inf, share: float = 1.0
) -> sparse.csr_array:
    """Keep the largest absolute entries of each row: at most ``n_kept``, and this share of the row's absolute sum."""
    rows = np.repeat(np.arange(coefficients.shape[0]), np.diff(coefficients.indptr))
    sizes = np.abs(coefficients.data)
    order = np.lexsort((-sizes, rows))
    is_kept = np.zeros(len(rows), dtype=bool)
    is_kept[order] = np.arange(len(rows)) - coefficients.indptr[rows] < n_kept
    if share < 1:
        sums = np.cumsum(sizes[order])
        starts = np.concatenate([[0.0], sums])[coefficients.indptr]
        before = sums - sizes[order] - starts[rows]
        # Sums over all rows leave rounding, which must not decide between equal shares.
        is_kept[order] &= before < (share - 1e-12) * (starts[1:] - starts[:-1])[rows]
    entries = (coefficients.data[is_kept], (rows[is_kept], coefficients.indices[is_kept]))
    return sparse.csr_array(entries, shape=coefficients.shape)


def l1_block_memory(n_samples: int, n_features: int, n_nonzero: int, n_matrices: int) -> int:
    """Return about how many bytes a method takes that solves all rows in blocks.

    A row keeps at most ``n_nonzero`` coefficients. If the Gram matrix is kept, there are ``n_matrices`` of its size.
    """
    # A coefficient counts as itself, its magnitude and twice in the graph, each with its column.
    kept = 60 * n_samples * min(n_nonzero, n_samples, _MOST_NONZERO)
    blocks = 9 * 8 * default_threads() * n_samples * rows_per_block(n_samples)
    matrices = n_matrices * _keeps_gram(n_samples, n_features, is_sparse=False)
    return 8 * matrices * n_samples**2 + kept + blocks


def rows_per_block(n_rows: int) -> int:
    """Return how many rows to solve for at a time."""
    return int(np.clip(_BLOCK_BYTES // (8 * n_rows), 32, 256))


@dataclass(frozen=True)
class SelfProducts:
    """Products of coefficients with G = X X', through X itself or through G, whichever is less work."""

    X: View  # Shape (n, d). The rows.
    gram: Array | None  # Shape (n, n). G, if it is kept.

    def multiply(self, coefficients: Array) -> Array:
        """Return C G for a block of coefficients."""
        if self.gram is not None:
            return np.asarray(coefficients @ self.gram)
        return np.asarray((coefficients @ self.X) @ self.X.T)

    def rows(self, rows: slice) -> Array:
        """Return rows of G."""
        return self.gram[rows].copy() if self.gram is not None else np.asarray(self.X[rows] @ self.X.T)

    def between(self, columns: Indices) -> Array:
        """Return the part of G between the columns in each row of ``columns``."""
        if self.gram is not None:
            return np.asarray(self.gram[columns[:, :, None], columns[:, None, :]])
        gathered = self.X[columns]
        return np.asarray(np.matmul(gathered, gathered.transpose(0, 2, 1)))


def _keeps_gram(n_rows: int, n_features: int, is_sparse: bool) -> bool:
    return is_sparse or 2 * n_features > n_rows


def prepare_products(X: View) -> SelfProducts:
    """Form G where it pays."""
    kept = _keeps_gram(X.shape[0], X.shape[1], sparse.issparse(X))
    return SelfProducts(X, as_dense(X @ X.T) if kept else None)


def prepare_l1(X: View, fidelity: float | None, is_affine: bool) -> tuple[SelfProducts, float]:
    """Return products with the rows, and the absolute weight of a fidelity in units of 1 / :func:`least_coherence`.

    That unit is the smallest weight at which no row is left without coefficients.
    """
    products = prepare_products(X)
    # Rows that are orthogonal to all others have no coefficients at any weight.
    weight = 0.0 if fidelity is None else fidelity / (least_coherence(products) or 1.0)
    return center_products(products) if is_affine else products, weight


def center_products(products: SelfProducts) -> SelfProducts:
    """Return products of the rows less their mean, which cancels from x_i - c_i X if coefficients sum to one.

    With a mean far from zero the problem is then solved in far fewer steps.
    """
    if products.gram is None:
        return SelfProducts(products.X - products.X.mean(axis=0), None)
    means = products.gram.mean(axis=0)
    gram = products.gram - means
    gram -= means[:, None] - means.mean()
    return SelfProducts(products.X, gram)


def least_coherence(products: SelfProducts) -> float:
    """Return min_i max_{j != i} |x_i'x_j| without rows that are orthogonal to all others; 0 if all are."""
    n_rows = products.X.shape[0]
    smallest = np.inf
    for rows in gen_batches(n_rows, rows_per_block(n_rows)):
        sizes = np.abs(products.rows(rows))
        sizes[np.arange(len(sizes)), np.arange(rows.start, rows.stop)] = 0.0
        largest = sizes.max(axis=1)
        smallest = min(smallest, largest[largest > 0].min(initial=np.inf))
    return float(smallest) if np.isfinite(smallest) else 0.0


def shrink(vectors: Array, threshold: float, own: Indices) -> Array:
    """Return, per row v, the minimiser of threshold ||x||_1 + ||x - v||^2 / 2 with x[own] = 0."""
    shrunk = np.clip(vectors, -threshold, threshold)
    np.subtract(vectors, shrunk, out=shrunk)
    shrunk[np.arange(len(own)), own] = 0.0
    return shrunk


class AdmmSolver:
    """The alternating direction method of multipliers (ADMM); settings that all blocks share.

    Coefficients are held twice: Z fits the rows, C is sparse with an empty diagonal, and multipliers pull them
    together. The diagonal of Z is not emptied: Z would no longer be the exact minimum that the method needs. A row is
    solved when Z and C differ by at most ``tol`` and C changes by at most 100 tol / step.
    """

    def __init__(
        self, products: SelfProducts, fidelity: float, step: float, is_affine: bool, max_iter: int, tol: float
    ) -> None:
        self.products, self.fidelity, self.step = products, fidelity, step
        self.is_affine, self.max_iter, self.tol = is_affine, max_iter, tol
        # Multiplies with (fidelity G + step (I + 11'))^(-1), the term 11' only where sums are one.
        self.apply_inverse = (
            self._inverse_from_rows() if products.gram is None else self._inverse_from_gram(products.gram)
        )

    def _inverse_from_rows(self) -> Callable[[Array], Array]:
        """Invert a matrix of order d, by the matrix inversion lemma."""
        X, step = self.products.X, self.step
        columns = [np.sqrt(self.fidelity / step) * X] + [np.ones((X.shape[0], 1))] * self.is_affine
        right = np.concatenate(columns, axis=1)
        inner = right.T @ right
        inner[np.diag_indices(len(inner))] += 1.0
        left = linalg.solve(inner, right.T, assume_a="pos").T
        return lambda block: np.asarray((block - (block @ right) @ left.T) / step)

    def _inverse_from_gram(self, gram: Array) -> Callable[[Array], Array]:
        """Invert a matrix of order n."""
        matrix = self.fidelity * gram
        matrix += self.step * self.is_affine
        matrix[np.diag_indices(len(matrix))] += self.step
        inverse = linalg.inv(matrix, overwrite_a=True)
        return lambda block: np.asarray(block @ inverse)

    def solve(self, rows: slice) -> Solved:
        """Solve for C of a block of rows."""
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
            fitted = self.apply_inverse(right_side)
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
