"""SGL: clustering of one view through a graph between rows and anchors."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kedge.clusterer import AnchorGraphClusterer, checked_anchor_array
from kedge.core.view_weights import FixedWeighting, ViewWeighting
from kedge.inputs import Views, check_matrix
from kedge.parameters import SGL_RULES, checked_fit


class SGL(AnchorGraphClusterer):
    """Cluster rows by the graph of weights that rebuild them from anchor points.

    Few rows are each written as a convex combination of m anchors, by ridge-regularised least squares over the simplex;
    many rows are joined to their nearest anchors. The weights are a bipartite graph between rows and anchors, which is
    cut into communities; these are merged, the pair that loses least modularity first, down to ``n_clusters``. Wide
    rows are projected onto at most 100 principal components first. For n rows, d features and s weights per row, a pass
    takes O(n m d + n m s) time, and memory beyond X is O(n s + m^2). Without the structure penalty (``beta=0``) one
    pass is the whole fit.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Number of clusters; "auto" takes as many as the data suggests, see ``auto_report_["n_clusters"]``. Advice, not
        proof. Other numbers come from the same fit: see :meth:`labels_at`.
    n_clusters_range : tuple of two ints or None, default=None
        Least and most clusters that "auto" may find; None sets no limits.
    n_anchors : int or "auto", default="auto"
        Number of anchors of one set. "auto" takes two for every three rows, at most 1,200, up to 4,000 rows, and up to
        3,000 beyond, or where rows have at most 10 features. In these two cases a row is joined to its 3 to 5 nearest
        anchors; otherwise, and with fewer than 400 anchors, it is rebuilt from all anchors of a set.
    anchors : {"kmeans", "random", "plusplus", "ffs", "hierarchical"} or array, default="kmeans"
        How anchors are chosen, see :func:`kedge.select_anchors`; or the anchors, of shape (n_anchors,
        n_features) and in the units of X.
    alpha : float or "auto", default=0.1
        Ridge on the weights. Larger values spread a row over more anchors. "auto", here or below, means the default.
    beta : float or "auto", default=0.0
        Weight of the structure penalty, which pulls the graph towards ``n_clusters`` components.
    locality : float or "auto", default="auto"
        Weight of the distance to each anchor where rows are rebuilt: near anchors are preferred. Zero is the published
        model; "auto" is 0.02.
    scale : {"auto", "none", "zscore", "minmax", "l2", "zscore_l2", "tfidf"}, default="auto"
        How X is scaled first: not at all, columns to mean zero and variance one, columns to [0, 1], rows to unit
        length, columns then rows, or counts weighted by rarity, then rows. "auto" takes "tfidf" for sparse counts, "l2"
        for other sparse rows, "zscore" for dense columns in different units, else "none"; see
        ``scalings_[0]["kind"]``. Learnt in ``fit``, applied in ``predict``.
    penalty_scale : {"relative", "absolute"}, default="relative"
        Units of ``alpha`` (the mean squared anchor norm) and ``beta`` (that times n_samples / n_clusters), or none.
    penalty : {"centroid", "degree"}, default="centroid"
        "centroid" never lets the objective rise; "degree" is the published form.
    partition : {"communities", "spectral"}, default="communities"
        How the graph is cut: into communities of high modularity, merged down to ``n_clusters``; or, as in the paper,
        by k-means on its leading singular vectors.
    structure : {"soft", "exact"}, default="soft"
        "exact": ``graph_`` has exactly ``n_clusters`` connected components and ``labels_`` are those components.
    signed : bool, default=False
        Mirror the anchors, so that x and -x are in one subspace. For linear subspaces through the origin.
    n_neighbors : int, default=1
        How many nearest anchors decide, by majority, with ``predict_with="anchors"``.
    predict_with : {"graph", "anchors"}, default="graph"
        "graph" weighs a row as ``fit`` does and takes the cluster that holds most of its weight, so fitted rows keep
        their labels; "anchors" takes the nearest labelled anchors.
    max_iter : int, default=100
        Most passes over the rows.
    tol : float, default=1e-4
        The fit ends when the objective falls by less than this share in a pass.
    n_init : int or "auto", default="auto"
        Sets of anchors whose graphs are joined: less luck, more time. "auto" takes four up to 4,000 rows, beyond that
        as many as stay affordable, from one to three.
    random_state : int, RandomState instance or None, default=None
        Seed of the anchors and of the search for communities.
    n_jobs : int or None, default=None
        Blocks of rows solved at a time; None or -1 means every processor. Does not change the result.
    verbose : int, default=0
        1 shows progress on a terminal (needs rich).
    callback : callable or None, default=None
        Called after every iteration with a report (iteration, objective, n_components, seconds); if it returns True the
        fit ends there and keeps the result so far.
    scratch_folder : path or None, default=None
        Where the weights of rows on disk are kept between passes, in files without a name that vanish with the model or
        the process; None means the folder for temporary files.
    checkpoint : path or None, default=None
        Folder in which every finished pass is recorded. A fit of the same data and parameters that is started again
        with it, after a crash or an interrupt, goes on from there and ends with the same result; it is emptied at the
        end. Needs an integer ``random_state``.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, consecutive from 0, as a rule in the order of their first rows.
    graph_ : CSR array of shape (n_samples, n_anchors)
        Weights of the rows on the anchors; nonnegative, rows sum to one.
    anchors_ : ndarray of shape (n_anchors, n_features)
        The anchors of all sets, in the units of the scaled rows; with ``structure="exact"`` those that the graph uses.
    anchor_labels_ : ndarray of shape (n_anchors,)
        Cluster of each anchor.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Left singular vectors of the scaled graph, times sqrt(1/2); of the soft graph also with ``structure="exact"``.
    anchor_embedding_ : ndarray of shape (n_anchors, n_clusters)
        Right singular vectors, likewise.
    objective_ : ndarray of shape (n_iter_,)
        The full objective at the end of each iteration.
    n_iter_ : int
        Passes over the rows.
    n_clusters_ : int
        Number of clusters in ``labels_``.
    n_communities_ : int
        Number of communities before they are merged; the finest layer.
    tree_ : ndarray of shape (n_communities_ - 1, 4)
        The merges, as in SciPy's linkage: the two that merge (communities are 0 to ``n_communities_ - 1``, row t makes
        ``n_communities_ + t``), the modularity lost, and the size of the union (rows up to 4,000 rows, anchors beyond).
    confidence_ : ndarray of shape (n_samples,) or None
        How sure each label is, from 0 to 1: how much less the next cluster holds of the row's surroundings than its
        own does. Rows below 0.5 are worth a look. None after :meth:`as_published`.
    auto_report_ : dict or None
        With ``n_clusters="auto"``, ``auto_report_["n_clusters"]`` holds the number ``chosen``, the candidates
        ``ranked`` with their scores, the ``second`` guess, and its ``closeness``: its score as a share of the best.
        None if the number was given.
    locality_ : float
        The locality of ``graph_``: the parameter, or what the data decided.
    n_components_ : int
        Connected components of ``graph_`` that hold a row.
    singular_values_ : ndarray of shape (n_directions,)
        Leading singular values of the scaled graph, in [0, 1]; as many ones as it has components. There are n_clusters
        directions; with ``partition="spectral"`` 1.2 times as many, rounded up, each damped by the square of its value.
    cluster_centers_ : ndarray of shape (n_clusters, n_directions) or None
        With ``partition="spectral"``, centres of the clusters among the damped rows at unit length.
    ridge_factors_ : ndarray of shape (n_clusters,) or None
        With ``structure="exact"``, by how much the ridge of each cluster was raised to connect it.
    embedding_anchors_ : ndarray of shape (n_all_anchors, n_components)
        The anchors that ``transform`` and prediction by the graph use, on the principal components.
    scalings_ : list of dicts
        How X was scaled and projected: "kind" and what was learnt.
    anchor_set_sizes_ : ndarray of shape (n_sets,)
        How many of them belong to each set.
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

    def __init__(
        self,
        n_clusters: int | str = "auto",
        *,
        n_clusters_range: Any = None,
        n_anchors: int | str = "auto",
        anchors: Any = "kmeans",
        alpha: float | str = 0.1,
        beta: float | str = 0.0,
        locality: float | str = "auto",
        scale: str = "auto",
        penalty_scale: str = "relative",
        penalty: str = "centroid",
        partition: str = "communities",
        structure: str = "soft",
        signed: bool = False,
        n_neighbors: int = 1,
        predict_with: str = "graph",
        max_iter: int = 100,
        tol: float = 1e-4,
        n_init: int | str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
        scratch_folder: Any = None,
        checkpoint: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_clusters_range = n_clusters_range
        self.n_anchors = n_anchors
        self.anchors = anchors
        self.alpha = alpha
        self.beta = beta
        self.locality = locality
        self.scale = scale
        self.penalty_scale = penalty_scale
        self.penalty = penalty
        self.partition = partition
        self.structure = structure
        self.signed = signed
        self.n_neighbors = n_neighbors
        self.predict_with = predict_with
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.scratch_folder = scratch_folder
        self.checkpoint = checkpoint

    @staticmethod
    def as_published(n_clusters: int, n_anchors: int, alpha: float, beta: float, **parameters: Any) -> "SGL":
        """Return an estimator that follows the authors' release step for step.

        Penalties are absolute, the structure penalty has the published form, anchors come from ten k-means runs on all
        rows, the release's stopping rule ends the loop, and k-means on the embedding gives the clusters.

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
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like, sparse matrix, or rows on disk, of shape (n_samples, n_features)
            The rows to cluster; sparse input is never made dense. A path, a memory map, a Zarr array or an HDF5
            dataset is read block by block: see "How large can it get" in the documentation.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit_views(self._read(X, reset=True))

    def predict(self, X: Any, *, n_clusters: int | None = None, return_confidence: bool = False) -> Any:
        """Give new rows the clusters of the fit.

        With ``predict_with="graph"`` a row is weighed as in ``fit`` and gets the cluster that holds most of its weight,
        with ``partition="spectral"`` that of the nearest centre; with "anchors" the nearest ``n_neighbors`` labelled
        anchors decide.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            New rows.
        n_clusters : int or None, default=None
            Another layer of the tree, as in :meth:`labels_at`; None means ``n_clusters_``.
        return_confidence : bool, default=False
            Whether to return how sure the labels are as well.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each row; of Dask arrays a lazy Dask array.
        confidence : ndarray of shape (n_samples,)
            How sure each label is, as ``confidence_``; only with ``return_confidence``.
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
            In the space of ``embedding_``; of Dask arrays a lazy Dask array.
        """
        return self._transform_views(self._read(X, reset=False))

    def _read(self, X: Any, reset: bool) -> Views:
        """Check X, in memory or not; ``reset`` in fit, else it must have the features of the fit."""
        if not reset:
            check_is_fitted(self)
        return Views([check_matrix(self, X, reset=reset)], ("X",))

    def _weighting(self, prior: NDArray[np.float64], gamma: float) -> ViewWeighting:
        return FixedWeighting()

    def _given_anchors(self, views: Views) -> list[Any]:
        return [checked_anchor_array(self.anchors, "anchors")]

    def _scales(self, views: Views) -> list[str]:
        return [self.scale]

    def _per_view(self, parts: list[Any]) -> Any:
        return parts[0]

    def _from_per_view(self, attribute: Any) -> list[Any]:
        return [attribute]
