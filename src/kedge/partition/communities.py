"""Communities of a weighted graph by modularity, exactly k of them on request, and the tree of their merges."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_random_state, check_scalar

from kedge.core.labels import number_by_first_rows
from kedge.kernels.contract import CommunityGraph
from kedge.kernels.selection import choose_kernel
from kedge.partition.checked_graph import checked_graph

# The algorithm is compiled here because igraph and leidenalg are under the GPL and graspologic-native takes lists of
# string triples. NetworKit's parallel Leiden gives another result in every run.

Labels = NDArray[np.int64]
Masses = NDArray[np.float64]

# Doublings of the resolution in search of enough communities.
_MOST_DOUBLINGS = 40
# Orders in which nodes are visited, each giving other communities, of which the best are kept: as many as this number
# of edges allows, within limits. More bring next to nothing.
LEAST_STARTS, MOST_STARTS, EDGES_OF_STARTS = 8, 24, 4_000_000
# Pairs of communities that may merge are joined at least this share as densely as the most densely joined pair. Losses
# of modularity alone would join separate clusters where each of them is large enough to count as several communities;
# the result is the same for shares from a tenth to a half on all data it was settled on.
JOINED_SHARE = 0.25
# Merging charges this share of what chance accounts for. Charged in full, two small clusters would merge before two
# parts of a large one, and clusters would come out too equal in size; from three quarters down, clusters that touch
# merge too early. Settled on digits, MNIST, TDT2 and the TR sets, with their labels.
MERGE_SHARE = 0.8
# Communities that are compared all with all.
MOST_COMPARED = 500
# Differences of modularity that are rounding: the first start is then kept.
_ROUNDING = 1e-12


def communities(
    graph: Any,
    n_clusters: int | None = None,
    resolution: float = 1.0,
    random_state: Any = None,
    *,
    return_tree: bool = False,
) -> Labels | tuple[Labels, NDArray[np.float64]]:
    """Return the communities of a weighted graph: groups with more weight inside than chance would put there.

    Communities of high modularity are found by the Leiden algorithm [1]_. If you ask for a number of clusters, the
    pair of communities that loses least modularity is merged until that many are left, and single nodes then move
    where they raise modularity; of several starts, the one with the highest modularity counts. Time and memory grow
    with the number of edges; a million edges take about a second per start.

    Parameters
    ----------
    graph : sparse or dense array of shape (n_nodes, n_nodes)
        Symmetric weights, none negative. The diagonal holds self loops; most graphs have none.
    n_clusters : int, default=None
        Number of clusters; None for as many as modularity is highest with. If there are fewer communities than that,
        the resolution is doubled until there are enough.
    resolution : float, default=1.0
        How much weight between nodes chance is taken to account for. Higher values give more and smaller communities.
    random_state : int, RandomState or None, default=None
        Order in which nodes are visited; an int gives the same communities every time.
    return_tree : bool, default=False
        Whether to return the tree of merges as well.

    Returns
    -------
    labels : ndarray of shape (n_nodes,)
        Clusters, numbered from zero by their first nodes.
    tree : ndarray of shape (n_found - 1, 4)
        Only with ``return_tree``: how the returned clusters merge further until one is left. Each row has the two that
        merge (clusters are 0 to n_found - 1, row t makes n_found + t), the modularity lost, and the nodes in the union.

    See Also
    --------
    kedge.SGL : Clusters rows of data, not nodes of a graph.

    Notes
    -----
    With the weights W, the degrees K and the sum M of all weights, modularity is the sum over clusters of
    ``weight_inside / M - resolution * (degree_inside / M)**2``.

    References
    ----------
    .. [1] V. A. Traag, L. Waltman and N. J. van Eck, "From Louvain to Leiden: guaranteeing well-connected
       communities", Scientific Reports 9 (2019).

    Examples
    --------
    >>> import numpy as np
    >>> import kedge
    >>> two_triangles = np.kron(np.eye(2), np.ones((3, 3))) - np.eye(6)
    >>> two_triangles[2, 3] = two_triangles[3, 2] = 1
    >>> kedge.communities(two_triangles, random_state=0)
    array([0, 0, 0, 1, 1, 1])
    """
    weights = checked_graph(graph)
    check_scalar(resolution, "resolution", Real, min_val=0, include_boundaries="neither")
    if not np.isfinite(resolution):
        raise ValueError(f"resolution must be finite, got {resolution}; 1.0 is ordinary modularity")
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    if n_clusters is None:
        labels = find_communities(weights, float(resolution), seed)
    else:
        check_scalar(n_clusters, "n_clusters", Integral, min_val=1)
        if n_clusters > weights.shape[0]:
            raise ValueError(
                f"n_clusters={n_clusters} is more than the {weights.shape[0]} nodes of graph; ask for fewer clusters"
            )
        labels, resolution = exactly(weights, int(n_clusters), float(resolution), seed)
    return (labels, merge_tree(weights, labels, float(resolution))) if return_tree else labels


@dataclass(frozen=True)
class Hierarchy:
    """Communities, the resolution at which they were found, and the tree of their merges."""

    labels: Labels
    resolution: float
    tree: NDArray[np.float64]

    @property
    def n_communities(self) -> int:
        """Number of communities before merging."""
        return int(self.labels.max()) + 1

    def at(self, n_clusters: int) -> Labels:
        """Return the cluster of every node when merging stops at that many clusters."""
        return cut_tree(self.tree, self.n_communities, n_clusters)[self.labels]


def best_hierarchy(
    graph: sparse.csr_array,
    n_clusters: int,
    resolution: float,
    seed: int,
    masses: Masses | None = None,
    n_threads: int = 1,
) -> Hierarchy:
    """Return the communities, of several starts, that have most modularity when merged down to that many clusters.

    Which communities a start finds is partly luck, and so is what they merge to; modularity tells which are better.
    Starts that find too few communities are passed over; the resolution is doubled until the first one finds enough.
    """
    first, resolution = at_least(graph, n_clusters, resolution, seed, masses)
    seeds = range(seed + 1, seed + count_starts(graph))
    more = communities_of_starts(graph, resolution, seeds, masses, n_threads=n_threads)
    best, most = None, -np.inf
    for labels in (first, *(labels for labels in more if labels.max() + 1 >= n_clusters)):
        found = Hierarchy(labels, resolution, merge_tree(graph, labels, resolution, masses))
        score = modularity(graph, found.at(n_clusters), MERGE_SHARE * resolution, masses)
        if score > most + _ROUNDING:
            best, most = found, score
    assert best is not None
    return best


def count_starts(graph: sparse.csr_array) -> int:
    """Return how many starts a graph of this size can afford."""
    return int(np.clip(EDGES_OF_STARTS // max(graph.nnz, 1), LEAST_STARTS, MOST_STARTS))


def exactly(
    graph: sparse.csr_array, n_clusters: int, resolution: float, seed: int, masses: Masses | None = None
) -> tuple[Labels, float]:
    """Return that many clusters, and the resolution at which they were found, merged and improved."""
    found = best_hierarchy(graph, n_clusters, resolution, seed, masses)
    moved = move_at_fixed_k(graph, found.at(n_clusters), MERGE_SHARE * found.resolution, masses)
    return number_by_first_rows(moved), found.resolution


def at_least(
    graph: sparse.csr_array, n_clusters: int, resolution: float, seed: int, masses: Masses | None = None
) -> tuple[Labels, float]:
    """Return at least that many communities, and the resolution used: doubled as long as there are too few.

    Where no resolution separates enough nodes (some have no mass), the lightest ones are split off on their own.
    """
    n_nodes = graph.shape[0]
    if n_clusters > n_nodes:
        raise ValueError(f"n_clusters={n_clusters} is more than the {n_nodes} nodes; ask for fewer clusters")
    labels = find_communities(graph, resolution, seed, masses)
    for _ in range(_MOST_DOUBLINGS):
        if labels.max() + 1 >= n_clusters:
            return labels, resolution
        resolution *= 2.0
        labels = find_communities(graph, resolution, seed, masses)
    n_missing = n_clusters - (int(labels.max()) + 1)
    if n_missing > 0:
        follows = np.ones(n_nodes, dtype=bool)
        follows[np.unique(labels, return_index=True)[1]] = False
        followers = np.flatnonzero(follows)
        lightest = followers[np.argsort(_masses_of(graph, masses)[followers], kind="stable")[:n_missing]]
        labels[lightest] = labels.max() + 1 + np.arange(n_missing)
        labels = number_by_first_rows(labels)
    return labels, resolution


def find_communities(
    graph: sparse.csr_array, resolution: float, seed: int, masses: Masses | None = None, kernel: str | None = None
) -> Labels:
    """Return communities of high modularity, numbered by their first nodes.

    Parameters
    ----------
    graph : CSR array of shape (n_nodes, n_nodes)
        Symmetric nonnegative weights.
    resolution : float
        How much weight between two nodes their masses account for.
    seed : int
        Order in which nodes are visited, from 0 to 2**64 - 1.
    masses : array of shape (n_nodes,), default=None
        Nonnegative; None for the degrees.
    kernel : str, default=None
        Compiled or reference; None for the preferred one.
    """
    return communities_of_starts(graph, resolution, [seed], masses, kernel)[0]


def communities_of_starts(
    graph: sparse.csr_array,
    resolution: float,
    seeds: Sequence[int],
    masses: Masses | None = None,
    kernel: str | None = None,
    n_threads: int = 1,
) -> list[Labels]:
    """Return the communities that each of some seeds leads to; see :func:`find_communities`."""
    find = partial(choose_kernel(kernel).find_communities, _prepared(graph, resolution, masses))
    n_threads = max(1, min(n_threads, len(seeds)))
    with ThreadPoolExecutor(n_threads) as pool:
        found = list(pool.map(find, [seeds[first::n_threads] for first in range(n_threads)]))
    return [found[start % n_threads][start // n_threads] for start in range(len(seeds))]


def merge_tree(
    graph: sparse.csr_array,
    labels: Labels,
    resolution: float,
    masses: Masses | None = None,
    kernel: str | None = None,
) -> NDArray[np.float64]:
    """Merge two communities at a time until one is left; return the merges.

    Of the pairs that are joined at least a quarter as densely as the most densely joined pair, the one that loses least
    modularity merges: pieces of one cluster go together before separate clusters do, and small ones before large ones.
    Modularity is taken at 0.8 of the resolution for that choice, and at the resolution itself for the loss returned.
    Of more than 500 communities, those that lose least modularity merge first, whatever joins them.

    Row t has the two numbers (communities are 0 to C - 1, row t makes C + t), the loss, and the nodes in the union.
    """
    n_communities = int(labels.max()) + 1
    between = weights_between(graph, labels)
    totals = np.bincount(labels, _masses_of(graph, masses), minlength=n_communities).astype(np.float64)
    pairs, losses = np.empty((0, 2), dtype=np.int64), np.empty(0)
    numbers = np.arange(n_communities)
    n_first = n_communities - MOST_COMPARED
    if n_first > 0:
        pairs, losses = choose_kernel(kernel).merge_communities(_prepared(between, resolution, totals))
        pairs, losses = pairs[:n_first], losses[:n_first]
        tree = np.column_stack([pairs, losses, losses]).astype(np.float64)
        groups = cut_tree(tree, n_communities, MOST_COMPARED)
        numbers = _newest_numbers(pairs, groups, n_communities)
        joined = sparse.csr_array((np.ones(n_communities), (groups, np.arange(n_communities))))
        between, totals = joined @ between @ joined.T, joined @ totals
    more = merge_dense_pairs(between.toarray(), totals, resolution)
    made = np.concatenate([numbers, n_communities + len(pairs) + np.arange(len(more.losses))])
    pairs = np.concatenate([pairs, np.sort(made[more.pairs], axis=1)])
    losses = np.concatenate([losses, more.losses])
    sizes = np.bincount(labels, minlength=2 * n_communities - 1)
    for step, (left, right) in enumerate(pairs.tolist()):
        sizes[n_communities + step] = sizes[left] + sizes[right]
    return np.column_stack([pairs, losses, sizes[n_communities:]])


@dataclass(frozen=True)
class DenseMerges:
    """Merges of C communities: pairs (merge t makes number C + t), the modularity lost, how densely they were joined.

    How densely two are joined is the weight between them over what their masses let expect.
    """

    pairs: Labels
    losses: NDArray[np.float64]
    densities: NDArray[np.float64]


def merge_dense_pairs(
    between: NDArray[np.float64], masses: Masses, resolution: float, joined_share: float = JOINED_SHARE
) -> DenseMerges:
    """Merge communities given the weights between them, as :func:`merge_tree` says; a share of 1: the densest first."""
    count, all_weight, all_mass = len(masses), float(between.sum()) or 1.0, float(masses.sum()) or 1.0
    weights, masses, numbers = between / all_weight, masses / all_mass, np.arange(count)
    penalty = resolution * all_mass / all_weight
    np.fill_diagonal(weights, 0.0)
    expected = np.maximum(np.outer(masses, masses), np.finfo(np.float64).tiny)
    alive = ~np.eye(count, dtype=bool)
    n_merges = max(count - 1, 0)
    pairs, losses, densities = np.empty((n_merges, 2), dtype=np.int64), np.empty(n_merges), np.empty(n_merges)
    for step in range(n_merges):
        density = np.where(alive, weights / expected, -1.0)
        allowed = density >= joined_share * density.max()
        loss = np.where(allowed & alive, MERGE_SHARE * penalty * expected - weights, np.inf)
        first, second = divmod(int(loss.argmin()), count)
        pairs[step] = numbers[first], numbers[second]
        losses[step] = 2.0 * (penalty * expected[first, second] - weights[first, second])
        densities[step] = density[first, second]
        weights[first] += weights[second]
        weights[:, first] += weights[:, second]
        masses[first] += masses[second]
        expected[first] = expected[:, first] = np.maximum(masses[first] * masses, np.finfo(np.float64).tiny)
        alive[second] = alive[:, second] = False
        numbers[first] = count + step
    return DenseMerges(pairs, losses, densities)


def weights_between(graph: sparse.csr_array, labels: Labels) -> sparse.csr_array:
    """Return the sums of weights between communities, and inside them on the diagonal."""
    n_nodes, n_communities = len(labels), int(labels.max()) + 1
    members = sparse.csr_array((np.ones(n_nodes), labels, np.arange(n_nodes + 1)), shape=(n_nodes, n_communities))
    return sparse.csr_array(members.T @ graph @ members)


def _newest_numbers(pairs: Labels, groups: Labels, n_communities: int) -> Labels:
    """Return the number in the tree of every group of communities that have merged."""
    newest = np.full(int(groups.max()) + 1, -1, dtype=np.int64)
    group_of = np.concatenate([groups, np.empty(len(pairs), dtype=np.int64)])
    for step, left in enumerate(pairs[:, 0].tolist()):
        group_of[n_communities + step] = group_of[left]
    np.maximum.at(newest, group_of, np.arange(len(group_of)))
    return newest


def cut_tree(tree: NDArray[np.float64], n_communities: int, n_clusters: int) -> Labels:
    """Return the cluster of every community when merging stops at that many clusters."""
    n_merges = max(n_communities - n_clusters, 0)
    union = n_communities + np.arange(n_merges)
    ends = tree[:n_merges, :2].astype(np.int64).T.ravel(), np.tile(union, 2)
    n_numbers = n_communities + n_merges
    joined = sparse.coo_array((np.ones(2 * n_merges), ends), shape=(n_numbers, n_numbers))
    # Components are numbered in the order of their first nodes.
    return np.asarray(connected_components(joined, directed=False)[1][:n_communities], dtype=np.int64)


def move_at_fixed_k(
    graph: sparse.csr_array,
    labels: Labels,
    resolution: float,
    masses: Masses | None = None,
    kernel: str | None = None,
) -> Labels:
    """Move single nodes to neighbouring clusters while that raises modularity; no cluster loses its last node."""
    start = np.ascontiguousarray(labels, dtype=np.int64)
    return choose_kernel(kernel).move_nodes(_prepared(graph, resolution, masses), start)


def modularity(graph: sparse.csr_array, labels: Labels, resolution: float = 1.0, masses: Masses | None = None) -> float:
    """Return the sum over communities of (weight inside - resolution * mass**2 / all mass) / all weight."""
    masses = _masses_of(graph, masses)
    edges = graph.tocoo()
    inside = float(edges.data[labels[edges.row] == labels[edges.col]].sum())
    squares = float((np.bincount(labels, masses) ** 2).sum())
    return (inside - resolution * squares / (float(masses.sum()) or 1.0)) / (float(graph.sum()) or 1.0)


def _masses_of(graph: sparse.csr_array, masses: Masses | None) -> Masses:
    given = graph.sum(axis=1) if masses is None else masses
    return np.ascontiguousarray(given, dtype=np.float64).ravel()


def _prepared(graph: sparse.csr_array, resolution: float, masses: Masses | None) -> CommunityGraph:
    """Return weights and masses as shares of their sums, without zeros and self loops, as kernels take them."""
    masses = _masses_of(graph, masses)
    all_weight, all_mass = float(graph.sum()) or 1.0, float(masses.sum()) or 1.0
    shares = sparse.csr_array((graph.data / all_weight, graph.indices, graph.indptr), shape=graph.shape)
    if graph.diagonal().any() or not shares.data.all():
        edges = shares.tocoo()
        kept = (edges.data > 0) & (edges.row != edges.col)
        shares = sparse.csr_array((edges.data[kept], (edges.row[kept], edges.col[kept])), shape=graph.shape)
    return CommunityGraph(
        row_starts=shares.indptr.astype(np.int64),
        neighbors=shares.indices.astype(np.int32),
        weights=np.ascontiguousarray(shares.data, dtype=np.float64),
        masses=masses / all_mass,
        penalty=resolution * all_mass / all_weight,
    )
