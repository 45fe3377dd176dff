"""MLRSSC: low-rank and sparse coefficients between rows that agree across views, then spectral clustering."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from scipy.spatial.distance import squareform

from kedge.baselines.affinity import cluster_affinity, symmetric_graph
from kedge.baselines.base import Array, MultiViewBaseline, as_dense, baseline, parameter
from kedge.baselines.lrr import shrink_singular_values
from kedge.baselines.self_expression import shrink
from kedge.core.rows import View
from kedge.parameters import COUNT, NOT_NEGATIVE, POSITIVE, one_of
from kedge.user_warnings import warn_convergence

# Eigenvalues of a Gram matrix below this part of the largest are rounding.
_ROUNDING = 1e-14


@baseline(
    "low-rank and sparse representations of all views, drawn together",
    cost="n^3 per step",
    grid={"low_rank": [0.1, 0.3, 0.5, 0.7, 0.9], "agreement": [0.3, 0.5, 0.7, 0.9], "penalty": [10.0, 1e2, 1e3, 1e4]},
    grid_source="values in the authors' programs; the sparse weight is one less the low-rank one",
)
class MLRSSC(MultiViewBaseline):
    """Multi-view low-rank sparse subspace clustering: rows rebuilt from each other alike in all views.

    In every view each row is rebuilt from the others with coefficients of small nuclear norm and few entries. The views
    pull their coefficients towards each other or towards their centre, and spectral clustering cuts the graph of the
    mean. O(V n^3) time per iteration for V views, usually 5 to 30 iterations. The growing penalty forces an end, so the
    minimum may not be reached; see ``residuals_``. 8 V + 9 n x n matrices of memory: 11,000 rows of two views on 24 GB.

    Parameters
    ----------
    consensus : {"pairwise", "centroid"}, default="pairwise"
        Whether views agree with each other or with their centre.
    low_rank, sparsity, agreement : float, default=0.3, 0.7 and 0.3
        Weights of the nuclear norm, of the absolute entries and of the disagreement between views. The authors tune the
        first from 0.1 to 0.9, the second is one less the first, and the third goes from 0.3 to 0.9.
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
        How the centre is found. "accumulated" repeats a slip of the authors' program, which adds the previous centre in
        each iteration. That inflates the centre, without bound if ``agreement`` times the number of views is at most
        one.

    Attributes
    ----------
    affinity_ : ndarray of shape (n_samples, n_samples)
        The graph, ``|C| + |C'|``.
    view_coefficients_ : list of ndarrays of shape (n_samples, n_samples)
        Row i holds the coefficients that rebuild row i in the view; diagonals are zero.
    residuals_ : ndarray of shape (n_views, 4)
        Largest entries at the end of the differences of the coefficients to their low-rank, their sparse and their
        agreeing copy and to the previous iteration.
    n_iter_ : int
        Iterations of the solver.

    References
    ----------
    Brbic and Kopriva, "Multi-view low-rank sparse subspace clustering", Pattern Recognition 73 (2018).
    """

    _has_embedding: ClassVar[bool] = True

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
        # Before a fit the number of views is taken from the parameter ``views``.
        named = self.view_names_ if hasattr(self, "view_names_") else self.views
        n_views = 1 if named is None else len(named)
        per_view = 8 if self.noisy else 9
        return 8 * ((per_view * n_views + 9) * n_samples**2 + n_samples * n_features)

    def _cluster(self, views: list[View], random_state: np.random.RandomState) -> dict[str, Any]:
        if self.kernel != "linear" and not self.noisy:
            raise ValueError(
                f"noisy=False asks that rows be rebuilt without error, which kernel={self.kernel!r} cannot; use "
                "noisy=True or kernel='linear'"
            )
        widths = np.broadcast_to(np.asarray(self.kernel_width, dtype=np.float64), len(views))
        states = [_ViewState(self._kernel(view, width), self) for view, width in zip(views, widths, strict=True)]
        joint, n_iter = self._agree(states)
        affinity = symmetric_graph(joint)
        return cluster_affinity(affinity, self.n_clusters, random_state) | {
            "affinity_": affinity,
            "view_coefficients_": [state.sparse.T for state in states],
            "residuals_": np.array([state.gaps for state in states]),
            "n_iter_": n_iter,
        }

    def _kernel(self, view: View, width: float) -> Array:
        gram = as_dense(view @ view.T)
        if self.kernel == "polynomial":
            return np.asarray(gram**self.degree)
        return gaussian_kernel(gram, width) if self.kernel == "gaussian" else gram

    def _agree(self, states: list["_ViewState"]) -> tuple[Array, int]:
        """Minimise sum_v (b1 |C_v|_* + b2 |C_v|_1 + 1/2 |X_v' - X_v' C_v|_F^2) + b3 times the disagreement of the C_v.

        The disagreement is the sum of |C_v - C_w|_F^2 over ordered pairs of views, or of |C_v - C*|_F^2 with the centre
        C*. Diagonals are zero. If not ``noisy``, X_v' = X_v' C_v takes the place of the squared residual. ADMM has one
        copy of C_v per term and a growing penalty mu. Returns the mean of the C_v or the centre, and the iterations.
        """
        has_centre = self.consensus == "centroid"
        joint, mu = np.zeros_like(states[0].sparse), self.penalty
        n_iter = 0
        while n_iter < self.max_iter:
            n_iter += 1
            next_mu = min(self.penalty_growth * mu, self.max_penalty)
            total = joint if has_centre else _sum_sparse(states)
            for state in states:
                others = total if has_centre else total - state.sparse
                state.update(others, 1 if has_centre else len(states) - 1, mu, next_mu)
            if has_centre:
                summed = _sum_sparse(states)
                if self.centroid_update == "accumulated":
                    summed += joint / self.agreement
                joint = summed / len(states)
            largest = max(state.gaps.max() for state in states)
            if largest <= self.tol:
                break
            mu = next_mu
        else:
            warn_convergence(
                f"the copies of the coefficients differ by {largest:.1e} after {self.max_iter} iterations, more "
                f"than tol={self.tol:g}; raise max_iter or tol"
            )
        return joint if has_centre else _sum_sparse(states) / len(states), n_iter


def gaussian_kernel(gram: Array, width: float) -> Array:
    """Return ``exp(-d^2 / (2 s^2))``; s is the width times the median distance d between different rows."""
    squares = gram.diagonal()
    distances = np.maximum(gram * -2.0 + squares[:, None] + squares, 0.0)
    np.fill_diagonal(distances, 0.0)
    median = float(np.median(np.sqrt(squareform(distances, checks=False)))) if len(gram) > 1 else 0.0
    # Rows that mostly coincide have no distance to go by.
    distances /= -2.0 * (width * (median or 1.0)) ** 2
    return np.asarray(np.exp(distances, out=distances))


class _ViewState:
    """One view in the course of the iterations: its coefficients A, their copies and multipliers, all n x n."""

    def __init__(self, gram: Array, model: MLRSSC) -> None:
        values, vectors = linalg.eigh(gram, driver="evd", overwrite_a=True, check_finite=False)
        kept = values > _ROUNDING * values.max()
        # Eigenpairs Q, w of the Gram matrix, without zeros.
        self.vectors, self.values, self.model = np.ascontiguousarray(vectors[:, kept]), values[kept], model
        # A, its copy with zero diagonal, and the multipliers of A = low-rank copy, sparse copy, agreeing copy.
        # The right side is mu times the sum of the copies, less the multipliers, for the next mu.
        self.coefficients, self.sparse, self.right_side, *self.multipliers = (np.zeros(gram.shape) for _ in range(6))
        # X_v times the multiplier of X_v' = X_v' A, if rows have to be rebuilt exactly.
        self.rebuilding = None if model.noisy else np.zeros(gram.shape)
        # Largest differences of A to its three copies and to the previous iteration.
        self.gaps = np.full(4, np.inf)

    def update(self, others: Array, n_others: int, mu: float, next_mu: float) -> None:
        """Do one iteration; ``others`` is the sum of the ``n_others`` matrices that the view is to agree with."""
        model, previous, coefficients = self.model, self.coefficients, self._next_coefficients(mu)
        low_rank = shrink_singular_values(coefficients + self.multipliers[0] / mu, model.low_rank / mu)
        own = np.arange(len(coefficients))
        self.sparse = shrink(coefficients + self.multipliers[1] / mu, model.sparsity / mu, own)
        agreeing = (2 * model.agreement) * others
        agreeing += mu * coefficients + self.multipliers[2]
        agreeing /= 2 * model.agreement * n_others + mu
        copies = (low_rank, self.sparse, agreeing)
        self.right_side = next_mu * (low_rank + self.sparse + agreeing)
        for place, (multiplier, copy) in enumerate(zip(self.multipliers, copies, strict=True)):
            difference = coefficients - copy
            self.gaps[place] = np.abs(difference).max()
            difference *= mu
            multiplier += difference
            self.right_side -= multiplier
        if self.rebuilding is not None:
            transposed = self.vectors.T
            self.rebuilding += mu * (self.vectors * self.values) @ (transposed - transposed @ coefficients)
            self.right_side += self.rebuilding
        self.gaps[3] = np.abs(coefficients - previous).max()
        self.coefficients = coefficients

    def _next_coefficients(self, mu: float) -> Array:
        """Solve (K + s I) A = K + s R, where R is the right side over 3 mu and s is 3 mu, or 3 for exact rebuilding.

        With K = Q diag(w) Q' this is A = R + Q diag(w / (w + s)) Q' (I - R), and the decomposition serves all s.
        """
        shift = 3 * mu if self.rebuilding is None else 3.0
        self.right_side /= 3 * mu
        transposed = self.vectors.T
        found = (self.vectors * (self.values / (self.values + shift))) @ (transposed - transposed @ self.right_side)
        found += self.right_side
        return np.asarray(found)


def _sum_sparse(states: Sequence[_ViewState]) -> Array:
    return np.asarray(sum((state.sparse for state in states[1:]), start=states[0].sparse.copy()))
