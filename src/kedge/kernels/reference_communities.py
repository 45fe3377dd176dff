"""Communities of a graph in plain Python: what the compiled kernel must return, in readable form.

With weights w and masses K as shares of their sums, modularity is the sum over communities of (weight inside - penalty
times squared mass), so a node v gains w(v, c) - penalty K_v K_c by joining a community c. Sums are taken in the order
of the compiled kernel, so the results are equal to the bit.
"""

import heapq
from collections import deque
from collections.abc import Iterable

import numpy as np

from kedge.kernels.contract import CommunityGraph, Labels, Merges

# As in native/: gains that are rounding, visits per node at most, rounds at most, gain of the last round.
_LEAST_GAIN, _MOST_VISITS_FREE, _MOST_VISITS_FIXED = 1e-14, 5, 100
_MOST_ROUNDS, _SETTLED_GAIN = 10, 5e-5
_64_BITS = (1 << 64) - 1


class Dice:
    """Whole numbers by splitmix64, the same as in the compiled kernel."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def below(self, bound: int) -> int:
        """Draw a number from 0 to ``bound`` - 1."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & _64_BITS
        mixed = self.state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _64_BITS
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _64_BITS
        mixed ^= mixed >> 31
        return ((mixed >> 32) * bound) >> 32

    def permutation(self, size: int) -> list[int]:
        """Draw an order of the numbers below ``size``."""
        order = list(range(size))
        for left in range(size, 1, -1):
            other = self.below(left)
            order[left - 1], order[other] = order[other], order[left - 1]
        return order


def edges_of(graph: CommunityGraph, node: int) -> Iterable[tuple[int, float]]:
    """Return neighbours of a node and the weights towards them."""
    ends = slice(graph.row_starts[node], graph.row_starts[node + 1])
    return zip(graph.neighbors[ends].tolist(), graph.weights[ends].tolist(), strict=True)


def sum_by_label(pairs: Iterable[tuple[int, float]]) -> dict[int, float]:
    """Sum weights by label; labels stand in the order in which they first occur."""
    sums: dict[int, float] = {}
    for label, weight in pairs:
        sums[label] = sums.get(label, 0.0) + weight
    return sums


def number_by_first_nodes(labels: Labels) -> int:
    """Give labels numbers from zero by their first nodes, in place; return how many there are."""
    numbers: dict[int, int] = {}
    labels[:] = [numbers.setdefault(label, len(numbers)) for label in labels.tolist()]
    return len(numbers)


def move_nodes(graph: CommunityGraph, order: Iterable[int], labels: Labels, *, fixed_count: bool) -> float:
    """Move nodes from a queue to the neighbouring community that gains most; return what modularity gained.

    Labels change in place. Nodes may found communities of their own, unless the count is fixed: then no community
    loses its last node. The neighbours of a node that moved are looked at again.
    """
    n_nodes = len(labels)
    totals = np.bincount(labels, graph.masses, minlength=n_nodes)
    sizes = np.bincount(labels, minlength=n_nodes)
    empty = np.flatnonzero(sizes == 0)[::-1].tolist()
    queue = deque(order)
    waits, gained = set(queue), 0.0
    for _ in range(n_nodes * (_MOST_VISITS_FIXED if fixed_count else _MOST_VISITS_FREE)):
        if not queue:
            break
        node = queue.popleft()
        waits.remove(node)
        own, mass = int(labels[node]), graph.masses[node]
        if fixed_count and sizes[own] == 1:
            continue
        inside = sum_by_label((int(labels[other]), weight) for other, weight in edges_of(graph, node))
        cost = graph.penalty * mass
        staying = inside.pop(own, 0.0) - cost * (totals[own] - mass)
        best, most = own, staying + _LEAST_GAIN
        for label, weight in inside.items():
            gain = weight - cost * totals[label]
            if gain > most:
                best, most = label, gain
        if not fixed_count and sizes[own] > 1 and most < 0.0:
            best, most = empty[-1], 0.0
        if best == own:
            continue
        if sizes[best] == 0:
            empty.pop()
        totals[best], sizes[best] = totals[best] + mass, sizes[best] + 1
        totals[own], sizes[own] = totals[own] - mass, sizes[own] - 1
        if sizes[own] == 0:
            totals[own] = 0.0
            empty.append(own)
        labels[node] = best
        gained += 2.0 * (most - staying)
        for other, _ in edges_of(graph, node):
            if other not in waits and labels[other] != best:
                waits.add(other)
                queue.append(other)
    return gained


