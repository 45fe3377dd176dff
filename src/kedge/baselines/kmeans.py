"""k-means, as scikit-learn has it."""

from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from sklearn import cluster

from kedge.baselines.base import Array, Labels, LabelsNewRows, SingleViewBaseline, baseline, parameter
from kedge.core.labels import nearest_center, number_by_first_rows
from kedge.core.rows import View
from kedge.parameters import COUNT


@baseline("k-means of scikit-learn", cost="n k d per round")
class KMeans(LabelsNewRows, SingleViewBaseline):
    """k-means: every row belongs to the nearest of k means; scikit-learn's, with the interface of the other baselines.

    O(n k d) time per round for n rows of d features, and memory for one more copy of X. Runs on as many threads as
    scikit-learn takes.

    Parameters
    ----------
    n_init : int, default=10
        Starts; the one with the least sum of squared distances is kept.
    max_iter : int, default=300
        Most rounds of a start.

    Attributes
    ----------
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

    n_init: int = parameter(COUNT, default=10)
    max_iter: int = parameter(COUNT, default=300)

    _one_thread: ClassVar[bool] = False

    cluster_centers_: Array = field(init=False)

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # A centred copy, and some numbers per row.
        return 8 * (n_samples * (n_features + 4) + self.n_clusters * n_features)

    def _label(self, rows: View) -> Labels:
        return nearest_center(rows, self.cluster_centers_)

    def _cluster(self, X: View, random_state: np.random.RandomState) -> dict[str, Any]:
        return run_kmeans(X, self.n_clusters, n_init=self.n_init, max_iter=self.max_iter, random_state=random_state)


def run_kmeans(X: View, n_clusters: int, **options: Any) -> dict[str, Any]:
    """Return the attributes of a fit of scikit-learn's k-means."""
    model = cluster.KMeans(n_clusters, **options).fit(X)
    labels = number_by_first_rows(model.labels_)
    # Centre j is that of the rows numbered j. A centre without rows is dropped; k-means warns of it.
    first = np.unique(labels, return_index=True)[1]
    return {
        "labels_": labels,
        "cluster_centers_": np.ascontiguousarray(model.cluster_centers_[model.labels_[first]]),
        "inertia_": float(model.inertia_),
        "n_iter_": int(model.n_iter_),
    }
