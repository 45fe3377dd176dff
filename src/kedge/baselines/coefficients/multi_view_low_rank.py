"""Low-rank and sparse coefficients between rows, in several views that pull each other together."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from kedge.baselines.coefficients.shrinkage import shrink_entries, shrink_singular_values

Array = NDArray[np.float64]

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


def agree_on_coefficients(grams: Sequence[Array], rules: Consensus, *, stacklevel: int = 3) -> AgreedCoefficients:
    """Minimise sum_v (b1 |C_v|_* + b2 |C_v|_1 + 1/2 |X_v' - X_v' C_v|_F^2) + b3 times the disagreement of the C_v.

    The disagreement is the sum of |C_v - C_w|_F^2 over ordered pairs of views, or of |C_v - C*|_F^2 with the centre C*.
    Diagonals are zero. Where rows have to be rebuilt exactly, X_v' = X_v' C_v takes the place of the squared residual.
    Solved by the alternating direction method of multipliers with one copy of C_v per term and a penalty mu that grows;
    views see the others of the previous iteration. Only Gram matrices X_v X_v' are needed, so they may be kernels.

    Parameters
    ----------
    grams : sequence of arrays of shape (n, n)
        Gram matrix of every view, symmetric and positive semidefinite. Overwritten.
    rules : Consensus
        Weights and settings.
    stacklevel : int, default=3
        Whom the warning below is about.

    Warns
    -----
    ConvergenceWarning
        If the tolerance is not reached.

    Notes
    -----
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
        warnings.warn(
            f"the copies of the coefficients differ by {residuals.max():.1e} after {rules.max_iter} iterations, more "
            f"than tol={rules.tol:g}; raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=stacklevel,
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
