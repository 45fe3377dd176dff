"""From coefficients and embedded rows to labels, block by block."""

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kedge.engines.contract import Engine
from kedge.estimators.automatic.stage import DecidedGroups
from kedge.model.anchor_selection.kmeans import published_kmeans
from kedge.model.components import anchor_components
from kedge.model.driver_step import Digest, fold_columns
from kedge.model.label_rows import (
    ClusterSums,
    DecidedLabels,
    EmbeddedLabels,
    GivenLabels,
    RowLabels,
    cluster_coordinates,
    consensus_centers,
    embedding_centers,
    group_means,
    sampled_rows,
    sum_clusters,
)
from kedge.model.pass_state import ColumnLayout, PassState
from kedge.model.spectral_map import spectral_map

Array = NDArray[np.float64]

# Starts of the last k-means in the authors' release.
_PUBLISHED_STARTS = 100


@dataclass(frozen=True)
class SetMap:
    """From the coefficients of one anchor set to the embedding of its own graph."""

    columns: slice
    row_map: Array
    singular_values: Array

    def coordinates(self, coefficients: sparse.csr_array) -> Array:
        """Return the points that are clustered for these rows."""
        embedded = np.asarray(coefficients[:, self.columns] @ self.row_map)
        return cluster_coordinates(embedded, self.singular_values)


@dataclass(frozen=True)
class EmbeddedGraph:
    """The joint embedding with its damping, and the maps of the single sets."""

    row_map: NDArray[Any]
    singular_values: Array
    n_sets: int
    set_maps: list[SetMap]


def maps_of_sets(digest: Digest, state: PassState, layout: ColumnLayout, n_directions: int) -> list[SetMap]:
    """Embed the graph of every anchor set on its own, where there are several.

    A set whose graph has more pieces than there are directions is left out: which pieces its embedding would show is
    arbitrary, and would hang on the last bit.
    """
    if len(state.problems) == 1:
        return []
    # Coefficients stand divided by the number of sets. Rows of Z sum to one, so Z'Z 1 are the column sums.
    n_sets = len(state.problems)
    sums = n_sets * digest.gram.sum(axis=1)
    maps = []
    for columns in state.column_ranges():
        anchors = layout.anchor_of[columns]
        own = ColumnLayout(anchors - anchors.min(), len(np.unique(anchors)))
        gram, column_sums = fold_columns(n_sets**2 * digest.gram[columns, columns], sums[columns], own)
        if anchor_components(gram, column_sums)[0] > n_directions:
            continue
        spectrum = spectral_map(gram, column_sums, n_directions)
        maps.append(SetMap(columns, spectrum.row_map[own.anchor_of], spectrum.singular_values))
    return maps


def label_as_published(
    embedding: NDArray[Any], n_clusters: int, random_state: RandomState
) -> tuple[NDArray[np.int64], Array]:
    """Cluster the rows of the embedding as they are, as the authors' release does."""
    labels, centers = published_kmeans(embedding, n_clusters, random_state, _PUBLISHED_STARTS)
    kept = np.flatnonzero(np.bincount(labels, minlength=len(centers)))
    return np.searchsorted(kept, labels).astype(np.int64), np.asarray(centers, dtype=np.float64)[kept]


def label_embedding(
    engine: Engine,
    graph: EmbeddedGraph,
    n_clusters: int,
    random_state: RandomState,
    decided: DecidedGroups | None = None,
) -> tuple[RowLabels, Array, ClusterSums]:
    """Cluster the embedded rows; labels are numbered as they first occur, and centres are in their order.

    Where the clusters of a sample are decided, theirs are the centres; of a sample of all rows, also the labels.
    """
    if decided is not None:
        return _follow(engine, graph, decided)
    several = graph.n_sets > 1
    coefficients = engine.take(sampled_rows(engine.n_rows, n_clusters, random_state, for_consensus=several))
    joint = cluster_coordinates(np.asarray(coefficients @ graph.row_map), graph.singular_values)
    if several:
        per_set = [one.coordinates(coefficients) for one in graph.set_maps]
        centers = consensus_centers(joint, per_set, n_clusters, random_state)
    else:
        centers = embedding_centers(joint, n_clusters, random_state)
    labels, sums = _nearest_kept(engine, EmbeddedLabels(graph.row_map, graph.singular_values, centers))
    n_found = len(labels.centers)
    if n_found < n_clusters:
        warnings.warn(
            f"only {n_found} of n_clusters={n_clusters} clusters hold a row: X has too few distinct rows, or "
            "alpha is so large that all rows have nearly the same weights; ask for fewer clusters or lower alpha",
            ConvergenceWarning,
            stacklevel=8,
        )
    return labels, labels.centers, sums


def _follow(engine: Engine, graph: EmbeddedGraph, decided: DecidedGroups) -> tuple[RowLabels, Array, ClusterSums]:
    """Label all rows by the clusters of some, and place the centres for new rows at the means of these."""
    embedded = np.asarray(engine.take(decided.rows) @ graph.row_map)
    centers = group_means(cluster_coordinates(embedded, graph.singular_values), decided.groups)
    if len(decided.rows) == engine.n_rows:
        given = GivenLabels(decided.groups)
        return given, centers, engine.sum_blocks(partial(sum_clusters, given, len(centers)))
    others: RowLabels = EmbeddedLabels(graph.row_map, graph.singular_values, centers)
    if decided.spread is not None:
        others = decided.spread
    labels = DecidedLabels(decided.rows, decided.groups, others, np.arange(len(centers)))
    found = engine.per_row(labels.of, width=None, dtype=np.int64, with_views=labels.needs_views)
    # Where labels of all rows are held here, they need not be found again for every use.
    held = isinstance(found, np.ndarray)
    known: RowLabels = GivenLabels(found) if held else labels
    sums = engine.sum_blocks(partial(sum_clusters, known, len(centers)), with_views=known.needs_views)
    order = sums.order()
    numbers = np.argsort(order)
    known = GivenLabels(numbers[found]) if held else replace(labels, numbers=numbers)
    return known, centers[order], ClusterSums(sums.support[:, order], sums.first_rows[order])


def _nearest_kept(engine: Engine, labels: EmbeddedLabels) -> tuple[EmbeddedLabels, ClusterSums]:
    """Sum over the clusters; a centre that is nearest to no row can go without any label changing but in its number."""
    sums = engine.sum_blocks(partial(sum_clusters, labels, len(labels.centers)))
    kept = sums.order()
    return replace(labels, centers=labels.centers[kept]), ClusterSums(sums.support[:, kept], sums.first_rows[kept])


def support_of_anchors(support: Array, layout: ColumnLayout) -> Array:
    """Add up the support of the columns that belong to one anchor, shape (n_anchors, n_clusters)."""
    folded = np.zeros((layout.n_anchors, support.shape[1]))
    np.add.at(folded, layout.anchor_of, support)
    return folded


def fold_of_columns(layout: ColumnLayout) -> sparse.csr_array | None:
    """Return the map that adds up the columns of mirrored anchors, so that the graph has one column per anchor."""
    if layout.is_plain:
        return None
    ones = np.ones(len(layout.anchor_of))
    return sparse.csr_array((ones, layout.anchor_of, np.arange(len(ones) + 1)), shape=(len(ones), layout.n_anchors))
