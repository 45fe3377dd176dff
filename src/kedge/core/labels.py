"""From the embedding to labels, from labelled rows to labelled anchors, and from anchors to labels of new rows."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin, pairwise_distances_chunked

from kedge.core.block_step import RowBlock, rows_by_pattern
from kedge.core.rows import View, mirrored, sample_rows, side_by_side

# Rows of the embedding that k-means uses, per cluster and at least. The others join the nearest centre.
SAMPLED_PER_CLUSTER, LEAST_SAMPLED = 500, 5_000
# Starts of the last k-means; they cost little beside the row problems.
LABEL_STARTS = 10


# Rows are compared in somewhat more directions than there are clusters, each damped by the square of its singular
# value: one step of the random walk from a row to an anchor and back. If the k-th and the next singular values are
# close, cutting off at exactly k would depend on luck.
DIRECTIONS_PER_CLUSTER = 1.2
DAMPING_POWER = 2


class RowLabels(Protocol):
    """Labels of any block of rows; ``needs_views`` says whether coefficients alone are not enough."""

    needs_views: ClassVar[bool]

    def of(self, block: RowBlock) -> NDArray[np.int64]:
        """Return the labels of the rows of a block."""
        ...


@dataclass(frozen=True)
class FixedRows:
    """Rows whose clusters are decided, in ascending order."""

    rows: NDArray[np.int64]
    clusters: NDArray[np.int64]

    def put(self, block: RowBlock, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Overwrite the labels of a block where they are decided."""
        first, last = np.searchsorted(self.rows, (block.rows.start, block.rows.stop))
        labels[self.rows[first:last] - block.rows.start] = self.clusters[first:last]
        return labels


@dataclass(frozen=True)
class EmbeddedLabels:
    """The nearest centre to each embedded row."""

    row_map: NDArray[Any]
    singular_values: NDArray[np.float64]
    centers: NDArray[np.float64]
    fixed: FixedRows | None = None
    needs_views: ClassVar[bool] = False

    def of(self, block: RowBlock) -> NDArray[np.int64]:
        """Embed the rows and return the nearest centres, unless they are fixed."""
        assert block.coefficients is not None
        labels = nearest_center(self._points(block.coefficients), self.centers)
        return labels if self.fixed is None else self.fixed.put(block, labels)

    def scores(self, coefficients: sparse.csr_array) -> NDArray[np.float64]:
        """Return how near every row is to every centre; the nearest has the highest score."""
        return center_scores(self._points(coefficients), self.centers).astype(np.float64)

    def with_clusters(
        self, order: NDArray[np.intp], fixed: FixedRows, coefficients: sparse.csr_array
    ) -> "EmbeddedLabels":
        """Return the labels with clusters in this order; those without a centre take that of their fixed rows.

        ``fixed`` counts in the new order, and ``coefficients`` are those of the fixed rows.
        """
        points = self._points(coefficients)
        centers = [
            self.centers[old] if old < len(self.centers) else points[fixed.clusters == new].mean(axis=0)
            for new, old in enumerate(order.tolist())
        ]
        return replace(self, centers=np.array(centers, dtype=np.float64), fixed=fixed)

    def _points(self, coefficients: sparse.csr_array) -> NDArray[Any]:
        return cluster_coordinates(np.asarray(coefficients @ self.row_map), self.singular_values)


@dataclass(frozen=True)
class GivenLabels:
    """Labels that are known for all rows."""

    labels: NDArray[np.int64]
    needs_views: ClassVar[bool] = False

    def of(self, block: RowBlock) -> NDArray[np.int64]:
        """Return the labels of the rows of a block."""
        return self.labels[block.rows]


@dataclass(frozen=True)
class ClusterSums:
    """Sums over rows by cluster."""

    support: NDArray[np.float64]  # Weight that the rows of each cluster put on each column: (n_columns, n_clusters).
    first_rows: NDArray[np.float64]  # The first row of each cluster; infinite for a cluster without rows.

    def merge(self, other: Self) -> Self:
        """Add the sums of other rows."""
        return type(self)(self.support + other.support, np.minimum(self.first_rows, other.first_rows))

    def order(self) -> NDArray[np.intp]:
        """Return the clusters that hold a row, ordered by their first rows, which rounding cannot change."""
        return np.argsort(self.first_rows, kind="stable")[: np.isfinite(self.first_rows).sum()]


def sum_clusters(labels: RowLabels, n_clusters: int, block: RowBlock) -> ClusterSums:
    """Label the rows of a block and sum their coefficients by cluster."""
    own = labels.of(block)
    found, places = np.unique(own, return_index=True)
    first_rows = np.full(n_clusters, np.inf)
    first_rows[found] = block.rows.start + places
    return ClusterSums(column_support(block.coefficients, own, n_clusters), first_rows)


def count_directions(n_clusters: int) -> int:
    """Return the number of singular vectors in which rows are compared."""
    return int(np.ceil(DIRECTIONS_PER_CLUSTER * n_clusters))


def cluster_coordinates(embedding: NDArray[Any], singular_values: NDArray[np.float64]) -> NDArray[Any]:
    """Return the points to cluster: embedded rows with damped directions, scaled to unit length."""
    return unit_rows(embedding * (singular_values**DAMPING_POWER).astype(embedding.dtype))


def sampled_rows(n_rows: int, n_clusters: int, random_state: RandomState) -> NDArray[np.intp]:
    """Return the rows that decide on the clusters: all of them or a random sample, in ascending order."""
    return sample_rows(n_rows, max(LEAST_SAMPLED, SAMPLED_PER_CLUSTER * n_clusters), random_state)


