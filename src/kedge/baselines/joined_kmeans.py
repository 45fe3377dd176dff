"""JoinedKMeans: k-means on all views side by side, the least that a method for several views has to beat."""

from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse

from kedge.baselines.clusterer import MultiViewBaseline
from kedge.baselines.kmeans import run_kmeans
from kedge.core.labels import nearest_center
from kedge.core.rows import View, side_by_side
from kedge.parameters import COUNT, MULTI_VIEW_BASELINE_RULES


class JoinedKMeans(MultiViewBaseline):
    """k-means on the scaled views side by side.

    Every view is scaled to unit energy, the views are joined to one matrix, and scikit-learn's k-means clusters its
    rows. Nothing is learnt about the views, yet on some data no method for several views does better. O(n d k) time per
    round for n rows, d features in all and k clusters; memory for three or four copies of X, so 24 GB hold some
    ten million rows of 100 features. Sparse views stay sparse, but then all views are joined to a sparse matrix.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    views : list or dict or None, default=None
        Where X is one matrix, the columns of its views: widths, slices, or lists of column names or numbers; a dict
        also names them. None means that such an X is one view.
    n_init : int, default=10
        Starts of k-means; the one with the least sum of squared distances is kept.
    max_iter : int, default=300
        Most rounds of a start.
    scale : {"none", "zscore", "minmax", "l2", "zscore_l2", "auto"}, or a list or dict of them, default="auto"
        How each view is scaled first, as in :class:`kedge.MSGL`.
    memory_limit : float or None, default=None
        Bytes that the fit may use; None means the memory of the machine.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, numbered by their first rows.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centres of the clusters in the scaled views side by side; fewer where too few rows differ.
    inertia_ : float
        Sum of squared distances of the rows to their centres.
    n_iter_ : int
        Rounds of the start that was kept.
    view_names_ : list of str
        Names of the views.

    References
    ----------
    Lloyd, "Least squares quantization in PCM", IEEE Transactions on Information Theory 28, 1982.

    Examples
    --------
    >>> from kedge.baselines import JoinedKMeans
    >>> from kedge.datasets import make_multiview
    >>> views, y = make_multiview(90, n_clusters=3, random_state=0)
    >>> model = JoinedKMeans(3, random_state=0).fit(views)
    >>> bool((model.predict(views) == model.labels_).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = MULTI_VIEW_BASELINE_RULES | {
        "n_init": [COUNT],
        "max_iter": [COUNT],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        views: Any = None,
        n_init: int = 10,
        max_iter: int = 300,
        scale: Any = "auto",
        memory_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, scale, memory_limit, random_state)
        self.views = views
        self.n_init = n_init
        self.max_iter = max_iter

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # Scaled views, those joined, and k-means' labels.
        # Scaling holds two at a time, and k-means makes one of its own; one view is not joined.
        copies = 3 if self._count_views() == 1 else 4
        return 8 * n_samples * (copies * n_features + 3)

    def _cluster(self, views: list[View], random_state: RandomState) -> dict[str, Any]:
        joined = _with_short_indices(side_by_side(views))
        seed = int(random_state.randint(np.iinfo(np.int32).max))
        return run_kmeans(joined, self.n_clusters, n_init=self.n_init, max_iter=self.max_iter, random_state=seed)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Give new rows the clusters of the nearest centres.

        Parameters
        ----------
        X : as in fit
            New rows with the same views.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each row.
        """
        joined = side_by_side(self._read_new_rows(X))
        return nearest_center(joined, self.cluster_centers_)


def _with_short_indices(X: View) -> View:
    """Return sparse rows with 32-bit indices, the only ones that k-means takes."""
    if not sparse.issparse(X) or X.indices.dtype == X.indptr.dtype == np.int32:
        return X
    if X.nnz > np.iinfo(np.int32).max:
        raise ValueError(
            f"k-means takes at most 2^31 - 1 stored entries, X has {X.nnz}; pass fewer rows, or dense ones"
        )
    return sparse.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
