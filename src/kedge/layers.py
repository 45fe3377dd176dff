"""From the graph to clusters: communities, the tree of their merges, and the labels of rows."""

from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse

from kedge.anchors.sets import MOST_REBUILT_ROWS
from kedge.core.block_step import ColumnLayout, RowBlock
from kedge.core.driver_step import Digest
from kedge.core.labels import (
    ClusterSums,
    EmbeddedLabels,
    cluster_coordinates,
    embedding_centers,
    sampled_rows,
    sum_clusters,
)
from kedge.engines.contract import Engine
from kedge.engines.local import GraphRows
from kedge.partition.cluster_count import CountEvidence, count_clusters
from kedge.partition.communities import Hierarchy, best_hierarchy, cut_tree
from kedge.user_warnings import warn_convergence

Array = NDArray[np.float64]

# Differences between weights below this share of the largest count as rounding.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class Layers:
    """Communities, and the clusters that they form as they merge."""

    # How the rows on each anchor are spread over the communities, shape (n_anchors, n_communities). Rows sum to one, or
    # to zero for unused anchors. ``shares`` gives the labels, ``smoothed`` (see smooth_shares) the confidence.
    shares: Array
    smoothed: Array
    tree: Array  # The merges, as kedge.communities returns them. Sizes count what was cut: rows or anchors.
    evidence: CountEvidence | None = None  # For the number of clusters, if the data decides.

    @property
    def n_communities(self) -> int:
        """Number of communities before merging."""
        return int(self.shares.shape[1])

    @property
    def n_clusters(self) -> int:
        """Number of clusters that the data suggests, or of communities if the number was given."""
        return self.n_communities if self.evidence is None else self.evidence.counts[0]

    def at(self, n_clusters: int) -> tuple[Array, Array]:
        """Return the shares of each anchor in that many clusters, and the smoothed shares."""
        cluster_of = cut_tree(self.tree, self.n_communities, n_clusters)
        clusters = np.eye(int(cluster_of.max()) + 1)[cluster_of]
        return self.shares @ clusters, self.smoothed @ clusters


def smooth_shares(shares: Array, digest: Digest) -> Array:
    """Average the shares over all anchors that the rows of each anchor use."""
    sums = digest.column_sums
    return np.asarray(digest.gram @ shares) / np.where(sums > 0, sums, 1.0)[:, None]


@dataclass(frozen=True)
class ShareLabels:
    """Labels by the cluster that holds most of a row's weight; ``smoothed`` is needed for confidence only."""

    shares: NDArray[Any]
    smoothed: NDArray[Any] | None = None
    needs_views: ClassVar[bool] = False

    def of(self, block: RowBlock) -> NDArray[np.int64]:
        """Return the labels of the rows of a block; ties go to the first cluster."""
        return np.asarray((block.coefficients @ self.shares).argmax(axis=1), dtype=np.int64)

    def of_columns(self, layout: ColumnLayout) -> "ShareLabels":
        """Repeat the shares of anchors for their columns."""
        assert self.smoothed is not None
        return ShareLabels(self.shares[layout.anchor_of], self.smoothed[layout.anchor_of])

    def confidence(self, block: RowBlock) -> Array:
        """Return how sure the labels are, from 0 to 1: how far the second cluster is behind the row's own."""
        assert self.smoothed is not None
        others, labels = np.asarray(block.coefficients @ self.smoothed, dtype=np.float64), self.of(block)[:, None]
        own = np.take_along_axis(others, labels, axis=1)[:, 0]
        np.put_along_axis(others, labels, 0.0, axis=1)
        return np.where(own > 0, np.maximum(1.0 - others.max(axis=1) / np.where(own > 0, own, 1.0), 0.0), 0.0)


def find_layers(
    engine: Engine,
    digest: Digest,
    layout: ColumnLayout,
    n_clusters: int | None,
    count_range: tuple[int, int] | None,
    random_state: RandomState,
    n_threads: int = 1,
) -> Layers:
    """Find communities of the smaller side of the graph, and merge them.

    If there are few rows, the rows are cut: they are joined by ``Z D^-1 Z'`` with the column sums D, so rows that use
    the same anchors are close. Otherwise the anchors are cut, joined by ``Z'Z``.
    """
    seed = int(random_state.randint(np.iinfo(np.int32).max))
    used = np.flatnonzero(digest.column_sums > 0)
    if engine.n_rows <= MOST_REBUILT_ROWS:
        weights = engine.take(np.arange(engine.n_rows))
        weights = (weights if layout.is_plain else sparse.csr_array(weights @ layout.fold(weights.dtype)))[:, used]
        whole, member = _row_graph(weights, digest.column_sums[used]), weights
    else:
        whole, member = sparse.csr_array(digest.gram)[used][:, used], None
    graph = _without_diagonal(whole)
    # If all weights are equal up to rounding, there is nothing to cut.
    alike = whole.nnz == whole.shape[0] ** 2 and np.ptp(whole.data) <= _ROUNDING * whole.data.max()
    evidence = None
    if n_clusters is None:
        evidence = CountEvidence([1], [1.0]) if alike else count_clusters(graph, seed, count_range, n_threads)
        n_clusters = evidence.counts[0]
    if alike:
        found = Hierarchy(np.zeros(graph.shape[0], np.int64), 1.0, np.empty((0, 4)))
    else:
        found = best_hierarchy(graph, min(n_clusters, graph.shape[0]), 1.0, seed, n_threads=n_threads)
    one_hot = np.eye(found.n_communities)[found.labels]
    shares = np.zeros((len(digest.column_sums), found.n_communities))
    shares[used] = one_hot if member is None else (member.T @ one_hot) / digest.column_sums[used][:, None]
    return Layers(shares, smooth_shares(shares, digest), found.tree, evidence)


