"""Labels from singular vectors and k-means: as in the paper, and with damped directions."""

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kedge.engines.contract import Engine
from kedge.model.anchor_selection.kmeans import published_kmeans
from kedge.model.label_rows import (
    ClusterSums,
    EmbeddedLabels,
    cluster_coordinates,
    embedding_centers,
    sampled_rows,
    sum_clusters,
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
    kept = np.flatnonzero(np.bincount(labels, minlength=len(centers)))
    return np.searchsorted(kept, labels).astype(np.int64), np.asarray(centers, dtype=np.float64)[kept]


def label_embedding(
    engine: Engine, row_map: NDArray[Any], singular_values: Array, n_clusters: int, random_state: RandomState
) -> tuple[EmbeddedLabels, ClusterSums]:
    """Cluster a sample of the embedded rows by k-means; labels are numbered as they first occur."""
    coefficients = engine.take(sampled_rows(engine.n_rows, n_clusters, random_state))
    points = cluster_coordinates(np.asarray(coefficients @ row_map), singular_values)
    labels = EmbeddedLabels(row_map, singular_values, embedding_centers(points, n_clusters, random_state))
    sums = engine.sum_blocks(partial(sum_clusters, labels, len(labels.centers)))
    # A centre that is nearest to no row can go without any label changing but in its number.
    kept = sums.order()
    labels = replace(labels, centers=labels.centers[kept])
    return labels, ClusterSums(sums.support[:, kept], sums.first_rows[kept])


def warn_of_missing_clusters(n_found: int, n_clusters: int) -> None:
    """Say that fewer clusters hold a row than were asked for."""
    if n_found < n_clusters:
        warnings.warn(
            f"only {n_found} of n_clusters={n_clusters} clusters hold a row: X has too few distinct rows, or "
            "alpha is so large that all rows have nearly the same weights; ask for fewer clusters or lower alpha",
            ConvergenceWarning,
            stacklevel=8,
        )


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
