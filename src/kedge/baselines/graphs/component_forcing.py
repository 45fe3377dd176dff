"""Graphs between rows and columns that are driven to a given number of connected components.

Every row has weights on the simplex over some columns, near given ones, and so has every column over some rows; the
graph is the mean of both. A penalty on the cut, ``weight`` times Tr(F'LF) with the leading vectors F of the graph,
moves weight to pairs that are embedded near each other and drives others to zero. It is raised while the graph has too
few components, and lowered while it has too many, with one update of the graph for every value of the weight (Nie,
Wang, Deng and Huang, "Learning a structured optimal bipartite graph for co-clustering", NIPS 2017).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.baselines.graphs.bipartite_embedding import BipartiteEmbedding, embed_graph, embed_small_graph

Array = NDArray[np.float64]

# As published: the weight doubles and is divided by 1.5, by how far sums of squared singular values are from integers.
_PUBLISHED_DIVISOR, _PUBLISHED_TOLERANCE = 1.5, 1e-6
# The weight doubles and halves until the direction turns; then the factor is its own root, which is bisection.
_FIRST_FACTOR, _LEAST_FACTOR = 2.0, 1.001
# The first weight moves what rows want by at least so much on average: less has no effect, and costs as much.
_FIRST_EFFECT = 0.01


@dataclass(frozen=True)
class SimplexSide:
    """Weights on the simplex that one side of the graph puts on the other."""

    # Shape (n_entries,). Where weights may be, all entries of one owner next to each other.
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    sizes: NDArray[np.intp]  # Shape (n_owners,). How many entries belong to each owner, at least one.
    wanted: Array  # Shape (n_entries,). What the weights are to be near.
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
    """Both sides of a graph, whose mean it is, at unit row sums if ``unit_rows``."""

    row_side: SimplexSide
    column_side: SimplexSide
    shape: tuple[int, int]
    unit_rows: bool

    def updated(self, weight: float, row_points: Array, column_points: Array) -> sparse.csr_array:
        """Return the graph at a weight of the cut, given the embedded rows and columns."""
        sides = (self.row_side, self.column_side)
        return self.joined(*(side.weights(weight, row_points, column_points) for side in sides))

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
    embedding: BipartiteEmbedding
    reached: bool  # Whether the graph has the number of components asked for.
    # Shape (n_updates, 3). Weight of the cut, and then the sums of the first k and k + 1 squared singular values.
    history: Array


def force_components(
    problem: ForcingProblem,
    start: sparse.csr_array,
    n_components: int,
    weight: float,
    max_updates: int,
    *,
    published: bool = False,
) -> ForcedGraph:
    """Update a graph until it has so many connected components.

    Parameters
    ----------
    problem : ForcingProblem
        What the weights are near, and where they may be.
    start : CSR array of shape (n_rows, n_columns)
        The first graph; returned as it is if it has so many components.
    n_components : int
        Number of components wanted.
    weight : float
        First weight of the cut; raised, unless ``published``, to where it has some effect.
    max_updates : int
        Most updates.
    published : bool, default=False
        Follow the release of K-Multiple-Means: vectors come from the whole matrix, components are counted by singular
        values that are one up to 1e-6, the first update compares vectors that are not divided by the roots of the sums,
        and after an update that gave too many components the next goes on from it, instead of from the graph before.
    """
    history: list[tuple[float, float, float]] = []
    embed = embed_small_graph if published else embed_graph
    graph, embedding = start, embed(start, n_components)
    verdict = _tolerant_verdict if published else _exact_verdict
    if verdict(embedding, n_components) == 0:
        return ForcedGraph(graph, embedding, True, np.empty((0, 3)))
    points = (embedding.row_vectors, embedding.column_vectors) if published else embedding.cut_coordinates()
    if not published:
        effect = problem.row_side.pull * float(problem.row_side.distances(*points).mean())
        weight = max(weight, _FIRST_EFFECT / effect) if effect > 0 else weight
    factor, last = _FIRST_FACTOR, 0
    for _ in range(max_updates):
        graph = problem.updated(weight, *points)
        embedding = embed(graph, n_components)
        sums = np.cumsum(embedding.squares)[-2:]
        history.append((weight, float(sums[0]), float(sums[1])))
        direction = verdict(embedding, n_components)
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


def forcing_memory(n_rows: int, n_columns: int, width: int, n_components: int) -> int:
    """Return about how many bytes driving a graph takes, if rows have so many entries each."""
    return int(8 * (n_rows * width * (9 + 1.6 * n_components) + 4 * n_columns**2))


def project_segments(values: Array, sizes: NDArray[np.intp]) -> Array:
    """Project every segment of a vector on the simplex, as ``project_rows`` does with rows."""
    if (sizes == sizes[0]).all():
        return project_rows(values.reshape(len(sizes), -1)).ravel()
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    owners = np.repeat(np.arange(len(sizes)), sizes)
    # A constant does not change the result. What is more than one below the largest gets nothing, however far below;
    # near zero the sums, which run over all segments, keep their digits.
    shifted = values - np.maximum.reduceat(values, starts)[owners]
    shifted[shifted < -1.0] = -2.0
    order = np.lexsort((-shifted, owners))
    descending = shifted[order]
    totals = np.cumsum(descending)
    totals -= np.concatenate([[0.0], totals[starts[1:] - 1]])[owners]
    thresholds = (totals - 1.0) / (np.arange(len(values)) - starts[owners] + 1)
    kept = np.add.reduceat((descending > thresholds).astype(np.intp), starts)
    return np.asarray(np.maximum(shifted - thresholds[starts + kept - 1][owners], 0.0))


def _exact_verdict(embedding: BipartiteEmbedding, wanted: int) -> int:
    """Return 1 if the graph has too few components, -1 if too many, and 0 if it has as many as wanted."""
    return int(np.sign(wanted - embedding.n_components))


def _tolerant_verdict(embedding: BipartiteEmbedding, wanted: int) -> int:
    sums = np.cumsum(embedding.squares)[-2:]
    if sums[0] < wanted - _PUBLISHED_TOLERANCE:
        return 1
    return -1 if sums[1] > wanted + 1 - _PUBLISHED_TOLERANCE else 0


def project_rows(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return, for every row v, the x >= 0 with sum one that minimises |x - v|^2.

    With v in descending order u and its running sums C_j, the threshold is theta = (C_r - 1) / r for the largest r with
    u_r > theta_r, and x = max(v - theta, 0). Minus infinity stands for an entry that must stay zero; every row needs a
    finite entry. O(m log m) per row of m entries.
    """
    v = np.asarray(values, dtype=np.float64)
    # The result does not change when a constant is added to a row; near zero sums keep their digits.
    v = v - v.max(axis=1, keepdims=True)
    descending = -np.sort(-v, axis=1)
    counts = np.arange(1, v.shape[1] + 1)
    with np.errstate(invalid="ignore"):
        thresholds = (np.cumsum(descending, axis=1) - 1.0) / counts
        kept = (descending > thresholds).sum(axis=1)
    theta = thresholds[np.arange(len(v)), kept - 1]
    return np.asarray(np.maximum(v - theta[:, None], 0.0))
