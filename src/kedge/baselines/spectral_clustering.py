"""Spectral clustering of a symmetric graph between rows, in the form of Ng, Jordan and Weiss."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.random import RandomState
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.utils import gen_batches

from kedge.baselines.base import Array, Labels, as_dense, reciprocal, with_fixed_signs
from kedge.core.labels import LABEL_STARTS, cluster_points, unit_rows
from kedge.user_warnings import warn_convergence

# Up to this order all eigenvectors are cheaper than a Lanczos method for some of them.
_SMALL_ORDER = 500
# Restarts of the Lanczos method before its accuracy is lowered.
_MOST_RESTARTS = 500
# Rows of components that are compared with each other, and in one block; of more a part is taken evenly.
MOST_ROWS, _BLOCK_ROWS = 4_000, 500


def symmetric_graph(coefficients: Any, norm: Literal["l2", "max"] | None = None) -> Any:
    """Return the graph ``|C| + |C|'`` of coefficients that rebuild row i from the others, in row i.

    Each row of C is first divided by its length or by its largest absolute entry, if asked; a row without coefficients
    adds nothing.
    """
    magnitudes = abs(coefficients)
    if norm is not None:
        largest = np.sqrt((magnitudes**2).sum(axis=1)) if norm == "l2" else magnitudes.max(axis=1)
        factors = reciprocal(as_dense(largest).ravel())
        if sparse.issparse(magnitudes):
            magnitudes.data *= np.repeat(factors, np.diff(magnitudes.indptr))
        else:
            magnitudes *= factors[:, None]
    if sparse.issparse(magnitudes):
        return sparse.csr_array(magnitudes + magnitudes.T)
    magnitudes += magnitudes.T.copy()
    return magnitudes


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
    """
    degrees = _degrees(affinity)
    scale = reciprocal(np.sqrt(degrees))
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
    affinity: Any, n_clusters: int, random_state: RandomState, *, rows: Any = None
) -> tuple[Labels, Array]:
    """Cluster the rows of a graph by k-means of the embedded rows at unit length; return labels and embedding.

    Rows without neighbours are placed by k-means at the origin. A graph with more components than clusters does not say
    which belong together, and a warning is given: :func:`join_components` joins them by ``rows`` at unit length, or,
    without these, the largest components decide.
    """
    found = embed_affinity(affinity, n_clusters)
    vectors = found.vectors
    if found.n_components > n_clusters:
        how = "the largest components decide, the others are placed arbitrarily"
        if rows is not None:
            how = "they are joined by how alike their rows are"
            vectors = join_components(rows, _components(affinity, _degrees(affinity)), n_clusters)
        warn_convergence(
            f"the graph between rows has {found.n_components} connected components for {n_clusters} clusters; {how}: "
            "let rows use more neighbours"
        )
    labels, _ = cluster_points(unit_rows(vectors), n_clusters, random_state, LABEL_STARTS)
    return labels, vectors


def join_components(rows: Any, components: Labels, n_vectors: int) -> Array:
    """Embed rows so that components whose rows are alike lie close together, and all rows of one at the same point.

    A graph in more pieces than there are clusters does not say which of them belong together: every union of pieces is
    an equally good cut. Among these the one is sought that also cuts least of a second graph, with edges cos(x, y)^4
    between all rows: the leading eigenvectors of that graph, with the rows of each component merged into one node.

    O(m^2 d) for m rows, at most 4,000 of which are compared, and O(c^3) for c components.
    """
    owned = np.flatnonzero(components >= 0)
    # Evenly over the components, so that each has a row.
    ordered = owned[np.argsort(components[owned], kind="stable")]
    first = np.unique(components[ordered], return_index=True)[1]
    spread = np.linspace(0, len(ordered) - 1, min(len(ordered), MOST_ROWS)).astype(np.intp)
    chosen = ordered[np.union1d(first, spread)]
    count = int(components.max()) + 1
    member = sparse.csr_array(
        (np.ones(len(chosen)), (np.arange(len(chosen)), components[chosen])), (len(chosen), count)
    )
    sample, merged = rows[chosen], np.zeros((count, count))
    for block in gen_batches(len(chosen), _BLOCK_ROWS):
        # Of cosines to the fourth power those of one subspace stand out.
        merged += member[block].T @ ((as_dense(sample[block] @ sample.T) ** 4) @ member)
    scale = reciprocal(np.sqrt(merged.sum(axis=1)))
    _, vectors = linalg.eigh(scale[:, None] * merged * scale, subset_by_index=[count - n_vectors, count - 1])
    points = unit_rows(vectors[:, ::-1])
    found = np.zeros((len(components), n_vectors))
    found[owned] = points[components[owned]]
    return found


def _degrees(affinity: Any) -> Array:
    return np.asarray(affinity.sum(axis=1), dtype=np.float64).ravel()


def _components(affinity: Any, degrees: Array) -> Labels:
    """Return the number of the connected component of every row; lone rows get -1."""
    if sparse.issparse(affinity):
        # A stored zero is no edge.
        _, labels = connected_components(sparse.csr_array(affinity > 0), directed=False)
    else:
        labels = _components_of_dense(affinity)
    labels = np.where(degrees > 0, labels, -1)
    kept = np.unique(labels[labels >= 0])
    return np.where(labels >= 0, np.searchsorted(kept, labels), -1)


def _components_of_dense(affinity: Array) -> Labels:
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
        deflated = scale[:, None] * as_dense(affinity) * scale - 2.0 * known @ known.T
        values, vectors = linalg.eigh(deflated, subset_by_index=[order - count, order - 1])
    else:

        def multiply(vector: Array) -> Array:
            flat = vector.ravel()
            return np.asarray(scale * (affinity @ (scale * flat)) - 2.0 * (known @ (known.T @ flat)))

        values, vectors = lanczos_pairs(multiply, order, count)
    return values[::-1].clip(max=1.0), with_fixed_signs(vectors)[:, ::-1]


def lanczos_pairs(
    multiply: Callable[[Array], Array], order: int, count: int, *, tol: float = 0.0
) -> tuple[Array, Array]:
    """Return the largest eigenvalues, ascending, and eigenvectors of a symmetric operator with values in [-1, 1].

    Copies of an equal eigenvalue may be missed.
    """
    # One is added to all eigenvalues: the method asks for an accuracy relative to them, which it could not reach where
    # nothing but rounding is left.
    operator = LinearOperator((order, order), matvec=lambda v: multiply(v.ravel()) + v.ravel(), dtype=np.float64)
    settings = {"k": count, "which": "LA", "ncv": min(max(3 * count, 40), order), "maxiter": _MOST_RESTARTS}
    start = np.random.RandomState(0).uniform(-1, 1, order)
    try:
        values, vectors = eigsh(operator, v0=start, tol=tol, **settings)
    except ArpackNoConvergence:
        warn_convergence(
            "the leading eigenvalues of the graph between rows can hardly be told apart, so that its clusters are not "
            "well defined: change the parameters that shape the graph"
        )
        values, vectors = eigsh(operator, v0=start, tol=1e-6, **settings)
    return values - 1.0, vectors
