"""MLRSSC: low-rank and sparse coefficients between rows that agree across views, then spectral clustering."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from scipy import linalg
from scipy.spatial.distance import squareform

from kedge.baselines.base import Array, MultiViewBaseline, as_dense, baseline, parameter
from kedge.baselines.lrr import shrink_singular_values
from kedge.baselines.spectral_clustering import cluster_affinity, symmetric_graph
from kedge.core.rows import View
from kedge.parameters import COUNT, NOT_NEGATIVE, POSITIVE, one_of
from kedge.user_warnings import warn_convergence

# Eigenvalues of a Gram matrix below this part of the largest are rounding.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class Consensus:
    """What is asked of the coefficients C_v of the views and how it is solved."""

    # b1, b2, b3 of :func:`agree_on_coefficients`.
    low_rank: float
    sparsity: float
    agreement: float
    centroid: bool = False  # Whether views agree with their centre rather than with each other.
    exact: bool = False  # Whether rows have to be rebuilt without error.
    # Whether the centre is (previous centre + b3 sum_v C_v) / (V b3), as the authors' program has it, not the mean.
    accumulated_centroid: bool = False
    # mu at the start, its factor per iteration, and its bound.
    penalty: float = 100.0
    penalty_growth: float = 1.5
    largest_penalty: float = 1e6
    max_iter: int = 300
    tol: float = 1e-3  # Largest entry of all differences at the end.


@baseline(
    "low-rank and sparse representations of all views, drawn together",
    cost="n^3 per step",
    grid={"low_rank": [0.1, 0.3, 0.5, 0.7, 0.9], "agreement": [0.3, 0.5, 0.7, 0.9], "penalty": [10.0, 1e2, 1e3, 1e4]},
    grid_source="values in the authors' programs; the sparse weight is one less the low-rank one",
)
class MLRSSC(MultiViewBaseline):
    """Multi-view low-rank sparse subspace clustering: rows rebuilt from each other alike in all views.

    In every view each row is rebuilt from the others with coefficients of small nuclear norm and few entries; those of
    the views are pulled towards each other or towards their centre. Their mean is the graph that is cut by spectral
    clustering. Solved by alternating directions, O(V n^3) time per iteration for V views, 5 to 30 iterations as a rule
    (the growing penalty forces an end, so it says that the copies agree, not that the minimum is reached; see
    ``residuals_``). 8 V + 9 n x n matrices of memory: 11,000 rows of two views, 8,500 of four on 24 GB; a few thousand
    rows are practical.

    Parameters
    ----------
    consensus : {"pairwise", "centroid"}, default="pairwise"
        Whether views agree with each other or with their centre.
    low_rank, sparsity, agreement : float, default=0.3, 0.7 and 0.3
        Weights of the nuclear norm, of the absolute entries and of the disagreement between views. The authors tune the
        first from 0.1 to 0.9, the second being one less that, and the third from 0.3 to 0.9.
    kernel : {"linear", "gaussian", "polynomial"}, default="linear"
        Inner product between rows of a view.
    kernel_width : float or list of float, default=1.0
        Width of the Gaussian kernel as a multiple of the median distance between different rows, of each view. The
        authors tune it from 0.5 to 50.
    degree : int, default=2
        Degree of the polynomial kernel, which has no constant term.
    noisy : bool, default=True
        Whether rows may be rebuilt with error; if not, the kernel has to be linear.
    penalty : float, default=10.0
        First penalty of the solver; the authors use 10 to 10,000, and 100 by default.
    penalty_growth : float, default=1.5
        Factor of the penalty per iteration.
    max_penalty : float, default=1e6
        Its bound.
    max_iter : int, default=300
        Most iterations.
    tol : float, default=1e-5
        Largest difference between entries of the solver's copies of the coefficients at which it stops. The authors use
        1e-3, and 1e-5 with the Gaussian kernel; with rows of unit length 1e-3 stops after a few steps from zero.
    centroid_update : {"mean", "accumulated"}, default="mean"
        How the centre is found. "accumulated" is a slip of the authors' program, kept to repeat its results: the
        previous centre is added in each iteration, which inflates the centre, without bound if ``agreement`` times the
        number of views is at most one.

    Attributes
    ----------
    affinity_ : ndarray of shape (n_samples, n_samples)
        The graph, ``|C| + |C'|``.
    view_coefficients_ : list of ndarrays of shape (n_samples, n_samples)
        Row i holds the coefficients that rebuild row i in the view; diagonals are zero.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Leading eigenvectors of the normalised graph.
    residuals_ : ndarray of shape (n_views, 4)
        Largest entries at the end of the differences of the coefficients to their low-rank, their sparse and their
        agreeing copy and to the previous iteration.
    n_iter_ : int
        Iterations of the solver.

    References
    ----------
    Brbic and Kopriva, "Multi-view low-rank sparse subspace clustering", Pattern Recognition 73 (2018).

    Examples
    --------
    >>> from kedge.baselines import MLRSSC
    >>> from kedge.datasets import make_union_of_subspaces
    >>> X, y = make_union_of_subspaces(60, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> sorted(set(MLRSSC(2, random_state=0).fit_predict([X, X**2]).tolist()))
    [0, 1]
    """

    consensus: str = parameter(one_of("pairwise", "centroid"), default="pairwise")
    low_rank: float = parameter(POSITIVE, default=0.3)
    sparsity: float = parameter(NOT_NEGATIVE, default=0.7)
    agreement: float = parameter(POSITIVE, default=0.3)
    kernel: str = parameter(one_of("linear", "gaussian", "polynomial"), default="linear")
    kernel_width: float | Sequence[float] = parameter(POSITIVE, "array-like", default=1.0)
    degree: int = parameter(COUNT, default=2)
    noisy: bool = parameter("boolean", default=True)
    penalty: float = parameter(POSITIVE, default=10.0)
    penalty_growth: float = parameter(POSITIVE, default=1.5)
    max_penalty: float = parameter(POSITIVE, default=1e6)
    max_iter: int = parameter(COUNT, default=300)
    tol: float = parameter(NOT_NEGATIVE, default=1e-5)
    centroid_update: str = parameter(one_of("mean", "accumulated"), default="mean")

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # For V views, 8 V + 9 matrices of n x n. Before a fit the number of views is taken from the parameter
        # ``views``.
        named = self.view_names_ if hasattr(self, "view_names_") else self.views
        n_views = 1 if named is None else len(named)
        per_view = 8 if self.noisy else 9
        return 8 * ((per_view * n_views + 9) * n_samples**2 + n_samples * n_features)

    def _cluster(self, views: list[View], random_state: RandomState) -> dict[str, Any]:
        if self.kernel != "linear" and not self.noisy:
            raise ValueError(
                f"noisy=False asks that rows be rebuilt without error, which kernel={self.kernel!r} cannot; use "
                "noisy=True or kernel='linear'"
            )
        widths = np.broadcast_to(np.asarray(self.kernel_width, dtype=np.float64), len(views))
        grams = [self._kernel(view, width) for view, width in zip(views, widths, strict=True)]
        found = agree_on_coefficients(grams, self._rules())
        affinity = symmetric_graph(found.joint)
        labels, embedding = cluster_affinity(affinity, self.n_clusters, random_state)
        return {
            "labels_": labels,
            "affinity_": affinity,
            "view_coefficients_": [coefficients.T for coefficients in found.per_view],
            "embedding_": embedding,
            "residuals_": found.residuals,
            "n_iter_": found.n_iter,
        }

    def _rules(self) -> Consensus:
        return Consensus(
            low_rank=self.low_rank,
            sparsity=self.sparsity,
            agreement=self.agreement,
            centroid=self.consensus == "centroid",
            exact=not self.noisy,
            accumulated_centroid=self.centroid_update == "accumulated",
            penalty=self.penalty,
            penalty_growth=self.penalty_growth,
            largest_penalty=self.max_penalty,
            max_iter=self.max_iter,
            tol=self.tol,
        )

    def _kernel(self, view: View, width: float) -> Array:
        gram = as_dense(view @ view.T)
        if self.kernel == "polynomial":
            return np.asarray(gram**self.degree)
        return gaussian_kernel(gram, width) if self.kernel == "gaussian" else gram


def gaussian_kernel(gram: Array, width: float) -> Array:
    """Return ``exp(-d^2 / (2 s^2))``, s being the width times the median distance d between different rows."""
    squares = gram.diagonal().copy()
    distances = gram * -2.0
    distances += squares[:, None]
    distances += squares
    np.maximum(distances, 0.0, out=distances)
    np.fill_diagonal(distances, 0.0)
    median = float(np.median(np.sqrt(squareform(distances, checks=False)))) if len(gram) > 1 else 0.0
    # Rows that mostly coincide have no distance to go by.
    distances /= -2.0 * (width * (median or 1.0)) ** 2
    return np.asarray(np.exp(distances, out=distances))


@dataclass
class _ViewState:
    """One view in the course of the iterations; matrices have shape (n, n), eigenvectors (n, rank)."""

    # Eigenpairs Q, w of the Gram matrix, without zeros.
    vectors: Array
    values: Array
    # A, and its copy with zero diagonal.
    coefficients: Array
    sparse: Array
    multipliers: list[Array]  # Of A = low-rank copy, A = sparse copy, A = agreeing copy.
    # mu times the sum of the copies, less the multipliers, for the next mu; overwritten by each iteration.
    right_side: Array
    rebuilding: Array | None  # X_v times the multiplier of X_v' = X_v' A, where rows have to be rebuilt exactly.
    gaps: Array  # Shape (4,). As in :class:`AgreedCoefficients`.


@dataclass(frozen=True)
class AgreedCoefficients:
    """What was found."""

    joint: Array  # Shape (n, n). Mean of the sparse coefficients of the views, or the centre.
    # Each of shape (n, n). Sparse coefficients for samples in columns: column j rebuilds row j. Diagonals are zero.
    per_view: list[Array]
    # Shape (n_views, 4). Largest entries at the end of the differences of the coefficients to the low-rank, the sparse
    # and the agreeing copy and to the previous iteration.
    residuals: Array
    n_iter: int


def agree_on_coefficients(grams: Sequence[Array], rules: Consensus) -> AgreedCoefficients:
    """Minimise sum_v (b1 |C_v|_* + b2 |C_v|_1 + 1/2 |X_v' - X_v' C_v|_F^2) + b3 times the disagreement of the C_v.

    The disagreement is the sum of |C_v - C_w|_F^2 over ordered pairs of views, or of |C_v - C*|_F^2 with the centre C*.
    Diagonals are zero. Where rows have to be rebuilt exactly, X_v' = X_v' C_v takes the place of the squared residual.
    Solved by the alternating direction method of multipliers with one copy of C_v per term and a penalty mu that grows;
    views see the others of the previous iteration. Only Gram matrices X_v X_v' are needed, so they may be kernels.

    O(n^3) per view and iteration, most of it for the singular values. Because mu grows, the end says that the copies
    agree, not that the minimum is reached; it is close where mu starts small.
    """
    n_rows, n_views = len(grams[0]), len(grams)
    states = [_first_state(gram, rules.exact) for gram in grams]
    joint, mu = np.zeros((n_rows, n_rows)), rules.penalty
    for n_iter in range(1, rules.max_iter + 1):
        next_mu = min(rules.penalty_growth * mu, rules.largest_penalty)
        total = joint if rules.centroid else _sum_sparse(states)
        for state in states:
            others = total if rules.centroid else total - state.sparse
            _update_view(state, others, 1 if rules.centroid else n_views - 1, rules, mu, next_mu)
        if rules.centroid:
            joint = _centre(states, joint, rules)
        residuals = np.array([state.gaps for state in states])
        has_converged = bool((residuals <= rules.tol).all())
        if has_converged or n_iter == rules.max_iter:
            break
        mu = next_mu
    if not has_converged:
        warn_convergence(
            f"the copies of the coefficients differ by {residuals.max():.1e} after {rules.max_iter} iterations, more "
            f"than tol={rules.tol:g}; raise max_iter or tol"
        )
    if not rules.centroid:
        joint = _sum_sparse(states) / n_views
    return AgreedCoefficients(joint, [state.sparse for state in states], residuals, n_iter)


def _first_state(gram: Array, exact: bool) -> _ViewState:
    values, vectors = linalg.eigh(gram, driver="evd", overwrite_a=True, check_finite=False)
    kept = values > _ROUNDING * values.max()
    order = len(gram)
    coefficients, sparse, right_side, *multipliers = (np.zeros((order, order)) for _ in range(6))
    rebuilding = np.zeros((order, order)) if exact else None
    vectors = np.ascontiguousarray(vectors[:, kept])
    return _ViewState(
        vectors, values[kept], coefficients, sparse, multipliers, right_side, rebuilding, np.full(4, np.inf)
    )


def _update_view(state: _ViewState, others: Array, n_others: int, rules: Consensus, mu: float, next_mu: float) -> None:
    """Do one iteration on a view; ``others`` is the sum of what the view is to agree with, ``n_others`` matrices."""
    previous, coefficients = state.coefficients, _next_coefficients(state, mu)
    low_rank = shrink_singular_values(coefficients + state.multipliers[0] / mu, rules.low_rank / mu)
    state.sparse = shrink_entries(coefficients + state.multipliers[1] / mu, rules.sparsity / mu)
    np.fill_diagonal(state.sparse, 0.0)
    agreeing = (2 * rules.agreement) * others
    agreeing += mu * coefficients + state.multipliers[2]
    agreeing /= 2 * rules.agreement * n_others + mu
    state.right_side = next_mu * (low_rank + state.sparse + agreeing)
    for place, (multiplier, copy) in enumerate(zip(state.multipliers, (low_rank, state.sparse, agreeing), strict=True)):
        difference = coefficients - copy
        state.gaps[place] = np.abs(difference).max()
        difference *= mu
        multiplier += difference
        state.right_side -= multiplier
    if state.rebuilding is not None:
        transposed = state.vectors.T
        state.rebuilding += mu * (state.vectors * state.values) @ (transposed - transposed @ coefficients)
        state.right_side += state.rebuilding
    state.gaps[3] = np.abs(coefficients - previous).max()
    state.coefficients = coefficients


def _next_coefficients(state: _ViewState, mu: float) -> Array:
    """Solve (K + s I) A = K + s R, where R is the right side over 3 mu and s is 3 mu, or 3 for exact rebuilding.

    With K = Q diag(w) Q' this is A = R + Q diag(w / (w + s)) Q' (I - R), and the decomposition serves all s.
    """
    shift = 3 * mu if state.rebuilding is None else 3.0
    right_side = state.right_side
    right_side /= 3 * mu
    transposed = state.vectors.T
    found = (state.vectors * (state.values / (state.values + shift))) @ (transposed - transposed @ right_side)
    found += right_side
    return np.asarray(found)


def _sum_sparse(states: Sequence[_ViewState]) -> Array:
    total = states[0].sparse.copy()
    for state in states[1:]:
        total += state.sparse
    return total


def _centre(states: Sequence[_ViewState], previous: Array, rules: Consensus) -> Array:
    total = _sum_sparse(states)
    if rules.accumulated_centroid:
        total += previous / rules.agreement
    return np.asarray(total / len(states))


def shrink_entries(matrix: Array, threshold: float) -> Array:
    """Move every entry towards zero by the threshold, at most to zero.

    This minimises ``threshold * sum of |entries of J| + 1/2 |J - matrix|_F^2``.
    """
    return np.asarray(matrix - np.clip(matrix, -threshold, threshold))
