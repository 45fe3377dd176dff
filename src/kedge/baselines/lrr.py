"""LRR: rows rebuilt from each other with coefficients of lowest rank, then spectral clustering."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from scipy import linalg, sparse

from kedge.baselines.base import Array, Labels, SingleViewBaseline, as_dense, baseline, parameter
from kedge.baselines.spectral_clustering import cluster_affinity
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
# Rows shorter than this part of the longest are zero but for rounding.
_ROUNDING = 1e-13
# Rows that are worked on at a time.
_BLOCK_ROWS = 512
# Singular values from the Gram matrix have an error of about 1e-16 times the largest squared over the threshold; with a
# threshold above this part of the largest, the shrunk matrix is right to twelve digits.
_GRAM_SUFFICES = 1e-4


@baseline(
    "low-rank representation of the rows by each other",
    cost="n^2 d per step",
    grid={"noise_weight": [round(0.1 + 0.2 * i, 1) for i in range(20)]},
    grid_source="programs of this family of methods",
)
class LRR(SingleViewBaseline):
    """Low-rank representation: rows rebuilt from all rows with coefficients of small nuclear norm.

    Few directions suffice to rebuild rows of few subspaces, so a small nuclear norm keeps the subspaces apart; rows
    that do not fit, such as outliers, may be missed by some noise whose length is charged. Rows are compared by the
    fourth power of the cosine between what the coefficients take from them; spectral clustering cuts that graph. The
    solver works in the coordinates of the singular vectors of X, which changes nothing in the result: O(n r^2) time per
    iteration for rank r <= min(n, d), some 200 iterations. The graph takes one n x n matrix of memory, and the solver
    twelve n x r ones: about 54,000 rows of 100 features on 24 GB, 15,000 of as many features as rows.

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
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Leading eigenvectors of the normalised graph.
    n_iter_ : int
        Iterations of the solver; one for the formula.

    References
    ----------
    Liu, Lin and Yu, "Robust subspace segmentation by low-rank representation", ICML 2010.

    Liu, Lin, Yan, Sun, Yu and Ma, "Robust recovery of subspace structures by low-rank representation", IEEE
    Transactions on Pattern Analysis and Machine Intelligence 35 (2013).

    Examples
    --------
    >>> from kedge.baselines import LRR
    >>> from kedge.datasets import make_union_of_subspaces
    >>> X, y = make_union_of_subspaces(60, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> sorted(set(LRR(2, random_state=0).fit_predict(X).tolist()))
    [0, 1]
    """

    noise_weight: float = parameter(POSITIVE, default=0.5)
    noise: str = parameter(one_of("rows", "frobenius"), default="rows")
    max_iter: int = parameter(COUNT, default=1000)
    tol: float = parameter(POSITIVE, default=1e-8)
    scale: Any = parameter(default="l2")

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # Twelve n x rank matrices, or the n x n graph and three.
        rank = min(n_samples, n_features)
        return 8 * (n_samples * n_features + max(12 * n_samples * rank, n_samples**2 + 3 * n_samples * rank))

    def _cluster(self, X: View, random_state: RandomState) -> dict[str, Any]:
        space = whole_row_space(X)
        if self.noise == "frobenius":
            found = closed_form(space, self.noise_weight)
            factor = space.basis * found.factor.diagonal()
        else:
            found = robust_coefficients(space, self.noise_weight, square=False, max_iter=self.max_iter, tol=self.tol)
            factor = found.factor
        points = graph_points(space.basis, factor)
        labels, embedding = cluster_cosines(points, self.n_clusters, random_state)
        return {
            "labels_": labels,
            "coefficient_factor_": factor,
            "row_basis_": space.basis,
            "embedding_": embedding,
            "n_iter_": found.n_iter,
        }


@dataclass(frozen=True)
class RowSpace:
    """``X ~ basis diag(singular_values) directions'``, the best such matrix of its rank; directions are not kept."""

    basis: Array  # Shape (n_rows, rank). Orthonormal columns.
    singular_values: Array  # Shape (rank,). Positive, descending; none if X is zero.
    remainder: Array  # Shape (n_rows,). Length of what each row of X has outside the directions.


def whole_row_space(X: Any) -> RowSpace:
    """Decompose all of X.

    O(n d min(n, d)); a sparse X is not made dense, and singular values below 1e-7 of its largest are then dropped.
    """
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


def robust_coefficients(space: RowSpace, noise_weight: float, *, square: bool, max_iter: int, tol: float) -> LowRankFit:
    """Minimise ``|C|_* + noise_weight * sum of the lengths of the rows of E`` with ``X = C X + E``.

    Solved by the inexact augmented Lagrangian method of Lin, Chen and Ma with the constants of the LRR authors. Let X =
    V diag(s) U' + R with R orthogonal to U. Coefficients are sought in the form C = F V', so that C X = F diag(s) U';
    for ``square`` F = V T with T of order rank. Lengths of rows do not change under rotation of the features, so that
    E is kept in the coordinates U, and of its part outside U, which is always a multiple of the row of R, only the
    length. Nothing has more columns than the rank plus one, and the steps are those of the method on X itself.

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
    warn_convergence(
        f"the constraints are violated by {residual:.1e} after {max_iter} iterations, more than tol={tol:g}; raise "
        "max_iter or tol"
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


def cluster_cosines(points: Array, n_clusters: int, random_state: RandomState) -> tuple[Labels, Array]:
    """Cluster unit points by the graph ``(m_i . m_j)^4``, one n x n matrix; return labels and eigenvectors."""
    if not points.any():
        return one_cluster(len(points), n_clusters)
    affinity = points @ points.T
    np.square(affinity, out=affinity)
    np.square(affinity, out=affinity)
    return cluster_affinity(affinity, n_clusters, random_state)


def one_cluster(n_rows: int, n_clusters: int) -> tuple[Labels, Array]:
    """Warn that there is no graph, and return one label for all rows."""
    warn_convergence(
        "no row is rebuilt from others, so that there is no graph to cluster and all rows get one label; raise the "
        "weight of the noise"
    )
    return np.zeros(n_rows, dtype=np.int64), np.zeros((n_rows, n_clusters))


def shrink_singular_values(matrix: Array, threshold: float) -> Array:
    """Lower all singular values by the threshold, at least to zero.

    This minimises ``threshold |J|_* + 1/2 |J - matrix|_F^2``. With the left singular vectors U and values s of the
    narrow side the result is ``U diag(max(1 - threshold / s, 0)) U'`` times the matrix. U comes from the Gram matrix
    where that is accurate enough, which halves the time of square matrices, and from a QR and a small singular value
    decomposition where it is not. O(l r^2) for sides l >= r.
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
    """Shorten every row by the threshold, at most to zero.

    This minimises ``threshold * sum of row lengths of J + 1/2 |J - matrix|_F^2``.
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
    rest = np.maximum(lengths - threshold, 0.0)
    factors = np.divide(rest, lengths, out=np.zeros_like(rest), where=lengths > 0)
    return np.asarray(matrix * factors[:, None])
