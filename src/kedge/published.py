"""The paper's two algorithms, as published: Algorithm 1 (SGL, one view) and Algorithm 2 (MSGL, several views).

Kang, Lin, Zhu and Xu, "Structured Graph Learning for Scalable Subspace Clustering: From Single-view to Multi-view".
Numbers in brackets are the paper's equations. In place of the n x n graph S of self-expression (1), each row of X is
rebuilt from m anchors A with the weights Z, an n x m bipartite graph (2). It should have a structure Omega (3): exactly
k connected components, which is a condition on the rank of its Laplacian L (4). The condition becomes a penalty (5):

    min over Z, F of  |X - A Z'|^2 + alpha |Z|^2 + beta Tr(F' L F),   Z >= 0, rows of Z sum to one, F'F = I.

With several views, Z is shared and each view v has a weight lambda_v that is learnt (16):

    min over Z, F, lambda of  sum_v lambda_v |X_v - A_v Z'|^2 + alpha |Z|^2 + beta Tr(F' L F) + sum_v lambda_v^gamma.

:func:`alternate` is the loop of both algorithms. Equations (12) to (15) argue that with k exact components and a large
alpha the model is k-means (``docs/reproducing.md`` says why it is not); they are not needed for computing.

Where the paper leaves something open, this follows the authors' release. Anchors are the centres of ten k-means runs in
each view. F starts uniform, so that the first penalty is zero up to rounding. The loop runs for more than five
iterations, until Z changes by less than ``tol`` relative to itself, in the spectral norm for one view and the Frobenius
norm for several. The rows of U before the last update of Z are clustered by 100 runs of k-means.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import linalg
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_array, check_random_state

from kedge.anchors.kmeans import published_kmeans
from kedge.anchors.select import choose_anchors
from kedge.anchors.sets import check_counts
from kedge.core.block_step import PassState, column_layout, solve_block
from kedge.core.driver_step import (
    Digest,
    GivenPenalty,
    SpectralMap,
    Structure,
    digest_summary,
    embedding_penalty,
)
from kedge.core.labels import GivenLabels, label_anchors, sum_clusters
from kedge.core.rows import View, build_row_problem
from kedge.core.view_weights import PublishedWeighting, ViewWeighting
from kedge.engines.contract import Engine
from kedge.engines.local import choose_engine
from kedge.fit import fitted_attributes, layers_of_clusters, shares_of
from kedge.inputs import Views
from kedge.kernels.selection import one_thread_per_library
from kedge.layers import ShareLabels
from kedge.loop import IterationReport, LoopResult, warn_not_settled
from kedge.msgl import MSGL
from kedge.parameters import COUNT, MSGL_RULES, NOT_NEGATIVE, POSITIVE, SGL_RULES, threads_for
from kedge.sgl import SGL

Array = NDArray[np.float64]

ANCHOR_STARTS, LABEL_STARTS = 10, 100
# The change of Z is tested only after this many iterations.
LEAST_ITERATIONS = 5


def alternate(
    engine: Engine,
    anchors: Sequence[NDArray[Any]],
    n_clusters: int,
    alpha: float,
    beta: float,
    weighting: ViewWeighting,
    first_penalty: Array | None,
    squared_norm: Callable[[Array], float],
    max_iter: int,
    tol: float,
    callback: Callable[[IterationReport], bool | None] | None,
) -> tuple[LoopResult, Array]:
    """Update Z, then F, then the view weights, until Z hardly changes; return also U before the last update of Z."""
    weights = weighting.first(np.full(len(anchors), float(engine.n_rows)), engine.n_rows)
    problem = build_row_problem(anchors, weights=weights.tolist(), ridge=alpha)
    first = None if first_penalty is None else GivenPenalty(beta, first_penalty)
    state = PassState((problem,), penalty=first, want_change=True)
    layout = column_layout([len(anchors[0])], signed=False)
    structure = Structure("degree", beta, n_clusters, with_embedding=True)
    embedding, penalty = None, None
    digest: Digest | None = None
    spectrum: SpectralMap | None = None
    objective: list[float] = []
    history: list[Array] = []
    settled = stopped = False
    begun = perf_counter()
    while not settled and not stopped and len(objective) < max_iter:
        if spectrum is not None:
            # U of the Z that is about to change. With F = [U; V] (10), problem (9) is (11): the k leading singular
            # vectors of D_U^-1/2 Z D_V^-1/2 over sqrt(2), by the theorem below (11). D_U = I, since rows sum to one.
            embedding = np.asarray(engine.embedding(spectrum.row_map))
            state = state.with_weights(history[-1].tolist())
        # Update Z, (8) and (17): each row is a quadratic program on the simplex, with the matrix
        # sum_v lambda_v A_v'A_v + alpha I and the linear term beta W_i - 2 sum_v lambda_v A_v'x_vi.
        summary = engine.run_pass(partial(solve_block, state))
        # Update F (11) and lambda: (18) is minimised where its derivative (19) vanishes, at
        # lambda_v = (-h_v / gamma)^(1 / (gamma - 1)) (20), with the reconstruction error h_v of the view.
        last = digest
        digest = digest_summary(state, summary, layout, structure, weighting)
        spectrum = digest.spectrum
        assert spectrum is not None
        objective.append(digest.objective)
        history.append(digest.view_weights)
        done = state
        if beta > 0:
            # Tr(F'LF), (6) and (7), is sum_ij z_ij W_ij with W_ij = |u_i - v_j / sqrt(d_j)|^2: linear in Z.
            penalty = embedding_penalty("degree", beta, spectrum, digest.column_sums, None)
        state = replace(state, penalty=penalty)
        if last is not None and len(objective) > LEAST_ITERATIONS:
            assert digest.change_gram is not None
            settled = bool(squared_norm(digest.change_gram) < tol**2 * squared_norm(last.gram))
        if callback is not None:
            report = IterationReport(len(objective), objective[-1], digest.n_components, perf_counter() - begun)
            stopped = bool(callback(report))
    assert digest is not None
    assert spectrum is not None
    if embedding is None:  # a single iteration: there is no Z before the last
        embedding = np.asarray(engine.embedding(spectrum.row_map))
    return LoopResult(done, digest, penalty, objective, history, settled, stopped), embedding


def anchors_of_view(rows: View, n_anchors: int, method: str, random_state: RandomState) -> NDArray[Any]:
    """Choose the anchors of one view from all of its rows."""
    if method == "kmeans":
        found = published_kmeans(rows, n_anchors, random_state, ANCHOR_STARTS)[1]
    else:
        found = choose_anchors(rows, n_anchors, method, random_state)
    return np.ascontiguousarray(found, dtype=rows.dtype)


def cluster_embedding(embedding: Array, n_clusters: int, random_state: RandomState) -> tuple[NDArray[np.int64], Array]:
    """Run k-means on the rows of U; return labels, and centres of the clusters that hold a row."""
    labels, centers = published_kmeans(embedding, n_clusters, random_state, LABEL_STARTS)
    kept = np.flatnonzero(np.bincount(labels, minlength=len(centers)))
    return np.searchsorted(kept, labels).astype(np.int64), np.asarray(centers, dtype=np.float64)[kept]


class AsPublished:
    """What the two estimators share: a fit by :func:`alternate`, and predictions from it."""

    # The paper has no mirrored anchors.
    signed = False

    def _damping(self) -> None:
        """Compare new rows with the centres without damping."""

    def _fit_views(self: Any, views: Views, must_link: Any = None, cannot_link: Any = None) -> Any:
        if must_link is not None or cannot_link is not None:
            raise ValueError("the published algorithm takes no must_link or cannot_link; use SGL or MSGL itself")
        random_state = check_random_state(self.random_state)
        check_counts(views.n_rows, self.n_clusters, self.n_anchors)
        with one_thread_per_library():
            scalings = self._learn_scalings(views)
            source = self._source(views, scalings)
            if not source.in_memory:
                raise ValueError("the published algorithm needs all rows at once: load X into memory")
            whole = slice(0, source.n_rows)
            rows, observed = source.read(whole), source.observed(whole)
            if isinstance(self.anchors, str):
                anchors = []
                for number, view in enumerate(rows):
                    own = view if observed is None else view[np.flatnonzero(observed[:, number])]
                    anchors.append(anchors_of_view(own, self.n_anchors, self.anchors, random_state))
            else:
                given = self._scaled_anchors(views, scalings, self.n_clusters)
                anchors = [np.ascontiguousarray(one) for one in given]
            engine = choose_engine(source, len(anchors[0]), threads_for(self.n_jobs))
            try:
                fitted = self._fit_engine(engine, rows, anchors, random_state)
            finally:
                engine.close()
        self._keep(fitted, scalings)
        return self

    def _fit_engine(
        self: Any, engine: Engine, rows: Sequence[View], anchors: list[NDArray[Any]], random_state: RandomState
    ) -> dict[str, Any]:
        """Run the loop, cluster the embedding, and gather the fitted attributes."""
        first, shape = self.first_penalty, (engine.n_rows, len(anchors[0]))
        if first is not None:
            first = np.asarray(check_array(first, dtype=np.float64, input_name="first_penalty"))
            if first.shape != shape:
                raise ValueError(f"first_penalty must have shape {shape}, got {first.shape}")
        weighting = self._weighting(np.ones(len(anchors)), getattr(self, "gamma", 0.0))
        problem = (float(self.alpha), float(self.beta), weighting, first, self._squared_norm)
        found, embedding = alternate(engine, anchors, self.n_clusters, *problem, self.max_iter, self.tol, self.callback)
        spectrum = found.digest.spectrum
        assert spectrum is not None
        if not found.converged and not found.stopped:
            warn_not_settled(self.max_iter, self.tol)
        labels, centers = cluster_embedding(embedding, self.n_clusters, random_state)
        sums = engine.sum_blocks(partial(sum_clusters, GivenLabels(labels), len(centers)))
        shares = shares_of(sums.support)
        layers = layers_of_clusters(found.digest, shares)
        own = ShareLabels(shares, layers.smoothed)
        sizes, ridge = [len(anchors[0])], float(self.alpha)
        attributes = fitted_attributes(anchors, sizes, spectrum, centers, layers, own, found, ridge)
        return attributes | {
            "labels_": labels,
            "graph_": engine.graph(None),
            "anchor_labels_": self._label_anchors(rows, anchors, labels, sums.support),
            "embedding_": embedding,
            "anchor_embedding_": spectrum.anchor_embedding,
            "n_components_": found.digest.n_components,
            "confidence_": None,
            "n_near_": None,
            "locality_": 0.0,
            "view_prior_": np.ones(len(anchors)),
        }


_RULES: dict[str, list[Any]] = {
    "n_clusters": [COUNT],
    "n_anchors": [COUNT],
    "alpha": [POSITIVE],
    "beta": [NOT_NEGATIVE],
    "first_penalty": ["array-like", None],
}
_SHARED = ("anchors", "scale", "n_neighbors", "predict_with", "max_iter", "tol", "random_state", "n_jobs", "callback")


class PublishedSGL(AsPublished, SGL):
    """Algorithm 1 of the paper, as in the authors' release; made by :meth:`kedge.SGL.as_published`.

    Parameters
    ----------
    n_clusters, n_anchors : int
        k and m of the paper.
    alpha, beta : float
        As in the paper, in absolute units.
    anchors : {"kmeans", "random", "plusplus", "ffs", "hierarchical"} or array, default="kmeans"
        How anchors are chosen, or the anchors, of shape (n_anchors, n_features).
    scale : str, default="none"
        How X is scaled first, as in :class:`kedge.SGL`.
    first_penalty : array of shape (n_samples, n_anchors) or None, default=None
        Penalty matrix W of the first iteration; None means zero.
    n_neighbors : int, default=1
        How many nearest anchors decide, by majority, with ``predict_with="anchors"``.
    predict_with : {"anchors", "graph"}, default="anchors"
        The nearest labelled anchors, as in the paper; or the nearest centre to the embedded row.
    max_iter : int, default=100
        Most iterations.
    tol : float, default=1e-3
        The fit ends when Z changes by less than this, relative to itself.
    random_state, n_jobs, callback
        As in :class:`kedge.SGL`.

    Attributes
    ----------
    labels_, graph_, anchors_, anchor_labels_, embedding_, anchor_embedding_, objective_, n_iter_, n_components_
        As in :class:`kedge.SGL`, like all other attributes; ``confidence_`` is None.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {name: SGL_RULES[name] for name in _SHARED} | _RULES

    def __init__(
        self,
        n_clusters: int,
        n_anchors: int,
        alpha: float,
        beta: float,
        *,
        anchors: Any = "kmeans",
        scale: str = "none",
        first_penalty: Any = None,
        n_neighbors: int = 1,
        predict_with: str = "anchors",
        max_iter: int = 100,
        tol: float = 1e-3,
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.alpha = alpha
        self.beta = beta
        self.anchors = anchors
        self.scale = scale
        self.first_penalty = first_penalty
        self.n_neighbors = n_neighbors
        self.predict_with = predict_with
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback

    def _squared_norm(self, gram: Array) -> float:
        """Return the squared spectral norm of Z from ``Z'Z``."""
        last = len(gram) - 1
        return max(float(linalg.eigvalsh(gram, subset_by_index=[last, last])[0]), 0.0)

    def _label_anchors(self, views: Sequence[View], anchors: list[NDArray[Any]], labels: Any, support: Array) -> Any:
        """Give each anchor the cluster of the nearest row."""
        return np.asarray(labels[pairwise_distances_argmin(anchors[0], views[0])])


class PublishedMSGL(AsPublished, MSGL):
    """Algorithm 2 of the paper, as in the authors' release; made by :meth:`kedge.MSGL.as_published`.

    Parameters
    ----------
    n_clusters, n_anchors : int
        k and m of the paper; every view has its own m anchors.
    alpha, beta, gamma : float
        As in the paper, in absolute units; gamma is negative.
    views, scale
        As in :class:`kedge.MSGL`; ``scale="none"`` by default.
    anchors : {"kmeans", "random", "plusplus", "ffs", "hierarchical"} or list of arrays, default="kmeans"
        How the anchors of each view are chosen, or the anchors, one array per view.
    first_penalty, n_neighbors, predict_with, max_iter, tol, random_state, n_jobs, callback
        As in :class:`PublishedSGL`; ``max_iter=30`` by default.

    Attributes
    ----------
    labels_, graph_, view_weights_, view_weights_history_
        As in :class:`kedge.MSGL`, like all other attributes; the weights do not sum to one.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: MSGL_RULES[name] for name in (*_SHARED, "views", "gamma")
    } | _RULES

    def __init__(
        self,
        n_clusters: int,
        n_anchors: int,
        alpha: float,
        beta: float,
        gamma: float = -1.0,
        *,
        views: Any = None,
        anchors: Any = "kmeans",
        scale: Any = "none",
        first_penalty: Any = None,
        n_neighbors: int = 1,
        predict_with: str = "anchors",
        max_iter: int = 30,
        tol: float = 1e-3,
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Any = None,
    ) -> None:
        shared = {"anchors": anchors, "scale": scale, "first_penalty": first_penalty, "n_neighbors": n_neighbors}
        shared |= {"predict_with": predict_with, "max_iter": max_iter, "tol": tol}
        shared |= {"random_state": random_state, "n_jobs": n_jobs, "callback": callback}
        self.__dict__.update(shared, n_clusters=n_clusters, n_anchors=n_anchors, alpha=alpha, beta=beta)
        self.gamma, self.views = gamma, views

    def _squared_norm(self, gram: Array) -> float:
        """Return the squared Frobenius norm of Z from ``Z'Z``."""
        return float(np.trace(gram))

    def _weighting(self, prior: Array, gamma: float) -> ViewWeighting:
        return PublishedWeighting(gamma)

    def _reported_weights(self, weights: Array) -> Array:
        return weights

    def _label_anchors(self, views: Sequence[View], anchors: list[NDArray[Any]], labels: Any, support: Array) -> Any:
        """Give each anchor the cluster whose rows use it most, or that of the nearest used anchor over all views."""
        return label_anchors(support, np.hstack(anchors))
