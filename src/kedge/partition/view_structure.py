"""How much structure a view has of its own: what tells a view with clusters from noise where no third view can."""

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from kedge.partition.communities import find_communities, modularity

Array = NDArray[np.float64]

# Near rows in the graph whose modularity is compared, and how often the directions are shuffled.
_NEIGHBORS, _SHUFFLES = 10, 3
# Modularity beyond that of shuffled rows: this much is chance, and at this much more a view counts half.
_CHANCE, _HALF = 0.02, 0.04
# What a view without structure counts, against one with plenty.
LEAST_SHARE = 0.02


def structure_prior(
    views: list[Any], observed: NDArray[np.bool_] | None, random_state: RandomState
) -> NDArray[np.float64]:
    """Return how much each view counts, with mean one, from a sample of dense projected rows.

    A view counts as much as the graph of its near rows has more modularity than if its principal directions had
    nothing to do with each other: every direction is shuffled on its own, and rows keep their lengths.
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
