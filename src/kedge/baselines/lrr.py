"""LRR: rows rebuilt from each other with coefficients of lowest rank, then spectral clustering."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from kedge.baselines.affinity import cluster_affinity
from kedge.baselines.base import Array, RowGraphBaseline, as_dense, baseline, parameter
from kedge.core.labels import unit_rows
from kedge.core.rows import View
from kedge.parameters import COUNT, POSITIVE, one_of
from kedge.user_warnings import warn_convergence

# Singular values below this part of the largest cannot be told from rounding in a Gram matrix.
GRAM_NOISE = 1e-7
# Constants of the authors' solver: penalty of a violated constraint at the start, its growth, its largest value.
FIRST_PENALTY, PENALTY_GROWTH, LARGEST_PENALTY = 1e-6, 1.1, 1e10
# Singular values of the coefficients below this part of the largest are dropped from the graph.
_NEGLIGIBLE = 1e-4
# Rows shorter than this part of the longest are zero up to rounding.
_ROUNDING = 1e-13
# Rows that are worked on at a time.
_BLOCK_ROWS = 512
# Singular values from the Gram matrix have an error of about 1e-16 times the largest squared over the threshold. With a
# threshold above this part of the largest, the shrunk matrix is right to twelve digits.
_GRAM_SUFFICES = 1e-4


@baseline(
    "low-rank representation of the rows by each other",
    cost="n^2 d per step",
    grid={"noise_weight": [round(0.1 + 0.2 * i, 1) for i in range(20)]},
    grid_source="programs of this family of methods",
)
class LRR(RowGraphBaseline):
    """Low-rank representation: rows rebuilt from all rows with coefficients of small nuclear norm.

    Few directions suffice to rebuild rows of few subspaces, so a small nuclear norm keeps the subspaces apart. Rows
    that do not fit, such as outliers, may be missed by some noise, which costs its length. The graph holds the fourth
    powers of cosines between what the coefficients take from rows. O(n r^2) time per iteration for rank r <= min(n, d),
    about 200 iterations. One n x n matrix of memory for the graph, or twelve n x r ones for the solver: about 54,000
    rows of 100 features on 24 GB.

    Parameters
    ----------
    noise_weight : float, default=0.5
        What a unit of noise costs. Small values leave rows to the noise, large ones allow none. The authors try 0.1 to
        4 on rows of unit length.
    noise : {"rows", "frobenius"}, default="rows"
        Whether the noise is charged by the lengths of its rows, which suits outliers, or by half its squared entries,
        for which the solution is a formula.
    max_iter : int, default=1000
        Most iterations of the solver.
    tol : float, default=1e-8
        Largest violation of ``X = C X + E`` at which it stops, relative to the longest row.

    Attributes
    ----------
    coefficient_factor_ : ndarray of shape (n_samples, rank)
        ``coefficient_factor_ @ row_basis_.T`` are the coefficients; row i of them rebuilds row i.
    row_basis_ : ndarray of shape (n_samples, rank)
        Left singular vectors of the scaled X.
    n_iter_ : int
        Iterations of the solver; one for the formula.

    References
    ----------
    Liu, Lin and Yu, "Robust subspace segmentation by low-rank representation", ICML 2010.

    Liu, Lin, Yan, Sun, Yu and Ma, "Robust recovery of subspace structures by low-rank representation", IEEE
    Transactions on Pattern Analysis and Machine Intelligence 35 (2013).
    """

    noise_weight: float = parameter(POSITIVE, default=0.5)
    noise: str = parameter(one_of("rows", "frobenius"), default="rows")
    max_iter: int = parameter(COUNT, default=1000)
    tol: float = parameter(POSITIVE, default=1e-8)

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # Twelve n x rank matrices, or the n x n graph and three.
        rank = min(n_samples, n_features)
        return 8 * (n_samples * n_features + max(12 * n_samples * rank, n_samples**2 + 3 * n_samples * rank))

    def _cluster(self, X: View, random_state: np.random.RandomState) -> dict[str, Any]:
        space = whole_row_space(X)
        if self.noise == "frobenius":
            factor, n_iter = space.basis * closed_form(space, self.noise_weight), 1
        else:
            factor, n_iter = robust_coefficients(space, self.noise_weight, self.max_iter, self.tol, square=False)
        found = cluster_cosines(graph_points(space.basis, factor), self.n_clusters, random_state)
        return found | {"coefficient_factor_": factor, "row_basis_": space.basis, "n_iter_": n_iter}


@dataclass(frozen=True)
class RowSpace:
    """``X ~ basis diag(singular_values) directions'``, the best such matrix of its rank; directions are not kept."""

    basis: Array  # Shape (n_rows, rank). Orthonormal columns.
    singular_values: Array  # Shape (rank,). Positive, descending; none if X is zero.
    remainder: Array  # Shape (n_rows,). Length of what each row of X has outside the directions.


