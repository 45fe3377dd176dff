"""MSC_IAS: latent points that rebuild all views, and the similarity that depends on them most."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.utils.extmath import randomized_svd

from kedge.baselines.affinity import cluster_affinity, lanczos_pairs
from kedge.baselines.base import Array, MultiViewBaseline, baseline, parameter
from kedge.baselines.graphs import weigh_neighbors
from kedge.core.block_step import squared_norm
from kedge.core.rows import View, side_by_side
from kedge.parameters import COUNT, NOT_NEGATIVE, one_of
from kedge.user_warnings import warn_convergence

MOST_LATENT = 100
# Of the weight at which the step for the latent points loses its solution; above, conjugate gradients get slow.
MOST_DEPENDENCE = 0.9
# The largest eigenvalue of a graph with clusters is about one; that of a graph without any may be zero.
_LEAST_EIGENVALUE = 0.1
# Passes over which the change of the objective is averaged.
_WINDOW = 3
# Width beyond the wanted vectors, and rounds, of the first decomposition.
_EXTRA_WIDTH, _ROUNDS = 10, 7


@baseline(
    "a common space that rebuilds all views, and the neighbour graph that depends most on it",
    cost="n^2 r per pass",
    grid={"n_neighbors": [5, 10, 15, 20], "n_latent": ["1k", "2k", 50, 100], "dependence": [0.01, 0.1, 0.5]},
    grid_source="ours; the authors' is unknown",
    reconstruction=True,
)
class MSC_IAS(MultiViewBaseline):
    """Intactness-aware similarity: latent points that rebuild all views, clustered by a similarity that follows them.

    Latent points H regenerate every view v by an orthonormal basis P_v, and a similarity S of rows depends on them as
    much as possible, in the sense of the Hilbert-Schmidt independence criterion (HSIC). The authors' code was not
    available. These parts are known from their abstract; the rest is our reconstruction, so results are not those of
    the paper. With C the centring matrix it minimises

        sum_v |X_v - H P_v'|^2 - lam tr(H' C S C H)   subject to P_v'P_v = I and rows of S in the simplex

    in turn over P_v (Procrustes), H (conjugate gradients) and S (adaptive neighbours of the rows of H). Spectral
    clustering of S gives labels. Neighbours keep changing, so ending at ``max_iter`` is normal and gives no warning. A
    pass takes O(n^2 r + n d r) time for n rows, d features and r latent dimensions; 30,000 rows take minutes.

    Parameters
    ----------
    n_latent : int or "auto", default="auto"
        Latent dimensions; never more than the narrowest view has features, nor than n_samples - 1. "auto" takes 100 or
        as many as allowed.
    n_neighbors : int, default=10
        Rows that each row is similar to; at most n_samples - 2 are used.
    dependence : float, default=0.1
        Weight lam of the dependence, as a share of n_views / (largest eigenvalue of C (S + S')/2 C) for the first S,
        the weight at which the step for H has no solution. From 0 to 0.9.
    max_iter : int, default=30
        Most passes.
    tol : float, default=1e-3
        The fit ends when the objective changed by less than this share in the mean of three passes.

    Attributes
    ----------
    similarity_ : CSR array of shape (n_samples, n_samples)
        S; nonnegative, rows sum to one, zero diagonal.
    latent_ : ndarray of shape (n_samples, n_latent)
        H, determined up to a rotation.
    bases_ : list of ndarrays of shape (n_features of the view, n_latent)
        P_v.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Leading eigenvectors of the normalised graph (S + S')/2.
    objective_ : ndarray of shape (n_iter_,)
        The objective after each pass.
    dependence_weight_ : float
        lam.
    n_iter_ : int
        Passes.

    References
    ----------
    Wang, Lei, Guo, Zhang, Shi and Li, "Multi-view subspace clustering with intactness-aware similarity", Pattern
    Recognition 88, 2019.
    """

    n_latent: int | str = parameter(COUNT, one_of("auto"), default="auto")
    n_neighbors: int = parameter(COUNT, default=10)
    dependence: float = parameter(NOT_NEGATIVE, default=0.1)
    max_iter: int = parameter(COUNT, default=30)
    tol: float = parameter(NOT_NEGATIVE, default=1e-3)

    _least_rows: ClassVar[int] = 3

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # Scaled views, and either all of them side by side or some copies of the latent points; graphs.
        width = self._latent_width(n_samples, min(getattr(self, "view_widths_", (n_features,))))
        graphs = 12 * 8 * min(self.n_neighbors, n_samples)
        vectors = 8 * max(3 * self.n_clusters, 40)
        return n_samples * (8 * (n_features + max(n_features + 4 * width, 8 * width)) + graphs + vectors)

    def _latent_width(self, n_samples: int, narrowest: int) -> int:
        wanted = MOST_LATENT if isinstance(self.n_latent, str) else int(self.n_latent)
        return min(wanted, narrowest, n_samples - 1)

    def _cluster(self, views: list[View], random_state: np.random.RandomState) -> dict[str, Any]:
        if self.dependence > MOST_DEPENDENCE:
            raise ValueError(
                f"dependence={self.dependence} should be at most {MOST_DEPENDENCE}: near one the latent points are not "
                "determined"
            )
        width = self._latent_width(views[0].shape[0], min(view.shape[1] for view in views))
        latent = _first_latent(views, width, random_state)
        found = self._alternate(views, latent, min(self.n_neighbors, len(latent) - 2))
        return found | cluster_affinity(_symmetric(found["similarity_"]), self.n_clusters, random_state)

    def _alternate(self, views: list[View], latent: Array, n_neighbors: int) -> dict[str, Any]:
        energy = sum(squared_norm(view) for view in views)
        similarity = _similarity(latent, n_neighbors)
        largest = largest_eigenvalue(_symmetric(similarity))
        weight = self.dependence * len(views) / largest
        objective: list[float] = []
        for _ in range(self.max_iter):
            bases = [procrustes_basis(view, latent) for view in views]
            target = sum(view @ basis for view, basis in zip(views, bases, strict=True))
            weight = self._within_bound(weight, len(views), largest)
            latent = solve_latent(target, _symmetric(similarity), weight, len(views), latent)
            similarity = _similarity(latent, n_neighbors)
            largest = largest_eigenvalue(_symmetric(similarity))
            rebuilt = energy - 2.0 * np.vdot(target, latent) + len(views) * np.vdot(latent, latent)
            objective.append(float(rebuilt) - weight * dependence_of(latent, similarity))
            changes = np.abs(np.diff(objective[-_WINDOW - 1 :]))
            if len(changes) == _WINDOW and changes.mean() <= self.tol * abs(objective[-1]):
                break
        return {
            "similarity_": similarity,
            "latent_": latent,
            "bases_": bases,
            "objective_": np.array(objective),
            "dependence_weight_": float(weight),
            "n_iter_": len(objective),
        }

    def _within_bound(self, weight: float, n_views: int, largest: float) -> float:
        """Lower the weight, with a warning, if the similarity has changed so much that H would not be determined."""
        bound = MOST_DEPENDENCE * n_views / largest
        if weight <= bound * (1.0 + 1e-6):
            return weight
        warn_convergence(
            f"the weight of the dependence was lowered from {weight:.3g} to {bound:.3g}, as beyond it latent points "
            f"are not determined; take dependence below {self.dependence}"
        )
        return bound


def procrustes_basis(view: View, latent: Array) -> Array:
    """Return the P with orthonormal columns that minimises |X - H P'|^2."""
    left, _, right = linalg.svd(np.asarray(view.T @ latent), full_matrices=False)
    return np.asarray(left @ right)


def solve_latent(target: Array, graph: sparse.csr_array, weight: float, n_views: int, start: Array) -> Array:
    """Solve (V I - lam C W C) H = R by conjugate gradients, all columns of H at once.

    R is the target, W the symmetric graph, V the number of views, and lam the weight. The matrix is positive definite
    if lam is below V over the largest eigenvalue of C W C.
    """

    def multiply(flat: Array) -> Array:
        points = flat.reshape(start.shape)
        return np.asarray(n_views * points - weight * _centered(np.asarray(graph @ _centered(points)))).ravel()

    operator = LinearOperator((start.size, start.size), matvec=multiply, dtype=np.float64)
    # Errors fall by a constant factor per step that the bound on the weight keeps below 0.7.
    found, _ = cg(operator, target.ravel(), x0=start.ravel(), rtol=1e-12, maxiter=200)
    return np.asarray(found.reshape(start.shape))


def dependence_of(latent: Array, similarity: sparse.csr_array) -> float:
    """Return tr(H' C S C H), HSIC up to a constant factor."""
    centered = _centered(latent)
    return float(np.vdot(centered, similarity @ centered))


def largest_eigenvalue(graph: sparse.csr_array) -> float:
    """Return the largest eigenvalue of C W C to four digits, and at least 0.1."""
    values, _ = lanczos_pairs(lambda vector: _centered(graph @ _centered(vector)), graph.shape[0], 1, tol=1e-4)
    return max(float(values[0]), _LEAST_EIGENVALUE)


def _first_latent(views: Sequence[View], width: int, random_state: np.random.RandomState) -> Array:
    """Return the leading left singular vectors of the views side by side, times singular values over sqrt(V)."""
    settings = {"n_oversamples": _EXTRA_WIDTH, "n_iter": _ROUNDS, "random_state": random_state}
    vectors, values, _ = randomized_svd(side_by_side(views), width, power_iteration_normalizer="QR", **settings)
    return np.asarray(vectors * (values / np.sqrt(len(views))))


def _similarity(latent: Array, n_neighbors: int) -> sparse.csr_array:
    return weigh_neighbors(latent, latent, n_neighbors, among_themselves=True).as_graph(len(latent))


def _symmetric(similarity: sparse.csr_array) -> sparse.csr_array:
    return sparse.csr_array((similarity + similarity.T) / 2.0)


def _centered(points: Array) -> Array:
    return np.asarray(points - points.mean(axis=0))
