"""ALRR: low-rank coefficients between rows by way of one small square matrix, linear in the rows."""

from typing import Any

import numpy as np
from sklearn.utils import gen_batches
from sklearn.utils.extmath import randomized_range_finder, row_norms

from kedge.baselines import lrr
from kedge.baselines.affinity import cluster_affinity, lanczos_pairs, reciprocal, with_fixed_signs
from kedge.baselines.base import Array, RowGraphBaseline, baseline, parameter
from kedge.core.labels import LABEL_STARTS, cluster_points, unit_rows
from kedge.core.rows import View
from kedge.parameters import COUNT, POSITIVE, one_of

# Above so many rows the graph between all rows is not formed.
LARGEST_FORMED_GRAPH = 10_000
# Up to this many rows or features their Gram matrix gives the leading directions exactly at moderate cost. Above, they
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
class ALRR(RowGraphBaseline):
    """Accelerated low-rank representation: LRR with coefficients V T V', where V spans the leading directions of X.

    Only the small square matrix T is sought; its nuclear norm is that of the coefficients. O(n rank^2) time per
    iteration, about 200 iterations, and five n x rank matrices of memory: about 6 million rows of 100 features on
    24 GB. Up to 10,000 rows the graph is that of :class:`LRR`, an n x n matrix of cosines to the fourth power. Above,
    it holds squared cosines and is never formed, so that spectral clustering is linear in the rows too.

    The authors published no code. The model and its constants are our reconstruction from the abstract of the paper.

    Parameters
    ----------
    rank : int or "auto", default="auto"
        Most directions; "auto" means ten per cluster. Never more than X has.
    noise_weight : float, default=0.5
        What a unit of noise costs. Small values leave rows to the noise, large ones only what lies outside the
        directions.
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
        T; ``row_basis_ @ core_ @ row_basis_.T`` are the coefficients; row i of them rebuilds row i.
    row_basis_ : ndarray of shape (n_samples, rank)
        V, the leading left singular vectors of the scaled X.
    n_iter_ : int
        Iterations of the solver; one for the formula.

    References
    ----------
    Fan, Tian, Zhao and Chow, "Accelerated low-rank representation for subspace clustering and semi-supervised
    classification on large-scale data", Neural Networks 100 (2018).
    """

    rank: int | str = parameter(COUNT, one_of("auto"), default="auto")
    noise_weight: float = parameter(POSITIVE, default=0.5)
    noise: str = parameter(one_of("rows", "frobenius"), default="rows")
    graph: str = parameter(one_of("auto", "fourth_powers", "squares"), default="auto")
    max_iter: int = parameter(COUNT, default=1000)
    tol: float = parameter(POSITIVE, default=1e-6)

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # Five n x rank matrices, or the graph; without a graph, Lanczos vectors and k-means.
        rank = min(self._most_directions(), n_samples, n_features)
        lanczos = max(3 * self.n_clusters, 40) + 12 * self.n_clusters
        graph = n_samples * (rank + n_samples if self._forms_graph(n_samples) else lanczos)
        side = min(n_samples, n_features, _SMALL_SIDE)
        solver = max(5 * n_samples * rank, graph + 2 * n_samples * rank)
        return 8 * (n_samples * n_features + 3 * side**2 + solver)

    def _cluster(self, X: View, random_state: np.random.RandomState) -> dict[str, Any]:
        space = leading_row_space(X, self._most_directions(), random_state)
        if self.noise == "frobenius":
            core, n_iter = np.diag(lrr.closed_form(space, self.noise_weight)), 1
        else:
            core, n_iter = lrr.robust_coefficients(space, self.noise_weight, self.max_iter, self.tol, square=True)
        points = lrr.graph_points(space.basis, core)
        cluster = lrr.cluster_cosines if self._forms_graph(len(points)) else cluster_squared_cosines
        found = cluster(points, self.n_clusters, random_state)
        return found | {"core_": core, "row_basis_": space.basis, "n_iter_": n_iter}

    def _most_directions(self) -> int:
        return 10 * self.n_clusters if self.rank == "auto" else int(self.rank)

    def _forms_graph(self, n_samples: int) -> bool:
        return n_samples <= LARGEST_FORMED_GRAPH if self.graph == "auto" else self.graph == "fourth_powers"


