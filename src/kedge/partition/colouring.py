"""Give groups clusters, such that groups that must be apart are: each its best cluster, the most certain ones first."""

from heapq import heapify, heappop, heappush
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components

Labels = NDArray[np.int64]
# For each group, the groups that must be in other clusters.
Conflicts: TypeAlias = list[set[int]]

# Digits of scores that count, relative to the largest.
_DIGITS = 9
# Choices that are tried before a search counts as failed.
_MOST_TRIED = 20_000
# Largest number of groups from which the ones at fault are singled out.
_MOST_SINGLED_OUT = 200


class SearchTooLongError(Exception):
    """A search was given up before it had an answer."""


def place_groups(scores: NDArray[np.float64], apart: Conflicts, colouring: Labels) -> Labels | None:
    """Return the cluster of every group; None if there are too few clusters to keep groups apart.

    ``scores`` of shape (n_groups, n_clusters) say how well each cluster suits each group. Groups go to their best
    cluster. Of those that must be apart, the one with the fewest clusters left chooses first, and of these the most
    certain one. If a group has no cluster left, the choice before it is taken back. Where this takes too long, the
    clusters of ``colouring`` are used, matched to the scores.
    """
    # The last digits depend on how rows are cut into blocks, and must not tell groups apart that have the same scores.
    largest = float(np.abs(scores).max(initial=0.0))
    scores = np.asarray(np.round(scores / (largest or 1.0), _DIGITS))
    chosen = np.asarray(scores.argmax(axis=1), dtype=np.int64)
    in_conflict = [group for group, others in enumerate(apart) if any(chosen[group] == chosen[o] for o in others)]
    if not in_conflict:
        return chosen
    try:
        return _colour(apart, scores.shape[1], scores)
    except SearchTooLongError:
        if colouring.max() >= scores.shape[1]:
            return None
        gains = np.zeros((int(colouring.max()) + 1, scores.shape[1]))
        np.add.at(gains, colouring, scores)
        return np.asarray(linear_sum_assignment(-gains)[1][colouring], dtype=np.int64)


def colour(apart: Conflicts, n_clusters: int) -> Labels | None:
    """Return any clusters that keep groups apart; None if none do, or if the search took too long."""
    try:
        return _colour(apart, n_clusters)
    except SearchTooLongError:
        return None


def least_colouring(apart: Conflicts) -> Labels:
    """Return clusters that keep groups apart, with as few clusters as are found."""
    n_clusters = 1
    while (found := colour(apart, n_clusters)) is None:
        n_clusters += 1
    return found


def cannot_be_coloured(apart: Conflicts, n_clusters: int) -> list[int] | None:
    """Return groups that so few clusters cannot keep apart, no more of them than needed; None if they can.

    Raises SearchTooLongError where neither is found.
    """
    if _colour(apart, n_clusters) is not None:
        return None
    _, core = _peel(apart, n_clusters, np.zeros(len(apart)))
    at_fault = next((part for part in _parts(apart, core) if _fails(apart, part, n_clusters)), core)
    if len(at_fault) <= _MOST_SINGLED_OUT:
        for group in tuple(at_fault):
            fewer = [other for other in at_fault if other != group]
            if _fails(apart, fewer, n_clusters):
                at_fault = fewer
    return at_fault


def _fails(apart: Conflicts, groups: list[int], n_clusters: int) -> bool:
    """Return whether it is sure that these groups alone cannot be kept apart."""
    place = {group: number for number, group in enumerate(groups)}
    among = [{place[other] for other in apart[group] if other in place} for group in groups]
    try:
        return _colour(among, n_clusters) is None
    except SearchTooLongError:
        return False


