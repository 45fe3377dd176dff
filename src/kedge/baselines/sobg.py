"""SOBG: a graph between rows and anchors is driven to as many connected components as clusters."""

import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kedge.baselines.clusterer import SingleViewBaseline
from kedge.baselines.graphs.component_forcing import (
    ForcedGraph,
    ForcingProblem,
    SimplexSide,
    force_components,
    forcing_memory,
)
from kedge.baselines.graphs.mutual_neighbors import search_memory, weigh_many
from kedge.baselines.graphs.sampled_anchors import sampled_anchors, sampling_memory
from kedge.core.driver_step import graph_components
from kedge.core.labels import cluster_points, number_by_first_rows, unit_rows
from kedge.core.rows import View, canonical_rows
from kedge.parameters import BASELINE_RULES, COUNT, POSITIVE, one_of

Array = NDArray[np.float64]


class SOBG(SingleViewBaseline):
    """SOBG-style clustering: the graph between rows and anchors nearest to a first one that falls into the clusters.

    The structured optimal bipartite graph method takes a given graph between two sides, the rows and columns of a
    matrix, and changes it as little as a growing penalty on its cut allows, until it has exactly ``n_clusters``
    connected components, which are the clusters. Here the first graph joins every row of X to its nearest anchors,
    which are centres of k-means, with adaptive-neighbour weights; that is our choice, the published method takes the
    graph as given (:func:`structured_graph` does so too). Time is O(n m d) for the graph of n rows, m anchors and d
    features, and O(n + m^3) per update; memory is O(n n_neighbors n_clusters + m^2 + m d), so beyond X some twenty
    million rows on 24 GB.

    Unlike in the release, an update that gave too many components is taken back, the weight of the cut starts where it
    has some effect and is bisected once it turns, components are counted exactly, and rows get more neighbours where
    the first graph already has too many components.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_anchors : int or "auto", default="auto"
        Number of anchors, more than clusters; "auto" is floor(sqrt(n_samples n_clusters)). At most n_samples.
    n_neighbors : int, default=5
        Anchors per row that may have weight.
    weight : float, default=0.1
        First weight of the cut, at least.
    max_iter : int, default=30
        Most updates of the graph.
    scale : {"none", "l2", "zscore", "minmax", "zscore_l2", "auto"}, default="none"
        How X is scaled before.
    memory_limit : float or None, default=None
        Bytes that the fit may use; None means the memory of the machine.
    random_state : int, RandomState instance or None, default=None
        Seed of the anchors.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, numbered by their first rows.
    graph_ : CSR array of shape (n_samples, n_anchors)
        Weights between rows and anchors.
    anchors_ : ndarray of shape (n_anchors, n_features)
        Anchors.
    n_components_ : int
        Connected components of the graph; ``n_clusters`` unless a warning was given.
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = BASELINE_RULES | {
        "n_anchors": [COUNT, one_of("auto")],
        "n_neighbors": [COUNT],
        "weight": [POSITIVE],
        "max_iter": [COUNT],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_anchors: int | str = "auto",
        n_neighbors: int = 5,
        weight: float = 0.1,
        max_iter: int = 30,
        scale: str = "none",
        memory_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, scale, memory_limit, random_state)
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.weight = weight
        self.max_iter = max_iter

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # Some copies of the graph, anchors and their sample.
        n_anchors = self._count_anchors(n_samples)
        graph = forcing_memory(n_samples, n_anchors, min(self.n_neighbors, n_anchors), self.n_clusters)
        graph += search_memory(n_samples, n_anchors, n_features)
        return max(graph, sampling_memory(n_samples, n_anchors, n_features))

    def _count_anchors(self, n_samples: int) -> int:
        if isinstance(self.n_anchors, str):
            return min(max(int(np.sqrt(n_samples * self.n_clusters)), self.n_clusters + 1), n_samples)
        return min(int(self.n_anchors), n_samples)

    def _cluster(self, X: View, random_state: RandomState) -> dict[str, Any]:
        X = canonical_rows(X)
        wanted = self._count_anchors(X.shape[0])
        anchors = sampled_anchors(X, wanted, random_state)
        found = structured_graph(self._first_graph(X, anchors), self.n_clusters, self.weight, self.max_iter)
        count, labels, _ = graph_components(found.graph[:, found.embedding.column_sums > 0])
        if not found.reached:
            warnings.warn(
                f"the graph has {count} components for {self.n_clusters} clusters after {len(found.history)} updates; "
                "rows are clustered by k-means of their embedding instead: raise max_iter, or try other n_neighbors or "
                "n_anchors",
                ConvergenceWarning,
                stacklevel=4,
            )
            labels, _ = cluster_points(unit_rows(found.embedding.row_vectors), self.n_clusters, random_state, 10)
        return {
            "labels_": number_by_first_rows(labels),
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
            owners = weigh_many(X, anchors, 1).indices[:, 0] if most else np.zeros(X.shape[0], dtype=np.intp)
            parts = (np.ones(len(owners)), owners, np.arange(len(owners) + 1))
            return sparse.csr_array(parts, shape=(len(owners), len(anchors)))
        width = min(self.n_neighbors, most)
        graph = weigh_many(X, anchors, width).as_graph(len(anchors))
        while width < most and _count_components(graph) > self.n_clusters:
            width = min(2 * width, most)
            graph = weigh_many(X, anchors, width).as_graph(len(anchors))
        return graph


def structured_graph(
    graph: sparse.csr_array, n_components: int, weight: float = 0.1, max_updates: int = 30
) -> ForcedGraph:
    """Change a graph between two sides until it has so many connected components.

    Every row is drawn to its weights in the given graph at sum one, and every column to its own at sum one; the result
    is the mean of both sides. Links are only ever taken away.

    Parameters
    ----------
    graph : CSR array of shape (n_rows, n_columns)
        Nonnegative; no row may be without weight.
    n_components : int
        Number of components wanted.
    weight : float, default=0.1
        First weight of the cut, at least.
    max_updates : int, default=30
        Most updates.
    """
    n_rows, n_columns = graph.shape
    by_rows = sparse.csr_array(graph, dtype=np.float64)
    by_rows.eliminate_zeros()
    by_columns = sparse.csr_array(by_rows.T)
    row_sizes, column_sizes = np.diff(by_rows.indptr), np.diff(by_columns.indptr)
    if not row_sizes.all():
        raise ValueError(f"row {int(row_sizes.argmin())} of the graph has no weight; drop it or give it some")
    used = np.flatnonzero(column_sizes)
    row_side = SimplexSide(
        np.repeat(np.arange(n_rows), row_sizes), by_rows.indices, row_sizes, _at_unit_sums(by_rows), 0.5
    )
    column_side = SimplexSide(
        by_columns.indices,
        np.repeat(np.arange(n_columns), column_sizes),
        column_sizes[used],
        _at_unit_sums(by_columns),
        0.5,
    )
    problem = ForcingProblem(row_side, column_side, (n_rows, n_columns), unit_rows=False)
    start = problem.joined(row_side.wanted, column_side.wanted)
    return force_components(problem, start, n_components, weight, max_updates)


def _at_unit_sums(graph: sparse.csr_array) -> Array:
    """Return the entries of a graph, divided by the sums of their rows."""
    return np.asarray(graph.data / np.repeat(np.asarray(graph.sum(axis=1)).ravel(), np.diff(graph.indptr)))


def _count_components(graph: sparse.csr_array) -> int:
    return graph_components(graph[:, np.asarray(graph.sum(axis=0)).ravel() > 0])[0]
