"""FNC: the normalised cut of a graph through anchors, maximised over labels themselves without eigenvectors."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import kmeans_plusplus

from kedge.baselines.affinity import reciprocal
from kedge.baselines.base import Array, Indices, Labels, SingleViewBaseline, as_dense, baseline, parameter
from kedge.baselines.graphs import anchor_graph_memory, sample_size, weigh_neighbors
from kedge.core.rows import View, canonical_rows, sample_rows, take_rows
from kedge.parameters import COUNT, one_of
from kedge.user_warnings import warn_convergence

# Rows per anchor that the balanced groups are made of.
_ROWS_PER_ANCHOR = 50
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

    Rows are joined with weights B to near anchors, the centres of groups of equal size. Rows that share anchors are
    similar: W = B diag(B'1)^(-1) B'. The normalised cut, the sum over clusters of within-cluster similarity over total
    similarity, is maximised over the labels themselves: every round moves all rows to where the tangent of the
    objective is largest, so that it never falls. Time is O(n m d) for n rows, m anchors and d features; memory is
    O(n (n_neighbors + n_clusters) + m d), so about forty million rows beyond X on 24 GB.

    No code was published: how balanced anchors are found, how labels start and the rounds are our reconstruction.

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
        wanted = self._count_anchors(n_samples)
        per_row = 6 * min(self.n_neighbors, wanted) + 24 + 2 * self.n_clusters
        n_sampled = sample_size(n_samples, wanted, _ROWS_PER_ANCHOR)
        return anchor_graph_memory(n_samples, wanted, n_features, per_row, n_sampled)

    def _count_anchors(self, n_samples: int) -> int:
        auto = 1 << (4 * self.n_clusters - 1).bit_length()
        return min(auto if isinstance(self.n_anchors, str) else int(self.n_anchors), n_samples)

    def _cluster(self, X: View, random_state: np.random.RandomState) -> dict[str, Any]:
        X = canonical_rows(X)
        anchors = self._balanced_anchors(X, random_state)
        if len(anchors) == 1:
            graph = sparse.csr_array(np.ones((X.shape[0], 1)))
        else:
            graph = weigh_neighbors(X, anchors, min(self.n_neighbors, len(anchors) - 1)).as_graph(len(anchors))
        factor = cut_factor(graph)
        starts = (nearest_seeds(factor, self.n_clusters, random_state) for _ in range(self.n_init))
        cuts = (improve_cut(factor, start, self.n_clusters, self.max_iter) for start in starts)
        labels, history, converged = max(cuts, key=lambda cut: cut[1][-1])
        if not converged:
            warn_convergence(f"rows still changed clusters after max_iter={self.max_iter} rounds; raise max_iter")
        return {
            "labels_": labels,
            "graph_": graph,
            "anchors_": anchors,
            "objective_": history[-1],
            "objective_history_": history,
            "n_iter_": len(history),
        }

    def _balanced_anchors(self, X: View, random_state: np.random.RandomState) -> Array:
        """Return the centres of balanced groups of a sample; equal ones count once."""
        wanted = self._count_anchors(X.shape[0])
        size = sample_size(X.shape[0], wanted, _ROWS_PER_ANCHOR)
        sample = take_rows(X, sample_rows(X.shape[0], size, random_state))
        groups = balanced_groups(sample, wanted, random_state)
        return np.unique(group_means(sample, groups, wanted), axis=0)


def cut_factor(graph: sparse.csr_array) -> sparse.csr_array:
    """Return G = B diag(B'1)^(-1/2) with W = GG', without anchors that have no weight."""
    sums = np.asarray(graph.sum(axis=0)).ravel()
    kept = graph[:, sums > 0]
    return sparse.csr_array((kept.data / np.sqrt(sums[sums > 0])[kept.indices], kept.indices, kept.indptr), kept.shape)


def nearest_seeds(factor: sparse.csr_array, n_clusters: int, random_state: np.random.RandomState) -> Labels:
    """Choose some rows by k-means++ and return the nearest of them for every row."""
    _, chosen = kmeans_plusplus(factor, n_clusters, random_state=random_state)
    seeds = factor[chosen].toarray()
    scores = np.asarray(factor @ seeds.T) - (seeds**2).sum(axis=1) / 2.0
    return np.asarray(scores.argmax(axis=1), dtype=np.int64)


def improve_cut(
    factor: sparse.csr_array, labels: Labels, n_clusters: int, max_rounds: int
) -> tuple[Labels, list[float], bool]:
    """Move rows between clusters until sum_p y_p'Wy_p / y_p'Dy_p, with W = GG' and D = diag(W1), rises no more.

    The objective is convex in Y. With r_p = G'y_p, n_p = |r_p|^2 and d_p the sum of the degrees of cluster p, its
    tangent gives row i the score 2 (G r_p)_i / d_p - d_i n_p / d_p^2 in cluster p. Labels of the largest scores never
    lower the objective. A cluster without rows takes the row with the smallest score in its own cluster, if that has
    several. Returns the labels, the objective after each round, and whether no row moved in the end.
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
        inverse = reciprocal(total.astype(np.float64))
        scores = np.asarray(factor @ (2.0 * sums * inverse)) - degrees[:, None] * (shares * inverse)
        scores[:, total == 0] = -np.inf
        moved = _fill_empty(np.asarray(scores.argmax(axis=1), dtype=np.int64), scores, n_clusters)
        converged = np.array_equal(moved, labels)
        labels = moved
    return labels, history[: -1 if converged else None], converged


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


def balanced_groups(X: Any, n_groups: int, random_state: np.random.RandomState) -> Labels:
    """Group rows by k-means with two centres and prescribed sizes, and split each half again.

    A set that becomes g groups is split into parts of floor(g / 2) and the other groups, with rows in proportion. Sizes
    differ by at most one if the number of groups is a power of two, and by little otherwise.
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
        size = round(len(numbers) * left_count / count)
        order = _split(rows, size, random_state)
        left, right = order[:size], order[size:]
        pending.append((rows[right], numbers[right], count - left_count, first + left_count))
        pending.append((rows[left], numbers[left], left_count, first))
    return groups


def group_means(X: Any, groups: Labels, n_groups: int) -> Array:
    """Return the mean row of every group; no group may be empty."""
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups, minlength=n_groups)
    members = np.split(order, np.cumsum(sizes)[:-1])
    return np.array([np.asarray(X[rows].mean(axis=0)).ravel() for rows in members])


def _split(rows: Any, size: int, random_state: np.random.RandomState) -> Indices:
    """Return the ``size`` rows of the first part, ascending, then the others.

    This alternates between two centres and the rows sorted by the difference of the squared distances to them.
    """
    n_rows = rows.shape[0]
    # The first direction is from one row to another far apart: the farthest from a random one, and that from it.
    some = as_dense(rows[sample_rows(n_rows, _FIRST_ROWS, random_state)])
    one = some[((some - some[random_state.randint(len(some))]) ** 2).sum(axis=1).argmax()]
    direction = some[((some - one) ** 2).sum(axis=1).argmax()] - one
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
    return np.argsort(~is_first, kind="stable")