def leading_row_space(X: Any, rank: int, random_state: np.random.RandomState) -> lrr.RowSpace:
    """Find at most ``rank`` leading directions: exactly up to 2,000 rows or features, else by random projection."""
    n_rows, n_features = X.shape
    rank = min(rank, n_rows, n_features)
    if n_features <= min(n_rows, _SMALL_SIDE):
        features = lrr.gram_vectors(X.T @ X, rank)
    elif n_rows <= _SMALL_SIDE:
        features = np.linalg.qr(X.T @ lrr.gram_vectors(X @ X.T, rank))[0]
    else:
        count = min(rank + _SPARE, n_rows, n_features)
        options = {"power_iteration_normalizer": "QR", "random_state": random_state}
        features = randomized_range_finder(X.T, size=count, n_iter=_ROUNDS, **options)
    basis, values = lrr.rayleigh_ritz(X, features)
    basis, values = basis[:, :rank], values[:rank]
    squares, inside = row_norms(X, squared=True), row_norms(basis * values, squared=True)
    # A difference of squares is exact to about 1e-15 of them: less than that is nothing.
    outside = np.where(squares - inside > 1e-13 * squares, squares - inside, 0.0)
    return lrr.cut_row_space(basis, values, lrr.GRAM_NOISE, np.sqrt(outside))


def cluster_squared_cosines(points: Array, n_clusters: int, random_state: np.random.RandomState) -> dict[str, Any]:
    """Cluster unit points by the graph ``(m_i . m_j)^2``, which is never formed; return labels and embedding."""
    if not points.any():
        return lrr.one_cluster(len(points), n_clusters)
    if len(points) <= 4 * (n_clusters + 1):
        return cluster_affinity((points @ points.T) ** 2, n_clusters, random_state)
    vectors = _leading_vectors(points, n_clusters)
    labels, _ = cluster_points(unit_rows(vectors), n_clusters, random_state, LABEL_STARTS)
    return {"labels_": labels, "embedding_": vectors}


def multiply_squared_cosines(points: Array, vector: Array) -> Array:
    """Return the product of the graph with a vector v, ``m_i' (sum_j v_j m_j m_j') m_i``: O(n r^2) for r columns."""
    core = np.zeros((points.shape[1], points.shape[1]))
    blocks = list(gen_batches(len(points), _BLOCK_ROWS))
    for block in blocks:
        core += points[block].T @ (vector[block, None] * points[block])
    return np.concatenate([np.einsum("ij,ij->i", points[block] @ core, points[block]) for block in blocks])


def _leading_vectors(points: Array, count: int) -> Array:
    """Return the leading eigenvectors of the normalised graph of squared cosines."""
    degrees = multiply_squared_cosines(points, np.ones(len(points)))
    scale = reciprocal(np.sqrt(degrees))
    found = (np.sqrt(degrees) / np.sqrt(degrees.sum()))[:, None]
    values = np.ones(1)
    # A Lanczos method can miss copies of an eigenvalue, which a graph in several parts has. So it is asked again, away
    # from what it found, until nothing larger than the last value wanted turns up.
    while count > 1 and (len(values) <= count or values[-1] > np.sort(values)[-count] + _EQUAL):
        missing = max(count - len(values), 1)
        new_values, new_vectors = _deflated_pairs(points, scale, found, missing)
        values, found = np.concatenate([values, new_values]), np.column_stack([found, new_vectors])
    best = np.argsort(-values, kind="stable")[:count]
    vectors = found[:, best]
    # Rounding, which unit rows would blow up.
    vectors[degrees <= 0] = 0.0
    return np.asarray(vectors)


def _deflated_pairs(points: Array, scale: Array, found: Array, count: int) -> tuple[Array, Array]:
    def multiply(vector: Array) -> Array:
        # What was found gets the eigenvalue minus one, below all others.
        inside = found @ (found.T @ vector)
        product = scale * multiply_squared_cosines(points, scale * (vector - inside))
        return np.asarray(product - found @ (found.T @ product) - inside)

    values, vectors = lanczos_pairs(multiply, len(points), count, tol=1e-10)
    return values[::-1], with_fixed_signs(vectors)[:, ::-1]
