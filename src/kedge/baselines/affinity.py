"""Spectral clustering of a symmetric graph between rows, in the form of Ng, Jordan and Weiss."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.preprocessing import normalize
from sklearn.utils import gen_batches

from kedge.baselines.base import Array, Labels, as_dense
from kedge.core.labels import LABEL_STARTS, cluster_points, unit_rows
from kedge.user_warnings import warn_convergence

# Up to this order all eigenvectors are cheaper than a Lanczos method for some of them.
SMALL_ORDER = 500
# Restarts of the Lanczos method before its accuracy is lowered.
_MOST_RESTARTS = 500
# At most this many rows of components are compared with each other, and this many in one block.
MOST_ROWS, _BLOCK_ROWS = 4_000, 500


def reciprocal(values: Array) -> Array:
    """Return one over the values, and zero where they are not positive."""
    return np.asarray(np.divide(1.0, values, out=np.zeros_like(values), where=values > 0))


def with_fixed_signs(vectors: Array) -> Array:
    """Return eigenvectors with a positive largest entry, so that equal graphs embed equally."""
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])
    return np.asarray(vectors * np.where(signs == 0, 1.0, signs))


def symmetric_graph(coefficients: Any, norm: Literal["l2", "max"] | None = None) -> Any:
    """Return the graph ``|C| + |C|'`` of coefficients; row i of C rebuilds row i.

    With a norm, each row of C that is not empty is first divided by its length or its largest absolute entry.
    """
    magnitudes = abs(coefficients)
    if norm is not None:
        magnitudes = normalize(magnitudes, norm)
    if sparse.issparse(magnitudes):
        return sparse.csr_array(magnitudes + magnitudes.T)
    magnitudes += magnitudes.T.copy()
    return magnitudes


def cluster_affinity(
    affinity: Any, n_clusters: int, random_state: np.random.RandomState, *, rows: Any = None
) -> dict[str, Any]:
    """Cluster the rows of a graph by k-means of their embedding at unit length; return ``labels_`` and ``embedding_``.

    A graph with more components than clusters gives a warning. Then :func:`join_components` joins components by
    ``rows`` of unit length; without ``rows`` the largest components decide.
    """
    vectors, _, components = embed_affinity(affinity, n_clusters)
    n_components = int(components.max(initial=-1)) + 1
    if n_components > n_clusters:
        how = "the largest components decide, the others are placed arbitrarily"
        if rows is not None:
            how = "they are joined by how alike their rows are"
            vectors = join_components(rows, components, n_clusters)
        warn_convergence(
            f"the graph between rows has {n_components} connected components for {n_clusters} clusters; {how}: "
            "let rows use more neighbours"
        )
    labels, _ = cluster_points(unit_rows(vectors), n_clusters, random_state, LABEL_STARTS)
    return {"labels_": labels, "embedding_": vectors}


def embed_affinity(affinity: Any, n_vectors: int) -> tuple[Array, Array, Labels]:
    """Return the leading eigenvectors and eigenvalues of D^(-1/2) W D^(-1/2), and the component of each row.

    D are the row sums of W. Lone rows are zero and get the component -1. Every component has the eigenvalue one, and a
    Lanczos method can miss some of its vectors, so they come from the components, the largest first.
    """
    degrees = np.asarray(affinity.sum(axis=1), dtype=np.float64).ravel()
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
    return np.concatenate([known, rest], axis=1), np.concatenate([np.ones(len(largest)), values]), labels


def join_components(rows: Any, components: Labels, n_vectors: int) -> Array:
    """Embed rows so that components with similar rows lie close together; all rows of one are at the same point.

    These are the leading eigenvectors of a second graph with edges cos(x, y)^4 between rows, in which the rows of each
    component are merged into one node. O(m^2 d) for m <= 4,000 rows, and O(c^3) for c components.
    """
    owned = np.flatnonzero(components >= 0)
    # Evenly over the components, so that each has a row.
    ordered = owned[np.argsort(components[owned], kind="stable")]
    first = np.unique(components[ordered], return_index=True)[1]
    spread = np.linspace(0, len(ordered) - 1, min(len(ordered), MOST_ROWS)).astype(np.intp)
    chosen = ordered[np.union1d(first, spread)]
    count = int(components.max()) + 1
    places = (np.arange(len(chosen)), components[chosen])
    member = sparse.csr_array((np.ones(len(chosen)), places), (len(chosen), count))
    sample, merged = rows[chosen], np.zeros((count, count))
    for block in gen_batches(len(chosen), _BLOCK_ROWS):
        # The fourth power makes cosines within one subspace stand out.
        merged += member[block].T @ ((as_dense(sample[block] @ sample.T) ** 4) @ member)
    scale = reciprocal(np.sqrt(merged.sum(axis=1)))
    _, vectors = linalg.eigh(scale[:, None] * merged * scale, subset_by_index=[count - n_vectors, count - 1])
    found = np.zeros((len(components), n_vectors))
    found[owned] = unit_rows(vectors[:, ::-1])[components[owned]]
    return found


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
    """Search breadth first; this looks at every row once and makes no second matrix."""
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
            front = np.flatnonzero(reached & (labels < 0))
    return labels


def _other_eigenpairs(affinity: Any, scale: Array, known: Array, count: int) -> tuple[Array, Array]:
    """Return the leading eigenpairs orthogonal to the known ones."""
    order = len(scale)
    if count == 0:
        return np.empty(0), np.empty((order, 0))
    # The known eigenvalue one moves to minus one, below all others; at zero it would come before negative ones.
    if order <= SMALL_ORDER or 4 * (count + known.shape[1]) >= order:
        deflated = scale[:, None] * as_dense(affinity) * scale - 2.0 * known @ known.T
        values, vectors = linalg.eigh(deflated, subset_by_index=[order - count, order - 1])
    else:

        def multiply(vector: Array) -> Array:
            return np.asarray(scale * (affinity @ (scale * vector)) - 2.0 * (known @ (known.T @ vector)))

        values, vectors = lanczos_pairs(multiply, order, count)
    return values[::-1].clip(max=1.0), with_fixed_signs(vectors)[:, ::-1]


def lanczos_pairs(
    multiply: Callable[[Array], Array], order: int, count: int, *, tol: float = 0.0
) -> tuple[Array, Array]:
    """Return the largest eigenvalues, ascending, and eigenvectors of a symmetric operator with values in [-1, 1].

    Copies of an equal eigenvalue may be missed.
    """
    # One is added to all eigenvalues: accuracy is relative to them, and cannot be reached where only rounding is left.
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
