"""ALRR: low-rank coefficients between rows by way of one small square matrix, linear in the rows."""

from typing import Any

import numpy as np
from numpy.random import RandomState
from scipy import sparse

from kedge.baselines.base import Array, Labels, SingleViewBaseline, baseline, parameter, reciprocal, with_fixed_signs
from kedge.baselines.lrr import (
    GRAM_NOISE,
    RowSpace,
    closed_form,
    cluster_cosines,
    cut_row_space,
    gram_vectors,
    graph_points,
    one_cluster,
    rayleigh_ritz,
    robust_coefficients,
)
from kedge.baselines.spectral_clustering import cluster_affinity, lanczos_pairs
from kedge.core.labels import LABEL_STARTS, cluster_points, unit_rows
from kedge.core.rows import View
from kedge.parameters import COUNT, POSITIVE, one_of

# Above so many rows the graph between all rows is not formed.
LARGEST_FORMED_GRAPH = 10_000
# Up to this many rows or features their Gram matrix gives the leading directions exactly at moderate cost; above, they
# are found by random projection with so many rounds of improvement and so many spare directions.
_SMALL_SIDE = 2000
_ROUNDS, _SPARE = 7, 10
# Points that one step of a product works on: their block stays in the cache of the processor.
_BLOCK_ROWS = 1024
# Eigenvalues closer than this count as equal; a Lanczos method can miss copies of them.
_EQUAL = 1e-9


@baseline(
    "low-rank representation through a small square matrix",
    cost="n d r per step",
    grid={"noise_weight": [0.001, 0.01, 0.1, 1.0, 10.0]},
    grid_source="ours; the authors' is unknown",
    reconstruction=True,
)
class ALRR(SingleViewBaseline):
    """Accelerated low-rank representation: LRR with coefficients V T V', where V spans the leading directions of X.

    V has one column per direction, at most ``rank``; only the small square T is sought, with nuclear norm that of the
    coefficients. O(n rank^2) time per iteration, some 200 iterations, and five n x rank matrices of memory: linear in
    the rows, about 6 million rows of 100 features on 24 GB. Up to 10,000 rows the graph is LRR's, an n x n matrix of
    cosines to the fourth power; above, it is that of squared cosines, which need not be formed, so that spectral
    clustering is linear in the rows too.

    The model and all constants are our reconstruction from the abstract of the paper and the constants of LRR's solver;
    the authors published no code. The bound of the rank and the two powers are ours.

    Parameters
    ----------
    rank : int or "auto", default="auto"
        Most directions; "auto" means ten per cluster. Never more than X has.
    noise_weight : float, default=0.5
        What a unit of noise costs. Small values leave rows to the noise, large ones allow none but what lies outside
        the directions.
    noise : {"rows", "frobenius"}, default="rows"
        Whether the noise is charged by the lengths of its rows, which suits outliers, or by half its squared entries,
        for which the solution is a formula, the same as LRR's.
    graph : {"auto", "fourth_powers", "squares"}, default="auto"
        Power of the cosines in the graph; fourth powers form an n x n matrix. "auto" means these up to 10,000 rows, and
        squares above.
    max_iter : int, default=1000
        Most iterations of the solver.
    tol : float, default=1e-6
        Largest violation of ``X = C X + E`` at which it stops, relative to the longest row.

    Attributes
    ----------
    core_ : ndarray of shape (rank, rank)
        T; ``row_basis_ @ core_ @ row_basis_.T`` are the coefficients, row i of which rebuilds row i.
    row_basis_ : ndarray of shape (n_samples, rank)
        V, the leading left singular vectors of the scaled X.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Leading eigenvectors of the normalised graph.
    n_iter_ : int
        Iterations of the solver; one for the formula.

    References
    ----------
    Fan, Tian, Zhao and Chow, "Accelerated low-rank representation for subspace clustering and semi-supervised
    classification on large-scale data", Neural Networks 100 (2018).

    Examples
    --------
    >>> from kedge.baselines import ALRR
    >>> from kedge.datasets import make_union_of_subspaces
    >>> X, y = make_union_of_subspaces(60, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> sorted(set(ALRR(2, random_state=0).fit_predict(X).tolist()))
    [0, 1]
    """

    rank: int | str = parameter(COUNT, one_of("auto"), default="auto")
    noise_weight: float = parameter(POSITIVE, default=0.5)
    noise: str = parameter(one_of("rows", "frobenius"), default="rows")
    graph: str = parameter(one_of("auto", "fourth_powers", "squares"), default="auto")
    max_iter: int = parameter(COUNT, default=1000)
    tol: float = parameter(POSITIVE, default=1e-6)
    scale: Any = parameter(default="l2")

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # Five n x rank matrices, or what the graph takes.
        rank = min(self._most_directions(), n_samples, n_features)
        # Without the graph, Lanczos vectors and k-means remain.
        lanczos = max(3 * self.n_clusters, 40) + 12 * self.n_clusters
        graph = n_samples * (rank + n_samples) if self._power(n_samples) == 4 else n_samples * lanczos
        side = min(n_samples, n_features, 2000)
        solver = max(5 * n_samples * rank, graph + 2 * n_samples * rank)
        return 8 * (n_samples * n_features + 3 * side**2 + solver)

    def _cluster(self, X: View, random_state: RandomState) -> dict[str, Any]:
        space = leading_row_space(X, self._most_directions(), random_state)
        if self.noise == "frobenius":
            found = closed_form(space, self.noise_weight)
        else:
            found = robust_coefficients(space, self.noise_weight, square=True, max_iter=self.max_iter, tol=self.tol)
        points = graph_points(space.basis, found.factor)
        cluster = cluster_cosines if self._power(len(points)) == 4 else cluster_squared_cosines
        labels, embedding = cluster(points, self.n_clusters, random_state)
        return {
            "labels_": labels,
            "core_": found.factor,
            "row_basis_": space.basis,
            "embedding_": embedding,
            "n_iter_": found.n_iter,
        }

    def _most_directions(self) -> int:
        return 10 * self.n_clusters if self.rank == "auto" else int(self.rank)

    def _power(self, n_samples: int) -> int:
        if self.graph == "auto":
            return 4 if n_samples <= LARGEST_FORMED_GRAPH else 2
        return 4 if self.graph == "fourth_powers" else 2


