"""The number of clusters of a graph, where it is left to the data."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.partition.communities import MOST_COMPARED, at_least, find_communities

Labels = NDArray[np.int64]
Array = NDArray[np.float64]

# The finest resolution that is looked at, and the coarsest: two clusters joined by less than this share of what their
# masses let expect are apart, and how little it is makes no difference.
FINEST, COARSEST = 4.0, 1 / 32
# A number of clusters is clear if it stays over this range of resolutions, as a power of two. Separate blobs had 1.7 to
# 6, data whose clusters touch at most 1.2.
CLEAR_RANGE = 1.5
# Two halves joined by more than this share of what chance would give are one cluster.
ONE_CLUSTER = 0.5


@dataclass(frozen=True)
class CountEvidence:
    """Numbers of clusters, the chosen one first, and over how many doublings of the resolution each of them stays."""

    counts: list[int]
    scores: list[float]


def count_clusters(
    graph: sparse.csr_array, seed: int, count_range: tuple[int, int] | None
) -> tuple[Labels, float, CountEvidence]:
    """Return communities, the resolution at which they were found, and how many clusters they make.

    Communities at a fine resolution are merged, the most densely joined pair first. A number of clusters stays as the
    resolution falls until its next pair merges; the one that stays longest is chosen if it stays long enough. Else
    clusters touch each other, and there are as many as modularity has communities. A graph whose last two halves are
    joined half as densely as chance would is one cluster.
    """
    labels = find_communities(graph, 1.0, seed)
    least, most = count_range or (1, graph.shape[0])
    densities = _merge_densities(graph, seed)
    usual = int(np.clip(labels.max() + 1, least, most))
    if len(densities) == 0 or (least == 1 and densities[-1] > ONE_CLUSTER):
        chosen = usual if len(densities) == 0 else 1
        return labels, 1.0, CountEvidence([chosen], [float(np.log2(FINEST / COARSEST))])
    ranges = _ranges(densities)
    allowed = [count for count in ranges if max(least, 2) <= count <= most] or [usual]
    allowed.sort(key=lambda count: (-ranges.get(count, 0.0), count))
    chosen = allowed[0] if ranges.get(allowed[0], 0.0) >= CLEAR_RANGE else usual
    ranked = [chosen, *(count for count in allowed if count != chosen)]
    resolution = 1.0
    if labels.max() + 1 < chosen:
        labels, resolution = at_least(graph, chosen, 1.0, seed)
    return labels, resolution, CountEvidence(ranked[:5], [ranges.get(count, 0.0) for count in ranked[:5]])


def _ranges(densities: Array) -> dict[int, float]:
    """Return, for every number of clusters from two on, the doublings of the resolution over which it stays."""
    ends = np.clip(np.concatenate([[max(FINEST, densities[0])], densities]), COARSEST, None)
    widths = np.log2(ends[:-1] / ends[1:])
    n_fine = len(densities) + 1
    return {n_fine - step: float(width) for step, width in enumerate(widths)}


def _merge_densities(graph: sparse.csr_array, seed: int) -> Array:
    """Return how densely the pairs are joined that merge one after the other, the most densely joined first.

    The weight between two communities is compared with what their masses let expect. Empty for a graph of one
    community, or of too many to compare.
    """
    fine = find_communities(graph, FINEST, seed)
    count = int(fine.max()) + 1
    if not 1 < count <= MOST_COMPARED:
        return np.empty(0)
    members = sparse.csr_array((np.ones(len(fine)), fine, np.arange(len(fine) + 1)), shape=(len(fine), count))
    weights = (members.T @ graph @ members).toarray()
    total = weights.sum()
    if total == 0:
        return np.empty(0)
    weights /= total
    masses = np.maximum(weights.sum(axis=1), np.finfo(np.float64).tiny)
    alive = ~np.eye(count, dtype=bool)
    densities = np.empty(count - 1)
    for step in range(count - 1):
        joined = np.where(alive, weights / np.maximum(np.outer(masses, masses), np.finfo(np.float64).tiny), -1.0)
        first, second = divmod(int(joined.argmax()), count)
        densities[step] = joined[first, second]
        weights[first] += weights[second]
        weights[:, first] += weights[:, second]
        masses[first] += masses[second]
        alive[second] = alive[:, second] = False
    return densities
