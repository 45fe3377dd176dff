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
    """The clusters of one layer, and where they go in the next coarser one.

    Attributes
    ----------
    n_clusters : int
        Number of clusters of the layer.
    labels : array of shape (n_samples,)
        The clusters of the rows, as ``labels_at`` numbers them.
    parents : array of shape (n_clusters,)
        The cluster of the next coarser layer that takes in most rows of each; zeros in the coarsest.
    loss : float
        Modularity lost on the way to the next coarser layer.
    """

    n_clusters: int
    labels: NDArray[np.int64]
    parents: NDArray[np.int64]
    loss: float

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


def members_of_coarser(layers: list[Layer], n_clusters: int) -> list[list[list[int]]]:
    """Return, from the layer with that many clusters on, which of its clusters make up each cluster of each layer."""
    start = [layer.n_clusters for layer in layers].index(n_clusters)
    groups = [[cluster] for cluster in range(n_clusters)]
    found = [groups]
    for layer, coarser in zip(layers[start:-1], layers[start + 1 :], strict=True):
        joined: list[list[int]] = [[] for _ in range(coarser.n_clusters)]
        for cluster, group in enumerate(groups):
            joined[int(layer.parents[cluster])] += group
        groups = [sorted(group) for group in joined]
        found.append(groups)
    return found


def _mostly_in(labels: NDArray[np.int64], others: NDArray[np.int64], n_labels: int, n_others: int) -> NDArray[np.int64]:
    """Return for each label the other label that most of its rows have."""
    counts = np.bincount(labels * n_others + others, minlength=n_labels * n_others)
    return np.asarray(counts.reshape(n_labels, n_others).argmax(axis=1), dtype=np.int64)
