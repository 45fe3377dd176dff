"""From the embedding to labels, and from labelled rows to labelled anchors."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from kedge.core.block_step import RowBlock
from kedge.core.rows import mirrored, sample_rows

# Rows of the embedding that k-means looks at, per cluster and at least; the others join the nearest centre.
SAMPLED_PER_CLUSTER, LEAST_SAMPLED = 500, 5_000
# Starts of the last k-means; they cost little beside the row problems.
LABEL_STARTS = 10


# Rows are compared in somewhat more directions than there are clusters, each damped by the square of its singular
# value: one step of the random walk from a row to an anchor and back. Where the k-th and the next singular values are
# close, cutting off at k exactly would be a matter of luck.
DIRECTIONS_PER_CLUSTER = 1.2
DAMPING_POWER = 2


class RowLabels(Protocol):
    """Labels of any block of rows."""

    @property
    def needs_views(self) -> bool:
        """Whether the rows are read, or their coefficients are enough."""
        ...

    def of(self, block: RowBlock) -> NDArray[np.int64]:
        """Return the labels of the rows of a block."""
        ...


@dataclass(frozen=True)
class EmbeddedLabels:
    """The nearest of some centres to the embedded rows, from their coefficients alone."""

    row_map: NDArray[Any]
    singular_values: NDArray[np.float64]
    centers: NDArray[np.float64]
    needs_views: ClassVar[bool] = False

    def of(self, block: RowBlock) -> NDArray[np.int64]:
        """Embed the rows and return the nearest centres."""
        embedded = np.asarray(block.coefficients @ self.row_map)
        return nearest_center(cluster_coordinates(embedded, self.singular_values), self.centers)


@dataclass(frozen=True)
class GivenLabels:
    """Labels that are already there for all rows."""

    labels: NDArray[np.int64]
    needs_views: ClassVar[bool] = False

    def of(self, block: RowBlock) -> NDArray[np.int64]:
        """Return the labels of the rows of a block."""
        return self.labels[block.rows]


@dataclass(frozen=True)
class ClusterSums:
    """Sums over rows by cluster.

    Attributes
    ----------
    support : array of shape (n_columns, n_clusters)
        How much weight the rows of each cluster put on each column.
    first_rows : array of shape (n_clusters,)
        The first row of each cluster; infinite for a cluster without rows.
    """

    support: NDArray[np.float64]
    first_rows: NDArray[np.float64]

    def merge(self, other: Self) -> Self:
        """Add the sums of other rows."""
        return type(self)(self.support + other.support, np.minimum(self.first_rows, other.first_rows))

    def order(self) -> NDArray[np.intp]:
        """Return the clusters that hold a row, by their first rows: a numbering that no rounding can change."""
        return np.argsort(self.first_rows, kind="stable")[: np.isfinite(self.first_rows).sum()]


def sum_clusters(labels: RowLabels, n_clusters: int, block: RowBlock) -> ClusterSums:
    """Label the rows of a block and sum their coefficients by cluster."""
    own = labels.of(block)
    found, places = np.unique(own, return_index=True)
    first_rows = np.full(n_clusters, np.inf)
    first_rows[found] = block.rows.start + places
    return ClusterSums(column_support(block.coefficients, own, n_clusters), first_rows)


def count_directions(n_clusters: int) -> int:
    """Return how many singular vectors rows are compared in."""
    return int(np.ceil(DIRECTIONS_PER_CLUSTER * n_clusters))


def cluster_coordinates(embedding: NDArray[Any], singular_values: NDArray[np.float64]) -> NDArray[Any]:
    """Return the points that are clustered: embedded rows with damped directions, at unit length."""
    return unit_rows(embedding * (singular_values**DAMPING_POWER).astype(embedding.dtype))


def sampled_rows(n_rows: int, n_clusters: int, random_state: RandomState) -> NDArray[np.intp]:
    """Return the rows that decide on the clusters: all of them, or a random sample in order."""
    return sample_rows(n_rows, max(LEAST_SAMPLED, SAMPLED_PER_CLUSTER * n_clusters), random_state)


def unit_rows(embedding: NDArray[Any]) -> NDArray[Any]:
    """Scale rows to length one; a zero row stays zero."""
    lengths = np.sqrt(np.einsum("ij,ij->i", embedding, embedding))[:, None]
    return np.asarray(np.divide(embedding, lengths, out=np.zeros_like(embedding), where=lengths > 0))


def embedding_centers(sample: NDArray[Any], n_clusters: int, random_state: RandomState) -> NDArray[np.float64]:
    """Return the k-means centres of a sample of embedded rows, at most ``n_clusters`` distinct ones."""
    return np.unique(cluster_points(sample, n_clusters, random_state, LABEL_STARTS)[1], axis=0)


def nearest_center(points: NDArray[Any], centers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the number of the nearest centre of every point; the first of several equally near ones."""
    scores = points @ centers.T.astype(points.dtype)
    scores -= (np.einsum("ij,ij->i", centers, centers) / 2).astype(points.dtype)
    return np.asarray(scores.argmax(axis=1), dtype=np.int64)


def column_support(coefficients: sparse.csr_array, labels: NDArray[np.int64], n_clusters: int) -> NDArray[np.float64]:
    """Return how much weight the rows of each cluster put on each column, shape (n_columns, n_clusters)."""
    membership = np.zeros((len(labels), n_clusters), dtype=coefficients.dtype)
    membership[np.arange(len(labels)), labels] = 1
    return np.asarray(coefficients.T @ membership, dtype=np.float64)


def label_anchors(support: NDArray[np.float64], anchors: NDArray[Any], signed: bool = False) -> NDArray[np.int64]:
    """Give each anchor the cluster whose rows lean on it most; one without rows takes that of the nearest other.

    With mirrored anchors the nearest is the nearest line.
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
    """Return labels and centres of the best of several starts; some centres coincide if too few points differ."""
    seed = int(random_state.randint(np.iinfo(np.int32).max))
    points = points.astype(np.float64, copy=False)
    with warnings.catch_warnings():
        # The caller says how many clusters hold rows, and what to do.
        warnings.filterwarnings("ignore", "Number of distinct clusters", ConvergenceWarning)
        model = KMeans(min(n_clusters, len(points)), n_init=n_starts, max_iter=100, random_state=seed).fit(points)
    return model.labels_.astype(np.int64), model.cluster_centers_.astype(np.float64)


def number_by_first_rows(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Return clusters numbered from zero in the order of their first rows, which no rounding can change."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return np.asarray(order[inverse])
