"""Labels that spread from some rows to all, through the anchors that rows are near: linear in the rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import normalize

from kedge.model.anchor_selection.row_access import side_by_side
from kedge.model.block_step import RowBlock
from kedge.model.row_graphs.adaptive_neighbors import weigh_neighbors

# Anchors that a row is joined to, each way.
NEIGHBORS = 5


@dataclass(frozen=True)
class NearAnchors:
    """Anchors of all views side by side, and the root of every view's weight."""

    anchors: NDArray[Any]
    roots: tuple[float, ...]

    @classmethod
    def of_views(cls, anchors: Sequence[NDArray[Any]], weights: Sequence[float]) -> Self:
        """Put the anchors of the views side by side, each view as heavy as its weight."""
        roots = tuple(float(np.sqrt(weight)) for weight in weights)
        return cls(np.asarray(_joined(anchors, roots)), roots)

    def weights(self, views: Sequence[Any]) -> sparse.csr_array:
        """Join rows to their nearest anchors, by distance and by angle; shape (n_rows, 2 n_anchors), rows sum to 2."""
        rows = _joined(views, self.roots)
        by_distance = weigh_neighbors(rows, self.anchors, NEIGHBORS)
        by_angle = weigh_neighbors(normalize(rows), normalize(self.anchors), NEIGHBORS)
        return sparse.csr_array(sparse.hstack([one.as_graph(len(self.anchors)) for one in (by_distance, by_angle)]))


@dataclass(frozen=True)
class ClusterWeights:
    """What rows of each cluster put on each anchor, and how many rows each cluster has."""

    on_anchors: NDArray[np.float64]
    sizes: NDArray[np.float64]

    def merge(self, other: Self) -> Self:
        """Add those of other rows."""
        return type(self)(self.on_anchors + other.on_anchors, self.sizes + other.sizes)


@dataclass(frozen=True)
class SpreadLabels:
    """The cluster that the anchors near a row lean to, beyond the cluster's share of all rows."""

    near: NearAnchors
    seen: ClusterWeights
    needs_views: ClassVar[bool] = True

    def of(self, block: RowBlock) -> NDArray[np.int64]:
        """Return the labels of the rows of a block."""
        return self._labels(self.near.weights(block.views))

    def weigh(self, block: RowBlock) -> ClusterWeights:
        """Label the rows of a block and return what they put on the anchors."""
        weights = self.near.weights(block.views)
        return _weigh(weights, self._labels(weights), len(self.seen.sizes))

    def having_seen(self, seen: ClusterWeights) -> Self:
        """Return labels by the leanings of other rows; a cluster that has lost all its rows keeps what it had."""
        lost = seen.sizes == 0
        on_anchors = np.where(lost, self.seen.on_anchors, seen.on_anchors)
        return replace(self, seen=ClusterWeights(on_anchors, np.where(lost, self.seen.sizes, seen.sizes)))

    def _labels(self, weights: sparse.csr_array) -> NDArray[np.int64]:
        on_anchors, sizes = self.seen.on_anchors, self.seen.sizes
        leanings = on_anchors / np.maximum(on_anchors.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        # Rows put a weight of one on anchors each way, so what chance would give counts twice as well.
        scores = np.asarray(weights @ leanings) - 2.0 * sizes / sizes.sum()
        return np.asarray(scores.argmax(axis=1), dtype=np.int64)


@dataclass(frozen=True)
class AnchorTrust:
    """What rows of known confidence put on anchors: by cluster, each as heavy as its confidence; and all of them.

    Attributes
    ----------
    trusted : array of shape (2 n_anchors, n_clusters)
        Weights times confidence.
    masses : array of shape (2 n_anchors,)
        Weights.
    """

    trusted: NDArray[np.float64]
    masses: NDArray[np.float64]

    def merge(self, other: Self) -> Self:
        """Add those of other rows."""
        return type(self)(self.trusted + other.trusted, self.masses + other.masses)

    def of_rows(self, weights: sparse.csr_array, labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the confidence of rows: that of known rows near the same anchors, as far as labels are the same."""
        trusted = np.asarray(weights @ self.trusted)[np.arange(len(labels)), labels]
        return np.asarray(trusted / np.maximum(weights @ self.masses, np.finfo(np.float64).tiny))


def trust_of_known(
    weights: sparse.csr_array, labels: NDArray[np.int64], confidence: NDArray[np.float64], n_clusters: int
) -> AnchorTrust:
    """Return what rows of known confidence put on anchors; ``weights`` are those of :class:`NearAnchors`."""
    member = np.zeros((len(labels), n_clusters))
    member[np.arange(len(labels)), labels] = confidence
    return AnchorTrust(np.asarray(weights.T @ member), np.asarray(weights.sum(axis=0)).ravel())


def spread_from(near: NearAnchors, views: Sequence[Any], groups: NDArray[np.int64]) -> SpreadLabels:
    """Return labels by the leanings of rows whose clusters are known."""
    return SpreadLabels(near, _weigh(near.weights(views), groups, int(groups.max()) + 1))


def _weigh(weights: sparse.csr_array, labels: NDArray[np.int64], n_clusters: int) -> ClusterWeights:
    member = np.zeros((len(labels), n_clusters))
    member[np.arange(len(labels)), labels] = 1.0
    return ClusterWeights(np.asarray(weights.T @ member), member.sum(axis=0))


def _joined(views: Sequence[Any], roots: Sequence[float]) -> Any:
    return side_by_side([view * view.dtype.type(root) for view, root in zip(views, roots, strict=True)])
