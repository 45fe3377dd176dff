"""From coefficients and embedded rows to labels, block by block."""

import warnings
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kedge.engines.contract import Engine
from kedge.model.anchor_selection.kmeans import published_kmeans
from kedge.model.label_rows import (
    cluster_coordinates,
    column_support,
    embedding_centers,
    nearest_center,
    sampled_rows,
)
from kedge.model.pass_state import ColumnLayout

Array = NDArray[np.float64]

# Starts of the last k-means in the authors' release.
_PUBLISHED_STARTS = 100


def label_as_published(
    embedding: NDArray[Any], n_clusters: int, random_state: RandomState
) -> tuple[NDArray[np.int64], Array]:
    """Cluster the rows of the embedding as they are, as the authors' release does."""
    labels, centers = published_kmeans(embedding, n_clusters, random_state, _PUBLISHED_STARTS)
    return _without_empty(labels, centers)


def label_embedding(
    engine: Engine, embedding: NDArray[Any], singular_values: Array, n_clusters: int, random_state: RandomState
) -> tuple[NDArray[np.int64], Array]:
    """Cluster the rows of the embedding; labels are consecutive from zero, and centres are in their order."""
    sample = embedding[sampled_rows(len(embedding), n_clusters, random_state)]
    centers = embedding_centers(cluster_coordinates(sample, singular_values), n_clusters, random_state)

    def label(rows: slice, _: Any) -> NDArray[np.int64]:
        return nearest_center(cluster_coordinates(embedding[rows], singular_values), centers)

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