def unit_rows(embedding: NDArray[Any]) -> NDArray[Any]:
    """Scale rows to length one; a zero row stays zero."""
    lengths = np.sqrt(np.einsum("ij,ij->i", embedding, embedding))[:, None]
    return np.asarray(np.divide(embedding, lengths, out=np.zeros_like(embedding), where=lengths > 0))


def embedding_centers(sample: NDArray[Any], n_clusters: int, random_state: RandomState) -> NDArray[np.float64]:
    """Return the k-means centres of a sample of embedded rows, at most ``n_clusters`` distinct ones."""
    return np.unique(cluster_points(sample, n_clusters, random_state, LABEL_STARTS)[1], axis=0)


def nearest_center(points: NDArray[Any], centers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the number of the nearest centre of every point; ties go to the first centre."""
    return np.asarray(center_scores(points, centers).argmax(axis=1), dtype=np.int64)


def center_scores(points: NDArray[Any], centers: NDArray[np.float64]) -> NDArray[Any]:
    """Return a score for each point and centre that is highest for the nearest centre."""
    scores = np.asarray(points @ centers.T.astype(points.dtype))
    scores -= (np.einsum("ij,ij->i", centers, centers) / 2).astype(points.dtype)
    return scores


def column_support(coefficients: sparse.csr_array, labels: NDArray[np.int64], n_clusters: int) -> NDArray[np.float64]:
    """Return how much weight the rows of each cluster put on each column, shape (n_columns, n_clusters)."""
    membership = np.zeros((len(labels), n_clusters), dtype=coefficients.dtype)
    membership[np.arange(len(labels)), labels] = 1
    return np.asarray(coefficients.T @ membership, dtype=np.float64)


def label_anchors(support: NDArray[np.float64], anchors: NDArray[Any], signed: bool = False) -> NDArray[np.int64]:
    """Give each anchor the cluster whose rows use it most; an unused anchor takes the cluster of the nearest used one.

    If anchors are mirrored, "nearest" means the nearest line.
    """
    labels = np.asarray(support.argmax(axis=1), dtype=np.int64)
    used = support.sum(axis=1) > 0
    if not used.all():
        wide = anchors.astype(np.float64)
        others = mirrored(wide[used]) if signed else wide[used]
        labels[~used] = np.tile(labels[used], 2)[nearest_center(wide[~used], others)]
    return labels


def cluster_points(
    points: NDArray[Any], n_clusters: int, random_state: RandomState, n_starts: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return labels and centres of the best of several starts; with too few distinct points, centres coincide."""
    seed = int(random_state.randint(np.iinfo(np.int32).max))
    points = points.astype(np.float64, copy=False)
    with warnings.catch_warnings():
        # The caller warns, with advice.
        warnings.filterwarnings("ignore", "Number of distinct clusters", ConvergenceWarning)
        model = KMeans(min(n_clusters, len(points)), n_init=n_starts, max_iter=100, random_state=seed).fit(points)
    return model.labels_.astype(np.int64), model.cluster_centers_.astype(np.float64)


def number_by_first_rows(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Return labels numbered from zero in the order of first rows, which rounding cannot change."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return np.asarray(order[inverse])


def vote_over_views(
    views: Sequence[View],
    observed: NDArray[np.bool_] | None,
    anchors: Sequence[NDArray[Any]],
    weights: Sequence[float],
    anchor_labels: NDArray[np.int64],
    n_neighbors: int,
) -> NDArray[np.int64]:
    """Let each row's nearest anchors vote, by ``sum_v w_v |x_v - a_vj|^2`` over the views that the row has."""
    if len(views) == 1:
        return vote_of_anchors(views[0], anchors[0], anchor_labels, n_neighbors)
    if observed is None:
        observed = np.ones((views[0].shape[0], len(views)), dtype=bool)
    labels = np.empty(len(observed), dtype=np.int64)
    for pattern, rows in rows_by_pattern(observed):
        own = [(views[v][rows], anchors[v], np.sqrt(weights[v])) for v in np.flatnonzero(pattern).tolist()]
        joined = side_by_side([part * part.dtype.type(root) for part, _, root in own])
        prototypes = np.hstack([anchor * anchor.dtype.type(root) for _, anchor, root in own])
        labels[rows] = vote_of_anchors(joined, prototypes, anchor_labels, n_neighbors)
    return labels


def vote_of_anchors(
    X: View, anchors: NDArray[Any], anchor_labels: NDArray[np.int64], n_neighbors: int
) -> NDArray[np.int64]:
    """Give every row the cluster of most of its nearest anchors; ties go to the nearest of the tied clusters."""
    if n_neighbors == 1:
        return np.asarray(anchor_labels[pairwise_distances_argmin(X, anchors)])

    def vote(distances: NDArray[Any], _: int) -> NDArray[np.int64]:
        return majority(anchor_labels[nearest_columns(distances, n_neighbors)])

    return np.concatenate(list(pairwise_distances_chunked(X, anchors, reduce_func=vote)))


def nearest_columns(distances: NDArray[Any], count: int) -> NDArray[np.intp]:
    """Return the columns of the smallest distances of every row, nearest first; the distances are overwritten.

    Searching the minimum a few times is much faster than sorting whole rows.
    """
    rows = np.arange(len(distances))
    near = np.empty((len(distances), min(count, distances.shape[1])), dtype=np.intp)
    for place in range(near.shape[1]):
        near[:, place] = distances.argmin(axis=1)
        distances[rows, near[:, place]] = np.inf
    return near


def majority(votes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the most frequent value of every row; ties go to the value that comes first."""
    counts = (votes[:, :, None] == votes[:, None, :]).sum(axis=2)
    return np.asarray(votes[np.arange(len(votes)), counts.argmax(axis=1)])
