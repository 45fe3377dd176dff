"""SSC: every row rebuilt from few others under an l1 penalty, then spectral clustering."""

from typing import Any

import numpy as np

from kedge.baselines import self_expression as rebuilt
from kedge.baselines.base import RowGraphBaseline, baseline, parameter
from kedge.core.rows import View
from kedge.parameters import COUNT, POSITIVE


@baseline(
    "sparse subspace clustering by the alternating direction method",
    cost="n^2 d per step",
    grid={"fidelity": [20.0, 800.0]},
    grid_source="values in the authors' programs",
)
class SSC(RowGraphBaseline):
    """Sparse subspace clustering: rows rebuilt from few others under an l1 penalty, then spectral clustering.

    The l1 norm picks few rows, and the cheapest ones lie in the row's own subspace. The alternating direction method of
    multipliers (ADMM) solves it. O(n^2 d) time per step if there are less than half as many features d as rows, O(n^3)
    otherwise. Memory holds the nonzero coefficients, and three n x n matrices if there are more features or X is
    sparse: about 30,000 rows on 24 GB then. Unlike in the authors' program, steps go on until the coefficients solve
    the stated problem.

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
    n_iter_ : int
        Steps taken.

    References
    ----------
    Elhamifar and Vidal, "Sparse subspace clustering: algorithm, theory, and applications", IEEE Transactions on Pattern
    Analysis and Machine Intelligence 35(11), 2013.
    """

    fidelity: float = parameter(POSITIVE, default=20.0)
    affine: bool = parameter("boolean", default=False)
    kept_share: float = parameter(POSITIVE, default=1.0)
    step: float | None = parameter(POSITIVE, None, default=None)
    max_iter: int = parameter(COUNT, default=2000)
    tol: float = parameter(POSITIVE, default=2e-4)

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        return rebuilt.l1_block_memory(n_samples, n_features, n_nonzero=n_features, n_matrices=3)

    def _cluster(self, X: View, random_state: np.random.RandomState) -> dict[str, Any]:
        products, weight = rebuilt.prepare_l1(X, self.fidelity, self.affine)
        step = min(self.fidelity, rebuilt.LARGEST_STEP) if self.step is None else self.step
        solver = rebuilt.AdmmSolver(products, weight, step, self.affine, self.max_iter, self.tol)
        coefficients, n_iter = rebuilt.solve_all_rows(solver.solve, X.shape[0], rebuilt.L1_ADVICE)
        kept = rebuilt.keep_largest_entries(coefficients, share=self.kept_share)
        found = rebuilt.cluster_coefficients(kept, self.n_clusters, random_state)
        return found | {"coefficients_": coefficients, "n_iter_": n_iter}
