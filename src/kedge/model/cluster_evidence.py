"""How many clusters near rows suggest: pieces that stay apart, or else gaps in the spectrum of their graph."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph
from sklearn.preprocessing import normalize

from kedge.model.clustering_points import cluster_points
from kedge.model.label_rows import unit_rows
from kedge.model.neighborhood import join_nearest
from kedge.model.row_graphs.component_eigenvectors import find_components, leading_eigenvectors

# Neighbours per row of graphs whose pieces are counted.
_PIECE_NEIGHBORS = (10, 7, 5)
# Neighbours per row of graphs whose spectrum is read: this share of the root of the rows, and more.
_ROOT_SHARE, _FEWEST, _SEVERAL, _MORE = 0.25, 5, 10, 1.4
# Pieces are clusters if they stay apart with neighbours of this share of the rows of the smallest,
# and at least this many times as many.
_STAYING_SHARE, _DENSER = 0.1, 1.5
# Clusters of equal size have balance one, a cluster beside single rows nearly none; pieces need this much.
_LEAST_BALANCE = 0.5
# Added to both ends of a gap: below this, eigenvalues differ by the luck of the sample.
_SMALL_EIGENVALUE = 0.02
# Evenly spread eigenvalues have ratios of 1 + 1/k; evidence is multiplied by this power of k to make up for it in part.
_POWER = 0.65
# Numbers of clusters whose clusters are looked at.
_CANDIDATES = 8
MOST_CLUSTERS, LEAST_ROWS_PER_CLUSTER = 60, 5

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ClusterEvidence:
    """Numbers of clusters and how much speaks for each, most first; and whether they are pieces or gaps."""

    kind: str
    counts: list[int]
    scores: list[float]


def count_clusters(rows: Any, least: int, most: int, random_state: RandomState) -> ClusterEvidence:
    """Weigh numbers of clusters from ``least`` to ``most`` for a sample of rows, dense or CSR."""
    directions = normalize(rows)
    for cloud, limit in ((rows, most), (directions, min(most, rows.shape[1]))):
        found = _lasting_pieces(cloud)
        if found is not None and least <= found <= limit:
            return ClusterEvidence("pieces", [found], [1.0])
    return _gaps(rows, directions, least, most, random_state)


def _lasting_pieces(points: Any) -> int | None:
    """Return the most pieces of a graph of near points that are even and last when it gets denser."""
    lasting = []
    for n_neighbors in _PIECE_NEIGHBORS:
        if n_neighbors >= points.shape[0]:
            continue
        count, sizes = _pieces(points, n_neighbors)
        denser = max(round(_DENSER * n_neighbors), int(_STAYING_SHARE * sizes.min()))
        if count < 2 or sizes.min() <= denser or _balance(sizes) < _LEAST_BALANCE:
            continue
        if _pieces(points, denser)[0] == count:
            lasting.append(count)
    return max(lasting, default=None)


def _pieces(points: Any, n_neighbors: int) -> tuple[int, NDArray[np.intp]]:
    count, piece_of = csgraph.connected_components(join_nearest(points, n_neighbors), directed=False)
    return int(count), np.bincount(piece_of)


def _balance(sizes: NDArray[np.intp]) -> float:
    """Return the effective number of clusters beyond one, as a share of the number there is."""
    shares = sizes[sizes > 0] / sizes.sum()
    effective = np.exp(-(shares * np.log(shares)).sum())
    return float((effective - 1.0) / max(len(sizes) - 1, 1))


def _gaps(points: Any, directions: Any, least: int, most: int, random_state: RandomState) -> ClusterEvidence:
    counts = np.arange(least, most + 1)
    few = int(np.clip(round(_ROOT_SHARE * np.sqrt(points.shape[0])), _FEWEST, _SEVERAL))
    evidence, embeddings = np.zeros(len(counts)), []
    for cloud in (points, directions):
        for n_neighbors in (few, round(_MORE * few)):
            values, vectors = _spectrum(cloud, min(n_neighbors, points.shape[0] - 1), most + 1)
            steps = np.log(values + _SMALL_EIGENVALUE)
            evidence += steps[counts] - steps[counts - 1]
            embeddings.append(vectors)
    evidence *= counts**_POWER / len(embeddings)
    best = np.argsort(-evidence, kind="stable")[:_CANDIDATES]
    scores = np.array([evidence[place] * _evenness(embeddings, int(counts[place]), random_state) for place in best])
    order = np.argsort(-scores, kind="stable")
    return ClusterEvidence("gaps", [int(counts[best[i]]) for i in order], [float(scores[i]) for i in order])


def _spectrum(points: Any, n_neighbors: int, count: int) -> tuple[Array, Array]:
    """Return the smallest eigenvalues of the normalised Laplacian of the graph of near points, and their vectors."""
    graph = join_nearest(points, n_neighbors)
    roots = np.sqrt(np.asarray(graph.sum(axis=1)).ravel())
    scale = sparse.diags_array(1.0 / roots)
    scaled = sparse.csr_array(scale @ graph @ scale)
    values, vectors = leading_eigenvectors(scaled, find_components(graph), count)
    return np.clip(1.0 - values, 0.0, None), vectors / roots[:, None]


def _evenness(embeddings: list[Array], n_clusters: int, random_state: RandomState) -> float:
    """Return how even the clusters are that so many eigenvectors show."""
    balances = []
    for vectors in embeddings:
        labels, _ = cluster_points(unit_rows(vectors[:, :n_clusters]), n_clusters, random_state, n_starts=2)
        balances.append(_balance(np.bincount(labels, minlength=n_clusters)))
    return float(np.mean(balances))
