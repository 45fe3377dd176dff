"""AMGL: one spectral embedding of several neighbour graphs, which weigh themselves."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components

from kedge.baselines.affinity import SMALL_ORDER, lanczos_pairs, with_fixed_signs
from kedge.baselines.base import Array, Indices, Labels, MultiViewBaseline, baseline, parameter
from kedge.baselines.graphs import weigh_neighbors
from kedge.core.labels import cluster_points
from kedge.core.rows import View
from kedge.parameters import COUNT, NOT_NEGATIVE
from kedge.user_warnings import warn_convergence

# Added to the cost of every view, whose weight is one over twice the square root. Taking the larger of the two instead
# would let the objective rise where a cost is below.
_LEAST_COST = 1e-10
# Passes before the objective may end the fit.
_LEAST_PASSES = 3
# Eigenvalues this near count as equal where vectors of several components compete.
_EQUAL = 1e-12
# Residual, relative to the eigenvalue, at which the Lanczos method ends.
_RESIDUAL = 1e-12


@baseline("one embedding of the neighbour graphs of all views, weighted by themselves", cost="n^2 d")
class AMGL(MultiViewBaseline):
    """Auto-weighted multiple graph learning: one spectral embedding shared by the neighbour graphs of all views.

    Every view gets a graph between rows and their nearest neighbours. The embedding F minimises the sum over views of
    sqrt(tr(F' L_v F)), where L_v is the normalised Laplacian. Weights of the Laplacians follow from F, so both are
    found in turn, and k-means clusters the rows of F. O(n^2 d) time for n rows and d features: 30,000 take minutes.

    A view whose graph has as many components as there are clusters costs nothing and takes over; a warning says so. The
    authors do not scale views, and their release divides by zero if all neighbours are equally far; here these have
    equal weights.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours of a row in each graph; at most n_samples - 2 are used.
    max_iter : int, default=100
        Most passes.
    tol : float, default=1e-8
        The fit ends when the objective falls by less than this share in a pass, after at least three.
    n_init : int, default=10
        Starts of k-means.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_clusters)
        F, with orthonormal columns.
    view_weights_ : ndarray of shape (n_views,)
        Weight of each view's Laplacian; they sum to one.
    view_weights_history_ : ndarray of shape (n_iter_, n_views)
        1 / (2 sqrt(tr(F' L_v F))) after each pass, as published; not divided by their sum.
    objective_ : ndarray of shape (n_iter_,)
        Sum over views of sqrt(tr(F' L_v F)) after each pass.
    n_components_ : ndarray of shape (n_views,)
        Connected components of each view's graph.
    graphs_ : list of CSR arrays of shape (n_samples, n_samples)
        The symmetric graph of each view.
    n_iter_ : int
        Passes.

    References
    ----------
    Nie, Li and Li, "Parameter-free auto-weighted multiple graph learning: a framework for multiview clustering and
    semi-supervised classification", IJCAI 2016.
    """

    n_neighbors: int = parameter(COUNT, default=5)
    max_iter: int = parameter(COUNT, default=100)
    tol: float = parameter(NOT_NEGATIVE, default=1e-8)
    n_init: int = parameter(COUNT, default=10)

    _least_rows: ClassVar[int] = 3

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # Copies of the views, and either the search or, after it, sparse graphs and Lanczos vectors.
        search = 8 * 2 * max(getattr(self, "view_widths_", (n_features,)))
        graphs = 16 * 2 * min(self.n_neighbors, n_samples) * (3 * self._count_views() + 4)
        vectors = 8 * (max(4 * self.n_clusters, 60) + 4 * self.n_clusters)
        return n_samples * (8 * n_features + max(search, graphs + vectors))

    def _cluster(self, views: list[View], random_state: np.random.RandomState) -> dict[str, Any]:
        n_neighbors = min(self.n_neighbors, views[0].shape[0] - 2)
        graphs = [neighbor_graph(view, n_neighbors) for view in views]
        counts = np.array([connected_components(graph, directed=False)[0] for graph in graphs])
        self._warn_of_components(counts)
        embedding, costs, objective = self._alternate([_normalized(graph) for graph in graphs])
        labels, _ = cluster_points(embedding, self.n_clusters, random_state, self.n_init)
        history = 0.5 / np.sqrt(costs)
        return {
            "labels_": labels,
            "embedding_": embedding,
            "view_weights_": history[-1] / history[-1].sum(),
            "view_weights_history_": history,
            "objective_": objective,
            "n_components_": counts,
            "graphs_": graphs,
            "n_iter_": len(objective),
        }

    def _alternate(self, graphs: Sequence[sparse.csr_array]) -> tuple[Array, Array, Array]:
        """Return F, the costs tr(F' L_v F) of all passes, and the objectives; ``graphs`` are I - L_v."""
        components = find_components(sum(graphs[1:], start=graphs[0]))
        weights = np.full(len(graphs), 1.0 / len(graphs))
        costs: list[Array] = []
        objective: list[float] = []
        for _ in range(self.max_iter):
            terms = [weight * graph for weight, graph in zip(weights / weights.sum(), graphs, strict=True)]
            mixture = sparse.csr_array(sum(terms[1:], start=terms[0]))
            embedding = leading_eigenvectors(mixture, components, self.n_clusters)[1]
            costs.append(np.array([_cost(embedding, graph) for graph in graphs]))
            weights = 0.5 / np.sqrt(costs[-1])
            objective.append(float(np.sqrt(costs[-1]).sum()))
            if len(objective) >= _LEAST_PASSES and objective[-2] - objective[-1] < self.tol * objective[-2]:
                break
        else:
            warn_convergence(
                f"the objective still fell by more than tol={self.tol:g} of itself after max_iter={self.max_iter} "
                "passes; raise one of them"
            )
        return embedding, np.array(costs), np.array(objective)

    def _warn_of_components(self, counts: Labels) -> None:
        """Warn if a view can be cut without cost; a single view may have as many components as clusters."""
        most = self.n_clusters - 1 if len(counts) > 1 else self.n_clusters
        if self.n_clusters == 1 or counts.max() <= most:
            return
        view = int(counts.argmax())
        warn_convergence(
            f"the graph of {self.view_names_[view]!r} has {counts[view]} connected components for {self.n_clusters} "
            "clusters, so it can be cut at no cost: it outweighs all other views, and the largest components decide; "
            "take more n_neighbors, or leave the view out"
        )


def neighbor_graph(view: View, n_neighbors: int) -> sparse.csr_array:
    """Return the symmetric graph of adaptive neighbours of one view."""
    directed = weigh_neighbors(view, view, n_neighbors, among_themselves=True).as_graph(view.shape[0])
    return sparse.csr_array((directed + directed.T) / 2.0)


def _normalized(graph: sparse.csr_array) -> sparse.csr_array:
    """Return D^(-1/2) W D^(-1/2); every row has neighbours, so that no sum is zero."""
    diagonal = sparse.diags_array(1.0 / np.sqrt(np.asarray(graph.sum(axis=1)).ravel()))
    return sparse.csr_array(diagonal @ graph @ diagonal)


def _cost(embedding: Array, graph: sparse.csr_array) -> float:
    """Return tr(F' L F) for the normalised graph I - L, plus a little, so that it is never zero."""
    trace = float(np.vdot(embedding, embedding) - np.vdot(embedding, graph @ embedding))
    return max(trace, 0.0) + _LEAST_COST


def find_components(graph: sparse.csr_array) -> list[Indices]:
    """Return the rows of each component of a symmetric graph, largest component first; stored entries are edges."""
    _, labels = connected_components(graph, directed=False)
    rows = np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])
    return sorted(rows, key=len, reverse=True)


def leading_eigenvectors(matrix: sparse.csr_array, components: list[Indices], n_vectors: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues of a symmetric nonnegative matrix, descending, and orthonormal eigenvectors.

    The largest eigenvalues of components can be equal, and a Lanczos method can miss vectors of a multiple eigenvalue.
    Within one component the largest is simple (Perron and Frobenius), so each component is solved on its own. The best
    of all are taken; ties go to the larger component.
    """
    pairs: list[tuple[float, Indices, Array]] = []
    for rows in components:
        block = sparse.csr_array(matrix[rows][:, rows])
        values, vectors = _leading_of_block(block, min(n_vectors, len(rows)))
        pairs.extend((value, rows, vector) for value, vector in zip(values, vectors.T, strict=True))
    joined = np.array([value for value, _, _ in pairs])
    # A stable sort keeps the larger component first if eigenvalues are equal up to rounding.
    best = np.argsort(-np.round(joined / _EQUAL) * _EQUAL, kind="stable")[:n_vectors]
    found = np.zeros((matrix.shape[0], len(best)))
    for column, place in enumerate(best):
        _, rows, vector = pairs[place]
        found[rows, column] = vector
    return joined[best], found


def _leading_of_block(block: sparse.csr_array, wanted: int) -> tuple[Array, Array]:
    order = block.shape[0]
    if order <= SMALL_ORDER or 4 * wanted >= order:
        values, vectors = linalg.eigh(block.toarray(), subset_by_index=[order - wanted, order - 1])
    else:
        values, vectors = lanczos_pairs(lambda vector: block @ vector, order, wanted, tol=_RESIDUAL)
    return values[::-1], with_fixed_signs(vectors)[:, ::-1]
