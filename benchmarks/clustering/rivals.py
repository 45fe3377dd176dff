"""What a user would run instead, by the name printed in the tables."""

from sklearn.cluster import SpectralClustering
from sklearn.neighbors import KNeighborsClassifier

from kedge import SGL
from kedge.baselines import SSCOMP

OURS = "kedge SGL"


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
