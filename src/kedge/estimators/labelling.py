"""From coefficients and embedded rows to labels, block by block."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kedge.engines.contract import Engine
from kedge.model.anchor_selection.kmeans import published_kmeans
from kedge.model.components import anchor_components
from kedge.model.driver_step import Digest, fold_columns
from kedge.model.label_rows import (
    cluster_coordinates,
    column_support,
    consensus_centers,
    embedding_centers,
    nearest_center,
    sampled_rows,
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
    """The damping of the joint embedding and the maps of the single sets."""

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
    return _without_empty(labels, centers)


def label_embedding(
    engine: Engine, embedding: NDArray[Any], graph: EmbeddedGraph, n_clusters: int, random_state: RandomState
) -> tuple[NDArray[np.int64], Array]:
    """Cluster the rows of the embedding; labels are consecutive from zero, and centres are in their order."""
    several = graph.n_sets > 1
    rows = sampled_rows(len(embedding), n_clusters, random_state, for_consensus=several)
    joint = cluster_coordinates(embedding[rows], graph.singular_values)
    if several:
        coefficients = engine.coefficients()[rows]
        per_set = [one.coordinates(coefficients) for one in graph.set_maps]
        centers = consensus_centers(joint, per_set, n_clusters, random_state)
    else:
        centers = embedding_centers(joint, n_clusters, random_state)

    def label(rows: slice, _: Any) -> NDArray[np.int64]:
        return nearest_center(cluster_coordinates(embedding[rows], graph.singular_values), centers)

    labels, centers = _without_empty(np.concatenate(engine.map_coefficients(label)), centers)
    if len(centers) < n_clusters:
        warnings.warn(
            f"only {len(centers)} of n_clusters={n_clusters} clusters hold a row: X has too few distinct rows, or "
            "alpha is so large that all rows have nearly the same weights; ask for fewer clusters or lower alpha",
            ConvergenceWarning,
            stacklevel=8,
        )
    return labels, centers


def _without_empty(labels: NDArray[np.int64], centers: NDArray[Any]) -> tuple[NDArray[np.int64], Array]:
    """Renumber the clusters that hold rows from zero and drop the centres of the others."""
    kept = np.flatnonzero(np.bincount(labels, minlength=len(centers)))
    if len(kept) < len(centers):
        labels = np.searchsorted(kept, labels).astype(np.int64)
    return labels, np.asarray(centers, dtype=np.float64)[kept]


def anchor_support(engine: Engine, labels: NDArray[np.int64], n_clusters: int, layout: ColumnLayout) -> Array:
    """Return how much weight the rows of each cluster put on each anchor, shape (n_anchors, n_clusters)."""
    blocks = engine.map_coefficients(lambda rows, block: column_support(block, labels[rows], n_clusters))
    support = np.zeros((layout.n_anchors, n_clusters))
    np.add.at(support, layout.anchor_of, np.sum(blocks, axis=0))
    return support


def fold_graph(coefficients: sparse.csr_array, layout: ColumnLayout) -> sparse.csr_array:
    """Add up the columns of mirrored anchors, so that the graph has one column per anchor."""
    if layout.is_plain:
        return coefficients
    ones = np.ones(len(layout.anchor_of), dtype=coefficients.dtype)
    fold = sparse.csr_array((ones, layout.anchor_of, np.arange(len(ones) + 1)), shape=(len(ones), layout.n_anchors))
    folded = sparse.csr_array(coefficients @ fold)
    folded.sort_indices()
    return folded