def refine(graph: CommunityGraph, communities: Labels, order: Iterable[int]) -> Labels:
    """Split communities into parts that hold together; a part is named after the node it began with.

    Single nodes join the part of their community that gains most, if node and part are both well connected to the
    rest of the community (Traag, Waltman and van Eck 2019).
    """
    n_nodes = len(communities)
    parts, is_single = np.arange(n_nodes), np.ones(n_nodes, dtype=bool)
    totals, part_totals = np.bincount(communities, graph.masses, minlength=n_nodes), graph.masses.copy()
    outward = np.zeros(n_nodes)
    for node in range(n_nodes):
        for other, weight in edges_of(graph, node):
            if communities[other] == communities[node]:
                outward[node] += weight

    def is_well_connected(part: int) -> bool:
        rest = totals[communities[part]] - part_totals[part]
        return bool(outward[part] >= graph.penalty * part_totals[part] * rest)

    for node in order:
        if not is_single[node] or not is_well_connected(node):
            continue
        own = communities[node]
        inside = sum_by_label((int(parts[i]), weight) for i, weight in edges_of(graph, node) if communities[i] == own)
        best, most, cost = node, 0.0, graph.penalty * graph.masses[node]
        for part, weight in inside.items():
            gain = weight - cost * part_totals[part]
            if gain > most and is_well_connected(part):
                best, most = part, gain
        if best != node:
            parts[node], is_single[best] = best, False
            part_totals[best] += graph.masses[node]
            outward[best] += outward[node] - 2.0 * inside[best]
    return parts


def aggregate(graph: CommunityGraph, parts: Labels, n_parts: int) -> CommunityGraph:
    """Return the graph between parts."""
    starts, neighbors, weights = [0], list[int](), list[float]()
    for part in range(n_parts):
        members = np.flatnonzero(parts == part).tolist()
        toward = sum_by_label((int(parts[i]), weight) for node in members for i, weight in edges_of(graph, node))
        toward.pop(part, None)
        neighbors += toward.keys()
        weights += toward.values()
        starts.append(len(neighbors))
    return CommunityGraph(
        row_starts=np.array(starts, dtype=np.int64),
        neighbors=np.array(neighbors, dtype=np.int32),
        weights=np.array(weights, dtype=np.float64),
        masses=np.bincount(parts, graph.masses, minlength=n_parts).astype(np.float64),
        penalty=graph.penalty,
    )


def improve(graph: CommunityGraph, dice: Dice, labels: Labels) -> float:
    """Move nodes, refine, and go on with the graph between parts; change labels in place, return the gain."""
    n_nodes = len(labels)
    gained = move_nodes(graph, dice.permutation(n_nodes), labels, fixed_count=False)
    n_communities = number_by_first_nodes(labels)
    if n_communities == n_nodes:
        return gained
    parts = refine(graph, labels, dice.permutation(n_nodes))
    n_parts = number_by_first_nodes(parts)
    if n_parts == n_nodes:
        parts, n_parts = labels.copy(), n_communities
    coarse_labels = np.zeros(n_parts, dtype=np.int64)
    coarse_labels[parts] = labels
    gained += improve(aggregate(graph, parts, n_parts), dice, coarse_labels)
    labels[:] = coarse_labels[parts]
    return gained


def find_communities(graph: CommunityGraph, seed: int) -> Labels:
    """Return communities by Leiden rounds, numbered by their first nodes."""
    labels, dice = np.arange(len(graph.masses), dtype=np.int64), Dice(seed)
    for _ in range(_MOST_ROUNDS):
        if improve(graph, dice, labels) <= _SETTLED_GAIN:
            break
    number_by_first_nodes(labels)
    return labels


def move_at_fixed_count(graph: CommunityGraph, labels: Labels) -> Labels:
    """Return the labels after nodes have moved in the order of their numbers; no cluster loses its last node."""
    moved = labels.copy()
    move_nodes(graph, range(len(labels)), moved, fixed_count=True)
    return moved


def merge_communities(graph: CommunityGraph) -> Merges:
    """Merge the pair that loses least modularity, with the lowest numbers among equals, until one is left."""
    n_nodes = len(graph.masses)
    masses = dict(enumerate(graph.masses.tolist()))
    between = {(a, b): weight for a in range(n_nodes) for b, weight in edges_of(graph, a) if a < b}
    pairs, losses = np.zeros((n_nodes - 1, 2), dtype=np.int64), np.zeros(n_nodes - 1)
    for step in range(n_nodes - 1):
        # No pair without an edge loses less than the two lightest.
        lightest = heapq.nsmallest(2, masses, key=lambda number: (masses[number], number))
        candidates = {(min(lightest), max(lightest)): 0.0} | between
        losses[step], left, right = min(
            (2.0 * (graph.penalty * (masses[a] * masses[b]) - weight), a, b) for (a, b), weight in candidates.items()
        )
        pairs[step] = left, right
        union = n_nodes + step
        masses[union] = masses.pop(left) + masses.pop(right)
        merged: dict[tuple[int, int], float] = {}
        for (a, b), weight in between.items():
            ends = sorted(union if end in (left, right) else end for end in (a, b))
            if ends[0] != ends[1]:
                merged[ends[0], ends[1]] = merged.get((ends[0], ends[1]), 0.0) + weight
        between = merged
    return pairs, losses
