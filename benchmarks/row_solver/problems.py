"""Row problems of known support size."""

from dataclasses import dataclass

import numpy as np

from kedge.kernels import PreparedHessian, solve_rows

N_FEATURES = 30
N_GROUPS = 10
SPARSE_ALPHA = 0.01
DENSE_SHARE = 0.75


@dataclass
class Problem:
    """Rows, their Hessian, and the rows again after a small change."""

    hessian: PreparedHessian
    linear: np.ndarray
    changed: np.ndarray

    @property
    def n_anchors(self) -> int:
        """Width of the problem."""
        return self.hessian.n_anchors


def draw_points(n_rows, n_anchors, rng):
    """Rows and anchors from the same Gaussian mixture; anchors are closer to the centres, as k-means centres are."""
    centres = rng.normal(size=(N_GROUPS, N_FEATURES))
    rows = centres[rng.integers(N_GROUPS, size=n_rows)] + 0.5 * rng.normal(size=(n_rows, N_FEATURES))
    anchors = centres[rng.integers(N_GROUPS, size=n_anchors)] + 0.35 * rng.normal(size=(n_anchors, N_FEATURES))
    return rows, anchors


def ridge_hessian(anchors, alpha):
    """Return 2 A A' + 2 alpha I with alpha in units of the mean squared anchor norm."""
    gram = anchors @ anchors.T
    return PreparedHessian(2 * gram + 2 * alpha * gram.trace() / len(gram) * np.eye(len(gram)))


def mean_support(hessian, linear):
    """Mean number of nonzeros per row."""
    return solve_rows(hessian, linear, sparse_output=True).coefficients.nnz / len(linear)


def alpha_for_share(anchors, linear, share):
    """Ridge at which the rows use about that share of the anchors, by bisection on a few rows."""
    low, high = 1e-4, 1e4
    for _ in range(25):
        middle = np.sqrt(low * high)
        is_below = mean_support(ridge_hessian(anchors, middle), linear[:200]) < share * len(anchors)
        low, high = (middle, high) if is_below else (low, middle)
    return np.sqrt(low * high)


def mixture_problem(n_rows, n_anchors, regime, seed=0, share=DENSE_SHARE):
    """Rebuild mixture rows from anchors: "sparse" uses few of them per row, "dense" the given share."""
    rng = np.random.default_rng(seed)
    rows, anchors = draw_points(n_rows, n_anchors, rng)
    linear = -2 * rows @ anchors.T
    alpha = SPARSE_ALPHA if regime == "sparse" else alpha_for_share(anchors, linear, share)
    changed = linear + 1e-3 * np.abs(linear).mean() * rng.normal(size=linear.shape)
    return Problem(ridge_hessian(anchors, alpha), linear, changed)


def planted_problem(n_rows, n_anchors, support, seed=0):
    """Rows whose solutions have exactly ``support`` nonzeros, whatever the number of anchors."""
    rng = np.random.default_rng(seed)
    _, anchors = draw_points(1, n_anchors, rng)
    hessian = ridge_hessian(anchors, 0.1)
    chosen = np.argsort(rng.random((n_rows, n_anchors)), axis=1)[:, :support]
    weights = np.zeros((n_rows, n_anchors))
    np.put_along_axis(weights, chosen, rng.dirichlet(np.full(support, 5.0), size=n_rows), axis=1)
    slack = np.where(weights > 0, 0.0, rng.uniform(0.1, 1.0, size=weights.shape))
    linear = slack - weights @ hessian.matrix
    return Problem(hessian, linear, linear)
