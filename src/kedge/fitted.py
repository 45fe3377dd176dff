"""What a fitted anchor graph can tell: other layers of its tree, and labels of new rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from kedge.core.block_step import ColumnLayout, PassState, RowBlock, column_layout, solve_rows_alone
from kedge.core.driver_step import EmbeddingPenalty, spread_over_columns
from kedge.core.labels import cluster_coordinates, nearest_center, vote_over_views
from kedge.core.rows import NearProblem, RowProblem, build_problems, join_to_nearest, mirrored
from kedge.core.scaling import ViewScaling
from kedge.engines.local import GraphRows, choose_engine
from kedge.few_labels import rows_worth_a_label
from kedge.inputs import Views
from kedge.kernels.selection import one_thread_per_library
from kedge.layers import Layers, ShareLabels, label_by_shares
from kedge.parameters import threads_for
from kedge.readers.arrays import ArraySource

# What embeds the new rows of each fitted estimator, beside what it was made of: setting it up takes longer than a row.
# It is no attribute, because it follows from them, and prediction must not change an estimator.
_EMBEDDERS: WeakKeyDictionary[Any, tuple[tuple[Any, ...], "RowEmbedder"]] = WeakKeyDictionary()
# New rows that are not worth cutting into blocks.
_ROWS_ALONE = 1 << 8


class FittedAnchorGraph:
    """The part of the estimators that uses a fit; :class:`kedge.clusterer.AnchorGraphClusterer` makes one."""

    n_neighbors: int
    n_jobs: int | None
    predict_with: str
    signed: bool
    # The fitted attributes; model files are checked against these types.
    graph_: Any
    labels_: Any
    embedding_: Any
    confidence_: Any
    objective_: NDArray[np.float64]
    n_components_: int
    auto_report_: dict[str, Any] | None
    ridge_factors_: NDArray[np.float64] | None
    graph_anchors_: Any
    embedding_anchors_: Any
    used_anchors_: NDArray[np.intp]
    anchor_labels_: NDArray[np.int64]
    anchor_embedding_: NDArray[np.float64]
    anchor_set_sizes_: NDArray[np.int64]
    cluster_centers_: NDArray[np.float64] | None
    cluster_shares_: NDArray[np.float64]
    confidence_shares_: NDArray[np.float64]
    community_shares_: NDArray[np.float64]
    smoothed_shares_: NDArray[np.float64]
    tree_: NDArray[np.float64]
    row_map_: NDArray[np.float64]
    singular_values_: NDArray[np.float64]
    problem_weights_: NDArray[np.float64]
    penalty_targets_: NDArray[np.float64] | None
    penalty_weight_: float
    ridge_: float
    locality_: float
    n_clusters_: int
    n_communities_: int
    n_iter_: int
    n_near_: int | None
    scalings_: list[dict[str, Any]]

    def __sklearn_tags__(self) -> Any:
        """Return tags which say that sparse input is fine and that float32 stays float32."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _per_view(self, parts: list[Any]) -> Any:
        """Turn a list with one member per view into the form of the estimator's attributes."""
        raise NotImplementedError

    def _from_per_view(self, attribute: Any) -> list[Any]:
        raise NotImplementedError

    @staticmethod
    def _source(views: Views, scalings: list[ViewScaling]) -> ArraySource:
        return ArraySource(views.arrays, scalings, views.observed, views.names)

    @property
    def anchors_(self) -> Any:
        """The anchors that the graph uses, in the units of the scaled rows."""
        check_is_fitted(self)
        reduced = self._from_per_view(self.graph_anchors_)
        return self._per_view([s.restore(own) for s, own in zip(self._scalings(), reduced, strict=True)])

    def labels_at(self, n_clusters: int) -> Any:
        """Return the labels for another number of clusters, without a new fit.

        Parameters
        ----------
        n_clusters : int
            From 1 to ``n_communities_``.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each row, numbered by first rows.
        """
        check_is_fitted(self)
        if _checked_layer(n_clusters, self.n_communities_, self.n_clusters_) == self.n_clusters_:
            return self.labels_
        rows = GraphRows(self.graph_)
        labels = ShareLabels(self._shares_at(n_clusters).shares[self.used_anchors_])
        return np.concatenate([labels.of(block) for block in rows.blocks()])

    def rows_to_label(self, n_rows: int) -> NDArray[np.intp]:
        """Return the rows whose classes are worth asking for, the most telling first.

        Each is the row whose label would lower the uncertainty about all rows most, given those before it (and the
        labels of a :class:`kedge.SGLClassifier`): rows in the middle of many others, spread over the clusters. At most
        a thousand or so evenly spaced rows are compared. Takes time with the cube of the anchors.

        Parameters
        ----------
        n_rows : int
            How many rows to name; fewer if there are no more.

        Returns
        -------
        rows : ndarray of shape (n_rows,)
            Row numbers.
        """
        check_is_fitted(self)
        check_scalar(n_rows, "n_rows", Integral, min_val=1)
        labelled = getattr(self, "labelled_rows_", np.empty(0, dtype=np.intp))
        with one_thread_per_library():
            return rows_worth_a_label(self.graph_, self.community_shares_[self.used_anchors_], labelled, int(n_rows))

    def _shares_at(self, n_clusters: int) -> ShareLabels:
        """Return the shares of each anchor in the clusters of a layer, numbered by first rows."""
        if _checked_layer(n_clusters, self.n_communities_, self.n_clusters_) == self.n_clusters_:
            return ShareLabels(self.cluster_shares_, self.confidence_shares_)
        layers = Layers(self.community_shares_, self.smoothed_shares_, self.tree_)
        layout = ColumnLayout(self.used_anchors_, len(self.community_shares_))
        return label_by_shares(GraphRows(self.graph_), layers, layout, int(n_clusters))[2]

    def _predict_views(self, views: Views, n_clusters: int | None = None, return_confidence: bool = False) -> Any:
        source = self._source(views, self._scalings())
        if self.predict_with == "graph" or n_clusters is not None:
            asked = n_clusters is not None and n_clusters != self.n_clusters_
            if self.cluster_centers_ is not None and not asked:
                find = partial(_nearest_cluster, self._embedder(), self._damping(), self.cluster_centers_)
            else:
                find = partial(_heaviest_cluster, self._embedder(), self._shares_of_columns(n_clusters))
            labels = self._map_new_rows(source, find, width=None, dtype=np.int64)
        else:
            labels = self._vote_of_anchors(views, source)
        if not return_confidence:
            return labels
        sure = partial(_confidence, self._embedder(), self._shares_of_columns(n_clusters))
        return labels, self._map_new_rows(source, sure, width=None, dtype=source.dtype)

    def _shares_of_columns(self, n_clusters: int | None) -> ShareLabels:
        shares = self._shares_at(self.n_clusters_ if n_clusters is None else n_clusters)
        return shares.of_columns(column_layout(self.anchor_set_sizes_.tolist(), True)) if self.signed else shares

    def _vote_of_anchors(self, views: Views, source: ArraySource) -> Any:
        anchors, labels = self._from_per_view(self.graph_anchors_), self.anchor_labels_
        if self.signed:
            anchors, labels = [mirrored(one) for one in anchors], np.tile(labels, 2)
        if self.n_neighbors > len(labels):
            raise ValueError(f"n_neighbors={self.n_neighbors} is more than the {len(labels)} anchors; lower it")
        vote = partial(_vote, anchors, self.problem_weights_.tolist(), labels, self.n_neighbors)
        if source.in_memory and len(views.names) == 1:
            # One call for all rows: scikit-learn's search has its own blocks and threads.
            return vote(RowBlock(slice(0, views.n_rows), source.read(slice(0, views.n_rows))))
        return self._map_new_rows(source, vote, width=None, dtype=np.int64)

    def _transform_views(self, views: Views) -> Any:
        source, width = self._source(views, self._scalings()), self.anchor_embedding_.shape[1]
        return self._map_new_rows(source, self._embedder().embed, width=width, dtype=source.dtype)

    def _damping(self) -> NDArray[np.float64] | None:
        """Return the factors that damp the embedding before it is compared with centres; None for no damping."""
        return self.singular_values_

    def _map_new_rows(
        self, source: ArraySource, function: Callable[[RowBlock], NDArray[Any]], *, width: int | None, dtype: Any
    ) -> Any:
        """Apply a function to new rows: at once if they are few and in memory, block by block otherwise."""
        if source.in_memory and source.n_rows <= _ROWS_ALONE:
            rows = slice(0, source.n_rows)
            with one_thread_per_library():
                return function(RowBlock(rows, source.read(rows), observed=source.observed(rows))).astype(dtype)
        row_entries = len(self.row_map_) * (2 if self.signed else 1)
        if self.n_near_ is not None:
            row_entries = self.n_near_ * len(self.anchor_set_sizes_)
        engine = choose_engine(source, row_entries, threads_for(self.n_jobs))
        try:
            with one_thread_per_library():
                return engine.per_row(function, width=width, dtype=dtype, with_views=True)
        finally:
            engine.close()

    def _embedder(self) -> "RowEmbedder":
        """Return what embeds new rows; it is set up once per fit."""
        made_of = (self.row_map_, self.embedding_anchors_, self.penalty_targets_)
        known = _EMBEDDERS.get(self)
        if known is None or any(one is not other for one, other in zip(known[0], made_of, strict=True)):
            known = _EMBEDDERS[self] = made_of, self._build_embedder()
        return known[1]

    def _build_embedder(self) -> "RowEmbedder":
        weights, anchors = self.problem_weights_.tolist(), self._from_per_view(self.embedding_anchors_)
        sizes = self.anchor_set_sizes_.tolist()
        problem = (weights, self.ridge_, self.locality_, self.signed)
        problems = build_problems(anchors, sizes, self.n_near_, *problem)
        columns = self._anchor_of_columns()
        penalty = None
        if self.penalty_targets_ is not None:
            unused: NDArray[np.bool_] = np.isnan(self.penalty_targets_[:, 0])
            targets = np.where(unused[:, None], 0.0, self.penalty_targets_)
            leading = self.row_map_[:, : targets.shape[1]]
            penalty = EmbeddingPenalty(self.penalty_weight_, leading, targets, unused)
            penalty = spread_over_columns(penalty, columns)
        return RowEmbedder(problems, self.row_map_[columns], penalty, self.n_iter_, self.anchor_embedding_.shape[1])

    def _anchor_of_columns(self) -> NDArray[np.intp]:
        """Return the anchor of each column of the coefficients."""
        if not self.signed:
            return np.arange(len(self.row_map_))
        return column_layout(self.anchor_set_sizes_.tolist(), self.signed).anchor_of

    def _scalings(self) -> list[ViewScaling]:
        return [ViewScaling(**parts) for parts in self.scalings_]


