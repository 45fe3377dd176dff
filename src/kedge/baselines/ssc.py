"""SSC: every row rebuilt from others under an l1 penalty by ADMM, then spectral clustering."""

from typing import Any, ClassVar

from numpy.random import RandomState

from kedge.baselines.clusterer import SingleViewBaseline
from kedge.baselines.coefficients.self_expression_admm import AdmmSolver
from kedge.baselines.coefficients.self_expression_graph import keep_largest_share
from kedge.baselines.coefficients.sparse_self_expression import (
    center_products,
    keeps_gram,
    least_coherence,
    prepare_products,
    rows_per_block,
)
from kedge.baselines.self_expression import cluster_coefficients, l1_block_memory, solve_all_rows
from kedge.core.rows import View
from kedge.parameters import BASELINE_RULES, COUNT, POSITIVE


class SSC(SingleViewBaseline):
    """Sparse subspace clustering: rows rebuilt from few others under an l1 penalty, then spectral clustering.

    The l1 norm picks few rows, and the cheapest ones lie in the row's own subspace. Solved by the alternating direction
    method of multipliers. O(n^2 d) time per step for d features fewer than half the rows and O(n^3) otherwise, a few
    hundred steps; memory for the coefficients that are not zero, and three n x n matrices where d is not that small or
    X is sparse. So some 30,000 rows on 24 GB then, and more with few features, where time is the limit: thousands of
    rows take minutes.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
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
    scale : {"l2", "none", "zscore", "minmax", "zscore_l2", "auto"}, default="l2"
        How X is scaled before; unit rows are customary for subspaces.
    memory_limit : float or None, default=None
        Bytes that the fit may use; None means the memory of the machine.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, numbered by their first rows.
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = BASELINE_RULES | {
        "fidelity": [POSITIVE],
        "affine": ["boolean"],
        "kept_share": [POSITIVE],
        "step": [POSITIVE, None],
        "max_iter": [COUNT],
        "tol": [POSITIVE],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        fidelity: float = 20.0,
        affine: bool = False,
        kept_share: float = 1.0,
        step: float | None = None,
        max_iter: int = 2000,
        tol: float = 2e-4,
        scale: str = "l2",
        memory_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, scale, memory_limit, random_state)
        self.fidelity = fidelity
        self.affine = affine
        self.kept_share = kept_share
        self.step = step
        self.max_iter = max_iter
        self.tol = tol

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # Blocks of coefficients, those that are not zero (up to about d per row) with their graph, and three n x n
        # matrices where there are more than n / 2 features.
        n_matrices = 3 if keeps_gram(n_samples, n_features, is_sparse=False) else 0
        return l1_block_memory(n_samples, n_features, n_matrices)

    def _cluster(self, X: View, random_state: RandomState) -> dict[str, Any]:
        products = prepare_products(X)
        coherence = least_coherence(products)
        step = min(self.fidelity, 20.0) if self.step is None else self.step
        if self.affine:
            products = center_products(products)
        # Rows that are orthogonal to all others have no coefficients at any weight.
        weight = self.fidelity / (coherence or 1.0)
        solver = AdmmSolver.prepare(products, weight, step, self.affine, self.max_iter, self.tol)
        n_rows = X.shape[0]
        advice = "raise max_iter or tol, or lower fidelity"
        coefficients, n_iter = solve_all_rows(solver.solve, n_rows, rows_per_block(n_rows), advice)
        graph_part = keep_largest_share(coefficients, self.kept_share)
        found = cluster_coefficients(graph_part, self.n_clusters, random_state)
        return found | {"coefficients_": coefficients, "n_iter_": n_iter}
