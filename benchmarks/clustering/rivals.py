"""What a user would run instead, by the name printed in the tables."""

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans, SpectralClustering
from sklearn.neighbors import KNeighborsClassifier

from kedge import SGL
from kedge.baselines import SSCOMP

OURS, COARSE = "kedge SGL", "kedge SGL, 50 anchors"
YARDSTICK = "KMeans, n_init=1"
SLOW_RIVAL = "UMAP + k-means"
# Each takes the number of clusters and a seed and returns a clusterer to fit.
FAST_CLUSTERERS = {
    OURS: lambda n_clusters, seed: SGL(n_clusters, random_state=seed),
    COARSE: lambda n_clusters, seed: SGL(n_clusters, n_anchors=50, n_init=1, random_state=seed),
    YARDSTICK: lambda n_clusters, seed: KMeans(n_clusters, n_init=1, random_state=seed),
    "KMeans, n_init=10": lambda n_clusters, seed: KMeans(n_clusters, n_init=10, random_state=seed),
    "MiniBatchKMeans": lambda n_clusters, seed: MiniBatchKMeans(n_clusters, random_state=seed),
}


class UmapKMeans:
    """UMAP to ten dimensions, then k-means; without a seed, so that UMAP may use all threads."""

    def __init__(self, n_clusters, seed):
        self.n_clusters, self.seed = n_clusters, seed

    def fit(self, X):
        """Keep the labels."""
        import umap

        positions = umap.UMAP(n_components=10).fit_transform(X)
        self.labels_ = KMeans(self.n_clusters, n_init=10, random_state=self.seed).fit_predict(positions)
        return self


def subspace_clusterers(n_anchors, dim):
    """Return clusterers for linear subspaces: ours with several numbers of anchors, and two that grow faster with n."""
    clusterers = {
        f"kedge SGL, signed{how}, {m} anchors": lambda k, seed, m=m, partition=partition: SGL(
            k, signed=True, partition=partition, n_anchors=m, random_state=seed
        )
        for partition, how in (("communities", ""), ("spectral", ", spectral"))
        for m in n_anchors
    }
    most = max(n_anchors)
    clusterers[f"kedge SGL, unsigned, {most} anchors"] = lambda k, seed: SGL(
        k, signed=False, n_anchors=most, random_state=seed
    )
    # Its default eigensolver takes minutes on this graph.
    clusterers["SpectralClustering, neighbours, lobpcg"] = lambda k, seed: SpectralClustering(
        k,
        affinity="nearest_neighbors",
        assign_labels="cluster_qr",
        eigen_solver="lobpcg",
        random_state=seed,
        n_jobs=-1,
    )
    clusterers[f"SSC-OMP, {dim} nonzeros"] = lambda k, seed: SSCOMP(k, n_nonzero=dim, random_state=seed)
    return clusterers


def neighbour_classifiers(anchors, labels):
    """Return nearest-neighbour classifiers of the labelled anchors; the first has scikit-learn's defaults."""
    classifiers = {
        "KNeighborsClassifier(1)": KNeighborsClassifier(1),
        "KNeighborsClassifier(1, n_jobs=-1)": KNeighborsClassifier(1, n_jobs=-1),
        'KNeighborsClassifier(1, algorithm="brute")': KNeighborsClassifier(1, algorithm="brute"),
    }
    return {name: classifier.fit(anchors, labels) for name, classifier in classifiers.items()}


def multiply_by_rows(X, n_rows):
    """Return X A' where A are rows of X: the one product that any method with that many anchors must form."""
    return X @ X[np.arange(n_rows) % len(X)].T
