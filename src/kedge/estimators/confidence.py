"""How stable the label of every row is: repeated clusterings, and whether they leave a row in its company."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from kedge.engines.contract import Engine
from kedge.estimators.automatic.stage import DecidedGroups
from kedge.estimators.labelling import EmbeddedGraph
from kedge.model.agreement import intersection_sizes
from kedge.model.anchor_spreading import AnchorTrust, NearAnchors, trust_of_known
from kedge.model.block_step import RowBlock
from kedge.model.clustering_points import cluster_points
from kedge.model.label_rows import RowLabels, cluster_coordinates, nearest_center, sampled_rows

# Clusterings that a label is compared with: half of the joint embedding and half of those of single sets.
HEARD_VOTES = 10

Array = NDArray[np.float64]


@dataclass(frozen=True)
class HeardVotes:
    """Clusterings of any rows, by the nearest of their centres in the embedding of the joint graph or of one set."""

    graph: EmbeddedGraph
    places: list[int | None]
    centers: list[Array]

    def of(self, block: RowBlock) -> list[NDArray[np.int64]]:
        """Return the cluster of every row in every clustering."""
        points = {place: _points(self.graph, place, block.coefficients) for place in dict.fromkeys(self.places)}
        votes = zip(self.places, self.centers, strict=True)
        return [nearest_center(points[place], centers) for place, centers in votes]


@dataclass(frozen=True)
class SharedRows:
    """How many rows each cluster of each clustering shares with each label."""

    counts: list[Array]

    def merge(self, other: Self) -> Self:
        """Add the counts of other rows."""
        return type(self)([a + b for a, b in zip(self.counts, other.counts, strict=True)])


@dataclass(frozen=True)
class KnownConfidence:
    """Confidence of some rows, ascending, from which that of all others follows."""

    rows: NDArray[np.intp]
    confidence: Array

    def put_on_anchors(self, near: NearAnchors, labels: RowLabels, n_clusters: int, block: RowBlock) -> AnchorTrust:
        """Return what the known rows of a block put on the anchors."""
        known = self._known_in(block)
        places = self.rows[known] - block.rows.start
        if len(places) == 0:
            return AnchorTrust(np.zeros((2 * len(near.anchors), n_clusters)), np.zeros(2 * len(near.anchors)))
        weights = near.of_block(block)[places]
        return trust_of_known(weights, labels.of(block)[places], self.confidence[known], n_clusters)

    def of_rows(self, near: NearAnchors, labels: RowLabels, trust: AnchorTrust, block: RowBlock) -> Array:
        """Return the confidence of the rows of a block."""
        found = trust.of_rows(near.of_block(block), labels.of(block))
        known = self._known_in(block)
        found[self.rows[known] - block.rows.start] = self.confidence[known]
        return found

    def _known_in(self, block: RowBlock) -> slice:
        return slice(*np.searchsorted(self.rows, [block.rows.start, block.rows.stop]))


def confidence_of_rows(
    engine: Engine,
    graph: EmbeddedGraph,
    labels: RowLabels,
    n_clusters: int,
    random_state: RandomState,
    decided: DecidedGroups | None,
) -> Any:
    """Return, for every row, which share of its company in repeated clusterings has its label, from 0 to 1.

    Where all rows were decided on by votes, these are the clusterings. Where labels spread from those that were, their
    confidence spreads as well. Else k-means is run anew on a sample of rows.
    """
    if decided is not None and len(decided.rows) == engine.n_rows:
        return decided.confidence
    if decided is not None and decided.spread is not None:
        return _spread_confidence(engine, labels, n_clusters, decided, decided.spread.near)
    votes = _repeat(engine, graph, n_clusters, random_state)
    shared = engine.sum_blocks(partial(_count_shared, votes, labels, n_clusters), with_views=labels.needs_views)
    shares = [counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0) for counts in shared.counts]
    share = partial(_mean_share, votes, labels, shares)
    return engine.per_row(share, width=None, dtype=np.float64, with_views=labels.needs_views)


def _spread_confidence(
    engine: Engine, labels: RowLabels, n_clusters: int, decided: DecidedGroups, near: NearAnchors
) -> Any:
    known = KnownConfidence(decided.rows, decided.confidence)
    trust = engine.sum_blocks(partial(known.put_on_anchors, near, labels, n_clusters), with_views=True)
    return engine.per_row(partial(known.of_rows, near, labels, trust), width=None, dtype=np.float64, with_views=True)


def _repeat(engine: Engine, graph: EmbeddedGraph, n_clusters: int, random_state: RandomState) -> HeardVotes:
    several = bool(graph.set_maps)
    rows = sampled_rows(engine.n_rows, n_clusters, random_state, for_consensus=several)
    coefficients = engine.take(rows)
    places: list[int | None] = [None] * HEARD_VOTES
    if several:
        half = HEARD_VOTES // 2
        places[half:] = [number % len(graph.set_maps) for number in range(HEARD_VOTES - half)]
    points = {place: _points(graph, place, coefficients) for place in dict.fromkeys(places)}
    centers = [cluster_points(points[place], n_clusters, random_state, n_starts=1)[1] for place in places]
    return HeardVotes(graph, places, centers)


def _points(graph: EmbeddedGraph, place: int | None, coefficients: Any) -> NDArray[Any]:
    if place is not None:
        return graph.set_maps[place].coordinates(coefficients)
    return cluster_coordinates(np.asarray(coefficients @ graph.row_map), graph.singular_values)


def _count_shared(votes: HeardVotes, labels: RowLabels, n_clusters: int, block: RowBlock) -> SharedRows:
    own = labels.of(block)
    clustered = zip(votes.of(block), votes.centers, strict=True)
    return SharedRows([intersection_sizes(vote, own, len(centers), n_clusters) for vote, centers in clustered])


def _mean_share(votes: HeardVotes, labels: RowLabels, shares: Sequence[Array], block: RowBlock) -> Array:
    own = labels.of(block)
    kept = [share[vote, own] for share, vote in zip(shares, votes.of(block), strict=True)]
    return np.asarray(np.mean(kept, axis=0))
