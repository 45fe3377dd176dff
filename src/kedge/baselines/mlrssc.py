"""MLRSSC: low-rank and sparse coefficients between rows that agree across views, then spectral clustering."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.spatial.distance import squareform

from kedge.baselines.clusterer import MultiViewBaseline, dense_gram
from kedge.baselines.coefficients.multi_view_low_rank import Consensus, agree_on_coefficients
from kedge.baselines.graphs.spectral_clustering import cluster_affinity
from kedge.core.labels import number_by_first_rows
from kedge.core.rows import View
from kedge.parameters import COUNT, MULTI_VIEW_BASELINE_RULES, NOT_NEGATIVE, POSITIVE, one_of

Array = NDArray[np.float64]


class MLRSSC(MultiViewBaseline):
    """Multi-view low-rank sparse subspace clustering: rows rebuilt from each other alike in all views.

    In every view each row is rebuilt from the others with coefficients of small nuclear norm and few entries; those of
    the views are pulled towards each other or towards their centre. Their mean is the graph that is cut by spectral
    clustering. Solved by alternating directions, O(V n^3) time per iteration for V views, 5 to 30 iterations as a rule
    (the growing penalty forces an end, so it says that the copies agree, not that the minimum is reached; see
    ``residuals_``). 8 V + 9 n x n matrices of memory: 11,000 rows of two views, 8,500 of four on 24 GB; a few thousand
    rows are practical.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    views : list, dict or None, default=None
        Columns of each view where X is one matrix; None means one view.
    consensus : {"pairwise", "centroid"}, default="pairwise"
        Whether views agree with each other or with their centre.
    low_rank, sparsity, agreement : float, default=0.3, 0.7 and 0.3
        Weights of the nuclear norm, of the absolute entries and of the disagreement between views. The authors tune the
        first from 0.1 to 0.9, the second being one less that, and the third from 0.3 to 0.9.
    kernel : {"linear", "gaussian", "polynomial"}, default="linear"
        Inner product between rows of a view.
    kernel_width : float or list of float, default=1.0
        Width of the Gaussian kernel as a multiple of the median distance between different rows, of each view. The
        authors tune it from 0.5 to 50.
    degree : int, default=2
        Degree of the polynomial kernel, which has no constant term.
    noisy : bool, default=True
        Whether rows may be rebuilt with error; if not, the kernel has to be linear.
    penalty : float, default=10.0
        First penalty of the solver; the authors use 10 to 10,000, and 100 by default.
    penalty_growth : float, default=1.5
        Factor of the penalty per iteration.
    max_penalty : float, default=1e6
        Its bound.
    max_iter : int, default=300
        Most iterations.
    tol : float, default=1e-5
        Largest difference between entries of the solver's copies of the coefficients at which it stops. The authors use
        1e-3, and 1e-5 with the Gaussian kernel; with rows of unit length 1e-3 stops after a few steps from zero.
    centroid_update : {"mean", "accumulated"}, default="mean"
        How the centre is found. "accumulated" is a slip of the authors' program, kept to repeat its results: the
        previous centre is added in each iteration, which inflates the centre, without bound if ``agreement`` times the
        number of views is at most one.
    scale : str, or list or dict of one per view, default="auto"
        How views are scaled before, see :class:`kedge.MSGL`; "auto" gives rows of unit length.
    memory_limit : float or None, default=None
        Bytes that the fit may use; None means the memory of the machine.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, numbered by their first rows.
    affinity_ : ndarray of shape (n_samples, n_samples)
        The graph, ``|C| + |C'|``.
    view_coefficients_ : list of ndarrays of shape (n_samples, n_samples)
        Row i holds the coefficients that rebuild row i in the view; diagonals are zero.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Leading eigenvectors of the normalised graph.
    residuals_ : ndarray of shape (n_views, 4)
        Largest entries at the end of the differences of the coefficients to their low-rank, their sparse and their
        agreeing copy and to the previous iteration.
    n_iter_ : int
        Iterations of the solver.

    References
    ----------
    Brbic and Kopriva, "Multi-view low-rank sparse subspace clustering", Pattern Recognition 73 (2018).

    Examples
    --------
    >>> from kedge.baselines import MLRSSC
    >>> from kedge.datasets import make_union_of_subspaces
    >>> X, y = make_union_of_subspaces(60, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    >>> sorted(set(MLRSSC(2, random_state=0).fit_predict([X, X**2]).tolist()))
    [0, 1]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = MULTI_VIEW_BASELINE_RULES | {
        "consensus": [one_of("pairwise", "centroid")],
        "low_rank": [POSITIVE],
        "sparsity": [NOT_NEGATIVE],
        "agreement": [POSITIVE],
        "kernel": [one_of("linear", "gaussian", "polynomial")],
        "kernel_width": [POSITIVE, "array-like"],
        "degree": [COUNT],
        "noisy": ["boolean"],
        "penalty": [POSITIVE],
        "penalty_growth": [POSITIVE],
        "max_penalty": [POSITIVE],
        "max_iter": [COUNT],
        "tol": [NOT_NEGATIVE],
        "centroid_update": [one_of("mean", "accumulated")],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        views: Any = None,
        consensus: str = "pairwise",
        low_rank: float = 0.3,
        sparsity: float = 0.7,
        agreement: float = 0.3,
        kernel: str = "linear",
        kernel_width: float | Sequence[float] = 1.0,
        degree: int = 2,
        noisy: bool = True,
        penalty: float = 10.0,
        penalty_growth: float = 1.5,
        max_penalty: float = 1e6,
        max_iter: int = 300,
        tol: float = 1e-5,
        centroid_update: str = "mean",
        scale: Any = "auto",
        memory_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, scale, memory_limit, random_state)
        self.views = views
        self.consensus = consensus
        self.low_rank = low_rank
        self.sparsity = sparsity
        self.agreement = agreement
        self.kernel = kernel
        self.kernel_width = kernel_width
        self.degree = degree
        self.noisy = noisy
        self.penalty = penalty
        self.penalty_growth = penalty_growth
        self.max_penalty = max_penalty
        self.max_iter = max_iter
        self.tol = tol
        self.centroid_update = centroid_update

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # For V views, 8 V + 9 matrices of n x n. Before a fit the number of views is taken from the parameter
        # ``views``.
        named = self.view_names_ if hasattr(self, "view_names_") else self.views
        n_views = 1 if named is None else len(named)
        per_view = 8 if self.noisy else 9
        return 8 * ((per_view * n_views + 9) * n_samples**2 + n_samples * n_features)

    def _cluster(self, views: list[View], random_state: RandomState) -> dict[str, Any]:
        if self.kernel != "linear" and not self.noisy:
            raise ValueError(
                f"noisy=False asks that rows be rebuilt without error, which kernel={self.kernel!r} cannot; use "
                "noisy=True or kernel='linear'"
            )
        widths = np.broadcast_to(np.asarray(self.kernel_width, dtype=np.float64), len(views))
        grams = [self._kernel(view, width) for view, width in zip(views, widths, strict=True)]
        found = agree_on_coefficients(grams, self._rules(), stacklevel=5)
        affinity = np.abs(found.joint)
        affinity += affinity.T.copy()
        labels, embedding = cluster_affinity(affinity, self.n_clusters, random_state, stacklevel=5)
        return {
            "labels_": number_by_first_rows(labels),
            "affinity_": affinity,
            "view_coefficients_": [coefficients.T for coefficients in found.per_view],
            "embedding_": embedding,
            "residuals_": found.residuals,
            "n_iter_": found.n_iter,
        }

    def _rules(self) -> Consensus:
        return Consensus(
            low_rank=self.low_rank,
            sparsity=self.sparsity,
            agreement=self.agreement,
            centroid=self.consensus == "centroid",
            exact=not self.noisy,
            accumulated_centroid=self.centroid_update == "accumulated",
            penalty=self.penalty,
            penalty_growth=self.penalty_growth,
            largest_penalty=self.max_penalty,
            max_iter=self.max_iter,
            tol=self.tol,
        )

    def _kernel(self, view: View, width: float) -> Array:
        gram = dense_gram(view)
        if self.kernel == "polynomial":
            return np.asarray(gram**self.degree)
        return gaussian_kernel(gram, width) if self.kernel == "gaussian" else gram


def gaussian_kernel(gram: Array, width: float) -> Array:
    """Return ``exp(-d^2 / (2 s^2))``, s being the width times the median distance d between different rows."""
    squares = gram.diagonal().copy()
    distances = gram * -2.0
    distances += squares[:, None]
    distances += squares
    np.maximum(distances, 0.0, out=distances)
    np.fill_diagonal(distances, 0.0)
    median = float(np.median(np.sqrt(squareform(distances, checks=False)))) if len(gram) > 1 else 0.0
    # Rows that mostly coincide have no distance to go by.
    distances /= -2.0 * (width * (median or 1.0)) ** 2
    return np.asarray(np.exp(distances, out=distances))