def _colour(apart: Conflicts, n_clusters: int, scores: NDArray[np.float64] | None = None) -> Labels | None:
    """Colour the core by a search, and then the groups that always find a cluster."""
    ranked = np.zeros((len(apart), n_clusters)) if scores is None else scores
    best = np.sort(ranked, axis=1)
    certainty = best[:, -1] - best[:, -2] if n_clusters > 1 else np.zeros(len(apart))
    later, core = _peel(apart, n_clusters, certainty)
    labels = np.full(len(apart), -1, dtype=np.int64)
    for part in _parts(apart, core):
        found = _search(apart, part, ranked, certainty, alike=scores is None)
        if found is None:
            return None
        labels[part] = found
    for group in later:
        own = ranked[group].copy()
        own[[labels[other] for other in apart[group] if labels[other] >= 0]] = -np.inf
        labels[group] = own.argmax()
    return labels


def _peel(apart: Conflicts, n_clusters: int, certainty: NDArray[np.float64]) -> tuple[list[int], list[int]]:
    """Set aside groups with fewer than k neighbours, the least certain ones first, until none is left.

    Return them in reverse order, in which each finds a cluster that its neighbours have not taken, and the others.
    """
    degrees = [len(others) for others in apart]
    ready = [(certainty[group], group) for group, degree in enumerate(degrees) if degree < n_clusters]
    heapify(ready)
    aside: dict[int, None] = {}
    while ready:
        group = heappop(ready)[1]
        aside[group] = None
        for other in apart[group]:
            degrees[other] -= 1
            if degrees[other] == n_clusters - 1:
                heappush(ready, (certainty[other], other))
    return list(aside)[::-1], [group for group in range(len(apart)) if group not in aside]


def _parts(apart: Conflicts, groups: list[int]) -> list[list[int]]:
    """Return the connected parts of these groups."""
    place = {group: number for number, group in enumerate(groups)}
    ends = [(place[group], place[other]) for group in groups for other in apart[group] if other in place]
    if not ends:
        return [[group] for group in groups]
    graph = sparse.coo_array((np.ones(len(ends)), np.array(ends).T), shape=(len(groups), len(groups)))
    count, part_of = connected_components(graph, directed=False)
    return [np.array(groups)[part_of == number].tolist() for number in range(count)]


def _search(
    apart: Conflicts, groups: list[int], scores: NDArray[np.float64], certainty: NDArray[np.float64], *, alike: bool
) -> Labels | None:
    """Colour connected groups by trying, taking back choices that lead nowhere; None if there is no way.

    If clusters are ``alike``, of those not yet used only the first is tried, and groups with most neighbours go first.
    """
    n_clusters, place = scores.shape[1], {group: number for number, group in enumerate(groups)}
    neighbours = [[place[other] for other in apart[group] if other in place] for group in groups]
    taken = np.zeros((len(groups), n_clusters), dtype=np.int64)  # by how many neighbours
    labels = np.full(len(groups), -1, dtype=np.int64)
    sure = np.array([len(others) for others in neighbours]) if alike else certainty[groups]
    orders = np.argsort(-scores[groups], axis=1, kind="stable")
    steps: list[tuple[int, list[int]]] = []  # groups in order of their choice, and what each may still try
    n_tried = 0

    def next_step() -> tuple[int, list[int]]:
        left = np.where(labels < 0, (taken == 0).sum(axis=1), n_clusters + 1)
        fewest = np.flatnonzero(left == left.min())
        group = int(fewest[sure[fewest].argmax()])
        free = [int(cluster) for cluster in orders[group] if not taken[group, cluster]]
        if alike:
            free = [cluster for cluster in free if cluster <= labels.max() + 1]
        return group, free[::-1]

    steps.append(next_step())
    while steps:
        group, free = steps[-1]
        if labels[group] >= 0:
            taken[neighbours[group], labels[group]] -= 1
            labels[group] = -1
        if not free:
            steps.pop()
            continue
        n_tried += 1
        if n_tried > _MOST_TRIED:
            raise SearchTooLongError
        labels[group] = free.pop()
        taken[neighbours[group], labels[group]] += 1
        if len(steps) == len(groups):
            return labels
        steps.append(next_step())
    return None
