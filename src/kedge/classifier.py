"""SGLClassifier: classes of all rows from the labels of a few, on the graph between rows and anchors."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from kedge.clusterer import html_with_summary
from kedge.core.block_step import RowBlock
from kedge.core.rows import join_sets
from kedge.engines.local import GraphRows, graph_in_memory
from kedge.few_labels import (
    CONTRADICTED,
    SHARPNESS,
    evidence,
    fit_sharpness,
    label_system,
    probabilities,
    row_scores,
    scores_of_others,
    size_factors,
    unlabelled_clusters,
)
from kedge.fitted import FittedAnchorGraph
from kedge.given_labels import Labels, checked_prior, known_classes, with_new_names
from kedge.inputs import ReadsViews, Views
from kedge.kernels.selection import one_thread_per_library
from kedge.msgl import MSGL
from kedge.nearest_rows import NearestRows, with_all_features
from kedge.parameters import CLASSIFIER_RULES, checked_fit
from kedge.partition.communities import cut_tree


class SGLClassifier(ReadsViews, FittedAnchorGraph, ClassifierMixin, BaseEstimator):
    """Classify rows from a few labels, through the graph between rows and anchors.

    The graph is that of :class:`kedge.SGL`, or :class:`kedge.MSGL` for several views. A label counts for rows that
    share anchors with the labelled row, and for rows of its community; what reaches a row from all labels decides its
    class. A few wrong labels do little harm, because the labels around them count, too. Sparse rows, up to 4,000 of
    them, are also joined to their ten nearest rows, because documents share words that no anchor shows. For n rows, m
    anchors and s weights per row, this takes a fit of the graph and about O(n s^2 + m s^2) per class.

    Parameters
    ----------
    new_classes : "auto" or None, default=None
        "auto": clusters that hold no label, or hardly any, become classes of their own. They are named by the next
        whole numbers, or "new 1", "new 2" and so on.
    class_prior : array-like of shape (n_classes,) or None, default=None
        Expected share of each class among the rows, in the order of ``classes_``. None takes classes of equal size
        where labels are few, and leaves the sizes to the labels where they are many.
    keep_labels : bool, default=True
        Whether rows keep the label that you gave them in ``transduction_`` and ``label_distributions_``. If not, the
        other labels decide, as for rows without one; this takes time with the cube of the anchors.
    views, scale, n_anchors, n_init, random_state, n_jobs, verbose, scratch_folder
        The graph, as in :class:`kedge.MSGL`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, those of ``y`` in ascending order and then new ones.
    transduction_ : ndarray of shape (n_samples,)
        The class of each row of the fit.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        The probabilities of the classes for each row of the fit.
    labelled_rows_ : ndarray of shape (n_labelled,)
        The rows that had a label.
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row, as if there were no labels.
    row_graph_ : csr_array of shape (n_samples, n_samples) or None
        The ten nearest rows of each row, if rows are few and sparse; else None.
    class_scores_, class_factors_, sharpness_, labelled_classes_, community_classes_, joined_rows_
        What ``predict`` and ``label_disagreement_`` use: the scores of the classes on anchors, joined rows and
        communities, a factor for the size of each class, the power of scores that probabilities are proportional to,
        the number of the class of each labelled row, and that of each community that is (part of) a new class, -1 for
        all others; the scaled rows behind ``row_graph_``.
    graph_, anchors_, anchor_labels_, embedding_, anchor_embedding_, tree_, n_clusters_, n_communities_, scalings_
        The graph and its clusters, as in :class:`kedge.SGL`, and so are all attributes that are not listed here.
    view_names_, view_weights_, view_weights_history_, view_prior_
        The views and how much each counts, as in :class:`kedge.MSGL`.
    n_features_in_ : int
        Number of features of all views.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X was one matrix with names.

    See Also
    --------
    SGL : Clusters without labels.

    Notes
    -----
    Rows without a label have ``y`` -1, NaN, None or an empty text. If y holds only -1 and one other number, both are
    classes, as scikit-learn's binary labels may be; with ``new_classes="auto"``, -1 always means no label.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from kedge import SGLClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> known = np.full(len(y), -1)
    >>> known[:50] = y[:50]
    >>> model = SGLClassifier(random_state=0).fit(X, known)
    >>> bool((model.transduction_ == y).mean() > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CLASSIFIER_RULES
    _html_repr = html_with_summary

    classes_: Any
    transduction_: Any
    label_distributions_: NDArray[np.float64]
    labelled_rows_: NDArray[np.int64]
    labelled_classes_: NDArray[np.int64]
    community_classes_: NDArray[np.int64]
    class_scores_: NDArray[np.float64]
    class_factors_: NDArray[np.float64]
    sharpness_: float
    joined_rows_: list[Any] | None
    row_graph_: sparse.csr_array | None

    # Fixed parameters of the graph.
    signed = False
    predict_with = "graph"
    n_neighbors = 1

    def __init__(
        self,
        *,
        new_classes: str | None = None,
        class_prior: Any = None,
        keep_labels: bool = True,
        views: Any = None,
        scale: Any = "auto",
        n_anchors: int | str = "auto",
        n_init: int | str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        scratch_folder: str | Path | None = None,
    ) -> None:
        self.new_classes = new_classes
        self.class_prior = class_prior
        self.keep_labels = keep_labels
        self.views = views
        self.scale = scale
        self.n_anchors = n_anchors
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.scratch_folder = scratch_folder

    @checked_fit
    def fit(self, X: Any, y: Any, observed: Any = None) -> Self:
        """Learn the classes of all rows.

        Parameters
        ----------
        X : array-like, sparse matrix, rows on disk, list or dict of views
            The rows, with and without labels, in any form that :class:`kedge.SGL` or :class:`kedge.MSGL` takes.
        y : array-like of shape (n_samples,)
            The class of each row; -1, NaN, None or an empty text where it is unknown.
        observed : array-like of bool of shape (n_samples, n_views) or None, default=None
            Which views each row has, as in :class:`kedge.MSGL`.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        views = self._read(X, observed, reset=True)
        labels = self._read_labels(y)
        check_consistent_length(views.arrays[0], labels.known)
        graph = self._fit_graph(views, len(labels.classes))
        found = {name: value for name, value in vars(graph).items() if name.endswith("_")}
        self.__dict__.update(found | self._join_rows(views, graph))
        self.__dict__.update(self._learn_classes(labels))
        self._distribute()
        return self

    def update_labels(self, y: Any) -> Self:
        """Learn the classes of the same rows anew, from other labels; the graph stays.

        This takes a small part of the time of ``fit``. Use it while you label rows, or correct their labels.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            The class of each row of the fit, as in ``fit``: all that are known by now.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_is_fitted(self)
        labels = self._read_labels(y)
        check_consistent_length(self.graph_, labels.known)
        self.__dict__.update(self._learn_classes(labels))
        self._distribute()
        return self

    def _read_labels(self, y: Any) -> Labels:
        if y is None:
            raise ValueError(
                "SGLClassifier requires y to be passed, but the target y is None; for clusters without labels, use SGL"
            )
        known, classes = known_classes(y, self.new_classes is not None)
        if self.class_prior is None:
            return Labels(known, classes, None)
        if self.new_classes is not None:
            raise ValueError(
                "class_prior cannot name classes that are not known yet; leave out class_prior or new_classes"
            )
        return Labels(known, classes, checked_prior(self.class_prior, len(classes)))

    def _fit_graph(self, views: Views, n_classes: int) -> MSGL:
        """Fit the graph and its communities; they need not be told apart further than the classes."""
        shared = ("scale", "n_anchors", "n_init", "random_state", "n_jobs", "verbose", "scratch_folder")
        parameters = {name: getattr(self, name) for name in shared}
        graph = MSGL("auto" if self.new_classes else min(n_classes, views.n_rows), **parameters)
        return graph._fit_views(views)

    def _join_rows(self, views: Views, graph: MSGL) -> dict[str, Any]:
        """Return the attributes that join few sparse rows to each other."""
        scalings, weights = graph._scalings(), graph.problem_weights_.tolist()
        with one_thread_per_library():
            nearest = NearestRows.of_fit(self._source(views, with_all_features(scalings)), weights, scalings)
            if nearest is None:
                return {"joined_rows_": None, "row_graph_": None}
            return {"joined_rows_": list(nearest.rows), "row_graph_": nearest.find(nearest.rows, None)}

    def _nearest_rows(self) -> NearestRows | None:
        if self.joined_rows_ is None:
            return None
        return NearestRows(self.joined_rows_, self.problem_weights_.tolist(), self._scalings())

    def _columns(self) -> tuple[Any, NDArray[np.float64]]:
        """Return the weights of the rows on anchors and joined rows, and the shares of these in the communities."""
        if self.row_graph_ is None:
            return self.graph_, self.community_shares_
        # The communities of a row are those of its anchors.
        none = np.zeros((self.row_graph_.shape[1], self.community_shares_.shape[1]))
        return join_sets([graph_in_memory(self.graph_), self.row_graph_]), np.vstack([self.community_shares_, none])

    def _learn_classes(self, labels: Labels) -> dict[str, Any]:
        """Return the attributes that the labels give."""
        graph, shares = self._columns()
        rows, classes = labels.rows, labels.classes
        of_communities = np.full(shares.shape[1], -1, dtype=np.int64)
        if self.new_classes is not None:
            cluster_of = cut_tree(self.tree_, shares.shape[1], self.n_clusters_)
            new = unlabelled_clusters(graph, shares, cluster_of, rows)
            of_communities = np.where(new >= 0, new + len(classes), -1)
            classes = with_new_names(classes, int(new.max()) + 1)
        with one_thread_per_library():
            labelled, targets = evidence(graph, shares, rows, labels.known[rows], of_communities)
            system = label_system(graph, labelled, shares)
            scores = system.solve(targets)
            sharpness = fit_sharpness(system, targets, labels.known[rows], labels.prior)
        return {
            "classes_": classes,
            "labelled_rows_": rows,
            "labelled_classes_": labels.known[rows],
            "community_classes_": of_communities,
            "class_scores_": scores,
            "class_factors_": size_factors(scores, system.column_sums, labels.prior, len(rows)),
            "sharpness_": sharpness,
        }

    def _distribute(self) -> None:
        """Set what follows for the rows of the fit."""
        graph, shares = self._columns()
        score = partial(row_scores, shares, self.class_scores_ * self.class_factors_)
        blocks = GraphRows(graph).blocks()
        chances = [probabilities(score(block), self.sharpness_, self._prior()) for block in blocks]
        self.label_distributions_ = np.concatenate(chances)
        given = (
            np.eye(len(self.classes_))[self.labelled_classes_]
            if self.keep_labels
            else self._chances_by_others(self.sharpness_)
        )
        self.label_distributions_[self.labelled_rows_] = given
        self.transduction_ = self.classes_[self.label_distributions_.argmax(axis=1)]

    @property
    def label_disagreement_(self) -> NDArray[np.int64]:
        """Rows whose given label the other labels contradict, the most doubtful first.

        A row is named if the other labels leave its class a probability below 3 %. This is the probability as it is
        where labels are few: many wrong labels lower all probabilities, and would hide each other. Computed when asked
        for, in time with the cube of the anchors.
        """
        check_is_fitted(self)
        given = self._chances_by_others(SHARPNESS)[np.arange(len(self.labelled_rows_)), self.labelled_classes_]
        order = np.argsort(given, kind="stable")
        return np.asarray(self.labelled_rows_[order[given[order] < CONTRADICTED]], dtype=np.int64)

    def _chances_by_others(self, sharpness: float) -> NDArray[Any]:
        """Return the probabilities that the classes of every labelled row get from all other labels."""
        with one_thread_per_library():
            graph, shares = self._columns()
            given = self.labelled_rows_, self.labelled_classes_, self.community_classes_
            labelled, targets = evidence(graph, shares, *given)
            system = label_system(graph, labelled, shares)
            others = scores_of_others(system, targets, self.class_scores_)[: len(self.labelled_rows_)]
        return probabilities(others * self.class_factors_, sharpness, self._prior())

    def predict_proba(self, X: Any, observed: Any = None) -> NDArray[Any]:
        """Return the probabilities of the classes for new rows, in the order of ``classes_``.

        Parameters
        ----------
        X : as in fit
            New rows.
        observed : as in fit
            Which views each row has.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Rows sum to one. Rows that no label reaches get the prior, or equal probabilities.
        """
        views = self._read(X, observed, reset=False)
        nearest, scalings = self._nearest_rows(), self._scalings()
        source = self._source(views, scalings if nearest is None else with_all_features(scalings))
        weigh = self._embedder().weights if nearest is None else partial(nearest.with_anchors, self._embedder())
        scores = self.class_scores_ * self.class_factors_
        find = partial(_predicted, weigh, self._columns()[1], scores, self.sharpness_, self._prior())
        return np.asarray(self._map_new_rows(source, find, width=len(self.classes_), dtype=source.dtype))

    def predict(self, X: Any, observed: Any = None) -> Any:
        """Return the classes of new rows.

        Parameters
        ----------
        X : as in fit
            New rows.
        observed : as in fit
            Which views each row has.

        Returns
        -------
        classes : ndarray of shape (n_samples,)
            The most probable class of each row.
        """
        chances = self.predict_proba(X, observed)
        return self.classes_[chances.argmax(axis=1)]

    def __sklearn_tags__(self) -> Any:
        """Return tags which say that sparse input is fine."""
        tags = ClassifierMixin.__sklearn_tags__(self)
        tags.input_tags.sparse = True
        return tags

    def _prior(self) -> NDArray[np.float64] | None:
        return None if self.class_prior is None else checked_prior(self.class_prior, len(self.classes_))

    def _per_view(self, parts: list[Any]) -> Any:
        return list(parts)

    def _from_per_view(self, attribute: Any) -> list[Any]:
        return list(attribute)


def _predicted(
    weigh: Callable[[RowBlock], sparse.csr_array],
    shares: NDArray[np.float64],
    scores: NDArray[np.float64],
    sharpness: float,
    prior: NDArray[np.float64] | None,
    block: RowBlock,
) -> NDArray[Any]:
    return probabilities(row_scores(shares, scores, replace(block, coefficients=weigh(block))), sharpness, prior)
