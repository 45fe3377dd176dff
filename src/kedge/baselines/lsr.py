"""LSR: every row rebuilt from all others by ridge regression, then spectral clustering."""

from typing import Any, ClassVar

from numpy.random import RandomState

from kedge.baselines.clusterer import SingleViewBaseline
from kedge.baselines.coefficients.ridge_representation import ridge_coefficients
from kedge.baselines.graphs.spectral_clustering import cluster_affinity
from kedge.core.labels import number_by_first_rows
from kedge.core.rows import View
from kedge.parameters import BASELINE_RULES, POSITIVE


class LSR(SingleViewBaseline):
    """Least squares regression: rows rebuilt from each other by ridge regression, then spectral clustering.

    Rows of one subspace get large coefficients on each other, because they are correlated; the ridge spreads the weight
    over all of them. The solution is one matrix inverse. O(n^3) time, or O(n^2 d) for d features fewer than n rows;
    three n x n matrices of memory, so some 30,000 rows on 24 GB.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    ridge : float, default=0.004
        Weight of the squared coefficients, for rows of unit length. The authors use 0.004 with ``own_row=False`` and
        0.001 without.
    own_row : bool, default=False
        Whether a row may rebuild itself (the authors' LSR2) or not (LSR1).
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
    coefficients_ : ndarray of shape (n_samples, n_samples)
        Row i holds the coefficients that rebuild row i.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Leading eigenvectors of the normalised graph.

    References
    ----------
    Lu, Min, Zhao, Zhu, Huang and Yan, "Robust and efficient subspace segmentation via least squares regression", ECCV
    2012.

    Examples
    --------
    >>> from kedge.baselines import LSR
    >>> from kedge.datasets import make_union_of_subspaces
    >>> X, y = make_union_of_subspaces(60, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> sorted(set(LSR(2, random_state=0).fit_predict(X).tolist()))
    [0, 1]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = BASELINE_RULES | {
        "ridge": [POSITIVE],
        "own_row": ["boolean"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        ridge: float = 0.004,
        own_row: bool = False,
        scale: str = "l2",
        memory_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, scale, memory_limit, random_state)
        self.ridge = ridge
        self.own_row = own_row

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # Three n x n matrices.
        return 8 * (3 * n_samples**2 + n_samples * n_features)

    def _cluster(self, X: View, random_state: RandomState) -> dict[str, Any]:
        coefficients = ridge_coefficients(X, self.ridge, own_row=self.own_row)
        affinity = abs(coefficients)
        affinity += affinity.T.copy()
        labels, embedding = cluster_affinity(affinity, self.n_clusters, random_state)
        return {"labels_": number_by_first_rows(labels), "coefficients_": coefficients, "embedding_": embedding}
