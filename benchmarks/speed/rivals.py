"""Every method by name: kedge twice, and its rivals with the settings that their users have."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np

# What to install for a module that is not there.
PACKAGES = {
    "sklearnex": "scikit-learn-intelex",
    "faiss": "faiss-cpu",
    "umap": "umap-learn",
    "igraph": "igraph",
    "leidenalg": "leidenalg",
}


@dataclass(frozen=True)
class Method:
    """One row of the tables.

    Attributes
    ----------
    fit : callable
        Function of rows, number of clusters and seed; returns an object with ``labels_``. It imports what it needs, so
        that a process has only the libraries of its own method.
    modules : tuple of str
        What must be installed besides kedge and scikit-learn.
    is_kmeans : bool
        Whether it is a way to run k-means on the rows.
    slower_than : str
        Method that it begins with. If that one is over the limit, so is this one.
    """

    fit: Callable
    modules: tuple = ()
    is_kmeans: bool = False
    slower_than: str = ""

    def missing(self):
        """Return what to install before it can run."""
        return [PACKAGES[name] for name in self.modules if find_spec(name) is None]


def kedge(X, k, seed, **settings):
    """Return SGL."""
    from kedge import SGL

    return SGL(k, random_state=seed, **settings).fit(X)


def kmeans(X, k, seed, n_init=1):
    """Return scikit-learn's k-means."""
    from sklearn.cluster import KMeans

    return KMeans(k, n_init=n_init, random_state=seed).fit(X)


def mini_batch_kmeans(X, k, seed):
    """Return scikit-learn's k-means on batches."""
    from sklearn.cluster import MiniBatchKMeans

    return MiniBatchKMeans(k, random_state=seed).fit(X)


def sklearnex_kmeans(X, k, seed):
    """Return the k-means of scikit-learn-intelex."""
    from sklearnex.cluster import KMeans

    return KMeans(k, n_init=1, random_state=seed).fit(X)


def faiss_kmeans(X, k, seed, all_rows=False):
    """Return the k-means of faiss; it trains on 256 rows per cluster unless told otherwise."""
    import faiss

    sample = {"max_points_per_centroid": len(X)} if all_rows else {}
    model = faiss.Kmeans(X.shape[1], k, seed=seed, **sample)
    model.train(X)
    return SimpleNamespace(labels_=model.index.search(X, 1)[1][:, 0])


def umap_kmeans(X, k, seed):
    """UMAP to ten dimensions, then k-means from ten starts; UMAP has no seed, so that it may use all threads."""
    return kmeans(np.nan_to_num(_umap("embedding").fit(X).embedding_), k, seed, n_init=10)


def leiden(X, k, seed):
    """Leiden on UMAP's graph at resolution one; it finds the number of clusters."""
    from benchmarks.quality.neighbour_graphs import leiden_cutter

    return SimpleNamespace(labels_=leiden_cutter(_umap("graph").fit(X).graph_, seed)(1.0))


def leiden_at_k(X, k, seed):
    """Leiden on UMAP's graph at the resolution that gives k clusters, or nearly; the search begins at one."""
    from benchmarks.quality.neighbour_graphs import leiden_cutter, search_resolution

    return SimpleNamespace(labels_=search_resolution(leiden_cutter(_umap("graph").fit(X).graph_, seed), k))


def _umap(mode):
    """Return UMAP with the settings of ``benchmarks.quality``, which ends with its graph or its embedding."""
    import umap

    from benchmarks.quality.neighbour_graphs import DIMENSIONS, NEIGHBORS

    return umap.UMAP(n_neighbors=NEIGHBORS, n_components=DIMENSIONS, min_dist=0.0, transform_mode=mode)


OURS, COARSE, YARDSTICK = "kedge", "kedge, coarse", "KMeans, n_init=1"
UMAP, LEIDEN = "UMAP + k-means", "UMAP graph + Leiden"
_LEIDEN = ("umap", "igraph", "leidenalg")
METHODS = {
    OURS: Method(kedge),
    COARSE: Method(lambda X, k, seed: kedge(X, k, seed, n_anchors=50, n_init=1)),
    YARDSTICK: Method(kmeans, is_kmeans=True),
    "KMeans, n_init=10": Method(lambda X, k, seed: kmeans(X, k, seed, n_init=10), is_kmeans=True),
    "sklearnex KMeans, n_init=1": Method(sklearnex_kmeans, ("sklearnex",), is_kmeans=True),
    "faiss Kmeans, sampled": Method(faiss_kmeans, ("faiss",), is_kmeans=True),
    "faiss Kmeans, all rows": Method(
        lambda X, k, seed: faiss_kmeans(X, k, seed, all_rows=True), ("faiss",), is_kmeans=True
    ),
    "MiniBatchKMeans": Method(mini_batch_kmeans, is_kmeans=True),
    UMAP: Method(umap_kmeans, ("umap",)),
    LEIDEN: Method(leiden, _LEIDEN),
    "UMAP graph + Leiden at k": Method(leiden_at_k, _LEIDEN, slower_than=LEIDEN),
}
