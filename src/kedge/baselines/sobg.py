"""SOBG: a graph between rows and anchors is driven to as many connected components as clusters."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from kedge.baselines import graphs
from kedge.baselines.affinity import reciprocal
from kedge.baselines.base import Array, Indices, SingleViewBaseline, baseline, parameter
from kedge.core.driver_step import graph_components
from kedge.core.labels import cluster_points, unit_rows
from kedge.core.rows import View, canonical_rows
from kedge.parameters import COUNT, POSITIVE, one_of
from kedge.user_warnings import warn_convergence

# As published: the weight doubles and is divided by 1.5, by how far sums of squared singular values are from integers.
_PUBLISHED_DIVISOR, _PUBLISHED_TOLERANCE = 1.5, 1e-6
# The weight doubles and halves until the direction turns; then the factor is its own root, which is bisection.
_FIRST_FACTOR, _LEAST_FACTOR = 2.0, 1.001
# The first weight moves what rows want by at least so much on average: less has no effect, and costs as much.
_FIRST_EFFECT = 0.01
# Pairs of a graph that is decomposed as a whole.
_SMALL_GRAPH = 1 << 22


@baseline(
    "a graph between rows and anchors, changed as little as possible until it has k components",
    cost="n m d + m^3 per update",
)
class SOBG(SingleViewBaseline):
    """SOBG-style clustering: the graph between rows and anchors nearest to a first one that falls into the clusters.

    The structured optimal bipartite graph method changes a given graph between two sides as little as a growing penalty
    on its cut allows, until it has exactly ``n_clusters`` connected components, the clusters. Our first graph joins
    every row to its nearest anchors, the centres of k-means, with adaptive-neighbour weights. Time is O(n m d) for the
    graph of n rows, m anchors and d features, and O(n + m^3) per update; memory is O(n n_neighbors n_clusters + m^2 +
    m d), so about twenty million rows beyond X on 24 GB.

    Unlike in the release, an update that gave too many components is undone, the weight of the cut starts where it has
    some effect and is bisected once it turns, components are counted exactly, and rows get more neighbours if the first
    graph already has too many components.

    Parameters
    ----------
    n_anchors : int or "auto", default="auto"
        Number of anchors, more than clusters; "auto" is floor(sqrt(n_samples n_clusters)). At most n_samples.
    n_neighbors : int, default=5
        Anchors per row that may have weight.
    weight : float, default=0.1
        First weight of the cut, at least.
    max_iter : int, default=30
        Most updates of the graph.

    Attributes
    ----------
    graph_ : CSR array of shape (n_samples, n_anchors)
        Weights between rows and anchors.
    anchors_ : ndarray of shape (n_anchors, n_features)
        Anchors.
    n_components_ : int
        Connected components of the graph; ``n_clusters`` unless there was a warning.
    n_iter_ : int
        Updates of the graph; at least one is counted.
    history_ : ndarray of shape (n_updates, 3)
        Weight of the cut, and the sums of the first n_clusters and n_clusters + 1 squared singular values of the graph
        after each update.

    References
    ----------
    Nie, Wang, Deng and Huang, "Learning a structured optimal bipartite graph for co-clustering", NIPS 2017.

    Examples
    --------
    >>> from kedge.baselines import SOBG
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(90, centers=3, cluster_std=0.5, random_state=0)
    >>> SOBG(3, random_state=0).fit(X).n_components_
    3
    """

    n_anchors: int | str = parameter(COUNT, one_of("auto"), default="auto")
    n_neighbors: int = parameter(COUNT, default=5)
    weight: float = parameter(POSITIVE, default=0.1)
    max_iter: int = parameter(COUNT, default=30)

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        wanted = count_anchors(self.n_anchors, n_samples, self.n_clusters)
        per_row = forced_numbers(min(self.n_neighbors, wanted), self.n_clusters)
        return graphs.anchor_graph_memory(n_samples, wanted, n_features, per_row, graphs.sample_size(n_samples, wanted))

    def _cluster(self, X: View, random_state: np.random.RandomState) -> dict[str, Any]:
        X = canonical_rows(X)
        anchors = graphs.sampled_anchors(X, count_anchors(self.n_anchors, X.shape[0], self.n_clusters), random_state)
        found = structured_graph(self._first_graph(X, anchors), self.n_clusters, self.weight, self.max_iter)
        count, labels, _ = graph_components(found.graph[:, found.embedding.column_sums > 0])
        if not found.reached:
            warn_convergence(
                f"the graph has {count} components for {self.n_clusters} clusters after {len(found.history)} updates; "
                "rows are clustered by k-means of their embedding instead: raise max_iter, or try other n_neighbors or "
                "n_anchors"
            )
            labels, _ = cluster_points(unit_rows(found.embedding.row_vectors), self.n_clusters, random_state, 10)
        return {
            "labels_": labels,
            "graph_": found.graph,
            "anchors_": anchors,
            "n_components_": count,
            "n_iter_": max(len(found.history), 1),
            "history_": found.history,
        }

    def _first_graph(self, X: View, anchors: Array) -> sparse.csr_array:
        """Join rows to their nearest anchors, to more of them while the graph has too many components."""
        most = len(anchors) - 1
        if most < self.n_clusters:
            # Not more anchors than clusters: every row belongs to the nearest.
            owners = (
                graphs.weigh_neighbors(X, anchors, 1).indices[:, 0] if most else np.zeros(X.shape[0], dtype=np.intp)
            )
            return graphs.nearest_graph(owners, len(anchors))
        width = min(self.n_neighbors, most)
        while True:
            graph = graphs.weigh_neighbors(X, anchors, width).as_graph(len(anchors))
            used = np.asarray(graph.sum(axis=0)).ravel() > 0
            if width == most or graph_components(graph[:, used])[0] <= self.n_clusters:
                return graph
            width = min(2 * width, most)


def count_anchors(wanted: int | str, n_samples: int, n_clusters: int) -> int:
    """Return the number of anchors; "auto" is floor(sqrt(n_samples n_clusters)), more than clusters."""
    if isinstance(wanted, str):
        wanted = max(int(np.sqrt(n_samples * n_clusters)), n_clusters + 1)
    return min(int(wanted), n_samples)


@dataclass(frozen=True)
class SimplexSide:
    """Weights on the simplex that one side of the graph puts on the other."""

    # Shape (n_entries,). Rows and columns of the entries that may have weight, grouped by owner.
    rows: Indices
    columns: Indices
    sizes: Indices  # Shape (n_owners,). How many entries belong to each owner, at least one.
    wanted: Array  # Shape (n_entries,). What the weights should be near.
    pull: float  # The weights of an owner are the projection of ``wanted - weight * pull * distance`` on the simplex.

    def weights(self, weight: float, row_points: Array, column_points: Array) -> Array:
        """Return the weights of all entries, given the embedded rows and columns."""
        distances = self.distances(row_points, column_points)
        return project_segments(self.wanted - weight * self.pull * distances, self.sizes)

    def distances(self, row_points: Array, column_points: Array) -> Array:
        """Return the squared distances of the embedded row and column of every entry."""
        differences = row_points[self.rows]
        differences -= column_points[self.columns]
        return np.asarray(np.einsum("ij,ij->i", differences, differences))


@dataclass(frozen=True)
class ForcingProblem:
    """The two sides of a graph, which is their mean, with row sums of one if ``unit_rows``."""

    row_side: SimplexSide
    column_side: SimplexSide
    shape: tuple[int, int]
    unit_rows: bool

    def joined(self, row_weights: Array, column_weights: Array) -> sparse.csr_array:
        """Return the mean of two sides; zeros are not stored."""
        rows = np.concatenate([self.row_side.rows, self.column_side.rows])
        columns = np.concatenate([self.row_side.columns, self.column_side.columns])
        values = np.concatenate([row_weights, column_weights]) / 2.0
        kept = values > 0
        graph = sparse.csr_array(sparse.coo_array((values[kept], (rows[kept], columns[kept])), shape=self.shape))
        if self.unit_rows:
            graph.data /= np.repeat(np.asarray(graph.sum(axis=1)).ravel(), np.diff(graph.indptr))
        return graph


@dataclass(frozen=True)
class ForcedGraph:
    """A graph, its embedding, and how it was reached."""

    graph: sparse.csr_array  # Shape (n_rows, n_columns).
    embedding: graphs.BipartiteEmbedding
    reached: bool  # Whether the graph has the wanted number of components.
    history: Array  # Shape (n_updates, 3). Weight of the cut, sums of the first k and k + 1 squared singular values.


def structured_graph(
    graph: sparse.csr_array, n_components: int, weight: float = 0.1, max_updates: int = 30
) -> ForcedGraph:
    """Change a graph between two sides until it has so many connected components; links are only taken away.

    Rows and columns are each drawn to their own weights in the given graph, at sum one; the result is the mean of both.
    """
    n_rows, n_columns = graph.shape
    by_rows = sparse.csr_array(graph, dtype=np.float64)
    by_rows.eliminate_zeros()
    by_columns = sparse.csr_array(by_rows.T)
    row_sizes, column_sizes = np.diff(by_rows.indptr), np.diff(by_columns.indptr)
    if not row_sizes.all():
        raise ValueError(f"row {int(row_sizes.argmin())} of the graph has no weight; drop it or give it some")
    used = np.flatnonzero(column_sizes)
    rows, columns = np.repeat(np.arange(n_rows), row_sizes), np.repeat(np.arange(n_columns), column_sizes)
    row_side = SimplexSide(rows, by_rows.indices, row_sizes, _at_unit_sums(by_rows), 0.5)
    column_side = SimplexSide(by_columns.indices, columns, column_sizes[used], _at_unit_sums(by_columns), 0.5)
    problem = ForcingProblem(row_side, column_side, (n_rows, n_columns), unit_rows=False)
    start = problem.joined(row_side.wanted, column_side.wanted)
    return force_components(problem, start, n_components, weight, max_updates)


def _at_unit_sums(graph: sparse.csr_array) -> Array:
    """Return the entries of a graph, divided by the sums of their rows."""
    return np.asarray(graph.data / np.repeat(np.asarray(graph.sum(axis=1)).ravel(), np.diff(graph.indptr)))


def force_components(
    problem: ForcingProblem,
    start: sparse.csr_array,
    n_components: int,
    weight: float,
    max_updates: int,
    *,
    published: bool = False,
) -> ForcedGraph:
    """Update a graph until it has so many connected components; ``start`` is returned if it already has.

    A penalty on the cut, ``weight`` times Tr(F'LF) with the leading vectors F of the graph, drives links between pairs
    that are embedded far apart to zero. It is raised while the graph has too few components and lowered while it has
    too many, with one update of the graph per value.

    ``published`` follows the release of K-Multiple-Means: vectors come from the whole matrix, components are counted by
    singular values that are one up to 1e-6, the first update compares vectors that are not divided by the roots of the
    sums, and an update that gave too many components is not undone.
    """
    history: list[tuple[float, float, float]] = []
    embed = embed_small_graph if published else graphs.embed_graph
    graph, embedding = start, embed(start, n_components)
    if _verdict(embedding, n_components, published) == 0:
        return ForcedGraph(graph, embedding, True, np.empty((0, 3)))
    points = (embedding.row_vectors, embedding.column_vectors) if published else embedding.cut_coordinates()
    if not published:
        effect = problem.row_side.pull * float(problem.row_side.distances(*points).mean())
        weight = max(weight, _FIRST_EFFECT / effect) if effect > 0 else weight
    factor, last = _FIRST_FACTOR, 0
    for _ in range(max_updates):
        graph = problem.joined(*(side.weights(weight, *points) for side in (problem.row_side, problem.column_side)))
        embedding = embed(graph, n_components)
        sums = np.cumsum(embedding.squares)[-2:]
        history.append((weight, float(sums[0]), float(sums[1])))
        direction = _verdict(embedding, n_components, published)
        if direction == 0:
            return ForcedGraph(graph, embedding, True, np.array(history))
        if published:
            weight = weight * _FIRST_FACTOR if direction > 0 else weight / _PUBLISHED_DIVISOR
        else:
            factor = max(np.sqrt(factor), _LEAST_FACTOR) if direction == -last else factor
            weight, last = weight * factor**direction, direction
        if published or direction > 0:
            points = embedding.cut_coordinates()
    return ForcedGraph(graph, embedding, False, np.array(history))


def embed_small_graph(graph: sparse.csr_array, n_vectors: int) -> graphs.BipartiteEmbedding:
    """Embed both sides by a singular value decomposition of the whole matrix, up to 2^22 pairs.

    The authors' programs do so, and vectors of equal singular values depend on the algorithm.
    """
    found = graphs.embed_graph(graph, n_vectors)
    if graph.shape[0] * graph.shape[1] > _SMALL_GRAPH or n_vectors >= min(graph.shape):
        return found
    scaled = reciprocal(np.sqrt(found.row_sums))[:, None] * graph.toarray() * reciprocal(np.sqrt(found.column_sums))
    left, values, right = np.linalg.svd(scaled, full_matrices=False)
    row_vectors, column_vectors = np.sqrt(0.5) * left[:, :n_vectors], np.sqrt(0.5) * right[:n_vectors].T
    squares = values[: n_vectors + 1] ** 2
    return replace(found, row_vectors=row_vectors, column_vectors=column_vectors, squares=squares)


def forced_numbers(width: int, n_components: int) -> float:
    """Return about how many numbers per row :func:`force_components` takes, for ``width`` entries per row."""
    return width * (9 + 1.6 * n_components)


def project_segments(values: Array, sizes: Indices) -> Array:
    """Return, for every segment v of a vector, the x >= 0 with sum one that minimises |x - v|^2.

    With v in descending order u and its running sums C_j, x = max(v - theta, 0) for theta = (C_r - 1) / r and the
    largest r with u_r > theta_r. Minus infinity marks an entry that must stay zero.
    """
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    owners = np.repeat(np.arange(len(sizes)), sizes)
    # A constant does not change the result. What is more than one below the largest gets nothing, however far below.
    # The sums run over all segments; near zero they keep their digits.
    shifted = values - np.maximum.reduceat(values, starts)[owners]
    shifted[shifted < -1.0] = -2.0
    order = np.lexsort((-shifted, owners))
    descending = shifted[order]
    totals = np.cumsum(descending)
    totals -= np.concatenate([[0.0], totals[starts[1:] - 1]])[owners]
    thresholds = (totals - 1.0) / (np.arange(len(values)) - starts[owners] + 1)
    kept = np.add.reduceat((descending > thresholds).astype(np.intp), starts)
    return np.asarray(np.maximum(shifted - thresholds[starts + kept - 1][owners], 0.0))


def _verdict(embedding: graphs.BipartiteEmbedding, wanted: int, published: bool) -> int:
    """Return 1 if the graph has too few components, -1 if too many, and 0 otherwise."""
    if not published:
        return int(np.sign(wanted - embedding.n_components))
    sums = np.cumsum(embedding.squares)[-2:]
    if sums[0] < wanted - _PUBLISHED_TOLERANCE:
        return 1
    return -1 if sums[1] > wanted + 1 - _PUBLISHED_TOLERANCE else 0
