"""SSC-OMP: each row rebuilt from a few others by orthogonal matching pursuit, then spectral clustering.

You, Robinson and Vidal, "Scalable Sparse Subspace Clustering by Orthogonal Matching Pursuit", CVPR 2016. Time grows as
the square of the number of rows; rows are worked on in blocks of bounded memory.
"""

import warnings

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import lobpcg
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state, gen_batches

# Correlations of a block of rows with all rows held at a time.
BLOCK_BYTES = 1 << 27
EIGENVECTOR_TOL = 1e-6


class SSCOMP(ClusterMixin, BaseEstimator):
    """Cluster rows by the graph of their sparse combinations of each other.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    n_nonzero : int
        Largest number of rows that rebuild a row.
    threshold : float, default=1e-5
        A row is rebuilt when its squared residual is below this multiple of its norm, as in the authors' program.
    random_state : int, RandomState instance or None, default=None
        Seed of the eigenvectors and of k-means.
    """

    def __init__(self, n_clusters, *, n_nonzero, threshold=1e-5, random_state=None):
        self.n_clusters = n_clusters
        self.n_nonzero = n_nonzero
        self.threshold = threshold
        self.random_state = random_state

    def fit(self, X, y=None):
        """Cluster the rows of X."""
        random_state = check_random_state(self.random_state)
        self.coefficients_ = pursue_all(X, self.n_nonzero, self.threshold)
        embedding = embed_graph(self.coefficients_, self.n_clusters, random_state)
        self.labels_ = KMeans(self.n_clusters, n_init=10, random_state=random_state).fit(embedding).labels_
        return self


def pursue_all(X, n_nonzero, threshold=1e-5):
    """Return the CSR matrix C with X ~ C X, an empty diagonal and at most ``n_nonzero`` entries per row."""
    n_rows = len(X)
    # As many picks as there are features rebuild a row to rounding, and more would be singular.
    n_nonzero = min(n_nonzero, n_rows - 1, X.shape[1])
    supports = np.zeros((n_rows, n_nonzero), dtype=np.int64)
    weights = np.zeros((n_rows, n_nonzero), dtype=X.dtype)
    for rows in gen_batches(n_rows, max(1, BLOCK_BYTES // (n_rows * X.itemsize))):
        pursue_block(X, np.arange(rows.start, rows.stop), threshold, supports, weights)
    owners = np.repeat(np.arange(n_rows), n_nonzero)
    is_used = weights.ravel() != 0
    entries = weights.ravel()[is_used], (owners[is_used], supports.ravel()[is_used])
    return sparse.csr_array(entries, shape=(n_rows, n_rows))


def pursue_block(X, active, threshold, supports, weights):
    """Rebuild the rows ``active`` (input) one pick at a time; supports and weights of those rows are written (output).

    Least squares on a support S solves R c = Q' x with X_S' = Q R; normal equations would square its condition.
    """
    residuals = X[active]
    limits = threshold * np.linalg.norm(residuals, axis=1)
    for step in range(supports.shape[1]):
        correlations = residuals @ X.T
        np.abs(correlations, out=correlations)
        own = np.arange(len(active))
        # A row must not rebuild itself, nor use a row twice.
        correlations[own, active] = -1.0
        correlations[own[:, None], supports[active, :step]] = -1.0
        picks = correlations.argmax(axis=1)
        is_related = correlations[own, picks] > 0
        active, limits, picks = active[is_related], limits[is_related], picks[is_related]
        supports[active, step] = picks
        chosen = supports[active, : step + 1]
        q, r = np.linalg.qr(X[chosen].transpose(0, 2, 1))
        projections = (q * X[active][:, :, None]).sum(axis=1)
        weights[active, : step + 1] = np.linalg.solve(r, projections[:, :, None])[:, :, 0]
        residuals = X[active] - (q @ projections[:, :, None])[:, :, 0]
        is_open = (residuals**2).sum(axis=1) >= limits
        active, limits, residuals = active[is_open], limits[is_open], residuals[is_open]
        if len(active) == 0:
            break


def embed_graph(coefficients, n_clusters, random_state):
    """Return unit rows of the leading eigenvectors of the normalised graph |C| + |C|', each row of C at unit length."""
    magnitudes = abs(normalize(coefficients))
    graph = magnitudes + magnitudes.T
    # A row without neighbours keeps a zero row and leaves its place to k-means.
    degrees = np.maximum(np.asarray(graph.sum(axis=1)).ravel(), np.finfo(np.float64).eps)
    scaling = sparse.dia_array((1 / np.sqrt(degrees)[None, :], [0]), shape=graph.shape)
    return normalize(leading_eigenvectors(scaling @ graph @ scaling, n_clusters, random_state))


def leading_eigenvectors(matrix, count, random_state):
    """Return eigenvectors of the largest eigenvalues, also where these are equal.

    A graph in as many pieces as clusters has its first eigenvalue that many times. Lanczos steps from one vector can
    miss some of its vectors, and do in the authors' program; steps from a block of vectors do not.
    """
    start = random_state.standard_normal((matrix.shape[0], count))
    with warnings.catch_warnings():
        # Its warning is about the last step, while the best one is returned; that is judged below.
        warnings.simplefilter("ignore", UserWarning)
        values, vectors = lobpcg(matrix, start, largest=True, tol=EIGENVECTOR_TOL, maxiter=500)
    residual = np.linalg.norm(matrix @ vectors - vectors * values, axis=0).max()
    if residual > 100 * EIGENVECTOR_TOL:
        warnings.warn(f"eigenvectors have a residual of {residual:.0e}", ConvergenceWarning, stacklevel=2)
    return vectors
