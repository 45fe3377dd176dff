"""KMM: several means per cluster, joined to clusters by a graph with as many connected components as clusters."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from kedge.baselines import graphs, sobg
from kedge.baselines.base import Array, Indices, SingleViewBaseline, as_dense, baseline, parameter
from kedge.core.driver_step import graph_components
from kedge.core.labels import cluster_points, unit_rows
from kedge.core.rows import View, canonical_rows
from kedge.parameters import COUNT, NOT_NEGATIVE, one_of
from kedge.user_warnings import warn_convergence

# Sets of prototypes that are tried until a graph with the right number of components is found.
_MOST_DRAWS = 5
# Ridges are at least this share of the mean squared distance, or one where all distances are zero.
_LEAST_RIDGE = 1e-12


@baseline("several prototypes per cluster, joined by a graph with exactly k components", cost="n m d per round")
class KMM(SingleViewBaseline):
    """K-multiple-means: prototypes, several per cluster, and a graph from rows to them with one component per cluster.

    Rounds alternate between two steps. First a graph, in which rows have weight on the nearest prototypes and
    prototypes on the nearest rows, is driven to exactly ``n_clusters`` connected components by a growing penalty on its
    cut. Then prototypes move to the means of their rows, weighted by the graph. Time is O(n m d + u (n + m^3)) per
    round for n rows, m prototypes, d features and u <= 30 updates of the graph; memory is O(n n_neighbors n_clusters +
    m^2 + m d), so about twenty million rows beyond X on 24 GB. Small changes of the input can change the result a lot.

    Where the release and its paper differ, the paper is followed: a prototype is the mean of all rows that put weight
    on it, weights of prototypes on rows start from similarities, and an update that gave too many components is undone.
    These are our additions: the unit of X does not matter, components are counted exactly, the weight of the cut is
    bisected once it turns, rows get more neighbours if needed, and rounds end when prototypes hardly move.

    Parameters
    ----------
    n_prototypes : int or "auto", default="auto"
        Number of prototypes, more than clusters; "auto" is floor(sqrt(n_samples n_clusters)). At most n_samples.
    n_neighbors : int, default=5
        Prototypes per row, and rows per prototype, that may have weight.
    prototypes : {"random", "kmeans"} or array-like of shape (n_prototypes, n_features), default="random"
        First prototypes: random rows, centres of k-means, or given ones, in the scale of the scaled rows.
    recipe : {"kedge", "published"}, default="kedge"
        "published" follows the authors' release in all of these.
    max_iter : int, default=15
        Most rounds.
    max_updates : int, default=30
        Most updates of the graph in a round.
    tol : float, default=5e-3
        Rounds end when no row changes its nearest prototype, or the squared moves of all prototypes are less than this
        share of their squared distances to their mean. Not used by ``recipe="published"``.

    Attributes
    ----------
    graph_ : CSR array of shape (n_samples, n_prototypes)
        Weights of rows on prototypes; rows sum to one.
    prototypes_ : ndarray of shape (n_prototypes, n_features)
        Prototypes of the graph.
    n_components_ : int
        Connected components of the graph; ``n_clusters`` unless there was a warning.
    n_iter_ : int
        Rounds.
    history_ : ndarray of shape (n_updates, 5)
        Round, prototypes, weight of the cut, and the sums of the first n_clusters and n_clusters + 1 squared singular
        values of the graph after each update.

    References
    ----------
    Nie, Wang and Li, "K-Multiple-Means: a multiple-means clustering method with specified K clusters", KDD 2019.

    Examples
    --------
    >>> from kedge.baselines import KMM
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.03, random_state=0)
    >>> KMM(2, random_state=0).fit(X).n_components_
    2
    """

    n_prototypes: int | str = parameter(COUNT, one_of("auto"), default="auto")
    n_neighbors: int = parameter(COUNT, default=5)
    prototypes: Any = parameter(one_of("kmeans", "random"), "array-like", default="random")
    recipe: str = parameter(one_of("kedge", "published"), default="kedge")
    max_iter: int = parameter(COUNT, default=15)
    max_updates: int = parameter(COUNT, default=30)
    tol: float = parameter(NOT_NEGATIVE, default=5e-3)

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        wanted = sobg.count_anchors(self.n_prototypes, n_samples, self.n_clusters)
        per_row = sobg.forced_numbers(min(self.n_neighbors, wanted), self.n_clusters)
        is_sampled = isinstance(self.prototypes, str) and self.prototypes == "kmeans"
        n_sampled = graphs.sample_size(n_samples, wanted) if is_sampled else wanted
        graph = graphs.anchor_graph_memory(n_samples, wanted, n_features, per_row, n_sampled)
        return graph + 16 * wanted * n_features

    def _cluster(self, X: View, random_state: np.random.RandomState) -> dict[str, Any]:
        X = canonical_rows(X)
        first = self._first_prototypes(X, random_state)
        if len(first) <= self.n_clusters:
            return _one_prototype_per_cluster(X, first)
        history: list[Array] = []
        forced, prototypes, trouble = self._run_rounds(X, first, random_state, history)
        count, labels, _ = graph_components(forced.graph[:, forced.embedding.column_sums > 0])
        if not forced.reached:
            trouble = f"no graph with {self.n_clusters} components was found, but one with {count}; rows are clustered "
            trouble += "by k-means of their embedding instead: try other n_neighbors or n_prototypes"
            if count != self.n_clusters:
                labels, _ = cluster_points(unit_rows(forced.embedding.row_vectors), self.n_clusters, random_state, 10)
        if trouble:
            warn_convergence(trouble)
        return {
            "labels_": labels,
            "graph_": forced.graph,
            "prototypes_": prototypes,
            "n_components_": count,
            "n_iter_": len(history),
            "history_": np.concatenate(history),
        }

    def _first_prototypes(self, X: View, random_state: np.random.RandomState) -> Array:
        if not isinstance(self.prototypes, str):
            given = check_array(self.prototypes, dtype=np.float64)
            if given.shape[1] != X.shape[1]:
                raise ValueError(f"prototypes have {given.shape[1]} features, but X has {X.shape[1]}; give as many")
            return np.asarray(given)
        wanted = sobg.count_anchors(self.n_prototypes, X.shape[0], self.n_clusters)
        return graphs.sampled_anchors(X, wanted, random_state, self.prototypes)

    def _run_rounds(
        self, X: View, first: Array, random_state: np.random.RandomState, history: list[Array]
    ) -> tuple[sobg.ForcedGraph, Array, str | None]:
        """Return the last graph with enough components, or the last, its prototypes, and what went wrong after it."""
        best: tuple[sobg.ForcedGraph, Array] | None = None
        draws = 0
        current = self._neighbors(X, first, random_state)
        for number in range(1, self.max_iter + 1):
            forced = self._graph_of(X, current)
            where = np.tile([number, len(current.prototypes)], (len(forced.history), 1))
            history.append(np.hstack([where, forced.history]))
            if not forced.reached:
                if best is not None:
                    trouble = f"round {number} found no graph with {self.n_clusters} components; the last one counts"
                    return *best, trouble
                draws += 1
                redrawn = graphs.sampled_anchors(X, len(first), random_state, "random")
                if draws == _MOST_DRAWS or len(redrawn) <= self.n_clusters:
                    break
                current = self._neighbors(X, redrawn, random_state)
                continue
            best = forced, current.prototypes
            moved = _moved_prototypes(X, current, forced.graph, owned_rows_only=self.recipe == "published")
            if self.recipe == "kedge" and _share_moved(current.prototypes, moved) <= self.tol:
                return *best, None
            following = self._neighbors(X, moved, random_state)
            if np.array_equal(following.owners, current.owners):
                return *best, None
            current = following
        if best is None:
            return forced, current.prototypes, None
        return *best, f"prototypes still moved after max_iter={self.max_iter} rounds; raise max_iter or tol"

    def _neighbors(self, X: View, prototypes: Array, random_state: np.random.RandomState) -> "_Neighbors":
        """Weigh rows and prototypes, without prototypes that are nearest to no row unless too few would be left."""
        while True:
            found = weigh_both_ways(X, prototypes, self.n_neighbors)
            owning = np.unique(found.owners)
            if len(owning) == len(prototypes):
                return found
            if len(owning) > self.n_clusters:
                prototypes = prototypes[owning]
                continue
            prototypes = graphs.sampled_anchors(X, len(prototypes), random_state, "random")
            if self.recipe == "kedge" or len(prototypes) <= self.n_clusters:
                return found

    def _graph_of(self, X: View, current: "_Neighbors") -> sobg.ForcedGraph:
        """Drive the graph of prototypes to as many components as clusters."""
        published = self.recipe == "published"
        problem, start, weight = _forcing_problem(current, published)
        width, most = current.ahead.indices.shape[1], min(X.shape[0], len(current.prototypes)) - 1
        # No link is ever added, so a graph with too many components keeps them.
        while not published and width < most and graph_components(start)[0] > self.n_clusters:
            width = min(2 * width, most)
            problem, start, weight = _forcing_problem(weigh_both_ways(X, current.prototypes, width), published)
        return sobg.force_components(problem, start, self.n_clusters, weight, self.max_updates, published=published)


@dataclass(frozen=True)
class _Neighbors:
    """Prototypes, the weights of rows on them, and their weights on rows."""

    prototypes: Array
    ahead: graphs.NeighborWeights
    back: graphs.NeighborWeights
    owners: Indices  # The nearest prototype of every row.


def weigh_both_ways(X: View, prototypes: Array, n_neighbors: int) -> _Neighbors:
    """Weigh the nearest prototypes of every row, and the nearest rows of every prototype."""
    width = min(n_neighbors, len(prototypes) - 1, X.shape[0] - 1)
    ahead, back = graphs.weigh_neighbors(X, prototypes, width), graphs.weigh_neighbors(prototypes, X, width)
    return _Neighbors(prototypes, ahead, back, ahead.indices[:, 0])


def _forcing_problem(current: _Neighbors, published: bool) -> tuple[sobg.ForcingProblem, sparse.csr_array, float]:
    """Return what rows and prototypes want of the graph, the first graph, and the first weight of its cut."""
    ahead, back = current.ahead, current.back
    (n_rows, width), n_prototypes = ahead.indices.shape, len(current.prototypes)
    floor = _LEAST_RIDGE * float(ahead.squared_distances.mean()) or 1.0
    ridge, back_ridge = (max(float(side.ridges.mean()), floor) for side in (ahead, back))
    row_side = sobg.SimplexSide(
        np.repeat(np.arange(n_rows), width),
        ahead.indices.ravel(),
        np.full(n_rows, width),
        (ahead.squared_distances[:, :-1] / (-2.0 * ridge)).ravel(),
        0.5 / ridge,
    )
    column_side = sobg.SimplexSide(
        back.indices.ravel(),
        np.repeat(np.arange(n_prototypes), width),
        np.full(n_prototypes, width),
        (back.squared_distances[:, :-1] if published else back.weights).ravel(),
        0.5 if published else 0.5 / back_ridge,
    )
    problem = sobg.ForcingProblem(row_side, column_side, (n_rows, n_prototypes), unit_rows=True)
    return problem, problem.joined(ahead.weights.ravel(), back.weights.ravel()), ridge + back_ridge


def _moved_prototypes(X: View, current: _Neighbors, graph: sparse.csr_array, owned_rows_only: bool) -> Array:
    """Return the means of rows, weighted by the graph; where all weights are zero, of the nearest rows."""
    nearest = graphs.nearest_graph(current.owners, graph.shape[1])
    weights = graph * nearest if owned_rows_only else graph
    sums = np.asarray(weights.sum(axis=0)).ravel()
    weights = sparse.csr_array(weights + nearest * (sums == 0))
    sums = np.asarray(weights.sum(axis=0)).ravel()[:, None]
    return np.asarray(np.divide(as_dense(weights.T @ X), sums, out=current.prototypes.copy(), where=sums > 0))


def _share_moved(before: Array, after: Array) -> float:
    """Return the squared moves of prototypes relative to their spread."""
    moves, spread = float(((after - before) ** 2).sum()), float(((before - before.mean(axis=0)) ** 2).sum())
    return moves / spread if spread > 0 else moves


def _one_prototype_per_cluster(X: View, prototypes: Array) -> dict[str, Any]:
    """Label rows by the nearest of as many prototypes as clusters, or fewer if X has no more distinct rows."""
    owners = weigh_both_ways(X, prototypes, 1).owners if len(prototypes) > 1 else np.zeros(X.shape[0], dtype=np.intp)
    return {
        "labels_": owners,
        "graph_": graphs.nearest_graph(owners, len(prototypes)),
        "prototypes_": prototypes,
        "n_components_": len(np.unique(owners)),
        "n_iter_": 1,
        "history_": np.empty((0, 5)),
    }
