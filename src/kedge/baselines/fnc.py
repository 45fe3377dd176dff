"""FNC: the normalised cut of a graph through anchors, maximised over labels themselves without eigenvectors."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from scipy import sparse
from sklearn.cluster import kmeans_plusplus

from kedge.baselines.base import Array, Indices, Labels, SingleViewBaseline, as_dense, baseline, parameter
from kedge.baselines.graphs import anchor_graph_memory, weigh_many
from kedge.core.rows import View, canonical_rows, sample_rows, take_rows
from kedge.parameters import COUNT, one_of
from kedge.user_warnings import warn_convergence

# Rows per anchor that the balanced groups are made of, and at least.
_ROWS_PER_ANCHOR, _LEAST_SAMPLE = 50, 5_000
# Rounds of a split, and the rows of a group that the first direction of a split is chosen from.
_SPLIT_ROUNDS, _FIRST_ROWS = 20, 200


@baseline(
    "normalised cut of an anchor graph without eigenvectors",
    cost="n m d",
    grid={"n_anchors": ["2k", "5k", "10k"]},
    grid_source="ours; the authors' is unknown",
    reconstruction=True,
)
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
    n_anchors : int or "auto", default="auto"
        Number of anchors; groups are of equal size if it is a power of two. "auto" is the least power of two from
        4 n_clusters on: with many anchors rows share few, and labels get stuck early. At most n_samples.
    n_neighbors : int, default=5
        Anchors per row with weight; less than anchors.
    n_init : int, default=10
        Starts; the labels of the best objective count.
    max_iter : int, default=300
        Most rounds of a start.

    Attributes
    ----------
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

    n_anchors: int | str = parameter(COUNT, one_of("auto"), default="auto")
    n_neighbors: int = parameter(COUNT, default=5)
    n_init: int = parameter(COUNT, default=10)
    max_iter: int = parameter(COUNT, default=300)

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # Copies of the rows that make anchors, then the graph.
        n_anchors = self._count_anchors(n_samples)
        choice = 20 * _sample_size(n_samples, n_anchors) * n_features
        per_row = 6 * min(self.n_neighbors, n_anchors) + 24 + 2 * self.n_clusters
        return anchor_graph_memory(n_samples, n_anchors, n_features, per_row, choice)

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
            warn_convergence(f"rows still changed clusters after max_iter={self.max_iter} rounds; raise max_iter")
        return {
            "labels_": best.labels,
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


def balanced_groups(X: Any, n_groups: int, random_state: RandomState) -> Labels:
    """Group rows by k-means with two centres and prescribed sizes, and each half again.

    A set of s rows that becomes g groups is split into halves of floor(g / 2) and the other groups, with rows in
    proportion; sizes differ by at most one where the number of groups is a power of two, and by little otherwise. A
    split alternates between two centres and the rows sorted by the difference of the squared distances to them.

    At most 20 rounds of O(nnz of X) for each of log2(n_groups) levels; memory is one copy of X.
    """
    groups = np.empty(X.shape[0], dtype=np.int64)
    # Rows of a set are kept next to each other, and copied once per level.
    pending = [(X, np.arange(X.shape[0]), n_groups, 0)]
    while pending:
        rows, numbers, count, first = pending.pop()
        if count == 1:
            groups[numbers] = first
            continue
        left_count = count // 2
        order, size = _split(rows, round(len(numbers) * left_count / count), random_state)
        for part, part_count, part_first in (
            (order[size:], count - left_count, first + left_count),
            (order[:size], left_count, first),
        ):
            pending.append((rows[part], numbers[part], part_count, part_first))
    return groups


def group_means(X: Any, groups: Labels, n_groups: int) -> Array:
    """Return the mean row of every group, none of which is empty."""
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups, minlength=n_groups)
    ends = np.cumsum(sizes)
    means = np.empty((n_groups, X.shape[1]))
    for group, (end, size) in enumerate(zip(ends, sizes, strict=True)):
        means[group] = np.asarray(X[order[end - size : end]].mean(axis=0)).ravel()
    return means


def _split(rows: Any, size: int, random_state: RandomState) -> tuple[Indices, int]:
    """Return the rows of the first part, ascending, then the others, and how many the first part has."""
    n_rows = rows.shape[0]
    direction = _first_direction(rows, random_state)
    total = np.asarray(rows.sum(axis=0)).ravel()
    is_first = np.zeros(n_rows, dtype=bool)
    for _ in range(_SPLIT_ROUNDS):
        # |x - a|^2 - |x - b|^2 is, up to a constant, twice the product of x with b - a.
        order = np.argsort(rows @ direction, kind="stable")
        now_first = np.zeros(n_rows, dtype=bool)
        now_first[order[:size]] = True
        if np.array_equal(now_first, is_first):
            break
        is_first = now_first
        part = np.asarray(is_first.astype(np.float64) @ rows).ravel()
        direction = (total - part) / (n_rows - size) - part / size
    return np.argsort(~is_first, kind="stable"), size


def _first_direction(rows: Any, random_state: RandomState) -> Array:
    """Return the difference of two rows far apart: a random one's farthest, and the farthest of that."""
    some = rows[sample_rows(rows.shape[0], _FIRST_ROWS, random_state)]
    some = as_dense(some).astype(np.float64, copy=False)
    start = some[random_state.randint(len(some))]
    one = some[((some - start) ** 2).sum(axis=1).argmax()]
    other = some[((some - one) ** 2).sum(axis=1).argmax()]
    return np.asarray(other - one)
