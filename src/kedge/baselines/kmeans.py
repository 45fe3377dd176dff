"""k-means, as scikit-learn has it."""

from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn import cluster

from kedge.baselines.clusterer import SingleViewBaseline
from kedge.core.labels import nearest_center, number_by_first_rows
from kedge.core.rows import View
from kedge.parameters import BASELINE_RULES, COUNT


class KMeans(SingleViewBaseline):
    """k-means: every row belongs to the nearest of k means; scikit-learn's, under the terms of the other baselines.

    O(n k d) time per round for n rows of d features, and memory for one more copy of X: no limit before X itself. Runs
    on as many threads as scikit-learn takes.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_init : int, default=10
        Starts, of which the one with the least sum of squared distances is kept.
    max_iter : int, default=300
        Most rounds of a start.
    scale : {"none", "l2", "zscore", "minmax", "zscore_l2", "auto"}, default="none"
        How X is scaled before.
    memory_limit : float or None, default=None
        Bytes that the fit may use; None means the memory of the machine.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, numbered by their first rows.
    cluster_centers_ : ndarray of shape (n_clusters found, n_features)
        The means, of scaled rows.
    inertia_ : float
        Sum of the squared distances to the means.
    n_iter_ : int
        Rounds of the start that was kept.

    References
    ----------
    Lloyd, "Least squares quantization in PCM", IEEE Transactions on Information Theory 1982.

    Examples
    --------
    >>> from kedge.baselines import KMeans
    >>> KMeans(2, random_state=0).fit_predict([[0.0], [1.0], [9.0], [8.0]])
    array([0, 0, 1, 1])
    """

    _one_thread: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = BASELINE_RULES | {"n_init": [COUNT], "max_iter": [COUNT]}

    cluster_centers_: NDArray[np.float64]

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_init: int = 10,
        max_iter: int = 300,
        scale: str = "none",
        memory_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, scale, memory_limit, random_state)
        self.n_init = n_init
        self.max_iter = max_iter

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # A centred copy, and some numbers per row.
        return 8 * (n_samples * (n_features + 4) + self.n_clusters * n_features)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Give new rows the clusters of the nearest means.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each row.
        """
        return nearest_center(self._read_new_rows(X), self.cluster_centers_)

    def _cluster(self, X: View, random_state: RandomState) -> dict[str, Any]:
        return run_kmeans(X, self.n_clusters, n_init=self.n_init, max_iter=self.max_iter, random_state=random_state)


def run_kmeans(X: View, n_clusters: int, **options: Any) -> dict[str, Any]:
    """Return the attributes of a fit of scikit-learn's k-means."""
    model = cluster.KMeans(n_clusters, **options).fit(X)
    labels = number_by_first_rows(model.labels_)
    # Centre j is that of the rows numbered j; a centre without rows, of which k-means warns, is dropped.
    first = np.unique(labels, return_index=True)[1]
    return {
        "labels_": labels,
        "cluster_centers_": np.ascontiguousarray(model.cluster_centers_[model.labels_[first]]),
        "inertia_": float(model.inertia_),
        "n_iter_": int(model.n_iter_),
    }
