"""ALRR: low-rank coefficients between rows by way of one small square matrix, linear in the rows."""

from typing import Any, ClassVar

from numpy.random import RandomState

from kedge.baselines.clusterer import SingleViewBaseline
from kedge.baselines.coefficients.cosine_graph import cluster_cosines
from kedge.baselines.coefficients.low_rank_representation import closed_form, graph_points, robust_coefficients
from kedge.baselines.coefficients.row_space import leading_row_space
from kedge.core.labels import number_by_first_rows
from kedge.core.rows import View
from kedge.parameters import BASELINE_RULES, COUNT, POSITIVE, one_of

# Above so many rows the graph between all rows is not formed.
LARGEST_FORMED_GRAPH = 10_000


class ALRR(SingleViewBaseline):
    """Accelerated low-rank representation: LRR with coefficients V T V', where V spans the leading directions of X.

    V has one column per direction, at most ``rank``; only the small square T is sought, with nuclear norm that of the
    coefficients. O(n rank^2) time per iteration, some 200 iterations, and five n x rank matrices of memory: linear in
    the rows, about 6 million rows of 100 features on 24 GB. Up to 10,000 rows the graph is LRR's, an n x n matrix of
    cosines to the fourth power; above, it is that of squared cosines, which need not be formed, so that spectral
    clustering is linear in the rows too.

    The model and all constants are our reconstruction from the abstract of the paper and the constants of LRR's solver;
    the authors published no code. The bound of the rank and the two powers are ours.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    rank : int or "auto", default="auto"
        Most directions; "auto" means ten per cluster. Never more than X has.
    noise_weight : float, default=0.5
        What a unit of noise costs. Small values leave rows to the noise, large ones allow none but what lies outside
        the directions.
    noise : {"rows", "frobenius"}, default="rows"
        Whether the noise is charged by the lengths of its rows, which suits outliers, or by half its squared entries,
        for which the solution is a formula, the same as LRR's.
    graph : {"auto", "fourth_powers", "squares"}, default="auto"
        Power of the cosines in the graph; fourth powers form an n x n matrix. "auto" means these up to 10,000 rows, and
        squares above.
    max_iter : int, default=1000
        Most iterations of the solver.
    tol : float, default=1e-6
        Largest violation of ``X = C X + E`` at which it stops, relative to the longest row.
    scale : {"l2", "none", "zscore", "minmax", "zscore_l2", "auto"}, default="l2"
        How X is scaled before; unit rows are customary for subspaces.
    memory_limit : float or None, default=None
        Bytes that the fit may use; None means the memory of the machine.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means and, for more than 2,000 rows and features, of the search for directions.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, numbered by their first rows.
    core_ : ndarray of shape (rank, rank)
        T; ``row_basis_ @ core_ @ row_basis_.T`` are the coefficients, row i of which rebuilds row i.
    row_basis_ : ndarray of shape (n_samples, rank)
        V, the leading left singular vectors of the scaled X.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Leading eigenvectors of the normalised graph.
    n_iter_ : int
        Iterations of the solver; one for the formula.

    References
    ----------
    Fan, Tian, Zhao and Chow, "Accelerated low-rank representation for subspace clustering and semi-supervised
    classification on large-scale data", Neural Networks 100 (2018).

    Examples
    --------
    >>> from kedge.baselines import ALRR
    >>> from kedge.datasets import make_union_of_subspaces
    >>> X, y = make_union_of_subspaces(60, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> sorted(set(ALRR(2, random_state=0).fit_predict(X).tolist()))
    [0, 1]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = BASELINE_RULES | {
        "rank": [COUNT, one_of("auto")],
        "noise_weight": [POSITIVE],
        "noise": [one_of("rows", "frobenius")],
        "graph": [one_of("auto", "fourth_powers", "squares")],
        "max_iter": [COUNT],
        "tol": [POSITIVE],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        rank: int | str = "auto",
        noise_weight: float = 0.5,
        noise: str = "rows",
        graph: str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-6,
        scale: str = "l2",
        memory_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, scale, memory_limit, random_state)
        self.rank = rank
        self.noise_weight = noise_weight
        self.noise = noise
        self.graph = graph
        self.max_iter = max_iter
        self.tol = tol

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # Five n x rank matrices, or what the graph takes.
        rank = min(self._most_directions(), n_samples, n_features)
        # Without the graph, Lanczos vectors and k-means remain.
        lanczos = max(3 * self.n_clusters, 40) + 12 * self.n_clusters
        graph = n_samples * (rank + n_samples) if self._power(n_samples) == 4 else n_samples * lanczos
        side = min(n_samples, n_features, 2000)
        solver = max(5 * n_samples * rank, graph + 2 * n_samples * rank)
        return 8 * (n_samples * n_features + 3 * side**2 + solver)

    def _cluster(self, X: View, random_state: RandomState) -> dict[str, Any]:
        space = leading_row_space(X, self._most_directions(), random_state)
        if self.noise == "frobenius":
            found = closed_form(space, self.noise_weight)
        else:
            found = robust_coefficients(
                space, self.noise_weight, square=True, max_iter=self.max_iter, tol=self.tol, stacklevel=5
            )
        points = graph_points(space.basis, found.factor)
        labels, embedding = cluster_cosines(
            points, self._power(len(points)), self.n_clusters, random_state, stacklevel=5
        )
        return {
            "labels_": number_by_first_rows(labels),
            "core_": found.factor,
            "row_basis_": space.basis,
            "embedding_": embedding,
            "n_iter_": found.n_iter,
        }

    def _most_directions(self) -> int:
        return 10 * self.n_clusters if self.rank == "auto" else int(self.rank)

    def _power(self, n_samples: int) -> int:
        if self.graph == "auto":
            return 4 if n_samples <= LARGEST_FORMED_GRAPH else 2
        return 4 if self.graph == "fourth_powers" else 2
