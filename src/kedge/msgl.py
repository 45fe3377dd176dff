"""MSGL: clustering of several views through one graph between rows and anchors."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from kedge.clusterer import AnchorGraphClusterer, checked_anchor_array
from kedge.core.scaling import ViewScaling
from kedge.core.view_weights import NormalisedWeighting, ViewWeighting
from kedge.inputs import ReadsViews, Views
from kedge.parameters import MSGL_RULES, checked_fit, prior_per_view, scale_per_view


@dataclass(eq=False, repr=False)
class MSGL(ReadsViews, AnchorGraphClusterer):
    """Cluster rows that have several views, through one graph that rebuilds all views from anchors.

    Every row has one set of weights on m anchors, and every anchor has a part in each view. How much a view counts is
    learnt: the better the anchors rebuild it, the more. Otherwise the model is that of :class:`kedge.SGL`, which is the
    case of one view. A row may lack views; the others then decide its weights. With d features in all and s weights per
    row, a pass over n rows takes O(n m d + n m s) time; there are a few passes.

    X is a list of matrices with one row per sample (dense, sparse, data frames, mixed), a dict of them by name, a
    MuData object, or one matrix with ``views``. A row lacks a view if it is all NaN there, or if ``observed`` says so.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Number of clusters; "auto" takes the number that the data suggests, see ``auto_report_["n_clusters"]``. You get
        other numbers from the same fit with :meth:`labels_at`.
    views : list or dict or None, default=None
        If X is one matrix, the columns of its views: widths, slices, or lists of column names or numbers; a dict also
        names them. None means one view.
    n_anchors : int or "auto", default="auto"
        Number of anchors of one set. "auto" takes two for every three rows up to 4,000 rows, but at most 1,200, and up
        to 3,000 for more rows, or if rows have at most 10 features. With more than 4,000 rows or at most 10 features, a
        row is joined to its 3 to 5 nearest anchors; otherwise, or with fewer than 400 anchors, it is rebuilt from all
        anchors of a set.
    anchors : {"kmeans", "random", "plusplus", "ffs", "hierarchical"} or list of arrays, default="kmeans"
        How anchors are chosen, see :func:`kedge.select_anchors`; or the anchors, one array of shape (n_anchors,
        n_features of the view) per view, in the units of X.
    anchor_alignment : {"joint", "aligned", "per_view"}, default="joint"
        "joint": chosen once from all views side by side, so that anchor j is one prototype in every view. "aligned":
        chosen per view, then matched by an assignment on the rows that views share. "per_view": chosen per view and not
        matched, as published; one set of weights then cannot suit two views at once.
    gamma : float or "auto", default=-5.0
        How sharply views are weighted; negative. Weights are proportional to e^(-1 / (1 - gamma)) for reconstruction
        errors e: near zero the worse view hardly counts, and far from zero all views count the same.
    view_prior : {"agreement", "equal"}, list or dict of floats, default="agreement"
        How much each view counts before its errors are known; multiplies the weight that the errors give. "agreement"
        takes the mean dependence of the view on the others (Hilbert-Schmidt criterion on a sample of rows):
        reconstruction errors cannot tell a view with clusters from a few columns of noise, but noise has nothing in
        common with the other views. With two views, each counts by the structure of its own graph.
    scale : {"auto", "none", "zscore", "minmax", "l2", "zscore_l2", "tfidf"}, or a list or dict of them, default="auto"
        How each view is scaled first: not at all, columns to mean zero and variance one, columns to [0, 1], rows to
        unit length, columns then rows, or counts weighted by rarity, then rows. "auto" takes "tfidf" for sparse counts,
        "l2" for other sparse views, "zscore" for dense columns in different units and "none" otherwise, and gives all
        views the same energy, so that units do not decide how much a view counts; see ``scalings_[v]["kind"]``. Learnt
        in ``fit`` from the rows that have the view, and applied in ``predict``.
    alpha, beta, locality, penalty_scale, penalty, partition, structure, signed
        The model, as in :class:`kedge.SGL`.
    n_clusters_range, n_neighbors, predict_with, max_iter, tol, n_init, random_state, n_jobs, verbose, callback
        As in :class:`kedge.SGL`.
    scratch_folder, checkpoint
        Storage, as in :class:`kedge.SGL`.

    Attributes
    ----------
    labels_, graph_, anchor_labels_, embedding_, anchor_embedding_, objective_, n_iter_, n_components_
        As in :class:`kedge.SGL`, and so are all attributes that are not listed here.
    n_clusters_, n_communities_, tree_, confidence_, auto_report_, locality_, singular_values_, scalings_
        As in :class:`kedge.SGL`; ``scalings_`` has one dict per view.
    anchors_ : list of ndarrays of shape (n_anchors, n_features of the view)
        The anchors in every view, in the units of the scaled view; other attributes with anchors are lists, too.
    view_weights_ : ndarray of shape (n_views,)
        Weight of each view, in the order of the views; they sum to one (not in :meth:`as_published`).
    view_prior_ : ndarray of shape (n_views,)
        How much each view counted before the fit, with mean one.
    view_weights_history_ : ndarray of shape (n_iter_, n_views)
        The weights at the end of each iteration.
    view_names_ : list of str
        Names of the views: keys of a dict, modalities, or "view 0", "view 1" and so on.
    n_features_in_ : int
        Number of features of all views.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X was one matrix with names.

    See Also
    --------
    SGL : The same for one view.

    References
    ----------
    Kang, Lin, Zhu and Xu, "Structured Graph Learning for Scalable Subspace Clustering: From Single-view to
    Multi-view", IEEE Transactions on Cybernetics.

    Examples
    --------
    >>> from kedge import MSGL
    >>> from kedge.datasets import make_multiview
    >>> views, y = make_multiview(300, random_state=0)
    >>> model = MSGL(n_clusters=len(set(y)), random_state=0).fit(views)
    >>> len(model.view_weights_) == len(views)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = MSGL_RULES

    view_prior_: NDArray[np.float64] = field(init=False)
    view_weights_: NDArray[np.float64] = field(init=False)
    view_weights_history_: NDArray[np.float64] = field(init=False)

    _: KW_ONLY
    views: Any = None
    anchor_alignment: str = "joint"
    gamma: float | str = -5.0
    view_prior: Any = "agreement"

    @staticmethod
    def as_published(
        n_clusters: int, n_anchors: int, alpha: float, beta: float, gamma: float = -1.0, **parameters: Any
    ) -> "MSGL":
        """Return an estimator that follows the authors' release step for step.

        As :meth:`kedge.SGL.as_published`, with separate anchors per view and view weights that do not sum to one.

        Parameters
        ----------
        n_clusters, n_anchors, alpha, beta, gamma
            As in the paper.
        **parameters
            Any other parameter of :class:`kedge.published.PublishedMSGL`.

        Returns
        -------
        PublishedMSGL
            An unfitted estimator.
        """
        from kedge.published import PublishedMSGL

        return PublishedMSGL(n_clusters, n_anchors, alpha, beta, gamma, **parameters)

    @checked_fit
    def fit(
        self, X: Any, y: Any = None, observed: Any = None, *, must_link: Any = None, cannot_link: Any = None
    ) -> Self:
        """Cluster the rows of all views together.

        Parameters
        ----------
        X : list or dict of matrices of shape (n_samples, n_features of the view), MuData object, or one matrix
            The views; sparse ones stay sparse. Views may be on disk, as for :class:`kedge.SGL`.
        y : None
            Ignored.
        observed : array-like of bool of shape (n_samples, n_views) or None, default=None
            Which views each row has; a row of NaN also means that the row lacks the view.
        must_link, cannot_link : array-like of shape (n_pairs, 2) or None, default=None
            Pairs of rows that get the same label, and that get different ones, as in :meth:`kedge.SGL.fit`.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit_views(self._read(X, observed, reset=True), must_link, cannot_link)

    def predict(
        self, X: Any, observed: Any = None, *, n_clusters: int | None = None, return_confidence: bool = False
    ) -> Any:
        """Give new rows the clusters of the fit; they may lack views.

        A row is weighed as in ``fit``, by the views that it has. With ``predict_with="anchors"`` the nearest anchors
        decide, by the weighted sum of squared distances over these views.

        Parameters
        ----------
        X : as in fit
            New rows with the same views; None in a list, or a missing name in a dict, is a view that all rows lack.
        observed : as in fit
            Which views each row has.
        n_clusters : int or None, default=None
            Another layer of the tree, as in :meth:`kedge.SGL.labels_at`; None means ``n_clusters_``.
        return_confidence : bool, default=False
            Whether to return the confidence, too.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each row; a lazy Dask array if X is one.
        confidence : ndarray of shape (n_samples,)
            How sure each label is; only with ``return_confidence``.
        """
        return self._predict_views(self._read(X, observed, reset=False), n_clusters, return_confidence)

    def transform(self, X: Any, observed: Any = None) -> Any:
        """Embed new rows: solve their row problems and map the weights to the embedding of the fit.

        Parameters
        ----------
        X : as in predict
            New rows.
        observed : as in fit
            Which views each row has.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_clusters)
            In the space of ``embedding_``; a lazy Dask array if X is one.
        """
        return self._transform_views(self._read(X, observed, reset=False))

    def _weighting(self, prior: NDArray[np.float64], gamma: float) -> ViewWeighting:
        return ViewWeighting() if len(prior) == 1 else NormalisedWeighting(gamma, prior)

    def _given_prior(self, views: Views) -> NDArray[np.float64] | None:
        return prior_per_view(self.view_prior, views.names)

    def _alignment(self) -> str:
        return self.anchor_alignment

    def _given_anchors(self, views: Views) -> list[Any]:
        if not isinstance(self.anchors, list | tuple):
            raise ValueError(f"anchors must be a list with one array per view ({len(views.names)}), or a method")
        return [checked_anchor_array(one, f"anchors[{number}]") for number, one in enumerate(self.anchors)]

    def _scales(self, views: Views) -> list[str]:
        return scale_per_view(self.scale, views.names)

    def _per_view(self, parts: list[Any]) -> Any:
        return list(parts)

    def _from_per_view(self, attribute: Any) -> list[Any]:
        return list(attribute)

    def _reported_weights(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the view weights of every iteration, scaled to sum to one."""
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def _keep(self, found: dict[str, Any], scalings: list[ViewScaling]) -> None:
        super()._keep(found, scalings)
        history = self._reported_weights(found["view_weights_history_"])
        self.view_prior_ = found["view_prior_"]
        self.view_weights_history_ = history
        self.view_weights_ = history[-1].copy()
