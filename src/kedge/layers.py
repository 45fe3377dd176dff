"""From the graph to clusters: communities, the tree of their merges, and the labels of rows."""

from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, ClassVar, TypeVar

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
    FixedRows,
    cluster_coordinates,
    embedding_centers,
    sampled_rows,
    sum_clusters,
)
from kedge.engines.contract import Engine
from kedge.engines.local import GraphRows
from kedge.partition.cluster_count import CountEvidence, count_clusters
from kedge.partition.colouring import place_groups
from kedge.partition.communities import Hierarchy, best_hierarchy, cut_tree, merge_tree
from kedge.partition.pairs import Pairs, evidence_of
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
    fixed: FixedRows | None = None
    needs_views: ClassVar[bool] = False

    def of(self, block: RowBlock) -> NDArray[np.int64]:
        """Return the labels of the rows of a block, unless they are fixed; ties go to the first cluster."""
        labels = np.asarray((block.coefficients @ self.shares).argmax(axis=1), dtype=np.int64)
        return labels if self.fixed is None else self.fixed.put(block, labels)

    def scores(self, coefficients: sparse.csr_array) -> Array:
        """Return the share of each row's weight that each cluster holds."""
        return np.asarray(coefficients @ self.shares, dtype=np.float64)

    def with_clusters(
        self, order: NDArray[np.intp], fixed: FixedRows | None, coefficients: Any = None
    ) -> "ShareLabels":
        """Return the labels with clusters in this order, those beyond the known ones without shares."""
        n_more = max(int(order.max()) + 1 - self.shares.shape[1], 0)
        shares, smoothed = (
            None if one is None else np.ascontiguousarray(np.pad(one, ((0, 0), (0, n_more)))[:, order])
            for one in (self.shares, self.smoothed)
        )
        assert shares is not None
        return ShareLabels(shares, smoothed, fixed)

    def of_columns(self, layout: ColumnLayout) -> "ShareLabels":
        """Repeat the shares of anchors for their columns."""
        assert self.smoothed is not None
        return ShareLabels(self.shares[layout.anchor_of], self.smoothed[layout.anchor_of], self.fixed)

    def confidence(self, block: RowBlock) -> Array:
        """Return how sure the labels are, from 0 to 1: how far the second cluster is behind the row's own."""
        assert self.smoothed is not None
        others, labels = np.asarray(block.coefficients @ self.smoothed, dtype=np.float64), self.of(block)[:, None]
        own = np.take_along_axis(others, labels, axis=1)[:, 0]
        np.put_along_axis(others, labels, 0.0, axis=1)
        return np.where(own > 0, np.maximum(1.0 - others.max(axis=1) / np.where(own > 0, own, 1.0), 0.0), 0.0)


Labels = TypeVar("Labels", ShareLabels, EmbeddedLabels)


def find_layers(
    engine: Engine,
    digest: Digest,
    layout: ColumnLayout,
    n_clusters: int | None,
    count_range: tuple[int, int] | None,
    random_state: RandomState,
    n_threads: int = 1,
    pairs: Pairs | None = None,
) -> Layers:
    """Find communities of the smaller side of the graph, and merge them.

    If there are few rows, the rows are cut: they are joined by ``Z D^-1 Z'`` with the column sums D, so rows that use
    the same anchors are close. Otherwise the anchors are cut, joined by ``Z'Z``. Pairs of rows have a say in merges.
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
    linked = None if pairs is None else evidence_of(pairs, _members(engine, layout, pairs, used, member), engine.n_rows)
    evidence = None
    if n_clusters is None:
        if pairs is not None:
            least, most = count_range or (1, engine.n_rows)
            count_range = max(least, pairs.least_clusters), most
        evidence = CountEvidence([1], [1.0]) if alike else count_clusters(graph, seed, count_range, n_threads, linked)
        n_clusters = evidence.counts[0]
    if alike:
        found = Hierarchy(np.zeros(graph.shape[0], np.int64), 1.0, np.empty((0, 4)))
    else:
        found = best_hierarchy(graph, min(n_clusters, graph.shape[0]), 1.0, seed, n_threads=n_threads)
        if linked is not None:  # The communities are those of the graph alone; pairs decide how they merge.
            found = replace(found, tree=merge_tree(graph, found.labels, found.resolution, linked))
    one_hot = np.eye(found.n_communities)[found.labels]
    shares = np.zeros((len(digest.column_sums), found.n_communities))
    shares[used] = one_hot if member is None else (member.T @ one_hot) / digest.column_sums[used][:, None]
    return Layers(shares, smooth_shares(shares, digest), found.tree, evidence)


def _members(
    engine: Engine, layout: ColumnLayout, pairs: Pairs, used: NDArray[np.intp], all_rows: sparse.csr_array | None
) -> sparse.csr_array:
    """Return the nodes of the graph that rows of pairs belong to: themselves, or their anchors."""
    if all_rows is not None:
        ends = np.arange(len(pairs.rows) + 1)
        return sparse.csr_array((np.ones(len(pairs.rows)), pairs.rows, ends), shape=(len(pairs.rows), engine.n_rows))
    return sparse.csr_array(sparse.csr_array(engine.take(pairs.rows).astype(np.float64) @ layout.fold())[:, used])


def honour_pairs(engine: Engine, pairs: Pairs, labels: Labels) -> tuple[Labels, ClusterSums, NDArray[np.intp]]:
    """Fix the clusters of all rows in pairs; return the labels, their sums, and the old numbers of the clusters.

    Rows that must be together go to the cluster with the highest sum of their scores, as far as rows that must be apart
    allow. Clusters are numbered by their first rows again. There are more than before only if rows must be apart in
    more clusters than the graph has.
    """
    coefficients = engine.take(pairs.rows)
    of_rows = labels.scores(coefficients)
    scores = np.zeros((len(pairs.apart), of_rows.shape[1]))
    np.add.at(scores, pairs.group_of, of_rows)
    while (placed := place_groups(scores, pairs.apart, pairs.colouring)) is None:
        scores = np.column_stack([scores, np.full(len(scores), scores.min() - 1.0)])
    # Of the clusters that were added, only those in use count.
    in_use = np.union1d(np.arange(of_rows.shape[1]), placed)
    count, clusters = len(in_use), np.searchsorted(in_use, placed)[pairs.group_of]
    fixed = FixedRows(pairs.rows, clusters)
    widened = labels.with_clusters(np.arange(count), fixed, coefficients)
    sums = engine.sum_blocks(partial(sum_clusters, widened, count))
    kept = sums.order()
    new_number = np.argsort(np.append(kept, np.setdiff1d(np.arange(count), kept)))
    renumbered = widened.with_clusters(kept, replace(fixed, clusters=new_number[clusters]), coefficients)
    return renumbered, ClusterSums(sums.support[:, kept], sums.first_rows[kept]), kept


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


def warn_of_missing_clusters(n_found: int, n_clusters: int, pairs: Pairs | None = None) -> None:
    """Warn if fewer clusters hold a row than were asked for."""
    if n_found < n_clusters:
        moved = "" if pairs is None else "must_link took all rows of a cluster into others, or "
        warn_convergence(
            f"only {n_found} of n_clusters={n_clusters} clusters hold a row: {moved}X has too few distinct rows, or "
            "alpha is so large that all rows have nearly the same weights; ask for fewer clusters or lower alpha"
        )
