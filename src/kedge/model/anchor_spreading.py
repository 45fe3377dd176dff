"""Labels that spread from some rows to all, through the anchors that rows are near: linear in the rows."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from kedge.model.anchor_selection.row_access import side_by_side
from kedge.model.block_step import RowBlock
from kedge.model.row_graphs.adaptive_neighbors import weigh_neighbors

# Rows whose weights are held from one use to the next: 120 bytes each.
MOST_HELD = 500_000
# Anchors that a row is joined to, each way, and how many there are.
NEIGHBORS, CENTERS = 5, 400


@dataclass(frozen=True)
class NearAnchors:
    """Anchors of all views side by side, and the root of every view's weight."""

    anchors: NDArray[Any]
    roots: tuple[float, ...]
    _held: dict[tuple[int, int], sparse.csr_array] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of_views(cls, anchors: Sequence[NDArray[Any]], weights: Sequence[float]) -> Self:
        """Put the anchors of the views side by side, each view as heavy as its weight."""
        roots = tuple(float(np.sqrt(weight)) for weight in weights)
        return cls(np.asarray(_joined(anchors, roots)), roots)

    @classmethod
    def centers_of(cls, views: Sequence[Any], weights: Sequence[float], rounds: int, random_state: RandomState) -> Self:
        """Take centres of rows, dense as they lie; random ones at first, so more of them where rows are many."""
        roots = tuple(float(np.sqrt(weight)) for weight in weights)
        rows = _joined(views, roots)
        seed = int(random_state.randint(np.iinfo(np.int32).max))
        search = KMeans(min(CENTERS, rows.shape[0]), init="random", n_init=1, max_iter=rounds, random_state=seed)
        with warnings.catch_warnings():
            # Of rows that are the same, several centres are: they share what one would have.
            warnings.filterwarnings("ignore", "Number of distinct clusters", ConvergenceWarning)
            return cls(np.asarray(search.fit(rows).cluster_centers_), roots)

    def of_block(self, block: RowBlock) -> sparse.csr_array:
        """Return the weights of the rows of a block, which are always the same rows by their numbers."""
        place = block.rows.start, block.rows.stop
        found = self._held.get(place)
        if found is None:
            found = self.weights(block.views)
            if sum(stop - start for start, stop in list(self._held)) + found.shape[0] <= MOST_HELD:
                self._held[place] = found
        return found

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


@dataclass(frozen=True)
class SpreadLabels:
    """The cluster that the anchors near a row lean to, beyond the cluster's share of all rows."""

    near: NearAnchors
    seen: ClusterWeights
    needs_views: ClassVar[bool] = True

    def of(self, block: RowBlock) -> NDArray[np.int64]:
        """Return the labels of the rows of a block."""
        return self._labels(self.near.of_block(block))

    def over(self, weights: sparse.csr_array, rounds: int) -> Self:
        """Label rows with these weights and let them lean instead of those before, as often as there are rounds.

        A cluster that has lost all its rows keeps the leanings it had.
        """
        spread = self
        for _ in range(rounds):
            own = _weigh(weights, spread._labels(weights), len(spread.seen.sizes))
            lost = own.sizes == 0
            on_anchors = np.where(lost, spread.seen.on_anchors, own.on_anchors)
            spread = replace(spread, seen=ClusterWeights(on_anchors, np.where(lost, spread.seen.sizes, own.sizes)))
        return spread

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


def spread_from(near: NearAnchors, weights: sparse.csr_array, groups: NDArray[np.int64]) -> SpreadLabels:
    """Return labels by the leanings of rows whose weights and clusters are known."""
    return SpreadLabels(near, _weigh(weights, groups, int(groups.max()) + 1))


def _weigh(weights: sparse.csr_array, labels: NDArray[np.int64], n_clusters: int) -> ClusterWeights:
    member = np.zeros((len(labels), n_clusters))
    member[np.arange(len(labels)), labels] = 1.0
    return ClusterWeights(np.asarray(weights.T @ member), member.sum(axis=0))


def _joined(views: Sequence[Any], roots: Sequence[float]) -> Any:
    return side_by_side([view * view.dtype.type(root) for view, root in zip(views, roots, strict=True)])
