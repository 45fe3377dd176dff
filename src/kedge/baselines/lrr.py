"""LRR: rows rebuilt from each other with coefficients of lowest rank, then spectral clustering."""

from typing import Any, ClassVar

from numpy.random import RandomState

from kedge.baselines.clusterer import SingleViewBaseline
from kedge.baselines.coefficients.cosine_graph import cluster_cosines
from kedge.baselines.coefficients.low_rank_representation import closed_form, graph_points, robust_coefficients
from kedge.baselines.coefficients.row_space import whole_row_space
from kedge.core.labels import number_by_first_rows
from kedge.core.rows import View
from kedge.parameters import BASELINE_RULES, COUNT, POSITIVE, one_of


class LRR(SingleViewBaseline):
    """Low-rank representation: rows rebuilt from all rows with coefficients of small nuclear norm.

    Few directions suffice to rebuild rows of few subspaces, so a small nuclear norm keeps the subspaces apart; rows
    that do not fit, such as outliers, may be missed by some noise whose length is charged. Rows are compared by the
    fourth power of the cosine between what the coefficients take from them; spectral clustering cuts that graph. The
    solver works in the coordinates of the singular vectors of X, which changes nothing in the result: O(n r^2) time per
    iteration for rank r <= min(n, d), some 200 iterations. The graph takes one n x n matrix of memory, and the solver
    twelve n x r ones: about 54,000 rows of 100 features on 24 GB, 15,000 of as many features as rows.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    noise_weight : float, default=0.5
        What a unit of noise costs. Small values leave rows to the noise, large ones allow none. The authors try 0.1 to
        4 on rows of unit length.
    noise : {"rows", "frobenius"}, default="rows"
        Whether the noise is charged by the lengths of its rows, which suits outliers, or by half its squared entries,
        for which the solution is a formula.
    max_iter : int, default=1000
        Most iterations of the solver.
    tol : float, default=1e-8
        Largest violation of ``X = C X + E`` at which it stops, relative to the longest row.
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
    coefficient_factor_ : ndarray of shape (n_samples, rank)
        ``coefficient_factor_ @ row_basis_.T`` are the coefficients; row i of them rebuilds row i.
    row_basis_ : ndarray of shape (n_samples, rank)
        Left singular vectors of the scaled X.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Leading eigenvectors of the normalised graph.
    n_iter_ : int
        Iterations of the solver; one for the formula.

    References
    ----------
    Liu, Lin and Yu, "Robust subspace segmentation by low-rank representation", ICML 2010.

    Liu, Lin, Yan, Sun, Yu and Ma, "Robust recovery of subspace structures by low-rank representation", IEEE
    Transactions on Pattern Analysis and Machine Intelligence 35 (2013).

    Examples
    --------
    >>> from kedge.baselines import LRR
    >>> from kedge.datasets import make_union_of_subspaces
    >>> X, y = make_union_of_subspaces(60, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> sorted(set(LRR(2, random_state=0).fit_predict(X).tolist()))
    [0, 1]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = BASELINE_RULES | {
        "noise_weight": [POSITIVE],
        "noise": [one_of("rows", "frobenius")],
        "max_iter": [COUNT],
        "tol": [POSITIVE],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        noise_weight: float = 0.5,
        noise: str = "rows",
        max_iter: int = 1000,
        tol: float = 1e-8,
        scale: str = "l2",
        memory_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, scale, memory_limit, random_state)
        self.noise_weight = noise_weight
        self.noise = noise
        self.max_iter = max_iter
        self.tol = tol

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # Twelve n x rank matrices, or the n x n graph and three.
        rank = min(n_samples, n_features)
        return 8 * (n_samples * n_features + max(12 * n_samples * rank, n_samples**2 + 3 * n_samples * rank))

    def _cluster(self, X: View, random_state: RandomState) -> dict[str, Any]:
        space = whole_row_space(X)
        if self.noise == "frobenius":
            found = closed_form(space, self.noise_weight)
            factor = space.basis * found.factor.diagonal()
        else:
            found = robust_coefficients(
                space, self.noise_weight, square=False, max_iter=self.max_iter, tol=self.tol, stacklevel=5
            )
            factor = found.factor
        points = graph_points(space.basis, factor)
        labels, embedding = cluster_cosines(points, 4, self.n_clusters, random_state, stacklevel=5)
        return {
            "labels_": number_by_first_rows(labels),
            "coefficient_factor_": factor,
            "row_basis_": space.basis,
            "embedding_": embedding,
            "n_iter_": found.n_iter,
        }