def whole_row_space(X: Any) -> RowSpace:
    """Decompose all of X. A sparse X stays sparse, and loses singular values below 1e-7 of the largest."""
    n_rows, n_features = X.shape
    if not sparse.issparse(X):
        basis, values, _ = linalg.svd(X, full_matrices=False, check_finite=False)
        return cut_row_space(basis, values, max(n_rows, n_features) * np.finfo(np.float64).eps, np.zeros(n_rows))
    if n_features < n_rows:
        basis, values = rayleigh_ritz(X, gram_vectors(X.T @ X, n_features))
    else:
        squares, basis = linalg.eigh((X @ X.T).toarray(), driver="evd", check_finite=False)
        basis, values = basis[:, ::-1], np.sqrt(squares[::-1].clip(min=0.0))
    return cut_row_space(basis, values, GRAM_NOISE, np.zeros(n_rows))


def cut_row_space(basis: Array, values: Array, noise: float, remainder: Array) -> RowSpace:
    """Leave out directions whose singular values are below this part of the largest."""
    kept = values > noise * values.max(initial=0.0)
    return RowSpace(np.ascontiguousarray(basis[:, kept]), values[kept], remainder)


def gram_vectors(gram: Any, count: int) -> Array:
    """Return the leading eigenvectors of a Gram matrix, ascending."""
    matrix = as_dense(gram)
    order = len(matrix)
    return np.asarray(linalg.eigh(matrix, subset_by_index=[order - count, order - 1], check_finite=False)[1])


def rayleigh_ritz(X: Any, features: Array) -> tuple[Array, Array]:
    """Return the left singular vectors and the values of X restricted to some orthonormal directions."""
    orthonormal, triangle = np.linalg.qr(X @ features)
    rotation, values, _ = linalg.svd(triangle, check_finite=False)
    return np.asarray(orthonormal @ rotation), values


def closed_form(space: RowSpace, noise_weight: float) -> Array:
    """Minimise ``|C|_* + noise_weight / 2 |X - C X|_F^2``; return t with C = V diag(t) V' for X = V diag(s) U'.

    t is 1 - 1 / (noise_weight s^2) for s above 1 / sqrt(noise_weight), and zero otherwise.
    """
    squares = noise_weight * space.singular_values**2
    return np.where(squares > 1.0, 1.0 - 1.0 / squares, 0.0)


def robust_coefficients(
    space: RowSpace, noise_weight: float, max_iter: int, tol: float, *, square: bool
) -> tuple[Array, int]:
    """Minimise ``|C|_* + noise_weight * sum of the lengths of the rows of E`` with ``X = C X + E``.

    Let X = V diag(s) U' + R with R orthogonal to U. Returns F with C = F V', or T with F = V T for ``square``, and the
    number of iterations of the inexact augmented Lagrangian method of Lin, Chen and Ma. Rotating the features does not
    change lengths of rows, so E is kept in the coordinates U, with the length of its part outside U.
    """
    noise = _Noise(space, noise_weight)
    scale, basis = noise.scale, space.basis if square else None
    factor = np.zeros((len(scale) if square else len(space.basis), len(scale)))
    multiplier = np.zeros_like(factor)
    penalty, wanted = FIRST_PENALTY, noise.target[:, : noise.rank]
    wanted = wanted if basis is None else basis.T @ wanted
    for n_iter in range(1, max_iter + 1):
        low_rank = shrink_singular_values(factor + multiplier / penalty, 1.0 / penalty)
        factor = wanted * scale
        factor += low_rank
        factor -= multiplier / penalty
        factor /= scale**2 + 1.0
        next_penalty = min(PENALTY_GROWTH * penalty, LARGEST_PENALTY)
        residual, wanted = noise.update(basis, factor * scale, penalty, next_penalty)
        difference = factor - low_rank
        residual = max(residual, float(np.abs(difference).max(initial=0.0)))
        if residual < tol:
            return low_rank, n_iter
        difference *= penalty
        multiplier += difference
        penalty = next_penalty
    warn_convergence(
        f"the constraints are violated by {residual:.1e} after {max_iter} iterations, more than tol={tol:g}; raise "
        "max_iter or tol"
    )
    return low_rank, max_iter


