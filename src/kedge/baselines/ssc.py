"""SSC: every row rebuilt from others under an l1 penalty by ADMM, then spectral clustering."""

from typing import Any

import numpy as np
from numpy.random import RandomState
from scipy import sparse

from kedge.baselines.base import SingleViewBaseline, baseline, parameter
from kedge.baselines.self_expression import (
    LARGEST_STEP,
    AdmmSolver,
    cluster_coefficients,
    l1_block_memory,
    prepare_l1,
    rows_per_block,
    solve_all_rows,
)
from kedge.core.rows import View
from kedge.parameters import COUNT, POSITIVE


@baseline(
    "sparse subspace clustering by the alternating direction method",
    cost="n^2 d per step",
    grid={"fidelity": [20.0, 800.0]},
    grid_source="values in the authors' programs",
)
class SSC(SingleViewBaseline):
    """Sparse subspace clustering: rows rebuilt from few others under an l1 penalty, then spectral clustering.

    The l1 norm picks few rows, and the cheapest ones lie in the row's own subspace. Solved by the alternating direction
    method of multipliers. O(n^2 d) time per step for d features fewer than half the rows and O(n^3) otherwise, a few
    hundred steps; memory for the coefficients that are not zero, and three n x n matrices where d is not that small or
    X is sparse. So some 30,000 rows on 24 GB then, and more with few features, where time is the limit: thousands of
    rows take minutes.

    Parameters
    ----------
    fidelity : float, default=20.0
        Weight of the squared error, in units of the smallest weight at which no row is left without coefficients. The
        authors use 20 for faces and 800 for motions; at most 1 leaves a row without coefficients.
    affine : bool, default=False
        Whether coefficients of a row sum to one, for subspaces that do not pass through the origin.
    kept_share : float, default=1.0
        Share of the absolute sum of each row of coefficients that the graph keeps, the largest entries first. The
        authors use 1 for faces and 0.7 for motions.
    step : float or None, default=None
        Penalty of ADMM; None means ``fidelity``, as the authors do, but at most 20, since larger ones creep.
    max_iter : int, default=2000
        Largest number of steps.
    tol : float, default=2e-4
        Steps end when the two copies of the coefficients differ by at most this everywhere and change by at most
        ``100 * tol / step``.

    Attributes
    ----------
    coefficients_ : CSR array of shape (n_samples, n_samples)
        Row i holds the coefficients that rebuild row i; the diagonal is empty.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Leading eigenvectors of the normalised graph.
    n_iter_ : int
        Steps taken.

    Notes
    -----
    The authors' program also empties the diagonal of the copy that fits the rows, which is then not the minimum that
    ADMM needs, and stops once the copies agree, which they soon do when ``step`` is large. Here neither is done, so the
    coefficients solve the stated problem.

    References
    ----------
    Elhamifar and Vidal, "Sparse subspace clustering: algorithm, theory, and applications", IEEE Transactions on Pattern
    Analysis and Machine Intelligence 35(11), 2013.

    Examples
    --------
    >>> from kedge.baselines import SSC
    >>> from kedge.datasets import make_union_of_subspaces
    >>> X, y = make_union_of_subspaces(60, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> sorted(set(SSC(2, random_state=0).fit_predict(X).tolist()))
    [0, 1]
    """

    fidelity: float = parameter(POSITIVE, default=20.0)
    affine: bool = parameter("boolean", default=False)
    kept_share: float = parameter(POSITIVE, default=1.0)
    step: float | None = parameter(POSITIVE, None, default=None)
    max_iter: int = parameter(COUNT, default=2000)
    tol: float = parameter(POSITIVE, default=2e-4)
    scale: Any = parameter(default="l2")

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        return l1_block_memory(n_samples, n_features, n_nonzero=n_features, n_matrices=3)

    def _cluster(self, X: View, random_state: RandomState) -> dict[str, Any]:
        products, weight = prepare_l1(X, self.fidelity, self.affine)
        step = min(self.fidelity, LARGEST_STEP) if self.step is None else self.step
        solver = AdmmSolver.prepare(products, weight, step, self.affine, self.max_iter, self.tol)
        n_rows = X.shape[0]
        advice = "raise max_iter or tol, or lower fidelity"
        coefficients, n_iter = solve_all_rows(solver.solve, n_rows, rows_per_block(n_rows), advice)
        graph_part = keep_largest_share(coefficients, self.kept_share)
        found = cluster_coefficients(graph_part, self.n_clusters, random_state)
        return found | {"coefficients_": coefficients, "n_iter_": n_iter}


def keep_largest_share(coefficients: sparse.csr_array, share: float) -> sparse.csr_array:
    """Return coefficients without the smallest, so that each row keeps this share of its absolute sum."""
    if share >= 1:
        return coefficients
    n_rows = coefficients.shape[0]
    rows = np.repeat(np.arange(n_rows), np.diff(coefficients.indptr))
    sizes = np.abs(coefficients.data)
    order = np.lexsort((-sizes, rows))
    sums = np.cumsum(sizes[order])
    starts = np.concatenate([[0.0], sums])[coefficients.indptr]
    before = sums - sizes[order] - starts[rows]
    is_kept = np.zeros(len(rows), dtype=bool)
    # Sums over all rows leave rounding, which must not decide between equal shares.
    is_kept[order] = before < (share - 1e-12) * (starts[1:] - starts[:-1])[rows]
    entries = (coefficients.data[is_kept], (rows[is_kept], coefficients.indices[is_kept]))
    return sparse.csr_array(entries, shape=coefficients.shape)
