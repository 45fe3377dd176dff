"""Every method by name; each takes rows, a seed and, where it needs it, the fitted UMAP, and returns labels."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

from sklearn.cluster import KMeans, SpectralClustering

from benchmarks.quality import data, neighbour_graphs
from kedge import MSGL, SGL
from kedge.baselines import LSC

MOST_ROWS_OF_SPECTRAL, NEIGHBORS = 12_000, 10
LANDMARKS = 1_000


@dataclass(frozen=True)
class Method:
    """One row of the tables.

    Attributes
    ----------
    run : callable
        Function of rows, seed and the fitted UMAP or None; returns labels.
    told : bool
        Whether it is told the number of classes.
    umap : {"", "graph", "embedding"}
        What it needs of UMAP; the seconds for that are added to its own.
    packages : tuple of str
        What must be installed.
    """

    run: Callable
    told: bool = True
    umap: str = ""
    packages: tuple = ()

    @property
    def is_ours(self):
        """Whether it is kedge's own."""
        return self.run in (k_given, nothing_given)

    def why_not(self, rows):
        """Return why it cannot run on these rows, in words; empty if it can."""
        absent = [name for name in self.packages if find_spec(name) is None]
        if absent:
            return f"{' and '.join(absent)} not installed"
        if self.run is nothing_given and SGL().n_clusters != "auto":
            return "this version of kedge does not find the number of clusters unless asked to"
        if self.run is spectral and rows.n_rows > MOST_ROWS_OF_SPECTRAL:
            return f"more than {MOST_ROWS_OF_SPECTRAL:,} rows"
        if self.run is kmeans_raw and rows.name not in data.COUNTS:
            return "no counts"
        return ""


def k_given(rows, seed, _):
    """Give the number of clusters and nothing else."""
    return (MSGL if rows.several else SGL)(rows.n_classes, random_state=seed).fit(rows.X).labels_


def nothing_given(rows, seed, _):
    """Give nothing."""
    return (MSGL if rows.several else SGL)(random_state=seed).fit(rows.X).labels_


def kmeans(rows, seed, _):
    """Take the best of ten starts."""
    return KMeans(rows.n_classes, n_init=10, random_state=seed).fit(rows.matrix).labels_


def kmeans_raw(rows, seed, _):
    """Cluster the counts themselves."""
    return KMeans(rows.n_classes, n_init=10, random_state=seed).fit(rows.X).labels_


def spectral(rows, seed, _):
    """scikit-learn's SpectralClustering on its graph of ten neighbours."""
    affinity = {"affinity": "nearest_neighbors", "n_neighbors": NEIGHBORS}
    return SpectralClustering(rows.n_classes, random_state=seed, **affinity).fit(rows.matrix).labels_


def lsc(rows, seed, _):
    """Landmark-based spectral clustering with its defaults; landmarks are a third of the rows at most."""
    n_landmarks = min(LANDMARKS, rows.n_rows // 3)
    return LSC(rows.n_classes, n_landmarks=n_landmarks, random_state=seed).fit(rows.matrix).labels_


K_GIVEN, NOTHING_GIVEN = "kedge, k given", "kedge, nothing given"
_LEIDEN = ("umap", "igraph", "leidenalg")
METHODS = {
    K_GIVEN: Method(k_given),
    NOTHING_GIVEN: Method(nothing_given, told=False),
    "k-means": Method(kmeans),
    "k-means, raw counts": Method(kmeans_raw),
    "UMAP + k-means": Method(neighbour_graphs.kmeans_of_embedding, umap="embedding", packages=("umap",)),
    "UMAP + HDBSCAN": Method(
        neighbour_graphs.hdbscan_of_embedding, told=False, umap="embedding", packages=("umap", "hdbscan")
    ),
    "UMAP graph + Leiden": Method(neighbour_graphs.leiden, told=False, umap="graph", packages=_LEIDEN),
    "UMAP graph + Leiden at k": Method(neighbour_graphs.leiden_with_k, umap="graph", packages=_LEIDEN),
    "SpectralClustering": Method(spectral),
    "LSC": Method(lsc),
}
