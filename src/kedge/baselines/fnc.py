"""FNC: the normalised cut of a graph through anchors, maximised over labels themselves without eigenvectors."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning

from kedge.baselines.clusterer import SingleViewBaseline
from kedge.baselines.graphs.balanced_kmeans import balanced_groups, group_means
from kedge.baselines.graphs.mutual_neighbors import search_memory, weigh_many
from kedge.core.labels import number_by_first_rows
from kedge.core.rows import View, canonical_rows, sample_rows, take_rows
from kedge.parameters import BASELINE_RULES, COUNT, one_of

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

# Rows per anchor that the balanced groups are made of, and at least.
_ROWS_PER_ANCHOR, _LEAST_SAMPLE = 50, 5_000


class FNC(SingleViewBaseline):
    """Fast normalised cut: balanced anchors, a graph through them, and its cut improved by moving rows directly.

    Rows are joined to near anchors, which are centres of groups of equal size, with weights B; two rows are as similar
    as they share anchors, W = B diag(B'1)^(-1) B'. The labels that maximise the sum over clusters of within-cluster
    similarity by total similarity, the normalised cut, are sought among labels themselves: every round moves all rows
    to where the tangent of the objective at the present labels is largest, so that it never falls. As all degrees are
    one, a round is one of k-means on the rows of B diag(B'1)^(-1/2). Time is O(n d log m) per round of the anchors, O(n
    m d) for the graph of n rows, m anchors and d features, and O(n n_neighbors n_clusters) per round of labels; memory
    is O(n (n_neighbors + n_clusters) + m d), so beyond X some forty million rows on 24 GB.

    The objective is the paper's; how balanced anchors are found (repeated splitting into halves), how labels start
    (k-means++) and the rounds are our reconstruction, as no code was published.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_anchors : int or "auto", default="auto"
        Number of anchors; groups are of equal size if it is a power of two. "auto" is the least power of two from
        4 n_clusters on: with many anchors rows share few, and labels get stuck early. At most n_samples.
    n_neighbors : int, default=5
        Anchors per row with weight; less than anchors.
    n_init : int, default=10
        Starts; the labels of the best objective count.
    max_iter : int, default=300
        Most rounds of a start.
    scale : {"none", "l2", "zscore", "minmax", "zscore_l2", "auto"}, default="none"
        How X is scaled before.
    memory_limit : float or None, default=None
        Bytes that the fit may use; None means the memory of the machine.
    random_state : int, RandomState instance or None, default=None
        Seed of anchors and starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, numbered by their first rows.
    graph_ : CSR array of shape (n_samples, n_anchors)
        B, the weights of rows on anchors; rows sum to one.
    anchors_ : ndarray of shape (n_anchors, n_features)
        Centres of the balanced groups.
    objective_ : float
        The normalised cut of the labels, at most n_clusters.
    objective_history_ : list of float
        The objective after each round of the best start.
    n_iter_ : int
        Rounds of the best start.

    References
    ----------
    Chen, Hong, Nie, He, Yang and Huang, "Spectral clustering of large-scale data by directly solving normalized cut",
    KDD 2018.

    Examples
    --------
    >>> from kedge.baselines import FNC
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(200, centers=3, cluster_std=0.5, random_state=0)
    >>> sorted(set(FNC(3, random_state=0).fit_predict(X).tolist()))
    [0, 1, 2]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = BASELINE_RULES | {
        "n_anchors": [COUNT, one_of("auto")],
        "n_neighbors": [COUNT],
        "n_init": [COUNT],
        "max_iter": [COUNT],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_anchors: int | str = "auto",
        n_neighbors: int = 5,
        n_init: int = 10,
        max_iter: int = 300,
        scale: str = "none",
        memory_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, scale, memory_limit, random_state)
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.n_init = n_init
        self.max_iter = max_iter

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # Copies of the rows that make anchors, then the graph.
        n_anchors = self._count_anchors(n_samples)
        sample = _sample_size(n_samples, n_anchors) * n_features
        rows = n_samples * (6 * min(self.n_neighbors, n_anchors) + 24 + 2 * self.n_clusters)
        return max(20 * sample, 8 * rows + search_memory(n_samples, n_anchors, n_features))

    def _count_anchors(self, n_samples: int) -> int:
        if not isinstance(self.n_anchors, str):
            return min(int(self.n_anchors), n_samples)
        return min(1 << (4 * self.n_clusters - 1).bit_length(), n_samples)

    def _cluster(self, X: View, random_state: RandomState) -> dict[str, Any]:
        X = canonical_rows(X)
        anchors = self._balanced_anchors(X, random_state)
        if len(anchors) == 1:
            graph = sparse.csr_array(np.ones((X.shape[0], 1)))
        else:
            graph = weigh_many(X, anchors, min(self.n_neighbors, len(anchors) - 1)).as_graph(len(anchors))
        factor = cut_factor(graph)
        best: CutLabels | None = None
        for _ in range(self.n_init):
            start = nearest_seeds(factor, self.n_clusters, random_state)
            found = improve_cut(factor, start, self.n_clusters, self.max_iter)
            best = found if best is None or found.history[-1] > best.history[-1] else best
        assert best is not None
        if not best.converged:
            warnings.warn(
                f"rows still changed clusters after max_iter={self.max_iter} rounds; raise max_iter",
                ConvergenceWarning,
                stacklevel=4,
            )
        return {
            "labels_": number_by_first_rows(best.labels),
            "graph_": graph,
            "anchors_": anchors,
            "objective_": best.history[-1],
            "objective_history_": best.history,
            "n_iter_": len(best.history),
        }

    def _balanced_anchors(self, X: View, random_state: RandomState) -> Array:
        """Return the centres of balanced groups of a sample; equal ones count once."""
        wanted = self._count_anchors(X.shape[0])
        sample = take_rows(X, sample_rows(X.shape[0], _sample_size(X.shape[0], wanted), random_state))
        groups = balanced_groups(sample, wanted, random_state)
        return np.unique(group_means(sample, groups, wanted), axis=0)


@dataclass(frozen=True)
class CutLabels:
    """Labels, the objective after each round, and whether no row moved in the end."""

    labels: Labels
    history: list[float]
    converged: bool


def cut_factor(graph: sparse.csr_array) -> sparse.csr_array:
    """Return B diag(B'1)^(-1/2), without anchors that have no weight, whose product with its transpose is W."""
    sums = np.asarray(graph.sum(axis=0)).ravel()
    kept = graph[:, sums > 0]
    return sparse.csr_array((kept.data / np.sqrt(sums[sums > 0])[kept.indices], kept.indices, kept.indptr), kept.shape)


def nearest_seeds(factor: sparse.csr_array, n_clusters: int, random_state: RandomState) -> Labels:
    """Return the nearest of some rows, chosen by k-means++, for every row."""
    _, chosen = kmeans_plusplus(factor, n_clusters, random_state=random_state)
    seeds = factor[chosen].toarray()
    scores = np.asarray(factor @ seeds.T) - (seeds**2).sum(axis=1) / 2.0
    return np.asarray(scores.argmax(axis=1), dtype=np.int64)


def improve_cut(factor: sparse.csr_array, labels: Labels, n_clusters: int, max_rounds: int) -> CutLabels:
    """Move rows between clusters until sum_p y_p'Wy_p / y_p'Dy_p, with W = GG' and D = diag(W1), rises no more.

    For 0/1 columns y_p the objective is a sum of squares over linear functions, so convex in Y: with r_p = G'y_p, n_p =
    |r_p|^2 and d_p = sum of the degrees of cluster p its tangent gives row i the score 2 (G r_p)_i / d_p - d_i n_p /
    d_p^2 in cluster p, and labels of the largest scores have an objective that is not smaller. A cluster without rows
    takes the row of the smallest score in its own, from a cluster of several.
    """
    degrees = np.asarray(factor @ np.asarray(factor.sum(axis=0)).ravel())
    # G' in the order of G's entries: sums over the rows of a cluster are then one count with weights.
    owners = np.repeat(np.arange(factor.shape[0]), np.diff(factor.indptr))
    history: list[float] = []
    converged = False
    for number in range(max_rounds + 1):
        places = factor.indices.astype(np.int64) * n_clusters + labels[owners]
        sums = np.bincount(places, factor.data, factor.shape[1] * n_clusters).reshape(-1, n_clusters)
        within, total = (sums**2).sum(axis=0), np.bincount(labels, degrees, n_clusters)
        shares = np.divide(within, total, out=np.zeros(n_clusters), where=total > 0)
        history.append(float(shares.sum()))
        if converged or number == max_rounds:
            break
        inverse = np.divide(1.0, total, out=np.zeros(n_clusters), where=total > 0)
        scores = np.asarray(factor @ (2.0 * sums * inverse)) - degrees[:, None] * (shares * inverse)
        scores[:, total == 0] = -np.inf
        moved = _fill_empty(np.asarray(scores.argmax(axis=1), dtype=np.int64), scores, n_clusters)
        converged = np.array_equal(moved, labels)
        labels = moved
    return CutLabels(labels, history[: -1 if converged else None], converged)


def _fill_empty(labels: Labels, scores: Array, n_clusters: int) -> Labels:
    counts = np.bincount(labels, minlength=n_clusters)
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        for row in np.argsort(scores[np.arange(len(labels)), labels], kind="stable"):
            if counts[labels[row]] > 1:
                counts[labels[row]] -= 1
                labels[row], empty = empty[0], empty[1:]
                if not len(empty):
                    break
    return labels


def _sample_size(n_samples: int, n_anchors: int) -> int:
    return min(n_samples, max(_LEAST_SAMPLE, _ROWS_PER_ANCHOR * n_anchors))
