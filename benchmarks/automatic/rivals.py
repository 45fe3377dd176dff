"""What a user would run instead, and ours; each takes a data set and a seed and returns labels."""

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering

from kedge import MSGL, SGL
from kedge.baselines import LSC
from kedge.model.anchor_selection.select import select_anchors
from kedge.model.label_rows import unit_rows
from kedge.model.row_graphs.adaptive_neighbors import weigh_neighbors
from kedge.model.spectral_map import spectral_map

# Landmarks of the two neighbour graphs, at most; and the rows up to which a graph between all rows is built.
LANDMARKS, NEIGHBORS = 500, 5
MOST_ROWS_OF_SPECTRAL = 6_000


def automatic(rows, seed):
    """Leave everything but the number of clusters to the data."""
    return (MSGL if rows.several else SGL).automatic(rows.n_clusters, random_state=seed).fit(rows.X)


def defaults(rows, seed):
    """Change nothing."""
    return (MSGL if rows.several else SGL)(rows.n_clusters, random_state=seed).fit(rows.X)


def kmeans(rows, seed):
    """Take the best of 100 starts."""
    return KMeans(rows.n_clusters, n_init=100, random_state=seed).fit(rows.matrix)


def lsc(rows, seed):
    """Landmark-based spectral clustering, five nearest landmarks."""
    n_landmarks = min(LANDMARKS, len(rows.y) // 3)
    return LSC(rows.n_clusters, n_landmarks=n_landmarks, n_neighbors=NEIGHBORS, random_state=seed).fit(rows.matrix)


class Labels:
    """Labels of rows."""

    def __init__(self, labels):
        self.labels_ = labels


def adaptive_neighbors(rows, seed):
    """Weigh the five nearest anchors by the adaptive-neighbour rule, embed, cluster unit rows by k-means."""
    X, n_anchors = rows.matrix, min(LANDMARKS, len(rows.y) // 3)
    anchors = select_anchors(X, n_anchors, random_state=seed)
    graph = weigh_neighbors(X, anchors, NEIGHBORS).as_graph(len(anchors))
    gram = np.asarray((graph.T @ graph).toarray())
    spectrum = spectral_map(gram, np.asarray(graph.sum(axis=0)).ravel(), rows.n_clusters)
    points = unit_rows(np.asarray(graph @ spectrum.row_map))
    return Labels(KMeans(rows.n_clusters, n_init=10, random_state=seed).fit(points).labels_)


def spectral(rows, seed):
    """scikit-learn's SpectralClustering on its graph of ten neighbours; None where it would take too long."""
    if len(rows.y) > MOST_ROWS_OF_SPECTRAL:
        return None
    return SpectralClustering(rows.n_clusters, affinity="nearest_neighbors", random_state=seed).fit(rows.matrix)


# Name, function, and how many seeds; ours ten.
METHODS = {
    "automatic": (automatic, 10),
    "defaults": (defaults, 10),
    "k-means best of 100": (kmeans, 1),
    "LSC": (lsc, 3),
    "adaptive neighbours": (adaptive_neighbors, 3),
    "SpectralClustering": (spectral, 1),
}
