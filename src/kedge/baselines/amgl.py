"""AMGL: one spectral embedding of several neighbour graphs, which weigh themselves."""

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning

from kedge.baselines.clusterer import MultiViewBaseline
from kedge.baselines.graphs.adaptive_neighbors import weigh_neighbors
from kedge.baselines.graphs.component_eigenvectors import find_components, leading_eigenvectors
from kedge.core.labels import cluster_points, number_by_first_rows
from kedge.core.rows import View
from kedge.parameters import COUNT, MULTI_VIEW_BASELINE_RULES, NOT_NEGATIVE

Array = NDArray[np.float64]

# Added to the cost of every view, whose weight is one over twice the square root. Taking the larger of the two instead
# would let the objective rise where a cost is below.
_LEAST_COST = 1e-10
# Passes before the objective may end the fit.
_LEAST_PASSES = 3


class AMGL(MultiViewBaseline):
    """Auto-weighted multiple graph learning: one spectral embedding shared by the neighbour graphs of all views.

    Every view gets a graph between rows and their nearest neighbours. The embedding F minimises the sum over views of
    sqrt(tr(F' L_v F)), where L_v is the normalised Laplacian; this is the same as a weighted sum of Laplacians whose
    weights follow from F, so both are found in turn, and k-means clusters the rows of F. There is no parameter but the
    number of neighbours.

    The neighbour search takes O(n^2 d) time for n rows and d features; the graphs are sparse and the eigenvectors come
    from a Lanczos method, so memory grows with n: 30,000 rows take minutes, and 24 GB would hold some millions. A view
    whose graph has as many components as there are clusters costs nothing at all and takes over; a warning says so. The
    authors' release divides by zero where rows coincide; here neighbours that are all equally far have equal weights.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    views : list or dict or None, default=None
        Where X is one matrix, the columns of its views: widths, slices, or lists of column names or numbers; a dict
        also names them. None means that such an X is one view.
    n_neighbors : int, default=5
        Neighbours of a row in each graph; at most n_samples - 2 are used.
    max_iter : int, default=100
        Most passes.
    tol : float, default=1e-8
        The fit ends when the objective falls by less than this share in a pass, after at least three.
    n_init : int, default=10
        Starts of k-means.
    scale : {"none", "zscore", "minmax", "l2", "zscore_l2", "auto"}, or a list or dict of them, default="auto"
        How each view is scaled first, as in :class:`kedge.MSGL`. The authors use "none".
    memory_limit : float or None, default=None
        Bytes that the fit may use; None means the memory of the machine.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, numbered by their first rows.
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
    view_names_ : list of str
        Names of the views.

    References
    ----------
    Nie, Li and Li, "Parameter-free auto-weighted multiple graph learning: a framework for multiview clustering and
    semi-supervised classification", IJCAI 2016.

    Examples
    --------
    >>> from kedge.baselines import AMGL
    >>> from kedge.datasets import make_multiview
    >>> views, y = make_multiview(90, n_clusters=2, noise=1.0, random_state=0)
    >>> model = AMGL(2, random_state=0).fit(views)
    >>> len(model.view_weights_) == len(views)
    True
    """

    _least_rows: ClassVar[int] = 3
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = MULTI_VIEW_BASELINE_RULES | {
        "n_neighbors": [COUNT],
        "max_iter": [COUNT],
        "tol": [NOT_NEGATIVE],
        "n_init": [COUNT],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        views: Any = None,
        n_neighbors: int = 5,
        max_iter: int = 100,
        tol: float = 1e-8,
        n_init: int = 10,
        scale: Any = "auto",
        memory_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, scale, memory_limit, random_state)
        self.views = views
        self.n_neighbors = n_neighbors
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # Copies of the views, sparse graphs, Lanczos vectors.
        widest = max(getattr(self, "view_widths_", (n_features,)))
        # The search centres the view twice; it is over when the eigenvectors are computed.
        search = 8 * 2 * widest
        graphs = 16 * 2 * min(self.n_neighbors, n_samples) * (3 * self._count_views() + 4)
        vectors = 8 * (max(4 * self.n_clusters, 60) + 4 * self.n_clusters)
        return n_samples * (8 * n_features + max(search, graphs + vectors))

    def _cluster(self, views: list[View], random_state: RandomState) -> dict[str, Any]:
        n_neighbors = min(self.n_neighbors, views[0].shape[0] - 2)
        graphs = [neighbor_graph(view, n_neighbors) for view in views]
        counts = np.array([connected_components(graph, directed=False)[0] for graph in graphs])
        self._warn_of_components(counts)
        embedding, costs, objective = self._alternate([_normalized(graph) for graph in graphs])
        labels, _ = cluster_points(embedding, self.n_clusters, random_state, self.n_init)
        history = 0.5 / np.sqrt(costs)
        return {
            "labels_": number_by_first_rows(labels),
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
        components = find_components(sparse.csr_array(sum(graphs[1:], start=graphs[0])))
        weights = np.full(len(graphs), 1.0 / len(graphs))
        embedding: Any = None
        costs: list[Array] = []
        objective: list[float] = []
        for _ in range(self.max_iter):
            terms = [weight * graph for weight, graph in zip(weights / weights.sum(), graphs, strict=True)]
            mixture = sparse.csr_array(sum(terms[1:], start=terms[0]))
            embedding = leading_eigenvectors(mixture, components, self.n_clusters, near=embedding, stacklevel=7)[1]
            costs.append(np.array([_cost(embedding, graph) for graph in graphs]))
            weights = 0.5 / np.sqrt(costs[-1])
            objective.append(float(np.sqrt(costs[-1]).sum()))
            if len(objective) >= _LEAST_PASSES and objective[-2] - objective[-1] < self.tol * objective[-2]:
                break
        else:
            warnings.warn(
                f"the objective still fell by more than tol={self.tol:g} of itself after max_iter={self.max_iter} "
                "passes; raise one of them",
                ConvergenceWarning,
                stacklevel=6,
            )
        return embedding, np.array(costs), np.array(objective)

    def _warn_of_components(self, counts: NDArray[np.int64]) -> None:
        """Say which views can be cut without cost; alone, a view with as many components as clusters is just right."""
        most = self.n_clusters - 1 if len(counts) > 1 else self.n_clusters
        if self.n_clusters == 1 or counts.max() <= most:
            return
        view = int(counts.argmax())
        warnings.warn(
            f"the graph of {self.view_names_[view]!r} has {counts[view]} connected components for {self.n_clusters} "
            "clusters, so it can be cut at no cost: it outweighs all other views, and the largest components decide; "
            "take more n_neighbors, or leave the view out",
            ConvergenceWarning,
            stacklevel=6,
        )


def neighbor_graph(view: View, n_neighbors: int) -> sparse.csr_array:
    """Return the symmetric graph of adaptive neighbours of one view."""
    directed = weigh_neighbors(view, view, n_neighbors, among_themselves=True).as_graph(view.shape[0])
    return sparse.csr_array((directed + directed.T) / 2.0)


def _normalized(graph: sparse.csr_array) -> sparse.csr_array:
    """Return D^(-1/2) W D^(-1/2); every row gives weight away, so that none is alone."""
    scale = 1.0 / np.sqrt(np.asarray(graph.sum(axis=1)).ravel())
    diagonal = sparse.dia_array((scale[None, :], [0]), shape=graph.shape)
    return sparse.csr_array(diagonal @ graph @ diagonal)


def _cost(embedding: Array, graph: sparse.csr_array) -> float:
    """Return tr(F' L F) for the normalised graph I - L, and a little more, so that it is never zero."""
    trace = float(np.vdot(embedding, embedding) - np.vdot(embedding, graph @ embedding))
    return max(trace, 0.0) + _LEAST_COST
