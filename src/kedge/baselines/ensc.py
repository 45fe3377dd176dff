"""EnSC: every row rebuilt from others under an elastic net by active sets, then spectral clustering."""

from numbers import Real
from typing import Any, ClassVar

from numpy.random import RandomState
from scipy import sparse
from sklearn.utils._param_validation import Interval

from kedge.baselines.clusterer import SingleViewBaseline
from kedge.baselines.coefficients.active_set_elastic_net import ActiveSetSolver, rows_per_block
from kedge.baselines.coefficients.self_expression_graph import keep_largest_entries
from kedge.baselines.self_expression import cluster_coefficients, solve_all_rows
from kedge.core.rows import View
from kedge.kernels.selection import default_threads
from kedge.parameters import BASELINE_RULES, COUNT, POSITIVE


class EnSC(SingleViewBaseline):
    """Elastic net subspace clustering: rows rebuilt from others under an elastic net, then spectral clustering.

    The l1 part picks few rows, the squared part spreads the weight over rows that are alike, which connects a subspace
    better. A row is solved on a hundred or so other rows, the active set, and checked against all others, until none of
    them could help. O(n^2 d) time per check, of which a row needs about two to five, and the small problems, done in
    blocks on all processors; memory for the coefficients that are kept and blocks of a fixed number of rows, so that
    time is the limit: some 20,000 rows in a minute or two.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    fidelity : float, default=50.0
        Weight of the squared error of each row, in units of the smallest weight at which the row has coefficients. The
        authors use 50, and 200 for handwritten digits.
    l1_share : float, default=0.9
        Share of the l1 penalty, above 0 and at most 1; the rest is the squared one. 1 is sparse subspace clustering
        with a weight per row.
    n_nonzero : int, default=50
        Entries of each row of coefficients that are kept, the largest first.
    tol : float, default=1e-6
        Largest violation of the optimality condition, in units of the l1 weight.
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
        Most active sets that a row needed.

    References
    ----------
    You, Li, Robinson and Vidal, "Oracle based active set algorithm for scalable elastic net subspace clustering", CVPR
    2016.

    Examples
    --------
    >>> from kedge.baselines import EnSC
    >>> from kedge.datasets import make_union_of_subspaces
    >>> X, y = make_union_of_subspaces(60, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> sorted(set(EnSC(2, random_state=0).fit_predict(X).tolist()))
    [0, 1]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = BASELINE_RULES | {
        "fidelity": [POSITIVE],
        "l1_share": [Interval(Real, 0, 1, closed="right")],
        "n_nonzero": [COUNT],
        "tol": [POSITIVE],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        fidelity: float = 50.0,
        l1_share: float = 0.9,
        n_nonzero: int = 50,
        tol: float = 1e-6,
        scale: str = "l2",
        memory_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, scale, memory_limit, random_state)
        self.fidelity = fidelity
        self.l1_share = l1_share
        self.n_nonzero = n_nonzero
        self.tol = tol

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # Kept coefficients with their graph, and blocks of rows.
        block_rows = min(rows_per_block(n_samples, n_features, is_sparse=False), n_samples)
        active = 8 * block_rows * min(100, n_samples) * (n_features + 100)
        blocks = default_threads() * (8 * 3 * block_rows * n_samples + active)
        return blocks + n_samples * (60 * min(self.n_nonzero, n_samples) + 8 * n_features)

    def _cluster(self, X: View, random_state: RandomState) -> dict[str, Any]:
        solver = ActiveSetSolver(X, self.fidelity, self.l1_share, self.tol)

        def solve(rows: slice) -> tuple[sparse.csr_array, int, int]:
            coefficients, n_rounds, n_open = solver.solve(rows)
            return keep_largest_entries(coefficients, self.n_nonzero), n_rounds, n_open

        block_rows = rows_per_block(X.shape[0], X.shape[1], sparse.issparse(X))
        coefficients, n_iter = solve_all_rows(solve, X.shape[0], block_rows, "raise tol or lower fidelity")
        return cluster_coefficients(coefficients, self.n_clusters, random_state) | {"n_iter_": n_iter}
