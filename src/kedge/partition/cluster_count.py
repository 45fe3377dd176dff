"""What modularity says about data: how many clusters a graph has, and how much structure a view has."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from kedge.partition.communities import (
    MOST_COMPARED,
    communities_of_starts,
    find_communities,
    merge_dense_pairs,
    modularity,
    weights_between,
)
from kedge.partition.pairs import PairEvidence

Array = NDArray[np.float64]

# The finest resolution that is merged, and the coarsest: two clusters joined by less than this share of the weight that
# chance would give are apart, however little it is.
FINEST, COARSEST = 4.0, 1 / 32
# A number of clusters is clear if it stays over this range of resolutions, as a power of two. Separate blobs had 1.7 to
# 6, data whose clusters touch at most 1.2.
CLEAR_RANGE = 1.5
# Two halves joined by more than this share of what chance would give are one cluster.
ONE_CLUSTER = 0.5
# Starts at each resolution; the communities with the highest modularity are kept.
COUNT_STARTS = 4
# Resolutions at which touching clusters are counted; the share of the kept information that is taken for a tie, and the
# loss at which no finer resolution is looked at.
TOUCHING, TIE, TOO_FINE = 2.0 ** np.arange(0.0, 3.25, 0.25), 0.004, 0.03

# Near rows in the graph whose modularity is compared, and how often the directions are shuffled.
_NEIGHBORS, _SHUFFLES = 10, 3
# Modularity beyond that of shuffled rows: this much is chance, and at this much more a view counts half.
_CHANCE, _HALF = 0.02, 0.04
# How much a view without structure counts beside one with plenty.
LEAST_SHARE = 0.02


@dataclass(frozen=True)
class CountEvidence:
    """Numbers of clusters, the chosen one first, and a score for each.

    Where clusters are apart, the score is over how many doublings of the resolution the number stays the same; where
    they touch, it is the share of information that is kept.
    """

    counts: list[int]
    scores: list[float]


def count_clusters(
    graph: sparse.csr_array,
    seed: int,
    count_range: tuple[int, int] | None,
    n_threads: int = 1,
    pairs: PairEvidence | None = None,
) -> CountEvidence:
    """Return how many clusters a graph has, and the evidence for it.

    Communities at a fine resolution merge, the most densely joined pair first. As the resolution falls, a number of
    clusters stays until the next pair merges. The number that stays longest is chosen if it stays long enough.
    Otherwise clusters touch each other, and :func:`count_touching` counts them. If the last two halves are joined more
    than half as densely as by chance, the graph is one cluster. Linked rows count as in
    :func:`kedge.partition.communities.merge_tree`.
    """
    least, most = count_range or (1, graph.shape[0])
    densities = _merge_densities(graph, seed, pairs)
    if len(densities) > 0 and least == 1 and densities[-1] > ONE_CLUSTER:
        return CountEvidence([1], [float(np.log2(FINEST / COARSEST))])
    ranges = _ranges(densities) if len(densities) > 0 else {}
    allowed = [count for count in ranges if max(least, 2) <= count <= most]
    allowed.sort(key=lambda count: (-ranges[count], count))
    if allowed and ranges[allowed[0]] >= CLEAR_RANGE:
        return CountEvidence(allowed[:5], [ranges[count] for count in allowed[:5]])
    return count_touching(graph, seed, least, most, n_threads)


def count_touching(graph: sparse.csr_array, seed: int, least: int, most: int, n_threads: int = 1) -> CountEvidence:
    """Choose the number of communities at the lowest resolution, from 1 on, that keeps most information.

    An edge leads from one cluster to another. The information that is kept is how much the first cluster says about the
    second, as a share of the entropy of the clusters. It falls when clusters are cut up, and stays when they separate.
    """
    kept: dict[int, float] = {}
    for resolution in TOUCHING:
        seeds = range(seed, seed + COUNT_STARTS)
        starts = communities_of_starts(graph, float(resolution), seeds, n_threads)
        labels = max(starts, key=lambda labels: modularity(graph, labels, float(resolution)))
        count = int(labels.max()) + 1
        information = 0.0
        if count <= MOST_COMPARED:
            information = _kept_information(weights_between(graph, labels).toarray())
        kept.setdefault(int(np.clip(count, least, most)), information)
        if information < (1.0 - TOO_FINE) * max(kept.values()) or count > MOST_COMPARED:
            break
    # The lowest number first among ties, then the others from the best on.
    chosen = next(count for count, information in kept.items() if information >= (1.0 - TIE) * max(kept.values()))
    others = sorted((count for count in kept if count != chosen), key=lambda count: -kept[count])
    ranked = [chosen, *others][:5]
    return CountEvidence(ranked, [kept[count] for count in ranked])


def _kept_information(between: Array) -> float:
    """Return the mutual information of the two ends of an edge, as a share of the entropy of one of them."""
    shares = between / (between.sum() or 1.0)
    ends = shares.sum(axis=1)
    entropy = -float(np.sum(ends[ends > 0] * np.log(ends[ends > 0])))
    joined = shares > 0
    information = float(np.sum(shares[joined] * np.log(shares[joined] / np.outer(ends, ends)[joined])))
    return information / entropy if entropy > 0 else 0.0


def _ranges(densities: Array) -> dict[int, float]:
    """Return, for every number of clusters from two on, the doublings of the resolution over which it stays."""
    ends = np.clip(np.concatenate([[max(FINEST, densities[0])], densities]), COARSEST, None)
    widths = np.log2(ends[:-1] / ends[1:])
    n_fine = len(densities) + 1
    return {n_fine - step: float(width) for step, width in enumerate(widths)}


def _merge_densities(graph: sparse.csr_array, seed: int, pairs: PairEvidence | None) -> Array:
    """Return how densely each pair is joined when it merges, if the most densely joined pair always merges first.

    Empty for a graph without edges, with one community, or with too many to compare.
    """
    labels = find_communities(graph, FINEST, seed)
    if not 1 < labels.max() + 1 <= MOST_COMPARED:
        return np.empty(0)
    between = weights_between(graph, labels).toarray()
    pull = None if pairs is None else pairs.between(labels)
    masses = between.sum(axis=1)
    return merge_dense_pairs(between, masses, 1.0, joined_share=1.0, pull=pull)[2] if between.any() else np.empty(0)


def structure_prior(
    views: list[Any], observed: NDArray[np.bool_] | None, random_state: RandomState
) -> NDArray[np.float64]:
    """Return how much each view counts, with mean one, from a sample of dense projected rows.

    The graph of near rows is compared with that of shuffled rows: every principal direction is shuffled on its own, and
    rows keep their lengths. The more modularity a view has beyond that, the more it counts.
    """
    prior = np.empty(len(views))
    # Equal views count equally, whatever their order.
    seed = int(random_state.randint(np.iinfo(np.int32).max))
    for number, view in enumerate(views):
        rows = np.arange(view.shape[0]) if observed is None else np.flatnonzero(observed[:, number])
        excess = max(_excess_modularity(np.asarray(view[rows], dtype=np.float64), RandomState(seed)) - _CHANCE, 0.0)
        prior[number] = LEAST_SHARE + excess**2 / (excess**2 + _HALF**2)
    return np.asarray(prior / prior.mean())


def _excess_modularity(rows: Array, random_state: RandomState) -> float:
    if len(rows) <= _NEIGHBORS + 1:
        return 1.0  # too few rows to judge
    left, scale, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    rows = left * scale
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    shuffled = []
    for _ in range(_SHUFFLES):
        if rows.shape[1] == 1:
            moved = random_state.normal(size=rows.shape)
        else:
            moved = np.column_stack([random_state.permutation(column) for column in rows.T])
            moved *= lengths / np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), np.finfo(np.float64).tiny)
        shuffled.append(_modularity(moved))
    return _modularity(rows) - float(np.mean(shuffled))


def _modularity(rows: Array) -> float:
    chosen = sparse.csr_array(NearestNeighbors(n_neighbors=_NEIGHBORS).fit(rows).kneighbors_graph())
    graph = sparse.csr_array((chosen + chosen.T) / 2)
    return modularity(graph, find_communities(graph, 1.0, seed=0))