def leading_row_space(X: Any, rank: int, random_state: RandomState) -> RowSpace:
    """Find the leading directions, at most ``rank``.

    Exact up to 2,000 rows or features, O(n d min(n, d)); by random projection with seven rounds of improvement above,
    O(n d rank), or what is stored of a sparse X in place of n d.
    """
    n_rows, n_features = X.shape
    rank = min(rank, n_rows, n_features)
    if n_features <= min(n_rows, _SMALL_SIDE):
        features = gram_vectors(X.T @ X, rank)
    elif n_rows <= _SMALL_SIDE:
        features = _orthonormal(X.T @ gram_vectors(X @ X.T, rank))
    else:
        features = _random_vectors(X, min(rank + _SPARE, n_rows, n_features), random_state)
    basis, values = rayleigh_ritz(X, features)
    basis, values = basis[:, :rank], values[:rank]
    squares = np.asarray((X * X).sum(axis=1)).ravel() if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)
    inside = np.einsum("ij,ij->i", basis * values, basis * values)
    # A difference of squares is exact to about 1e-15 of them: less than that is nothing.
    outside = np.where(squares - inside > 1e-13 * squares, squares - inside, 0.0)
    return cut_row_space(basis, values, GRAM_NOISE, np.sqrt(outside))


def _random_vectors(X: Any, count: int, random_state: RandomState) -> Array:
    features = _orthonormal(X.T @ random_state.standard_normal((X.shape[0], count)))
    for _ in range(_ROUNDS):
        features = _orthonormal(X.T @ _orthonormal(X @ features))
    return features


def _orthonormal(columns: Array) -> Array:
    return np.asarray(np.linalg.qr(columns)[0])


def cluster_squared_cosines(points: Array, n_clusters: int, random_state: RandomState) -> tuple[Labels, Array]:
    """Cluster unit points by the graph ``(m_i . m_j)^2``; return labels and eigenvectors.

    The graph is never formed: its product with a vector v is ``m_i' (sum_j v_j m_j m_j') m_i``, O(n r^2) for points of
    length r, so that time and memory are linear in n.
    """
    if not points.any():
        return one_cluster(len(points), n_clusters)
    if len(points) <= 4 * (n_clusters + 1):
        return cluster_affinity((points @ points.T) ** 2, n_clusters, random_state)
    vectors = _leading_vectors(points, n_clusters)
    labels, _ = cluster_points(unit_rows(vectors), n_clusters, random_state, LABEL_STARTS)
    return labels, vectors


def multiply_squared_cosines(points: Array, vector: Array) -> Array:
    """Return the product of the matrix of squared inner products with a vector, without that matrix."""
    core = np.zeros((points.shape[1], points.shape[1]))
    blocks = [slice(start, start + _BLOCK_ROWS) for start in range(0, len(points), _BLOCK_ROWS)]
    for block in blocks:
        core += points[block].T @ (vector[block, None] * points[block])
    return np.concatenate([np.einsum("ij,ij->i", points[block] @ core, points[block]) for block in blocks])


def _leading_vectors(points: Array, count: int) -> Array:
    """Return the leading eigenvectors of the normalised graph of squared cosines."""
    degrees = multiply_squared_cosines(points, np.ones(len(points)))
    scale = reciprocal(np.sqrt(degrees))
    found = (np.sqrt(degrees) / np.sqrt(degrees.sum()))[:, None]
    values = np.ones(1)
    # A Lanczos method can miss copies of an eigenvalue, as there are where the graph falls into parts, so it is asked
    # again, away from what it found, until nothing larger than the last value wanted turns up.
    while len(values) < count or not _is_complete(values, count):
        missing = max(count - len(values), 1)
        new_values, new_vectors = _deflated_pairs(points, scale, found, missing)
        values, found = np.concatenate([values, new_values]), np.column_stack([found, new_vectors])
    best = np.argsort(-values, kind="stable")[:count]
    vectors = found[:, best]
    # Rounding, which unit rows would blow up.
    vectors[degrees <= 0] = 0.0
    return np.asarray(vectors)


def _is_complete(values: Array, count: int) -> bool:
    """Say whether a search after the first ``count`` values came back with nothing larger than they are."""
    return (len(values) > count and values[-1] <= np.sort(values)[-count] + _EQUAL) or len(values) == count == 1


def _deflated_pairs(points: Array, scale: Array, found: Array, count: int) -> tuple[Array, Array]:
    def multiply(vector: Array) -> Array:
        # What was found gets the eigenvalue minus one, below all others.
        inside = found @ (found.T @ vector)
        product = scale * multiply_squared_cosines(points, scale * (vector - inside))
        return np.asarray(product - found @ (found.T @ product) - inside)

    values, vectors = lanczos_pairs(multiply, len(points), count, tol=1e-10)
    return values[::-1], with_fixed_signs(vectors)[:, ::-1]
