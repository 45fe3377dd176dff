"""The layers of a fit: which clusters become one as they merge, and what that costs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.plots.numbers.fitted_model import count_clusters, labels_of, needed

# Layers that are written and shown; of more communities some are left out.
MOST_LAYERS = 20
_NO_TREE = "only models on anchor graphs (SGL, MSGL) have it"


@dataclass(frozen=True)
class Layer:
    """The clusters of one layer, and where they go in the next coarser one."""

    n_clusters: int
    labels: NDArray[np.int64]  # Shape (n_samples,). The clusters of the rows, as ``labels_at`` numbers them.
    # Shape (n_clusters,). The cluster of the next coarser layer that takes in most rows of each; zeros in the coarsest.
    parents: NDArray[np.int64]
    loss: float  # Modularity lost on the way to the next coarser layer.

    def sizes(self) -> NDArray[np.int64]:
        """Return the number of rows of every cluster."""
        return np.bincount(self.labels, minlength=self.n_clusters).astype(np.int64)


def choose_layers(n_communities: int, n_clusters: int, most: int = MOST_LAYERS) -> list[int]:
    """Return numbers of clusters, most first: the chosen one, its neighbours, powers of two, all communities."""
    finest = max(n_communities, n_clusters)
    every = range(min(2, n_clusters), finest + 1)
    if len(every) <= most:
        return list(every)[::-1]
    kept = {n_clusters, finest}
    kept |= {2**power for power in range(1, finest.bit_length()) if 2**power <= finest}
    for count in sorted(every, key=lambda count: (abs(count - n_clusters), count)):
        if len(kept) >= most:
            break
        kept.add(count)
    return sorted(kept, reverse=True)


def layers_of(model: Any, counts: list[int] | None = None) -> list[Layer]:
    """Return the layers of a fitted model, finest first; those of :func:`choose_layers` where none are named."""
    tree = np.asarray(needed(model, "tree_", _NO_TREE))
    n_communities = len(tree) + 1
    if counts is None:
        counts = choose_layers(n_communities, count_clusters(model))
    labels = [labels_of(model) if k == count_clusters(model) else np.asarray(model.labels_at(k)) for k in counts]
    found = []
    for place, count in enumerate(counts):
        coarser = counts[place + 1] if place + 1 < len(counts) else 1
        parents = np.zeros(count, dtype=np.int64)
        if place + 1 < len(counts):
            parents = _mostly_in(labels[place], labels[place + 1], count, coarser)
        lost = tree[max(n_communities - count, 0) : max(n_communities - coarser, 0), 2].sum()
        found.append(Layer(count, labels[place], parents, float(lost)))
    return found


@dataclass(frozen=True)
class Join:
    """Clusters of the fit that become one on the way to a coarser layer."""

    n_clusters: int  # Clusters that are left afterwards.
    parts: list[list[int]]  # What becomes one: clusters of ``labels_``, in groups where they were joined before.
    loss: float  # Modularity lost between the two layers.
    # Shape (n_points, 2). The line that joins the parts in a drawing: places along the clusters, and steps from the
    # layer of the fit.
    path: NDArray[np.float64]


@dataclass(frozen=True)
class ClusterTree:
    """How the clusters of a fit become one: their order in a drawing, the layers from there on, and the joins."""

    order: list[int]
    counts: list[int]
    joins: list[Join]


def cluster_tree(layers: list[Layer], n_clusters: int) -> ClusterTree:
    """Follow the clusters of the fit from layer to layer until one is left."""
    start = [layer.n_clusters for layer in layers].index(n_clusters)
    chosen = layers[start:]
    counts = [layer.n_clusters for layer in chosen] + ([1] if n_clusters > 1 else [])
    steps = _steps(chosen)
    # Clusters that are joined late are far apart: sorted by where they go in the coarsest layer, then the next.
    trail = np.array([step[1] for step in steps[::-1]]).T if steps else np.zeros((n_clusters, 1), dtype=np.int64)
    order = sorted(range(n_clusters), key=lambda cluster: (*trail[cluster].tolist(), cluster))
    heads = {cluster: (float(place), 0.0) for place, cluster in enumerate(order)}
    groups, joins = {cluster: [cluster] for cluster in range(n_clusters)}, []
    for depth, (layer, goes_to) in enumerate(steps, start=1):
        for target in np.unique(goes_to).tolist():
            parts = sorted({_first_of(groups, cluster) for cluster in np.flatnonzero(goes_to == target).tolist()})
            if len(parts) < 2:
                continue
            ends = [heads[part] for part in parts]
            middle = (float(np.mean([x for x, _ in ends])), float(depth))
            path = [point for x, y in ends for point in (middle, (x, middle[1]), (x, y), (x, middle[1]), middle)]
            joins.append(Join(counts[depth], [groups[part] for part in parts], layer.loss, np.array(path)))
            whole = sorted(cluster for part in parts for cluster in groups.pop(part))
            groups[whole[0]], heads[whole[0]] = whole, middle
    return ClusterTree(order, counts, joins)


def _steps(layers: list[Layer]) -> list[tuple[Layer, NDArray[np.int64]]]:
    """Return every layer with where the clusters of the first one are in the next; all in one at the end."""
    steps, place = [], np.arange(layers[0].n_clusters)
    for layer in layers:
        place = layer.parents[place]
        steps.append((layer, place))
    return steps if layers[0].n_clusters > 1 else []


def _first_of(groups: dict[int, list[int]], cluster: int) -> int:
    return next(first for first, group in groups.items() if cluster in group)


@dataclass(frozen=True)
class Split:
    """A cluster that falls apart on the way to a finer layer: which one, and the rows of its parts."""

    n_clusters: int  # Clusters that there are afterwards.
    cluster: int  # The cluster of ``labels_`` that holds it.
    sizes: list[int]  # Rows of the parts, largest first.
    loss: float  # Modularity gained between the two layers, which is what joining loses.


def cluster_splits(layers: list[Layer], n_clusters: int) -> list[Split]:
    """Follow the clusters of the fit to finer layers."""
    start = [layer.n_clusters for layer in layers].index(n_clusters)
    found, of_fit = [], np.arange(n_clusters)
    for layer in layers[:start][::-1]:
        sizes = layer.sizes()
        for parent in range(len(of_fit)):
            parts = np.flatnonzero((layer.parents == parent) & (sizes > 0))
            if len(parts) > 1:
                rows = sorted(sizes[parts].tolist(), reverse=True)
                found.append(Split(layer.n_clusters, int(of_fit[parent]), rows, layer.loss))
        of_fit = of_fit[layer.parents]
    return found


def _mostly_in(labels: NDArray[np.int64], others: NDArray[np.int64], n_labels: int, n_others: int) -> NDArray[np.int64]:
    """Return for each label the other label that most of its rows have."""
    counts = np.bincount(labels * n_others + others, minlength=n_labels * n_others)
    return np.asarray(counts.reshape(n_labels, n_others).argmax(axis=1), dtype=np.int64)
