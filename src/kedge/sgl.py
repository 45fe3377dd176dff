"""SGL: clustering of one view through a graph between rows and anchors."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from kedge.clusterer import AnchorGraphClusterer, checked_anchor_array
from kedge.core.view_weights import ViewWeighting
from kedge.inputs import Views, check_matrix, require_fit
from kedge.parameters import SGL_RULES, checked_fit


class SGL(AnchorGraphClusterer):
    """Cluster rows by the graph of weights that rebuild them from anchor points.

    If there are few rows, each is written as a convex combination of m anchors, by ridge-regularised least squares over
    the simplex; if there are many, each is joined to its nearest anchors. The weights form a bipartite graph between
    rows and anchors. It is cut into communities, which are merged down to ``n_clusters``, the pair that loses least
    modularity first. Wide rows are projected onto at most 100 principal components first. For n rows, d features and s
    weights per row, a pass takes O(n m d + n m s) time and O(n s + m^2) memory beyond X. Without the structure penalty
    (``beta=0``) one pass is the whole fit.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Number of clusters; "auto" takes the number that the data suggests, see ``auto_report_["n_clusters"]``. You get
        other numbers from the same fit with :meth:`labels_at`.
    n_clusters_range : tuple of two ints or None, default=None
        Smallest and largest number of clusters that "auto" may find; None sets no limits.
    n_anchors : int or "auto", default="auto"
        Number of anchors of one set. "auto" takes two for every three rows up to 4,000 rows, but at most 1,200, and up
        to 3,000 for more rows, or if rows have at most 10 features. With more than 4,000 rows or at most 10 features, a
        row is joined to its 3 to 5 nearest anchors; otherwise, or with fewer than 400 anchors, it is rebuilt from all
        anchors of a set.
    anchors : {"kmeans", "random", "plusplus", "ffs", "hierarchical"} or array, default="kmeans"
        How anchors are chosen, see :func:`kedge.select_anchors`; or the anchors, of shape (n_anchors, n_features) and
        in the units of X. Where rows are joined to their nearest anchors, "kmeans" is four quick rounds on a sample of
        ten rows per anchor.
    alpha : float or "auto", default=0.1
        Ridge on the weights: larger values spread a row over more anchors. "auto" means the default, here and below.
    beta : float or "auto", default=0.0
        Weight of the structure penalty, which pulls the graph towards ``n_clusters`` components.
    locality : float or "auto", default="auto"
        Weight of the distance to each anchor when rows are rebuilt, which favours near anchors. Zero is the published
        model; "auto" is 0.02.
    scale : {"auto", "none", "zscore", "minmax", "l2", "zscore_l2", "tfidf"}, default="auto"
        How X is scaled first: not at all, columns to mean zero and variance one, columns to [0, 1], rows to unit
        length, columns then rows, or counts weighted by rarity, then rows. "auto" takes "tfidf" for sparse counts, "l2"
        for other sparse rows, "zscore" for dense columns in different units and "none" otherwise; see
        ``scalings_[0]["kind"]``. Learnt in ``fit`` and applied in ``predict``.
    penalty_scale : {"relative", "absolute"}, default="relative"
        "relative" measures ``alpha`` in units of the spread of the anchors, and ``beta`` in that times n_samples /
        n_clusters. "absolute" takes both as they are.
    penalty : {"centroid", "degree"}, default="centroid"
        "centroid" never lets the objective rise; "degree" is the published form.
    partition : {"communities", "spectral"}, default="communities"
        How the graph is cut: into communities of high modularity, merged down to ``n_clusters``; or, as in the paper,
        by k-means on its leading singular vectors.
    structure : {"soft", "exact"}, default="soft"
        "exact": ``graph_`` has exactly ``n_clusters`` connected components and ``labels_`` are those components.
    signed : bool, default=False
        Mirror the anchors, so that x and -x are in one subspace. For linear subspaces through the origin, best with
        ``partition="spectral"``.
    n_neighbors : int, default=1
        How many nearest anchors decide, by majority, with ``predict_with="anchors"``.
    predict_with : {"graph", "anchors"}, default="graph"
        "graph" weighs a row as ``fit`` does and takes the cluster with most of its weight, so fitted rows keep their
        labels; "anchors" lets the nearest anchors decide.
    max_iter : int, default=100
        Largest number of passes over the rows.
    tol : float, default=1e-4
        The fit ends when the objective falls by less than this share in a pass.
    n_init : int or "auto", default="auto"
        Number of anchor sets whose graphs are joined; more sets depend less on luck and take more time. "auto" takes
        at least four up to 4,000 rows, and one to three for more rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the anchors and of the search for communities.
    n_jobs : int or None, default=None
        Blocks of rows solved at a time; None or -1 means every processor. Does not change the result.
    verbose : int, default=0
        1 shows progress on a terminal (needs rich).
    callback : callable or None, default=None
        Called after every iteration with a report (iteration, objective, n_components, seconds). If it returns True,
        the fit stops and keeps the result so far.
    scratch_folder : path or None, default=None
        Storage: where the weights of rows on disk are kept between passes, in temporary files that vanish with the
        model or the process. None means the folder for temporary files.
    checkpoint : path or None, default=None
        Storage: folder that records the fit every few seconds. After a crash or an interrupt, a fit of the same data
        with the same parameters continues from there and ends with the same result. It is emptied at the end. Needs an
        integer ``random_state``.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, from 0, usually in the order of first rows.
    graph_ : CSR array of shape (n_samples, n_anchors)
        Weights of the rows on the anchors; nonnegative, rows sum to one.
    anchors_ : ndarray of shape (n_anchors, n_features)
        The anchors of all sets, in the units of the scaled rows; with ``structure="exact"``, only those in use.
    anchor_labels_ : ndarray of shape (n_anchors,)
        Cluster of each anchor.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Left singular vectors of the scaled (soft) graph, times sqrt(1/2).
    anchor_embedding_ : ndarray of shape (n_anchors, n_clusters)
        Right singular vectors, times sqrt(1/2).
    objective_ : ndarray of shape (n_iter_,)
        The full objective at the end of each iteration.
    n_iter_ : int
        Passes over the rows.
    n_clusters_ : int
        Number of clusters in ``labels_``.
    n_communities_ : int
        Number of communities before merging; the finest layer.
    tree_ : ndarray of shape (n_communities_ - 1, 4)
        The merges, as in SciPy's linkage: the two that merge (communities are 0 to ``n_communities_ - 1``, and row t
        makes ``n_communities_ + t``), the modularity lost, and the size of the union (in rows up to 4,000 rows, in
        anchors for more).
    confidence_ : ndarray of shape (n_samples,) or None
        How sure each label is, from 0 to 1: how far the second cluster is behind in the row's neighbourhood. Look at
        rows below 0.5. Of the dtype of the rows; None after :meth:`as_published`.
    auto_report_ : dict or None
        With ``n_clusters="auto"``, ``auto_report_["n_clusters"]`` holds the number ``chosen``, the candidates
        ``ranked`` with their scores, the ``second`` guess, and its ``closeness``: its score as a share of the best.
    locality_ : float
        The locality of ``graph_``.
    n_components_ : int
        Number of connected components of ``graph_`` that hold a row.
    singular_values_ : ndarray of shape (n_directions,)
        Leading singular values of the scaled graph, in [0, 1]; there is a one for each component. There are n_clusters
        directions; with ``partition="spectral"`` 1.2 times as many, each damped by the square of its value.
    cluster_centers_ : ndarray of shape (n_clusters, n_directions) or None
        With ``partition="spectral"``, centres of the clusters in the damped embedding at unit length.
    ridge_factors_ : ndarray of shape (n_clusters,) or None
        With ``structure="exact"``, the factor by which the ridge of each cluster was raised to connect it.
    scalings_ : list of dicts
        How X was scaled and projected: "kind" and what was learnt.
    embedding_anchors_, anchor_set_sizes_, n_near_, ridge_
        What ``predict`` uses: the anchors of all sets on the principal components, the size of each set, how many
        nearest anchors a row is joined to (None: it is rebuilt from all), and the ridge in absolute units.
    graph_anchors_, used_anchors_, row_map_, problem_weights_, penalty_weight_, penalty_targets_
        Also used by ``predict``: the anchors in ``graph_`` and their numbers, the map from weights to the embedding,
        the view weights, and the structure penalty.
    community_shares_, smoothed_shares_, cluster_shares_, confidence_shares_
        Also used by ``predict``: how the weight on each anchor is shared among communities and among clusters, as it
        is (for labels) and smoothed (for confidence).
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names.

    See Also
    --------
    kedge.communities : The communities on their own.
    kedge.simplex_qp : The row problem on its own.
    kedge.select_anchors : The anchors on their own.

    References
    ----------
    Kang, Lin, Zhu and Xu, "Structured Graph Learning for Scalable Subspace Clustering: From Single-view to
    Multi-view", IEEE Transactions on Cybernetics.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from kedge import SGL
    >>> X, y = make_blobs(300, centers=3, cluster_std=0.5, random_state=0)
    >>> SGL(n_clusters=3, random_state=0).fit(X).labels_.max()
    np.int64(2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = SGL_RULES

    @staticmethod
    def as_published(n_clusters: int, n_anchors: int, alpha: float, beta: float, **parameters: Any) -> "SGL":
        """Return an estimator that follows the authors' release step for step.

        Penalties are absolute, the structure penalty has the published form, anchors come from ten k-means runs on all
        rows, the loop has the release's stopping rule, and k-means on the embedding gives the clusters.

        Parameters
        ----------
        n_clusters, n_anchors, alpha, beta
            As in the paper.
        **parameters
            Any other parameter of :class:`kedge.published.PublishedSGL`.

        Returns
        -------
        PublishedSGL
            An unfitted estimator.
        """
        from kedge.published import PublishedSGL

        return PublishedSGL(n_clusters, n_anchors, alpha, beta, **parameters)

    @checked_fit
    def fit(self, X: Any, y: Any = None, *, must_link: Any = None, cannot_link: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like, sparse matrix, or rows on disk, of shape (n_samples, n_features)
            The rows to cluster; sparse input stays sparse. A path, a memory map, a Zarr array or an HDF5 dataset is
            read block by block: see "How large can it get" in the documentation.
        y : None
            Ignored.
        must_link : array-like of shape (n_pairs, 2) or None, default=None
            Pairs of row numbers. Both rows of a pair get the same label; with (3, 8) and (8, 12), so do rows 3 and 12.
            Pairs also help to decide which communities merge.
        cannot_link : array-like of shape (n_pairs, 2) or None, default=None
            Pairs of row numbers. The two rows of a pair get different labels.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit_views(self._read(X, reset=True), must_link, cannot_link)

    def predict(self, X: Any, *, n_clusters: int | None = None, return_confidence: bool = False) -> Any:
        """Give new rows the clusters of the fit.

        How is set by ``predict_with``; with ``partition="spectral"``, "graph" takes the nearest centre.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            New rows.
        n_clusters : int or None, default=None
            Another layer of the tree, as in :meth:`labels_at`; None means ``n_clusters_``.
        return_confidence : bool, default=False
            Whether to return the confidence, too.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each row; a lazy Dask array if X is one.
        confidence : ndarray of shape (n_samples,)
            How sure each label is; only with ``return_confidence``.
        """
        return self._predict_views(self._read(X, reset=False), n_clusters, return_confidence)

    def transform(self, X: Any) -> Any:
        """Embed new rows: solve their row problems and map the weights to the embedding of the fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_clusters)
            In the space of ``embedding_``; a lazy Dask array if X is one.
        """
        return self._transform_views(self._read(X, reset=False))

    def _read(self, X: Any, reset: bool) -> Views:
        """Check X, which must have the features of the fit unless ``reset`` is set."""
        if not reset:
            require_fit(self)
        return Views([check_matrix(self, X, reset=reset)], ("X",))

    def _weighting(self, prior: NDArray[np.float64], gamma: float) -> ViewWeighting:
        return ViewWeighting()

    def _given_anchors(self, views: Views) -> list[Any]:
        return [checked_anchor_array(self.anchors, "anchors")]

    def _scales(self, views: Views) -> list[str]:
        return [self.scale]

    def _per_view(self, parts: list[Any]) -> Any:
        return parts[0]

    def _from_per_view(self, attribute: Any) -> list[Any]:
        return [attribute]
