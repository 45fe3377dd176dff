"""The layers of a fit: which clusters merge from layer to layer, and how much modularity that costs."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kedge.plots.fitted_model import NOT_A_GRAPH, Labels, count_clusters, labels_of, membership, needed

# At most this many layers are written and shown.
MOST_LAYERS = 20


class Layer(NamedTuple):
    """The clusters of one layer, and where they go in the next coarser one."""

    n_clusters: int
    labels: Labels  # Shape (n_samples,). The clusters of the rows, as ``labels_at`` numbers them.
    # Shape (n_clusters,). The cluster of the next coarser layer that takes most rows of each; zeros in the coarsest.
    parents: Labels
    loss: float  # Modularity lost on the way to the next coarser layer.


def choose_layers(n_communities: int, n_clusters: int) -> list[int]:
    """Return numbers of clusters, most first: the chosen one, its neighbours, powers of two, all communities."""
    finest = max(n_communities, n_clusters)
    every = range(min(2, n_clusters), finest + 1)
    if len(every) <= MOST_LAYERS:
        return list(every)[::-1]
    kept = {n_clusters, finest, *(2**power for power in range(1, finest.bit_length()))}
    nearest = sorted(set(every) - kept, key=lambda count: (abs(count - n_clusters), count))
    kept.update(nearest[: max(MOST_LAYERS - len(kept), 0)])
    return sorted(kept, reverse=True)


def layers_of(model: Any) -> list[Layer]:
    """Return the layers of :func:`choose_layers` of a fitted model, finest first."""
    tree = np.asarray(needed(model, "tree_", NOT_A_GRAPH))
    n_communities, n_clusters = len(tree) + 1, count_clusters(model)
    counts = choose_layers(n_communities, n_clusters)
    labels = [labels_of(model) if count == n_clusters else np.asarray(model.labels_at(count)) for count in counts]
    found = []
    # After the coarsest layer all rows are together.
    coarser = [*zip(counts[1:], labels[1:], strict=True), (1, np.zeros_like(labels[0]))]
    for count, own, (next_count, others) in zip(counts, labels, coarser, strict=True):
        parents = (membership(own, count) @ membership(others, next_count).T).toarray().argmax(axis=1)
        lost = tree[max(n_communities - count, 0) : max(n_communities - next_count, 0), 2].sum()
        found.append(Layer(count, own, parents, float(lost)))
    return found


class Join(NamedTuple):
    """Clusters of the fit that merge on the way to a coarser layer."""

    n_clusters: int  # Clusters that are left afterwards.
    parts: list[list[int]]  # What merges: clusters of ``labels_``, in groups if they merged before.
    loss: float  # Modularity lost between the two layers.
    # Shape (n_points, 2). The line that joins the parts in a drawing: place along the clusters, and number of steps
    # from the layer of the fit.
    path: NDArray[np.float64]


class ClusterTree(NamedTuple):
    """How the clusters of a fit merge: their order in a drawing, the numbers of clusters on the way, and the joins."""

    order: list[int]
    counts: list[int]
    joins: list[Join]


def cluster_tree(layers: list[Layer], n_clusters: int) -> ClusterTree:
    """Follow the clusters of the fit from layer to layer until one is left."""
    if n_clusters == 1:
        return ClusterTree([0], [1], [])
    chosen = [layer for layer in layers if layer.n_clusters <= n_clusters]
    counts = [*(layer.n_clusters for layer in chosen), 1]
    # Where the clusters of the fit are after each step.
    trail = [chosen[0].parents]
    for layer in chosen[1:]:
        trail.append(layer.parents[trail[-1]])
    # Sorted by their place in the coarsest layer, then the next finer one: clusters that merge early are neighbours.
    order = sorted(range(n_clusters), key=lambda cluster: (*(int(goes[cluster]) for goes in trail[::-1]), cluster))
    # By the first cluster of each group: the group, and where its line ends.
    groups = {cluster: [cluster] for cluster in range(n_clusters)}
    heads = {cluster: (float(place), 0.0) for place, cluster in enumerate(order)}
    joins = []
    for depth, (layer, goes_to) in enumerate(zip(chosen, trail, strict=True), start=1):
        for target in np.unique(goes_to):
            parts = [first for first in sorted(groups) if goes_to[first] == target]
            if len(parts) < 2:
                continue
            ends = [heads[part] for part in parts]
            middle = (float(np.mean([x for x, _ in ends])), float(depth))
            path = [point for x, y in ends for point in (middle, (x, middle[1]), (x, y), (x, middle[1]), middle)]
            joins.append(Join(counts[depth], [groups[part] for part in parts], layer.loss, np.array(path)))
            whole = sorted(cluster for part in parts for cluster in groups.pop(part))
            groups[whole[0]], heads[whole[0]] = whole, middle
    return ClusterTree(order, counts, joins)


class Split(NamedTuple):
    """A cluster that splits on the way to a finer layer."""

    n_clusters: int  # Clusters that there are afterwards.
    cluster: int  # The cluster of ``labels_`` that holds it.
    sizes: list[int]  # Rows of the parts, largest first.
    loss: float  # Modularity gained between the two layers.


def cluster_splits(layers: list[Layer], n_clusters: int) -> list[Split]:
    """Follow the clusters of the fit to finer layers."""
    found, of_fit = [], np.arange(n_clusters)
    for layer in [layer for layer in layers if layer.n_clusters > n_clusters][::-1]:
        sizes = np.bincount(layer.labels, minlength=layer.n_clusters)
        for parent, cluster in enumerate(of_fit.tolist()):
            parts = np.flatnonzero((layer.parents == parent) & (sizes > 0))
            if len(parts) > 1:
                rows = sorted(sizes[parts].tolist(), reverse=True)
                found.append(Split(layer.n_clusters, cluster, rows, layer.loss))
        of_fit = of_fit[layer.parents]
    return found
