"""UMAP of a data set, fitted once per seed, and the clusterings that start from its graph or its embedding."""

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans

NEIGHBORS, DIMENSIONS = 15, 10
# The usual choice behind UMAP; the library's own default is 5.
MIN_CLUSTER_SIZE = 15
# From this many rows on UMAP searches neighbours approximately, by code that is compiled on first use.
APPROXIMATE_FROM = 4096
# The search for a resolution: cuts at most, factor of its first steps, and when it gives up.
MOST_CUTS, STRIDE, SMALLEST, CLOSE = 25, 4.0, 1e-5, 1.0005

_warmed_up = set()


@dataclass
class FittedUmap:
    """What UMAP found; the times are pairs of wall and CPU seconds, that of the embedding includes the graph.

    Attributes
    ----------
    graph : CSR matrix of shape (n_rows, n_rows)
        Fuzzy neighbour graph, symmetric.
    embedding : array of shape (n_rows, 10)
        Positions of rows.
    graph_times, embedding_times : pair of float
        What they took.
    """

    graph: Any
    embedding: np.ndarray
    graph_times: tuple
    embedding_times: tuple


def fit_umap(X, seed):
    """Fit UMAP on one thread, as it does with a seed: 15 neighbours, 10 dimensions, cosine for sparse rows."""
    kind = (sparse.issparse(X), X.shape[0] >= APPROXIMATE_FROM)
    if kind not in _warmed_up:
        _warmed_up.add(kind)
        _fit(_warm_up_rows(*kind), seed)
    return _fit(X, seed)


def _warm_up_rows(is_sparse, is_large):
    rows = np.random.RandomState(0).rand(APPROXIMATE_FROM + 4 if is_large else 200, 20)
    return sparse.csr_matrix(np.where(rows > 0.5, rows, 0)) if is_sparse else rows


def _fit(X, seed):
    import umap

    graph_done = []

    class Watched(umap.UMAP):
        """UMAP that says when its graph was done."""

        def _fit_embed_data(self, *arguments, **named):
            graph_done.append(_clocks())
            return super()._fit_embed_data(*arguments, **named)

    begun = _clocks()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = Watched(
            n_neighbors=NEIGHBORS,
            n_components=DIMENSIONS,
            min_dist=0.0,
            metric="cosine" if sparse.issparse(X) else "euclidean",
            random_state=seed,
            n_jobs=1,
        ).fit(X)
    ended = _clocks()
    # Rows without any neighbour have no position.
    embedding = np.nan_to_num(fitted.embedding_)
    return FittedUmap(fitted.graph_, embedding, _between(begun, (graph_done or [ended])[0]), _between(begun, ended))


def _clocks():
    return time.perf_counter(), time.process_time()


def _between(begun, ended):
    return tuple(after - before for before, after in zip(begun, ended, strict=True))


def kmeans_of_embedding(rows, seed, fitted):
    """k-means on the embedding, ten starts."""
    return KMeans(rows.n_classes, n_init=10, random_state=seed).fit(fitted.embedding).labels_


def hdbscan_of_embedding(rows, seed, fitted):
    """HDBSCAN on the embedding with clusters of at least 15 rows; the rows that it calls noise count as one cluster."""
    from hdbscan import HDBSCAN

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return HDBSCAN(min_cluster_size=MIN_CLUSTER_SIZE, core_dist_n_jobs=1).fit(fitted.embedding).labels_


def leiden(rows, seed, fitted):
    """Leiden on the graph at resolution one."""
    return leiden_cutter(fitted.graph, seed)(1.0)


def leiden_with_k(rows, seed, fitted):
    """Leiden on the graph at the resolution that gives as many clusters as there are classes, or nearly."""
    return search_resolution(leiden_cutter(fitted.graph, seed), rows.n_classes)


def leiden_cutter(graph, seed):
    """Return the function from a resolution to labels."""
    import igraph
    import leidenalg

    upper = sparse.triu(graph, k=1).tocoo()
    network = igraph.Graph(n=graph.shape[0], edges=np.column_stack([upper.row, upper.col]))
    weights = upper.data.astype(float).tolist()

    def cut(resolution):
        found = leidenalg.find_partition(
            network,
            leidenalg.RBConfigurationVertexPartition,
            weights=weights,
            resolution_parameter=resolution,
            seed=seed,
        )
        return np.array(found.membership)

    return cut


def search_resolution(cut, n_clusters):
    """Return the labels nearest in number to ``n_clusters``, by bisection of the logarithm of the resolution."""
    best, best_miss, low, high, resolution = None, np.inf, None, None, 1.0
    for _ in range(MOST_CUTS):
        labels = cut(resolution)
        miss = len(np.unique(labels)) - n_clusters
        if abs(miss) < best_miss:
            best, best_miss = labels, abs(miss)
        if miss == 0:
            break
        low, high = (resolution, high) if miss < 0 else (low, resolution)
        if low is None:
            resolution = high / STRIDE
        elif high is None:
            resolution = low * STRIDE
        else:
            resolution = float(np.sqrt(low * high))
        if resolution < SMALLEST or (low and high and high / low < CLOSE):
            break
    return best
