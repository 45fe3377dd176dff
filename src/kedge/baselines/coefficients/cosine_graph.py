"""Spectral clustering of graphs whose weights are powers of the cosines between points."""

import warnings

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from kedge.baselines.graphs.spectral_clustering import LABEL_STARTS, cluster_affinity, lanczos_pairs
from kedge.core.labels import cluster_points, unit_rows

Array = NDArray[np.float64]

# Points that one step of a product works on: their block stays in the cache of the processor.
_BLOCK_ROWS = 1024
# Eigenvalues closer than this count as equal; a Lanczos method can miss copies of them.
_EQUAL = 1e-9


def cluster_cosines(
    points: Array, power: int, n_clusters: int, random_state: RandomState, *, stacklevel: int = 3
) -> tuple[NDArray[np.int64], Array]:
    """Cluster unit points by the graph ``(m_i . m_j)^power``, as :func:`cluster_affinity` does.

    With power 4 the graph is formed: one n x n matrix. With power 2 it never is: its product with a vector v is
    ``m_i' (sum_j v_j m_j m_j') m_i``, O(n r^2) for points of length r, so that time and memory are linear in n.

    Parameters
    ----------
    points : array of shape (n_points, length)
        Unit rows, or zero.
    power : {2, 4}
        Power of the cosines.
    n_clusters : int
        Number of clusters.
    random_state : RandomState
        Seeds k-means.
    stacklevel : int, default=3
        Whom the warning below is about.

    Returns
    -------
    labels : array of shape (n_points,)
        Clusters.
    vectors : array of shape (n_points, n_clusters)
        Leading eigenvectors of the normalised graph.

    Warns
    -----
    ConvergenceWarning
        If all points are zero, so that there is no graph; all labels are then zero.
    """
    if not points.any():
        warnings.warn(
            "no row is rebuilt from others, so that there is no graph to cluster and all rows get one label; raise the "
            "weight of the noise",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
        return np.zeros(len(points), dtype=np.int64), np.zeros((len(points), n_clusters))
    if power == 2 and len(points) > 4 * (n_clusters + 1):
        vectors = _leading_vectors(points, n_clusters)
        labels, _ = cluster_points(unit_rows(vectors), n_clusters, random_state, LABEL_STARTS)
        return labels, vectors
    affinity = points @ points.T
    for _ in range(power // 2):
        np.square(affinity, out=affinity)
    return cluster_affinity(affinity, n_clusters, random_state, stacklevel=stacklevel + 1)


def multiply_squared_cosines(points: Array, vector: Array) -> Array:
    """Return the product of the matrix of squared inner products with a vector, without that matrix."""
    core = np.zeros((points.shape[1], points.shape[1]))
    blocks = [slice(start, start + _BLOCK_ROWS) for start in range(0, len(points), _BLOCK_ROWS)]
    for block in blocks:
        core += points[block].T @ (vector[block, None] * points[block])
    return np.concatenate([np.einsum("ij,ij->i", points[block] @ core, points[block]) for block in blocks])


def _leading_vectors(points: Array, count: int) -> Array:
    """Return the leading eigenvectors of the normalised graph of squared cosines."""
    degrees = multiply_squared_cosines(points, np.ones(len(points)))
    scale = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    found = (np.sqrt(degrees) / np.sqrt(degrees.sum()))[:, None]
    values = np.ones(1)
    # A Lanczos method can miss copies of an eigenvalue, as there are where the graph falls into parts, so it is asked
    # again, away from what it found, until nothing larger than the last value wanted turns up.
    while len(values) < count or not _is_complete(values, count):
        missing = max(count - len(values), 1)
        new_values, new_vectors = _deflated_pairs(points, scale, found, missing)
        values, found = np.concatenate([values, new_values]), np.column_stack([found, new_vectors])
    best = np.argsort(-values, kind="stable")[:count]
    vectors = found[:, best]
    # Rounding, which unit rows would blow up.
    vectors[degrees <= 0] = 0.0
    return np.asarray(vectors)


def _is_complete(values: Array, count: int) -> bool:
    """Say whether a search after the first ``count`` values came back with nothing larger than they are."""
    return (len(values) > count and values[-1] <= np.sort(values)[-count] + _EQUAL) or len(values) == count == 1


def _deflated_pairs(points: Array, scale: Array, found: Array, count: int) -> tuple[Array, Array]:
    def multiply(vector: Array) -> Array:
        # What was found gets the eigenvalue minus one, below all others.
        inside = found @ (found.T @ vector)
        product = scale * multiply_squared_cosines(points, scale * (vector - inside))
        return np.asarray(product - found @ (found.T @ product) - inside)

    values, vectors = lanczos_pairs(multiply, len(points), count, tol=1e-10)
    # The sign of an eigenvector is free: fix it, so that equal graphs embed equally.
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(count)])
    return values[::-1], (vectors * np.where(signs == 0, 1.0, signs))[:, ::-1]
