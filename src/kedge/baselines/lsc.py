"""LSC: rows are written by a few near landmarks, and the leading singular vectors of that graph are clustered."""

from typing import Any

import numpy as np
from scipy import sparse

from kedge.baselines import graphs
from kedge.baselines.base import Array, SingleViewBaseline, baseline, parameter
from kedge.core.labels import LABEL_STARTS, cluster_points, unit_rows
from kedge.core.rows import View, canonical_rows
from kedge.parameters import COUNT, one_of


@baseline("spectral clustering of a Gaussian graph between rows and landmarks", cost="n m d + m^3")
class LSC(SingleViewBaseline):
    """Landmark-based spectral clustering: rows on their nearest landmarks by a Gaussian kernel, then spectral steps.

    Every row is written by its ``n_neighbors`` nearest landmarks with Gaussian weights that sum to one. Columns are
    divided by the square roots of their sums, and k-means clusters the leading left singular vectors without the
    constant one. O(n m d + m^3) time for n rows, m landmarks and d features; about forty million rows fit in 24 GB.

    Unlike in the release, k-means for the landmarks looks at a sample of ten rows per landmark, and the constant vector
    is also dropped if the graph has several components, whose first singular vectors mix.

    Parameters
    ----------
    n_landmarks : int, default=1000
        Number of landmarks; at most n_samples.
    n_neighbors : int, default=5
        Landmarks per row with weight; less than landmarks.
    landmarks : {"kmeans", "random"}, default="kmeans"
        Centres of k-means, or random rows.
    sigma : {"mean_distance", "code"}, default="mean_distance"
        Width of the kernel exp(-d^2 / (2 sigma^2)): the mean distance of rows to their nearest landmarks; or, as in the
        release, the mean squared distance of rows to all landmarks, which changes with the unit of X.

    Attributes
    ----------
    graph_ : CSR array of shape (n_samples, n_landmarks)
        Weights of rows on landmarks; rows sum to one.
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        Landmarks.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Left singular vectors after the constant one.
    singular_values_ : ndarray of shape (n_clusters + 1,)
        With that of the constant vector, which is one; zero beyond the number of landmarks.

    References
    ----------
    Chen and Cai, "Large scale spectral clustering with landmark-based representation", AAAI 2011.

    Examples
    --------
    >>> from kedge.baselines import LSC
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.05, random_state=0)
    >>> sorted(set(LSC(2, n_landmarks=50, random_state=0).fit_predict(X).tolist()))
    [0, 1]
    """

    n_landmarks: int = parameter(COUNT, default=1000)
    n_neighbors: int = parameter(COUNT, default=5)
    landmarks: str = parameter(one_of("kmeans", "random"), default="kmeans")
    sigma: str = parameter(one_of("mean_distance", "code"), default="mean_distance")

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        wanted = min(self.n_landmarks, n_samples)
        per_row = 6 * min(self.n_neighbors, wanted) + 24 + self.n_clusters
        return graphs.anchor_graph_memory(n_samples, wanted, n_features, per_row, graphs.sample_size(n_samples, wanted))

    def _cluster(self, X: View, random_state: np.random.RandomState) -> dict[str, Any]:
        X = canonical_rows(X)
        landmarks = graphs.sampled_anchors(X, min(self.n_landmarks, X.shape[0]), random_state, self.landmarks)
        graph = self._graph(X, landmarks)
        embedding = graphs.embed_graph(graph, self.n_clusters + 1)
        vectors = drop_constant(np.sqrt(2.0) * embedding.row_vectors)
        labels, _ = cluster_points(unit_rows(vectors), self.n_clusters, random_state, LABEL_STARTS)
        return {
            "labels_": labels,
            "graph_": graph,
            "landmarks_": landmarks,
            "embedding_": vectors,
            "singular_values_": np.sqrt(embedding.squares[:-1]),
        }

    def _graph(self, X: View, landmarks: Array) -> sparse.csr_array:
        """Weigh the nearest landmarks of every row by the kernel."""
        if len(landmarks) == 1:
            return sparse.csr_array(np.ones((X.shape[0], 1)))
        found = graphs.weigh_neighbors(X, landmarks, min(self.n_neighbors, len(landmarks) - 1))
        squares = found.squared_distances[:, :-1]
        sigma = _mean_squared_distance(X, landmarks) if self.sigma == "code" else float(np.sqrt(squares).mean())
        # Rows are divided by their sums, so a factor of a row may be taken out: the nearest landmark gets one.
        nearest_first = squares - squares[:, :1]
        with np.errstate(over="ignore"):
            kernel = np.exp(-nearest_first / sigma / (2.0 * sigma)) if sigma > 0 else np.ones_like(squares)
        return graphs.rows_as_graph(found.indices, kernel / kernel.sum(axis=1, keepdims=True), len(landmarks))


def drop_constant(vectors: Array) -> Array:
    """Rotate orthonormal columns so that the constant vector, which they span, is the first, and drop it."""
    share = vectors.sum(axis=0) / np.sqrt(len(vectors))
    # The mirror image that takes the constant vector to the first axis, and leaves alone what is orthogonal to both.
    mirror = share.copy()
    mirror[0] += 1.0 if share[0] >= 0 else -1.0
    mirror /= np.linalg.norm(mirror)
    return np.asarray(vectors[:, 1:] - 2.0 * (vectors @ mirror)[:, None] * mirror[1:])


def _mean_squared_distance(X: View, landmarks: Array) -> float:
    squares = float(X.multiply(X).sum() if sparse.issparse(X) else np.einsum("ij,ij->", X, X)) / X.shape[0]
    products = float(np.asarray(X.mean(axis=0)).ravel() @ landmarks.mean(axis=0))
    landmark_squares = float((landmarks**2).sum()) / len(landmarks)
    return float(max(squares + landmark_squares - 2.0 * products, 0.0))
