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
from kedge.core.rows import canonical_rows
from kedge.kernels.contract import CommunityGraph, Labels
from kedge.kernels.selection import choose_kernel
from kedge.partition.pairs import PairEvidence, Pull

# The algorithm is compiled here because igraph and leidenalg are under the GPL and graspologic-native takes lists of
# string triples. NetworKit's parallel Leiden gives another result in every run.

Masses = NDArray[np.float64]

# Doublings of the resolution in search of enough communities.
_MOST_DOUBLINGS = 40
# Orders in which nodes are visited, each giving other communities; the best are kept: as many as this number
# of edges allows, within limits. More starts bring very little.
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
# Difference between the two directions of an edge, as a share of the largest weight, that is taken for rounding.
_SYMMETRY_TOLERANCE = 1e-8


def communities(
    graph: Any,
    n_clusters: int | None = None,
    resolution: float = 1.0,
    random_state: Any = None,
    *,
    return_tree: bool = False,
) -> Labels | tuple[Labels, NDArray[np.float64]]:
    """Return the communities of a weighted graph: groups with more weight inside than chance would put there.

    The Leiden algorithm [1]_ finds communities of high modularity. If you ask for a number of clusters, the pair of
    communities that loses least modularity merges until that many are left, and single nodes then move where they raise
    modularity; the best of several starts is returned. Time and memory grow with the number of edges; a million edges
    take about a second per start.

    Parameters
    ----------
    graph : sparse or dense array of shape (n_nodes, n_nodes)
        Symmetric weights, none negative. The diagonal holds self loops; most graphs have none.
    n_clusters : int, default=None
        Number of clusters; None for the number at which modularity is highest. If there are fewer communities than
        that, the resolution is doubled until there are enough.
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
    weights = _checked_graph(graph)
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
        found = best_hierarchy(weights, int(n_clusters), float(resolution), seed)
        resolution = found.resolution
        # Single nodes move to neighbouring clusters while that raises modularity; no cluster loses its last node.
        prepared = prepare_graph(weights, MERGE_SHARE * resolution)
        labels = number_by_first_rows(choose_kernel().move_nodes(prepared, found.at(int(n_clusters))))
    return (labels, merge_tree(weights, labels, float(resolution))) if return_tree else labels


def _checked_graph(graph: Any) -> sparse.csr_array:
    """Return the graph in CSR form and float64, or say what is wrong with it."""
    if not sparse.issparse(graph):
        graph = np.asarray(graph)
    shape, kind = graph.shape, graph.dtype.kind
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"graph must be square, got shape {shape}; give one row and one column per node")
    if shape[0] == 0:
        raise ValueError("graph has no nodes; give at least one")
    if kind not in "fiub":
        raise TypeError(f"graph must hold real numbers, got dtype {graph.dtype}; convert it to float")
    weights = canonical_rows(sparse.csr_array(graph, dtype=np.float64))
    with np.errstate(over="ignore"):
        total = weights.data.sum()
    if not np.isfinite(total):
        raise ValueError("graph must be finite, and so must the sum of its weights; remove NaN and infinite weights")
    if (weights.data < 0).any():
        raise ValueError(f"graph must not be negative, got a weight of {weights.data.min():g}; use similarities from 0")
    difference = abs(weights - weights.T)
    most = float(difference.data.max(initial=0.0))
    if most > _SYMMETRY_TOLERANCE * float(weights.data.max(initial=0.0)):
        raise ValueError(
            f"graph must be symmetric, got weights that differ by up to {most:g} between the two directions of an "
            "edge; use (graph + graph.T) / 2"
        )
    return weights


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
    graph: sparse.csr_array, n_clusters: int, resolution: float, seed: int, n_threads: int = 1
) -> Hierarchy:
    """Return the communities of the start whose merged clusters, that many of them, have most modularity.

    What a start finds is partly luck. The resolution is doubled until the first start finds enough communities; other
    starts that find too few are left out.
    """
    first, resolution = at_least(graph, n_clusters, resolution, seed)
    seeds = range(seed + 1, seed + count_starts(graph))
    more = communities_of_starts(graph, resolution, seeds, n_threads)
    best, most = None, -np.inf
    for labels in (first, *(labels for labels in more if labels.max() + 1 >= n_clusters)):
        found = Hierarchy(labels, resolution, merge_tree(graph, labels, resolution))
        score = modularity(graph, found.at(n_clusters), MERGE_SHARE * resolution)
        if score > most + _ROUNDING:
            best, most = found, score
    assert best is not None
    return best


def count_starts(graph: sparse.csr_array) -> int:
    """Return how many starts a graph of this size can afford."""
    return int(np.clip(EDGES_OF_STARTS // max(graph.nnz, 1), LEAST_STARTS, MOST_STARTS))


def at_least(graph: sparse.csr_array, n_clusters: int, resolution: float, seed: int) -> tuple[Labels, float]:
    """Return at least that many communities, and the resolution: doubled as long as there are too few.

    Where no resolution separates enough nodes (some weights are too small beside others), the lightest nodes become
    communities of their own.
    """
    labels = find_communities(graph, resolution, seed)
    for _ in range(_MOST_DOUBLINGS):
        if labels.max() + 1 >= n_clusters:
            return labels, resolution
        resolution *= 2.0
        labels = find_communities(graph, resolution, seed)
    n_missing = n_clusters - (int(labels.max()) + 1)
    if n_missing > 0:
        followers = np.setdiff1d(np.arange(len(labels)), np.unique(labels, return_index=True)[1])
        lightest = followers[np.argsort(_degrees(graph)[followers], kind="stable")[:n_missing]]
        labels[lightest] = labels.max() + 1 + np.arange(n_missing)
        labels = number_by_first_rows(labels)
    return labels, resolution


def find_communities(graph: sparse.csr_array, resolution: float, seed: int) -> Labels:
    """Return communities of high modularity, numbered by their first nodes."""
    return communities_of_starts(graph, resolution, [seed])[0]


def communities_of_starts(
    graph: sparse.csr_array, resolution: float, seeds: Sequence[int], n_threads: int = 1
) -> list[Labels]:
    """Return the communities that each seed leads to, as :func:`find_communities` does."""
    prepared = prepare_graph(graph, resolution)
    with ThreadPoolExecutor(max(1, min(n_threads, len(seeds)))) as pool:
        return list(pool.map(partial(choose_kernel().find_communities, prepared), seeds))


def merge_tree(
    graph: sparse.csr_array, labels: Labels, resolution: float, evidence: PairEvidence | None = None
) -> NDArray[np.float64]:
    """Merge two communities at a time until one is left; return the merges.

    Only pairs that are joined at least a quarter as densely as the most densely joined pair may merge; of these, the
    one that loses least modularity does. So pieces of one cluster merge before separate clusters do, and small ones
    before large ones. The choice takes modularity at 0.8 of the resolution, the returned loss at the resolution itself.
    While there are more than 500 communities, any pair may merge. Linked rows, if any, pull communities together or
    apart: their weight counts as if it were in the graph, but not in the returned losses.

    Row t has the two numbers (communities are 0 to C - 1, row t makes C + t), the loss, and the nodes in the union.
    """
    n_communities = int(labels.max()) + 1
    between = weights_between(graph, labels)
    totals = np.bincount(labels, _degrees(graph), minlength=n_communities).astype(np.float64)
    pairs, losses = np.empty((0, 2), dtype=np.int64), np.empty(0)
    numbers = np.arange(n_communities)
    n_first = n_communities - MOST_COMPARED
    if n_first > 0:
        pairs, losses = choose_kernel().merge_communities(prepare_graph(between, resolution, totals))
        pairs, losses = pairs[:n_first], losses[:n_first]
        group_of = _cluster_of_each(pairs, n_communities, MOST_COMPARED)
        # A group goes by the number of its last merge.
        numbers = np.zeros(MOST_COMPARED, dtype=np.int64)
        np.maximum.at(numbers, group_of, np.arange(len(group_of)))
        groups = group_of[:n_communities]
        joined = sparse.csr_array((np.ones(n_communities), (groups, np.arange(n_communities))))
        between, totals = joined @ between @ joined.T, joined @ totals
    pull = None if evidence is None else evidence.between(groups[labels] if n_first > 0 else labels)
    later_pairs, later_losses, _ = merge_dense_pairs(between.toarray(), totals, resolution, pull=pull)
    made = np.concatenate([numbers, n_communities + len(pairs) + np.arange(len(later_losses))])
    pairs = np.concatenate([pairs, np.sort(made[later_pairs], axis=1)])
    losses = np.concatenate([losses, later_losses])
    sizes = np.bincount(labels, minlength=2 * n_communities - 1)
    for step, (left, right) in enumerate(pairs.tolist()):
        sizes[n_communities + step] = sizes[left] + sizes[right]
    return np.column_stack([pairs, losses, sizes[n_communities:]])


def merge_dense_pairs(
    between: NDArray[np.float64],
    masses: Masses,
    resolution: float,
    joined_share: float = JOINED_SHARE,
    pull: Pull | None = None,
) -> tuple[Labels, NDArray[np.float64], NDArray[np.float64]]:
    """Merge C communities as :func:`merge_tree` says; with a share of 1, the most densely joined pair merges.

    ``pull`` is what linked rows add to the graph.

    Return the pairs (merge t makes number C + t), the modularity each merge loses, and how densely each pair was
    joined: the weight between the two over what chance would put there.
    """
    count, all_weight, all_mass = len(masses), float(between.sum()) or 1.0, float(masses.sum()) or 1.0
    weights, masses, numbers = between / all_weight, masses / all_mass, np.arange(count)
    penalty = resolution * all_mass / all_weight
    charge = MERGE_SHARE * penalty * (1.0 if pull is None else pull.chance)
    np.fill_diagonal(weights, 0.0)
    # What decides is the weight and the pull together; the losses that are returned are of the graph alone.
    pulled = weights if pull is None else weights + pull.weights
    summed = (weights,) if pull is None else (weights, pulled)
    expected = np.maximum(np.outer(masses, masses), np.finfo(np.float64).tiny)
    alive = ~np.eye(count, dtype=bool)
    n_merges = max(count - 1, 0)
    pairs, losses, densities = np.empty((n_merges, 2), dtype=np.int64), np.empty(n_merges), np.empty(n_merges)
    for step in range(n_merges):
        density = np.where(alive, pulled / expected, -np.inf)
        allowed = density >= min(joined_share * density.max(), density.max())
        loss = np.where(allowed & alive, charge * expected - pulled, np.inf)
        first, second = divmod(int(loss.argmin()), count)
        pairs[step] = numbers[first], numbers[second]
        losses[step] = 2.0 * (penalty * expected[first, second] - weights[first, second])
        densities[step] = density[first, second]
        for matrix in summed:
            matrix[first] += matrix[second]
            matrix[:, first] += matrix[:, second]
        masses[first] += masses[second]
        expected[first] = expected[:, first] = np.maximum(masses[first] * masses, np.finfo(np.float64).tiny)
        alive[second] = alive[:, second] = False
        numbers[first] = count + step
    return pairs, losses, densities


def weights_between(graph: sparse.csr_array, labels: Labels) -> sparse.csr_array:
    """Return the sums of weights between communities, and inside them on the diagonal."""
    n_nodes, n_communities = len(labels), int(labels.max()) + 1
    members = sparse.csr_array((np.ones(n_nodes), labels, np.arange(n_nodes + 1)), shape=(n_nodes, n_communities))
    return sparse.csr_array(members.T @ graph @ members)


def cut_tree(tree: NDArray[np.float64], n_communities: int, n_clusters: int) -> Labels:
    """Return the cluster of every community when merging stops at that many clusters."""
    return _cluster_of_each(tree[:, :2].astype(np.int64), n_communities, n_clusters)[:n_communities]


def _cluster_of_each(pairs: Labels, n_communities: int, n_clusters: int) -> Labels:
    """Return the cluster of every community, and then of every union, when merging stops at that many clusters."""
    n_merges = max(n_communities - n_clusters, 0)
    n_numbers = n_communities + n_merges
    ends = pairs[:n_merges].T.ravel(), np.tile(np.arange(n_communities, n_numbers), 2)
    joined = sparse.coo_array((np.ones(2 * n_merges), ends), shape=(n_numbers, n_numbers))
    # Components are numbered in the order of their first nodes.
    return np.asarray(connected_components(joined, directed=False)[1], dtype=np.int64)


def modularity(graph: sparse.csr_array, labels: Labels, resolution: float = 1.0) -> float:
    """Return the sum over communities of (weight inside - resolution * degrees**2 / all weight) / all weight."""
    masses = _degrees(graph)
    edges = graph.tocoo()
    inside = float(edges.data[labels[edges.row] == labels[edges.col]].sum())
    squares = float((np.bincount(labels, masses) ** 2).sum())
    return (inside - resolution * squares / (float(masses.sum()) or 1.0)) / (float(graph.sum()) or 1.0)


def _degrees(graph: sparse.csr_array) -> Masses:
    return np.ascontiguousarray(graph.sum(axis=1), dtype=np.float64).ravel()


def prepare_graph(graph: sparse.csr_array, resolution: float, masses: Masses | None = None) -> CommunityGraph:
    """Return a graph as kernels take it: shares of all weight and mass, without zeros and self loops.

    Masses are the degrees if not given.
    """
    masses = _degrees(graph) if masses is None else masses
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
