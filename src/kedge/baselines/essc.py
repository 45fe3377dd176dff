"""ESSC: every row rebuilt from few others by proximal and active-set steps, then spectral clustering."""

from functools import partial
from typing import Any, ClassVar

from numpy.random import RandomState
from scipy import sparse

from kedge.baselines.clusterer import SingleViewBaseline
from kedge.baselines.coefficients.l1_active_set import ExactL1Solver
from kedge.baselines.coefficients.self_expression_admm import AdmmSolver
from kedge.baselines.coefficients.sparse_self_expression import (
    ProximalSolver,
    SelfProducts,
    center_products,
    keeps_gram,
    largest_eigenvalue,
    least_coherence,
    prepare_products,
    rows_per_block,
)
from kedge.baselines.self_expression import cluster_coefficients, l1_block_memory, solve_all_rows
from kedge.core.rows import View
from kedge.parameters import BASELINE_RULES, COUNT, POSITIVE, one_of

# Steps and tolerance of each solver where none are given.
_DEFAULTS = {("l1", "proximal"): (2000, 1e-2), ("l1", "admm"): (2000, 2e-4), ("l0", "proximal"): (500, 1e-3)}
# Larger penalties of ADMM creep.
_LARGEST_STEP = 20.0


class ESSC(SingleViewBaseline):
    """Efficient sparse subspace clustering: rows rebuilt from few others by proximal gradient steps, then a graph.

    The problem of SSC under an l1 penalty, solved by accelerated proximal gradient steps whose proximal part is exact,
    also where coefficients sum to one; or with a limit on the number of coefficients instead of the penalty (l0), which
    finds a local optimum. O(n^2 d) time per step for d features fewer than half the rows and O(n^3) otherwise, tens to
    hundreds of steps. Under the l1 penalty rows not solved by then, if they use few others, are finished by an
    active-set method, our addition, in some two rounds of O(w^3 + w^2 d) per coefficient, w being their number; each
    such row takes it up once its steps have cost as much. Memory for the coefficients that are not zero, and one n x n
    matrix where d is not that small or X is sparse. So some 50,000 rows on 24 GB then, and more with few features,
    where time is the limit: thousands of rows take minutes. The authors' program ends with the coefficients; the graph
    is that of SSC.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    penalty : {"l1", "l0"}, default="l1"
        Penalty of the absolute sum, or a limit on the number of coefficients per row.
    solver : {"proximal", "admm"}, default="proximal"
        Proximal gradient steps, or for l1 the alternating direction method with a matrix of order d inverted once.
    fidelity : float, default=20.0
        l1 only. Weight of the squared error, in units of the smallest weight at which no row is left without
        coefficients. The authors' default is 800, which takes a few times as long.
    n_nonzero : int, default=10
        l0 only. Largest number of coefficients per row.
    affine : bool, default=False
        Whether coefficients of a row sum to one, for subspaces that do not pass through the origin.
    max_iter : int or None, default=None
        Largest number of steps, and of active-set rounds after them; None means 2000 for l1 and 500 for l0 (the
        authors: 200 and 50).
    tol : float or None, default=None
        Steps end, for l1, when no subgradient is off by more than this share of the l1 weight (None: 0.01); with
        ``solver="admm"``, when the two copies of the coefficients differ by at most this (None: 2e-4); for l0, when a
        step changes a row by less than this share (None: 0.001).
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
        Steps and active-set rounds taken.

    References
    ----------
    Pourkamali-Anaraki, Folberth and Becker, "Efficient solvers for sparse subspace clustering", Signal Processing 172,
    2020.

    Examples
    --------
    >>> from kedge.baselines import ESSC
    >>> from kedge.datasets import make_union_of_subspaces
    >>> X, y = make_union_of_subspaces(60, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> sorted(set(ESSC(2, random_state=0).fit_predict(X).tolist()))
    [0, 1]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = BASELINE_RULES | {
        "penalty": [one_of("l1", "l0")],
        "solver": [one_of("proximal", "admm")],
        "fidelity": [POSITIVE],
        "n_nonzero": [COUNT],
        "affine": ["boolean"],
        "max_iter": [COUNT, None],
        "tol": [POSITIVE, None],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        penalty: str = "l1",
        solver: str = "proximal",
        fidelity: float = 20.0,
        n_nonzero: int = 10,
        affine: bool = False,
        max_iter: int | None = None,
        tol: float | None = None,
        scale: str = "l2",
        memory_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, scale, memory_limit, random_state)
        self.penalty = penalty
        self.solver = solver
        self.fidelity = fidelity
        self.n_nonzero = n_nonzero
        self.affine = affine
        self.max_iter = max_iter
        self.tol = tol

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # Blocks of coefficients, those that are not zero (up to about d per row) with their graph, and where there are
        # more than n / 2 features one n x n matrix, two if coefficients sum to one, three for ADMM.
        n_matrices = 0
        if keeps_gram(n_samples, n_features, is_sparse=False):
            n_matrices = 3 if self.solver == "admm" else 1 + self.affine
        return l1_block_memory(n_samples, self.n_nonzero if self.penalty == "l0" else n_features, n_matrices)

    def _cluster(self, X: View, random_state: RandomState) -> dict[str, Any]:
        if (self.penalty, self.solver) not in _DEFAULTS:
            raise ValueError("solver='admm' is for penalty='l1' only; use solver='proximal' for 'l0'")
        coefficients, n_iter = self._rebuild(X)
        return cluster_coefficients(coefficients, self.n_clusters, random_state) | {"n_iter_": n_iter}

    def _rebuild(self, X: View) -> tuple[sparse.csr_array, int]:
        """Return coefficients of all rows, and the steps taken."""
        steps, tol = _DEFAULTS[self.penalty, self.solver]
        max_iter = steps if self.max_iter is None else self.max_iter
        tol = tol if self.tol is None else self.tol
        products = prepare_products(X)
        # Rows that are orthogonal to all others have no coefficients at any weight.
        weight = self.fidelity / (least_coherence(products) or 1.0) if self.penalty == "l1" else 0.0
        if self.affine:
            products = center_products(products)
        if self.solver == "admm":
            step = min(self.fidelity, _LARGEST_STEP)
            solve = AdmmSolver.prepare(products, weight, step, self.affine, max_iter, tol).solve
        else:
            solve = self._proximal(products, weight, max_iter, tol)
        n_rows = X.shape[0]
        return solve_all_rows(solve, n_rows, rows_per_block(n_rows), "raise max_iter or tol, or lower fidelity")

    def _proximal(self, products: SelfProducts, weight: float, max_iter: int, tol: float) -> Any:
        """Return the function that solves a block of rows."""
        solver = ProximalSolver(products, largest_eigenvalue(products), self.affine, max_iter, tol)
        if self.penalty == "l1":
            return ExactL1Solver(solver, weight).solve
        return partial(solver.solve_l0, n_nonzero=min(self.n_nonzero, products.X.shape[0] - 1))