@dataclass(frozen=True)
class RowEmbedder:
    """Solves rows against fixed anchors and embeds them.

    With a structure penalty the weights of a row depend on its own embedding. As in a fit, the first solution leaves
    the penalty out, and each of the next ones starts from the one before. Their number is fixed, so the result for a
    row does not depend on the rows that come with it.
    """

    problems: tuple[RowProblem | NearProblem, ...]
    row_map: NDArray[np.float64]
    penalty: EmbeddingPenalty | None
    n_rounds: int
    n_kept: int

    def weights(self, block: RowBlock, n_threads: int = 1) -> sparse.csr_array:
        """Return the coefficients of these rows; coefficients in the block are ignored."""
        near = [problem for problem in self.problems if isinstance(problem, NearProblem)]
        if near:
            return join_to_nearest(near, block.views, block.observed)[0]
        block = RowBlock(slice(0, block.views[0].shape[0]), block.views, observed=block.observed)
        coefficients = solve_rows_alone(PassState(self.problems), block, n_threads)
        if self.penalty is not None:
            pulled = PassState(self.problems, self.penalty)
            for _ in range(self.n_rounds):
                coefficients = solve_rows_alone(pulled, replace(block, coefficients=coefficients), n_threads)
        return coefficients

    def embed(self, block: RowBlock, n_threads: int = 1) -> NDArray[Any]:
        """Return the embedding of these rows, shape (n_rows, n_clusters)."""
        return np.ascontiguousarray(self.embed_all(block, n_threads)[:, : self.n_kept])

    def embed_all(self, block: RowBlock, n_threads: int = 1) -> NDArray[Any]:
        """Return the embedding with the additional directions that decide labels."""
        coefficients = self.weights(block, n_threads)
        return np.asarray(coefficients @ self.row_map.astype(coefficients.dtype))


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


def _heaviest_cluster(embedder: RowEmbedder, shares: ShareLabels, block: RowBlock) -> NDArray[np.int64]:
    return shares.of(replace(block, coefficients=embedder.weights(block)))


def _confidence(embedder: RowEmbedder, shares: ShareLabels, block: RowBlock) -> NDArray[np.float64]:
    return shares.confidence(replace(block, coefficients=embedder.weights(block)))


def _checked_layer(n_clusters: Any, n_communities: int, n_found: int) -> int:
    """Check that the tree, or the fit, has that many clusters."""
    if isinstance(n_clusters, bool) or not isinstance(n_clusters, int | np.integer):
        raise TypeError(f"n_clusters={n_clusters!r} should be an int from 1 to {n_communities}")
    if not 1 <= n_clusters <= n_communities and n_clusters != n_found:
        raise ValueError(
            f"n_clusters={n_clusters} should be from 1 to n_communities_={n_communities}, the layers of the tree; for "
            "more clusters, fit again with that number"
        )
    return int(n_clusters)
