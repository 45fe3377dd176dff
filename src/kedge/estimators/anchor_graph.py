"""What all clusterers on anchor graphs share: a fit of views, and what it says about new rows."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from kedge.engines.checkpoint import Checkpoint
from kedge.engines.choose import choose_engine
from kedge.engines.library_threads import one_thread_per_library
from kedge.estimators.anchor_counts import checked_anchor_count, checked_given_anchors, default_set_count
from kedge.estimators.anchor_sets import AnchorPlan, AnchorSets, spread_sizes
from kedge.estimators.automatic.cluster_count import find_cluster_count
from kedge.estimators.automatic.parameters import AUTOMATIC, is_automatic, open_parameters
from kedge.estimators.checkpoint_identity import fit_identity
from kedge.estimators.fitting import FitPlan, FittedGraph, build_state, fit_rows
from kedge.estimators.html_summary import html_with_summary
from kedge.estimators.parameter_rules import threads_for
from kedge.estimators.progress import show_progress
from kedge.estimators.stored_input import FLOATS
from kedge.estimators.view_input import Views
from kedge.model.block_step import RowBlock
from kedge.model.label_rows import cluster_coordinates, nearest_center
from kedge.model.new_rows import RowEmbedder, vote_over_views
from kedge.model.pass_state import column_layout
from kedge.model.row_problem import mirrored
from kedge.model.structure_penalty import EmbeddingPenalty, spread_over_columns
from kedge.model.view_scaling import ViewScaling
from kedge.model.view_weighting import ViewWeighting
from kedge.row_store.stored_graph import StoredGraph
from kedge.sources.arrays import ArraySource, learn_array_scaling
from kedge.sources.contract import RowSource


class AnchorGraphClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Base of the estimators; parameters and attributes are documented on them."""

    n_clusters: int | str
    n_clusters_range: Any
    n_anchors: int | str
    anchors: Any
    alpha: float | str
    beta: float | str
    locality: float | str
    scale: Any
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
    scratch_folder: str | Path | None
    checkpoint: str | Path | None

    # What scikit-learn shows in notebooks.
    _html_repr = html_with_summary

    @classmethod
    def automatic(cls, n_clusters: int | str = "auto", **parameters: Any) -> Self:
        """Return an estimator that leaves everything to the data; no label and no tuning.

        Some seventy settings (how anchors are chosen and how many, ``alpha``, ``locality``) are tried on at most 4,000
        rows. Each is judged by modularity: how many of the edges between near rows its clusters keep, beyond chance.
        Then 48 sets of anchors vote, the better settings more often, and ``labels_`` is what their clusterings agree
        on. ``graph_`` and ``predict`` are of the best setting with anchors chosen as ``anchors`` says. ``beta`` and
        ``gamma`` are compared in whole fits of the sample. ``auto_report_`` tells what was tried and why.

        The trials do not grow with the rows; on small data all of it takes several times a plain fit.

        Parameters
        ----------
        n_clusters : int or "auto", default="auto"
            Number of clusters.
        **parameters
            Any other parameter of the class. A value given here for ``alpha``, ``beta``, ``gamma``, ``locality`` or
            ``n_anchors`` is kept, and only the others are left to the data.

        Returns
        -------
        estimator
            An unfitted estimator.
        """
        opened = {name: "auto" for name in AUTOMATIC if name in cls._get_param_names()}
        return cls(n_clusters, **(opened | parameters))

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
            if not sparse.issparse(graph):  # on disk, or on the workers of a cluster
                graph = graph.to_csr() if isinstance(graph, StoredGraph) else sparse.csr_array(graph.compute())
                state = state | {name: np.asarray(state[name]) for name in ("embedding_", "labels_", "confidence_")}
            state = state | {"graph_": [graph.data, graph.indices, graph.indptr, list(graph.shape)]}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the graph as a sparse array."""
        if "graph_" in state:
            *parts, shape = state["graph_"]
            state = state | {"graph_": sparse.csr_array(tuple(parts), shape=tuple(shape))}
        super().__setstate__(state)

    # What the estimators say about themselves.

    def _weighting(self, prior: NDArray[np.float64], gamma: float) -> ViewWeighting:
        raise NotImplementedError

    def _given_prior(self, views: Views) -> NDArray[np.float64] | None:
        """Return how much each view counts beforehand; None if that is to be learnt."""
        return np.ones(len(views.names))

    def _published_norm(self) -> str:
        raise NotImplementedError

    def _given_anchors(self, views: Views) -> list[Any]:
        raise NotImplementedError

    def _per_view(self, parts: list[Any]) -> Any:
        """Return a list with one member per view in the form of the estimator's attributes."""
        raise NotImplementedError

    def _from_per_view(self, attribute: Any) -> list[Any]:
        raise NotImplementedError

    def _scales(self, views: Views) -> list[str]:
        raise NotImplementedError

    def _alignment(self) -> str:
        return "joint"

    # Fit.

    def _fit_views(self, views: Views) -> Self:
        """Cluster checked views; attributes are set at the end, all at once."""
        random_state = check_random_state(self.random_state)
        masks = [None] * len(views.names) if views.observed is None else views.observed.T
        # A long sum has other last bits on other numbers of threads, and the choice of anchors amplifies them.
        with one_thread_per_library():
            scalings = [
                learn_array_scaling(kind, array, name, mask)
                for kind, array, name, mask in zip(self._scales(views), views.arrays, views.names, masks, strict=True)
            ]
        source = self._source(views, scalings)
        n_clusters, evidence = find_cluster_count(self, source, random_state)
        plan = self._plan(views, scalings, n_clusters)
        if plan.as_published and not (source.in_memory and self.checkpoint is None):
            raise ValueError("recipe='published' goes over all rows at once: load X into memory, without checkpoint")
        with show_progress(self.verbose) as progress, self._checkpoint_for(views) as checkpoint:
            fitted = fit_rows(source, replace(plan, checkpoint=checkpoint), random_state, progress)
        if evidence is not None:
            fitted = replace(fitted, auto_report=(fitted.auto_report or {}) | {"n_clusters": evidence})
        self._keep(fitted, scalings, n_clusters)
        return self

    @contextmanager
    def _checkpoint_for(self, views: Views) -> Iterator[Checkpoint | None]:
        """Yield the checkpoint of this fit, which is removed when the fit is finished, and kept if it is not."""
        if self.checkpoint is None:
            yield None
            return
        checkpoint = Checkpoint(self.checkpoint, fit_identity(self, views))
        try:
            yield checkpoint
            checkpoint.remove()
        finally:
            checkpoint.close()

    @staticmethod
    def _source(views: Views, scalings: list[ViewScaling]) -> ArraySource:
        return ArraySource(views.arrays, scalings, views.observed, views.names)

    def _plan(self, views: Views, scalings: list[ViewScaling], n_clusters: int) -> FitPlan:
        """Resolve the parameters against the data; parameters themselves stay as they are."""
        published = self.recipe == "published"
        opened = open_parameters(self, n_clusters, views.observed is not None)
        anchors = self._anchor_plan(views, scalings, published, n_clusters)
        return FitPlan(
            n_clusters=n_clusters,
            anchors=anchors,
            alpha=opened.choices.alphas[0],
            beta=opened.betas[0],
            relative_penalties=self.penalty_scale == "relative",
            penalty=self.penalty,
            locality=opened.choices.localities[0],
            exact=self.structure == "exact",
            weighting=self._weighting,
            gamma=opened.gammas[0],
            view_prior=self._given_prior(views),
            max_iter=self.max_iter,
            tol=float(self.tol),
            n_threads=threads_for(self.n_jobs),
            published_norm=self._published_norm() if published else None,
            first_penalty=self._checked_first_penalty(views.n_rows, sum(anchors.sizes) * (2 if self.signed else 1)),
            callback=self.callback,
            scratch_folder=self.scratch_folder,
            open_to_data=opened if is_automatic(self) else None,
        )

    def _anchor_plan(self, views: Views, scalings: list[ViewScaling], published: bool, n_clusters: int) -> AnchorPlan:
        given: list[Any] | None = None
        if isinstance(self.anchors, str):
            n_anchors = checked_anchor_count(self.n_anchors, views.n_rows, n_clusters)
            n_sets = (
                default_set_count(views.n_rows, self.n_anchors) if isinstance(self.n_init, str) else int(self.n_init)
            )
            sizes = spread_sizes(n_anchors, n_sets, n_clusters, views.n_rows)
        else:
            checked_anchor_count("auto", views.n_rows, n_clusters)
            checked = checked_given_anchors(self._given_anchors(views), n_clusters, views.names, views.widths)
            dtype = np.result_type(*(array.dtype for array in views.arrays))
            given = [scaling.apply(one.astype(dtype)) for scaling, one in zip(scalings, checked, strict=True)]
            sizes = (len(given[0]),)
        return AnchorPlan(
            sizes=sizes,
            method=self.anchors if given is None else "given",
            alignment=self._alignment(),
            asked_for=None if isinstance(self.n_anchors, str) else int(self.n_anchors),
            given=given,
            signed=bool(self.signed),
            as_published=published,
            n_threads=threads_for(self.n_jobs),
        )

    def _checked_first_penalty(self, n_rows: int, n_columns: int) -> NDArray[np.float64] | None:
        if self.first_penalty is None:
            return None
        penalty = check_array(self.first_penalty, dtype=np.float64, input_name="first_penalty")
        if penalty.shape != (n_rows, n_columns):
            raise ValueError(f"first_penalty must have shape {(n_rows, n_columns)}, got {penalty.shape}")
        return np.asarray(penalty)

    def _keep(self, fitted: FittedGraph, scalings: list[ViewScaling], n_clusters: int) -> None:
        """Store what was found, all at once and after everything that can fail."""
        self.labels_ = fitted.labels
        self.graph_ = fitted.graph
        self.anchors_ = self._per_view(fitted.anchors)
        self.anchor_labels_ = fitted.anchor_labels
        self.embedding_ = fitted.embedding
        self.anchor_embedding_ = fitted.anchor_embedding
        self.objective_ = np.array(fitted.objective)
        self.n_iter_ = len(fitted.objective)
        self.n_components_ = fitted.n_components
        self.singular_values_ = fitted.singular_values
        self.cluster_centers_ = fitted.centers
        self.ridge_factors_ = fitted.ridge_factors
        self.confidence_ = fitted.confidence
        self.auto_report_ = fitted.auto_report
        self.n_clusters_ = n_clusters
        # From here on what prediction needs.
        self.embedding_anchors_ = self._per_view(fitted.soft_anchors)
        self.anchor_set_sizes_ = np.array(fitted.set_sizes)
        self.problem_weights_ = np.array(fitted.problem_weights)
        self.row_map_ = fitted.row_map
        self.ridge_, self.locality_ = fitted.ridge, fitted.locality
        self.penalty_weight_, self.penalty_targets_ = 0.0, None
        if fitted.penalty is not None:
            self.penalty_weight_ = fitted.penalty.weight
            self.penalty_targets_ = np.where(fitted.penalty.unused[:, None], np.nan, fitted.penalty.targets)
        self.scalings_ = [vars(scaling) | {} for scaling in scalings]
        self._n_features_out = n_clusters

    # New rows.

    def _predict_views(self, views: Views) -> Any:
        check_is_fitted(self)
        if self.predict_with == "graph":
            nearest = partial(_nearest_cluster, self._embedder(), self._damping(), self.cluster_centers_)
            source = self._source(views, self._scalings())
            return self._map_new_rows(source, nearest, width=None, dtype=np.int64)
        anchors, labels = self._from_per_view(self.anchors_), self.anchor_labels_
        if self.signed:
            anchors, labels = [mirrored(one) for one in anchors], np.tile(labels, 2)
        if self.n_neighbors > len(labels):
            raise ValueError(f"n_neighbors={self.n_neighbors} is more than the {len(labels)} anchors; lower it")
        vote = partial(_vote, anchors, self.problem_weights_.tolist(), labels, self.n_neighbors)
        source = self._source(views, self._scalings())
        if source.in_memory and len(views.names) == 1:
            # One call for all rows: the search for neighbours brings its own blocks and threads.
            return vote(RowBlock(slice(0, views.n_rows), source.read(slice(0, views.n_rows))))
        return self._map_new_rows(source, vote, width=None, dtype=np.int64)

    def _transform_views(self, views: Views) -> Any:
        source, width = self._source(views, self._scalings()), self.anchor_embedding_.shape[1]
        return self._map_new_rows(source, self._embedder().embed, width=width, dtype=source.dtype)

    def _damping(self) -> NDArray[np.float64] | None:
        """Return what damps the directions of the embedding before centres are compared; None as published."""
        return None if self.recipe == "published" else self.singular_values_

    def _map_new_rows(
        self, source: RowSource, function: Callable[[RowBlock], NDArray[Any]], *, width: int | None, dtype: Any
    ) -> Any:
        """Apply a function to new rows block by block."""
        n_columns = len(self.row_map_) * (2 if self.signed else 1)
        engine = choose_engine(source, n_columns, threads_for(self.n_jobs))
        try:
            with one_thread_per_library():
                return engine.per_row(function, width=width, dtype=dtype, with_views=True)
        finally:
            engine.close()

    def _embedder(self) -> RowEmbedder:
        sizes = list(self.anchor_set_sizes_)
        layout = column_layout(sizes, self.signed)
        sets = AnchorSets(self._from_per_view(self.embedding_anchors_), sizes)
        # Models saved before there was a choice have the parameter alone.
        locality = vars(self).get("locality_", self.locality)
        state = build_state(sets, self.problem_weights_.tolist(), self.ridge_, locality, self.signed)
        penalty = None
        if self.penalty_targets_ is not None:
            unused: NDArray[np.bool_] = np.isnan(self.penalty_targets_[:, 0])
            targets = np.where(unused[:, None], 0.0, self.penalty_targets_)
            leading = self.row_map_[:, : targets.shape[1]]
            penalty = EmbeddingPenalty(self.penalty_weight_, leading, targets, unused)
            penalty = spread_over_columns(penalty, layout.anchor_of)
        n_kept = self.anchor_embedding_.shape[1]
        return RowEmbedder(state, self.row_map_[layout.anchor_of], penalty, self.n_iter_, n_kept)

    def _scalings(self) -> list[ViewScaling]:
        return [ViewScaling(**parts) for parts in self.scalings_]


def _vote(
    anchors: list[NDArray[Any]],
    weights: list[float],
    anchor_labels: NDArray[np.int64],
    n_neighbors: int,
    block: RowBlock,
) -> NDArray[np.int64]:
    return vote_over_views(block.views, block.observed, anchors, weights, anchor_labels, n_neighbors)


def _nearest_cluster(
    embedder: RowEmbedder, damping: NDArray[np.float64] | None, centers: NDArray[np.float64], block: RowBlock
) -> NDArray[np.int64]:
    embedded = embedder.embed_all(block)
    return nearest_center(embedded if damping is None else cluster_coordinates(embedded, damping), centers)


def checked_anchor_array(anchors: Any, name: str) -> NDArray[Any]:
    """Return given anchors as a float array."""
    return np.asarray(check_array(anchors, dtype=FLOATS, input_name=name))