class _Noise:
    """The noise of all rows in the coordinates of the directions, with one more for what lies outside of them."""

    def __init__(self, space: RowSpace, weight: float) -> None:
        lengths = np.sqrt(space.basis**2 @ space.singular_values**2 + space.remainder**2)
        # The penalties are made for rows of unit length.
        longest = float(lengths.max(initial=0.0)) or 1.0
        self.scale = space.singular_values / longest
        self.weight = weight * longest
        n_rows, self.rank = space.basis.shape
        self.target = np.empty((n_rows, self.rank + int(space.remainder.any())))
        self.target[:, : self.rank] = space.basis * self.scale
        self.target[:, self.rank :] = space.remainder[:, None] / longest
        self.values, self.multiplier = np.zeros_like(self.target), np.zeros_like(self.target)
        # A block of rows stays in the cache of the processor through all its steps.
        self.blocks = list(gen_batches(n_rows, _BLOCK_ROWS))

    def update(self, basis: Array | None, rebuilding: Array, penalty: float, following: float) -> tuple[float, Array]:
        """Update the noise for rows rebuilt as ``rebuilding``; return the violation and where it wants these rows next.

        With a basis, rows are rebuilt as ``basis rebuilding``, and the last is ``basis'`` times where it wants them.
        """
        worst, wanted = 0.0, np.zeros((len(self.target) if basis is None else self.rank, self.rank))
        for block in self.blocks:
            gap = self.target[block].copy()
            gap[:, : self.rank] -= rebuilding[block] if basis is None else basis[block] @ rebuilding
            self.values[block] = shrink_rows(gap + self.multiplier[block] / penalty, self.weight / penalty)
            gap -= self.values[block]
            worst = max(worst, float(row_norms(gap, squared=True).max()))
            gap *= penalty
            self.multiplier[block] += gap
            pulled = (self.multiplier[block] / following + self.target[block] - self.values[block])[:, : self.rank]
            if basis is None:
                wanted[block] = pulled
            else:
                wanted += basis[block].T @ pulled
        return float(np.sqrt(worst)), wanted


def graph_points(basis: Array, factor: Array) -> Array:
    """Return unit rows m_i whose ``(m_i . m_j)^4`` is LRR's graph; rows that nothing uses are zero.

    With the singular value decomposition ``U S W'`` of ``basis factor'``, the coefficients for samples in columns,
    these are the rows of U S^(1/2). Singular values below 1e-4 of the largest are dropped.
    """
    values, vectors = left_singular_pairs(factor.T) if factor.size else (np.empty(0), np.empty((0, 0)))
    kept = values > _NEGLIGIBLE * values.max(initial=0.0)
    points = basis @ (vectors[:, kept] * np.sqrt(values[kept]))
    lengths = row_norms(points)
    points[lengths <= _ROUNDING * lengths.max(initial=0.0)] = 0.0
    return unit_rows(points)


def cluster_cosines(points: Array, n_clusters: int, random_state: np.random.RandomState) -> dict[str, Any]:
    """Cluster unit points by the graph ``(m_i . m_j)^4``, one n x n matrix; return ``labels_`` and ``embedding_``."""
    if not points.any():
        return one_cluster(len(points), n_clusters)
    affinity = points @ points.T
    np.square(affinity, out=affinity)
    np.square(affinity, out=affinity)
    return cluster_affinity(affinity, n_clusters, random_state)


def one_cluster(n_rows: int, n_clusters: int) -> dict[str, Any]:
    """Warn that there is no graph, and return one label for all rows."""
    warn_convergence(
        "no row is rebuilt from others, so that there is no graph to cluster and all rows get one label; raise the "
        "weight of the noise"
    )
    return {"labels_": np.zeros(n_rows, dtype=np.int64), "embedding_": np.zeros((n_rows, n_clusters))}


def shrink_singular_values(matrix: Array, threshold: float) -> Array:
    """Lower all singular values by the threshold, at least to zero.

    With the left singular vectors U and values s of the narrow side the result is ``U diag(max(1 - threshold / s, 0))
    U'`` times the matrix. U comes from the Gram matrix where that is accurate enough, which is faster.
    """
    if linalg.norm(matrix) <= threshold:
        return np.zeros_like(matrix)
    if matrix.shape[0] > matrix.shape[1]:
        return np.ascontiguousarray(shrink_singular_values(matrix.T, threshold).T)
    gram = matrix @ matrix.T
    # The largest row sum is at least the largest eigenvalue.
    if threshold**2 >= _GRAM_SUFFICES**2 * np.abs(gram).sum(axis=1).max():
        squares, vectors = linalg.eigh(gram, driver="evd", overwrite_a=True, check_finite=False)
        values = np.sqrt(squares.clip(min=0.0))
    else:
        del gram
        values, vectors = left_singular_pairs(matrix)
    kept = values > threshold
    vectors, factors = vectors[:, kept], 1.0 - threshold / values[kept]
    return np.asarray((vectors * factors) @ (vectors.T @ matrix))


def left_singular_pairs(matrix: Array) -> tuple[Array, Array]:
    """Return the singular values of a wide or square matrix and its left singular vectors as columns."""
    square = matrix if matrix.shape[0] == matrix.shape[1] else np.asarray(np.linalg.qr(matrix.T, mode="r")).T
    vectors, values, _ = linalg.svd(square, check_finite=False)
    return values, vectors


def shrink_rows(matrix: Array, threshold: float) -> Array:
    """Shorten every row by the threshold, at most to zero: the proximal step of the sum of row lengths."""
    lengths = row_norms(matrix)
    rest = np.maximum(lengths - threshold, 0.0)
    factors = np.divide(rest, lengths, out=np.zeros_like(rest), where=lengths > 0)
    return np.asarray(matrix * factors[:, None])
