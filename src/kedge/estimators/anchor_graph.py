"""What all clusterers on anchor graphs share: fit, predict, transform."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from kedge.engines.in_memory import InMemoryEngine, one_thread_per_library
from kedge.estimators.anchor_counts import checked_anchor_count, checked_given_anchors, default_set_count
from kedge.estimators.anchor_sets import AnchorPlan, AnchorSets, spread_sizes
from kedge.estimators.fitting import FitPlan, FittedGraph, build_state, fit_rows
from kedge.estimators.parameter_rules import checked_fit, threads_for
from kedge.estimators.progress import show_progress
from kedge.model.label_rows import cluster_coordinates, nearest_center
from kedge.model.new_rows import RowEmbedder, vote_of_anchors
from kedge.model.pass_state import column_layout
from kedge.model.row_problem import View, mirrored
from kedge.model.structure_penalty import EmbeddingPenalty, spread_over_columns
from kedge.model.view_scaling import ViewScaling
from kedge.sources.arrays import ArraySource, learn_array_scaling

_FLOATS = [np.float64, np.float32]


class AnchorGraphClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Base of the estimators; parameters and attributes are documented on them."""

    n_clusters: int
    n_anchors: int | str
    anchors: Any
    alpha: float
    beta: float
    locality: float
    scale: str
    penalty_scale: str
    penalty: str
    structure: str
    signed: bool
    n_neighbors: int
    predict_with: str
    recipe: str
    first_penalty: Any
    max_iter: int
    tol: float
    n_init: int | str
    random_state: Any
    n_jobs: int | None
    verbose: int
    callback: Any

    def __sklearn_tags__(self) -> Any:
        """Say that sparse input is welcome and that float32 stays float32."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Store the graph as plain arrays, which secure file formats trust, unlike SciPy's sparse arrays."""
        state: dict[str, Any] = super().__getstate__()
        if "graph_" in state:
            graph = state["graph_"]
            state = state | {"graph_": [graph.data, graph.indices, graph.indptr, list(graph.shape)]}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the graph as a sparse array."""
        if "graph_" in state:
            *parts, shape = state["graph_"]
            state = state | {"graph_": sparse.csr_array(tuple(parts), shape=tuple(shape))}
        super().__setstate__(state)

    @checked_fit
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows to cluster; sparse input is never made dense.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=_FLOATS)
        random_state = check_random_state(self.random_state)
        scaling = learn_array_scaling(self.scale, X)
        plan = self._plan(X, scaling)
        with show_progress(self.verbose) as progress:
            fitted = fit_rows(ArraySource([X], [scaling]), plan, random_state, progress)
        self._keep(fitted, scaling)
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Give new rows the clusters of the fit.

        With ``predict_with="anchors"`` the nearest ``n_neighbors`` labelled anchors vote, at O(n_anchors n_features)
        per row; with "graph" the row problem is solved, the row embedded, and the cluster that of the nearest centre.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each row.
        """
        X = self._checked_rows(X)
        if self.predict_with == "graph":
            return np.concatenate(self._map_new_rows(X, self._nearest_clusters))
        anchors, labels = self.anchors_, self.anchor_labels_
        if self.signed:
            anchors, labels = mirrored(anchors), np.tile(labels, 2)
        if self.n_neighbors > len(anchors):
            raise ValueError(f"n_neighbors={self.n_neighbors} is more than the {len(anchors)} anchors; lower it")
        return vote_of_anchors(self._scaling().apply(X), anchors, labels, self.n_neighbors)

    def transform(self, X: Any) -> NDArray[Any]:
        """Embed new rows: solve their row problems and map the weights to the embedding of the fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_clusters)
            In the space of ``embedding_``.
        """
        return np.concatenate(self._map_new_rows(self._checked_rows(X), self._leading_columns))

    def _leading_columns(self, embedded: NDArray[Any]) -> NDArray[Any]:
        return embedded[:, : self.anchor_embedding_.shape[1]]

    def _checked_rows(self, X: Any) -> View:
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", dtype=_FLOATS, reset=False)

    def _nearest_clusters(self, embedded: NDArray[Any]) -> NDArray[np.int64]:
        if self.recipe != "published":
            embedded = cluster_coordinates(embedded, self.singular_values_)
        return nearest_center(embedded, self.cluster_centers_)

    def _map_new_rows(self, X: View, function: Any) -> list[NDArray[Any]]:
        """Embed new rows block by block and apply a function to every embedded block."""
        embedder = self._embedder()
        engine = InMemoryEngine(ArraySource([X], [self._scaling()]), embedder.state.n_columns, threads_for(self.n_jobs))
        try:
            with one_thread_per_library():
                return engine.map_blocks(lambda block: function(embedder.embed(block.views)))
        finally:
            engine.close()

    def _embedder(self) -> RowEmbedder:
        sizes = list(self.anchor_set_sizes_)
        layout = column_layout(sizes, self.signed)
        state = build_state(AnchorSets([self.embedding_anchors_], sizes), self.ridge_, self.locality, self.signed)
        penalty = None
        if self.penalty_targets_ is not None:
            unused: NDArray[np.bool_] = np.isnan(self.penalty_targets_[:, 0])
            targets = np.where(unused[:, None], 0.0, self.penalty_targets_)
            leading = self.row_map_[:, : targets.shape[1]]
            penalty = EmbeddingPenalty(self.penalty_weight_, leading, targets, unused)
            penalty = spread_over_columns(penalty, layout.anchor_of)
        return RowEmbedder(state, self.row_map_[layout.anchor_of], penalty, self.n_iter_)

    def _scaling(self) -> ViewScaling:
        return ViewScaling(self.scale_kind_, self.scale_shift_, self.scale_factor_, self.scale_size_)

    def _plan(self, X: View, scaling: ViewScaling) -> FitPlan:
        """Resolve the parameters against the data; parameters themselves stay as they are."""
        n_rows, n_features = X.shape
        given = (
            None if isinstance(self.anchors, str) else check_array(self.anchors, dtype=_FLOATS, input_name="anchors")
        )
        if given is None:
            n_anchors = checked_anchor_count(self.n_anchors, n_rows, self.n_clusters)
            n_sets = default_set_count(n_rows, self.n_anchors) if isinstance(self.n_init, str) else int(self.n_init)
            sizes = spread_sizes(n_anchors, n_sets, self.n_clusters, n_rows)
        else:
            checked_anchor_count("auto", n_rows, self.n_clusters)
            given = scaling.apply(checked_given_anchors(given, self.n_clusters, n_features).astype(X.dtype))
            sizes = (len(given),)
        method = self.anchors if given is None else "given"
        return FitPlan(
            n_clusters=self.n_clusters,
            anchors=AnchorPlan(
                sizes=sizes,
                method=method,
                asked_for=None if isinstance(self.n_anchors, str) else int(self.n_anchors),
                given=given,
                signed=bool(self.signed),
                as_published=self.recipe == "published",
                n_threads=threads_for(self.n_jobs),
            ),
            alpha=float(self.alpha),
            beta=float(self.beta),
            relative_penalties=self.penalty_scale == "relative",
            penalty=self.penalty,
            locality=float(self.locality),
            exact=self.structure == "exact",
            as_published=self.recipe == "published",
            max_iter=self.max_iter,
            tol=float(self.tol),
            n_threads=threads_for(self.n_jobs),
            first_penalty=self._checked_first_penalty(n_rows, sum(sizes) * (2 if self.signed else 1)),
            callback=self.callback,
        )

    def _checked_first_penalty(self, n_rows: int, n_columns: int) -> NDArray[np.float64] | None:
        if self.first_penalty is None:
            return None
        penalty = check_array(self.first_penalty, dtype=np.float64, input_name="first_penalty")
        if penalty.shape != (n_rows, n_columns):
            raise ValueError(f"first_penalty must have shape {(n_rows, n_columns)}, got {penalty.shape}")
        return np.asarray(penalty)

    def _keep(self, fitted: FittedGraph, scaling: ViewScaling) -> None:
        """Store what was found, all at once and after everything that can fail."""
        self.labels_ = fitted.labels
        self.graph_ = fitted.graph
        self.anchors_ = fitted.anchors[0]
        self.anchor_labels_ = fitted.anchor_labels
        self.embedding_ = fitted.embedding
        self.anchor_embedding_ = fitted.anchor_embedding
        self.objective_ = np.array(fitted.objective)
        self.n_iter_ = len(fitted.objective)
        self.n_components_ = fitted.n_components
        self.singular_values_ = fitted.singular_values
        self.cluster_centers_ = fitted.centers
        self.ridge_factors_ = fitted.ridge_factors
        # From here on what prediction needs.
        self.embedding_anchors_ = fitted.soft_anchors[0]
        self.anchor_set_sizes_ = np.array(fitted.set_sizes)
        self.row_map_ = fitted.row_map
        self.ridge_ = fitted.ridge
        self.penalty_weight_, self.penalty_targets_ = 0.0, None
        if fitted.penalty is not None:
            self.penalty_weight_ = fitted.penalty.weight
            self.penalty_targets_ = np.where(fitted.penalty.unused[:, None], np.nan, fitted.penalty.targets)
        self.scale_kind_, self.scale_size_ = scaling.kind, scaling.size
        self.scale_shift_, self.scale_factor_ = scaling.shift, scaling.factor
        self._n_features_out = self.n_clusters
