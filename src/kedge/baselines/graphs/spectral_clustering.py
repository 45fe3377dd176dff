"""Spectral clustering of a symmetric graph between rows, in the form of Ng, Jordan and Weiss."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.exceptions import ConvergenceWarning

from kedge.baselines.graphs.joined_components import join_components
from kedge.core.labels import cluster_points, unit_rows

Array = NDArray[np.float64]

# Up to this order all eigenvectors are cheaper than a Lanczos method for some of them.
_SMALL_ORDER = 500
# Restarts of the Lanczos method before its accuracy is lowered.
_MOST_RESTARTS = 500
LABEL_STARTS = 10


@dataclass(frozen=True)
class AffinityEmbedding:
    """Leading eigenvectors of D^(-1/2) W D^(-1/2), where D are the row sums of W."""

    vectors: Array  # Shape (n_rows, n_vectors). Orthonormal columns; rows without neighbours are zero.
    eigenvalues: Array  # Shape (n_vectors,). Descending, at most one.
    n_components: int  # Connected components of the graph that hold more than a lone row.


def embed_affinity(affinity: Any, n_vectors: int) -> AffinityEmbedding:
    """Embed the rows of a graph.

    The eigenvalue one is there once per connected component, and a Lanczos method can miss some of its vectors, so
    these are taken from the components; where there are more of them than vectors asked for, the space is not unique
    and the largest components are taken. Only the other vectors are computed.

    Parameters
    ----------
    affinity : ndarray or CSR array of shape (n_rows, n_rows)
        Symmetric, nonnegative. Not changed.
    n_vectors : int
        Number of vectors, at most n_rows.
    """
    degrees = _degrees(affinity)
    scale = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    labels = _components(affinity, degrees)
    sizes = np.bincount(labels[labels >= 0])
    largest = np.argsort(-sizes, kind="stable")[:n_vectors]
    known = np.zeros((len(degrees), len(largest)))
    for column, component in enumerate(largest):
        rows = labels == component
        known[rows, column] = np.sqrt(degrees[rows] / degrees[rows].sum())
    values, rest = _other_eigenpairs(affinity, scale, known, n_vectors - len(largest))
    # Rounding, which unit rows would blow up.
    rest[degrees <= 0] = 0.0
    eigenvalues = np.concatenate([np.ones(len(largest)), values])
    return AffinityEmbedding(np.concatenate([known, rest], axis=1), eigenvalues, len(sizes))


def cluster_affinity(
    affinity: Any,
    n_clusters: int,
    random_state: RandomState,
    *,
    rows: Any = None,
    n_starts: int = LABEL_STARTS,
    stacklevel: int = 3,
) -> tuple[NDArray[np.int64], Array]:
    """Cluster the rows of a graph: k-means of the embedded rows at unit length.

    Parameters
    ----------
    affinity : ndarray or CSR array of shape (n_rows, n_rows)
        Symmetric, nonnegative.
    n_clusters : int
        Number of clusters, at most n_rows.
    random_state : RandomState
        Seeds k-means.
    rows : ndarray or CSR array of shape (n_rows, n_features) or None, default=None
        The rows at unit length, to join components by where there are more of them than clusters; see
        :func:`kedge.baselines.graphs.joined_components.join_components`. With None the largest components decide.
    n_starts : int, default=10
        Starts of k-means.
    stacklevel : int, default=3
        Whom the warning below is about.

    Returns
    -------
    labels : array of shape (n_rows,)
        Clusters; rows without neighbours are placed by k-means at the origin.
    vectors : array of shape (n_rows, n_clusters)
        The embedding, before rows were scaled.

    Warns
    -----
    ConvergenceWarning
        If the graph has more connected components than clusters: which of them belong together it does not say.
    """
    found = embed_affinity(affinity, n_clusters)
    vectors = found.vectors
    if found.n_components > n_clusters:
        how = "the largest components decide, the others are placed arbitrarily"
        if rows is not None:
            how = "they are joined by how alike their rows are"
            vectors = join_components(rows, _components(affinity, _degrees(affinity)), n_clusters)
        warnings.warn(
            f"the graph between rows has {found.n_components} connected components for {n_clusters} clusters; {how}: "
            "let rows use more neighbours",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
    labels, _ = cluster_points(unit_rows(vectors), n_clusters, random_state, n_starts)
    return labels, vectors


def _degrees(affinity: Any) -> Array:
    return np.asarray(affinity.sum(axis=1), dtype=np.float64).ravel()


def _components(affinity: Any, degrees: Array) -> NDArray[np.int64]:
    """Return the number of the connected component of every row; lone rows get -1."""
    if sparse.issparse(affinity):
        # A stored zero is no edge.
        _, labels = connected_components(sparse.csr_array(affinity > 0), directed=False)
    else:
        labels = _components_of_dense(affinity)
    labels = np.where(degrees > 0, labels, -1)
    kept = np.unique(labels[labels >= 0])
    return np.where(labels >= 0, np.searchsorted(kept, labels), -1)


def _components_of_dense(affinity: NDArray[Any]) -> NDArray[np.int64]:
    """Search breadth first, every row looked at once and no second matrix made."""
    labels = np.full(len(affinity), -1, dtype=np.int64)
    for start in range(len(affinity)):
        if labels[start] >= 0:
            continue
        number, front = labels.max() + 1, np.array([start])
        while len(front):
            labels[front] = number
            reached = np.zeros(len(affinity), dtype=bool)
            for row in front:
                reached |= affinity[row] > 0
                if reached.all():
                    break
            front = np.flatnonzero(reached & (labels < 0))
    return labels


def _other_eigenpairs(affinity: Any, scale: Array, known: Array, count: int) -> tuple[Array, Array]:
    """Return the leading eigenpairs orthogonal to the known ones."""
    order = len(scale)
    if count == 0:
        return np.empty(0), np.empty((order, 0))
    # The known eigenvalue one is moved to minus one, below all others; at zero it would come before negative ones.
    if order <= _SMALL_ORDER or 4 * (count + known.shape[1]) >= order:
        matrix = affinity.toarray() if sparse.issparse(affinity) else affinity
        deflated = scale[:, None] * matrix * scale - 2.0 * known @ known.T
        values, vectors = linalg.eigh(deflated, subset_by_index=[order - count, order - 1])
    else:

        def multiply(vector: Array) -> Array:
            flat = vector.ravel()
            return np.asarray(scale * (affinity @ (scale * flat)) - 2.0 * (known @ (known.T @ flat)))

        values, vectors = lanczos_pairs(multiply, order, count)
    # The sign of an eigenvector is free: fix it, so that equal graphs embed equally.
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(count)])
    return values[::-1].clip(max=1.0), (vectors * np.where(signs == 0, 1.0, signs))[:, ::-1]


def lanczos_pairs(
    multiply: Callable[[Array], Array], order: int, count: int, *, tol: float = 0.0
) -> tuple[Array, Array]:
    """Return the largest eigenvalues, ascending, and eigenvectors of a symmetric operator with values in [-1, 1].

    Copies of an equal eigenvalue may be missed.

    Warns
    -----
    ConvergenceWarning
        If eigenvalues lie too close together to be told apart, as where hardly a row has neighbours; vectors are then
        found up to 1e-6.
    """
    # One is added to all eigenvalues: the method asks for an accuracy relative to them, which it could not reach where
    # nothing but rounding is left.
    operator = LinearOperator((order, order), matvec=lambda v: multiply(v.ravel()) + v.ravel(), dtype=np.float64)
    settings = {"k": count, "which": "LA", "ncv": min(max(3 * count, 40), order), "maxiter": _MOST_RESTARTS}
    start = np.random.RandomState(0).uniform(-1, 1, order)
    try:
        values, vectors = eigsh(operator, v0=start, tol=tol, **settings)
    except ArpackNoConvergence:
        warnings.warn(
            "the leading eigenvalues of the graph between rows can hardly be told apart, so that its clusters are not "
            "well defined: change the parameters that shape the graph",
            ConvergenceWarning,
            stacklevel=5,
        )
        values, vectors = eigsh(operator, v0=start, tol=1e-6, **settings)
    return values - 1.0, vectors