def label_by_shares(
    engine: Engine | GraphRows, layers: Layers, layout: ColumnLayout, n_clusters: int
) -> tuple[ShareLabels, ClusterSums, ShareLabels]:
    """Label all rows by the shares of columns, and return the shares of anchors, too.

    At most ``n_clusters`` clusters are kept, numbered by their first rows. If some hold no row, shares are taken
    relative to the size of each cluster, so that large clusters do not swallow small ones. If that is not enough, the
    tree is cut one layer below, and so on, until there are enough clusters or no layer is left.
    """
    wanted = min(n_clusters, layers.n_communities)
    best, sums = None, None
    for count, relative in product(range(wanted, layers.n_communities + 1), (False, True)):
        shares, smoothed = layers.at(count)
        if relative and sums is not None:
            sizes = sums.support.sum(axis=1) @ shares[layout.anchor_of]
            shares = shares / np.where(sizes > 0, sizes, 1.0)
        sums = engine.sum_blocks(partial(sum_clusters, ShareLabels(shares[layout.anchor_of]), shares.shape[1]))
        if best is None or len(sums.order()) > len(best[2].order()):
            best = shares, smoothed, sums
        if len(sums.order()) >= wanted:
            break
    assert best is not None
    shares, smoothed, sums = best
    kept = sums.order()[:wanted]
    chosen = ShareLabels(np.ascontiguousarray(shares[:, kept]), np.ascontiguousarray(smoothed[:, kept]))
    labels = chosen.of_columns(layout)
    if len(kept) < shares.shape[1]:
        sums = engine.sum_blocks(partial(sum_clusters, labels, len(kept)))
        kept = np.arange(len(kept))
    return labels, ClusterSums(sums.support[:, kept], sums.first_rows[kept]), chosen


def _row_graph(weights: sparse.csr_array, column_sums: Array) -> sparse.csr_array:
    wide = weights.astype(np.float64)
    scaled = wide @ sparse.diags_array(1.0 / column_sums)
    graph = sparse.csr_array(scaled @ wide.T)
    # Rounding must not make it differ from its transpose.
    return sparse.csr_array((graph + graph.T) / 2)


def _without_diagonal(graph: sparse.csr_array) -> sparse.csr_array:
    edges = graph.tocoo()
    kept = edges.row != edges.col
    return sparse.csr_array((edges.data[kept], (edges.row[kept], edges.col[kept])), shape=graph.shape)


def label_embedding(
    engine: Engine, row_map: NDArray[Any], singular_values: Array, n_clusters: int, random_state: RandomState
) -> tuple[EmbeddedLabels, ClusterSums]:
    """Cluster a sample of the embedded rows by k-means; clusters are numbered by their first rows."""
    coefficients = engine.take(sampled_rows(engine.n_rows, n_clusters, random_state))
    points = cluster_coordinates(np.asarray(coefficients @ row_map), singular_values)
    labels = EmbeddedLabels(row_map, singular_values, embedding_centers(points, n_clusters, random_state))
    sums = engine.sum_blocks(partial(sum_clusters, labels, len(labels.centers)))
    # Dropping a centre that is nearest to no row changes only the numbers of the clusters.
    kept = sums.order()
    labels = replace(labels, centers=labels.centers[kept])
    return labels, ClusterSums(sums.support[:, kept], sums.first_rows[kept])


def warn_of_missing_clusters(n_found: int, n_clusters: int) -> None:
    """Warn if fewer clusters hold a row than were asked for."""
    if n_found < n_clusters:
        warn_convergence(
            f"only {n_found} of n_clusters={n_clusters} clusters hold a row: X has too few distinct rows, or "
            "alpha is so large that all rows have nearly the same weights; ask for fewer clusters or lower alpha"
        )
