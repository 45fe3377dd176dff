"""Spectral embedding of the bipartite graph, from its m x m Gram matrix alone."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

Array = NDArray[np.float64]

# Squared singular values below this are rounding noise of the Gram matrix: dividing by them would amplify it.
_NOISE = 1e-12
# Above this order the leading eigenvectors alone are cheaper than a full reduction of the matrix.
_LARGE_ORDER = 600
# Restarts of the Lanczos method: where values are so close together that it takes more, the full reduction is faster.
_MOST_RESTARTS = 50


@dataclass(frozen=True)
class SpectralMap:
    """Leading singular vectors of Z diag(s)^(-1/2), where s are the column sums and the rows of Z sum to one.

    Attributes
    ----------
    singular_values : array of shape (n_components,)
        In [0, 1], descending; as many ones as the graph has connected components.
    row_map : array of shape (n_anchors, n_components)
        ``Z @ row_map`` are the left singular vectors times sqrt(1/2), one row per data row.
    anchor_embedding : array of shape (n_anchors, n_components)
        The right singular vectors times sqrt(1/2).
    """

    singular_values: Array
    row_map: Array
    anchor_embedding: Array

    def leading(self, count: int) -> "SpectralMap":
        """Return the first triplets."""
        return SpectralMap(self.singular_values[:count], self.row_map[:, :count], self.anchor_embedding[:, :count])


def spectral_map(gram: Any, column_sums: Array, n_components: int) -> SpectralMap:
    """Decompose the graph given ``gram = Z'Z`` and its column sums; anchors without weight embed at zero.

    Always returns ``n_components`` triplets; those beyond the number of anchors are zero. Costs O(m^3) for m anchors
    up to 600, and O(n_components m^2) per round of a Lanczos method above.
    """
    n_anchors = len(column_sums)
    used = column_sums > 0
    scale = np.zeros(n_anchors)
    scale[used] = column_sums[used] ** -0.5
    if sparse.issparse(gram):
        matrix: Any = sparse.diags_array(scale) @ gram @ sparse.diags_array(scale)
    else:
        matrix = scale[:, None] * gram * scale
    wanted = min(n_components, n_anchors)
    squares, vectors = _leading_eigenpairs(matrix, gram, column_sums, wanted)
    # The sign of a singular vector is free: fix it, so that equal graphs embed equally.
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(wanted)])
    vectors = vectors * np.where(signs == 0, 1.0, signs)
    singular_values = np.sqrt(np.clip(squares, 0.0, 1.0))
    inverse = np.where(squares > _NOISE, 1.0 / np.maximum(singular_values, _NOISE), 0.0)
    half = np.sqrt(0.5)
    missing = [(0, 0), (0, n_components - wanted)]
    return SpectralMap(
        np.pad(singular_values, missing[1]),
        np.pad(half * scale[:, None] * vectors * inverse, missing),
        np.pad(half * vectors, missing),
    )


def _leading_eigenpairs(matrix: Any, gram: Any, column_sums: Array, wanted: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues and their vectors.

    Every component has the eigenvalue one. Its vectors are taken from the components: of a multiple eigenvalue a solver
    returns any rotation, as rounding decides.
    """
    order = matrix.shape[0]
    count, labels = anchor_components(gram, column_sums)
    if count >= wanted:
        return _leading_components(column_sums, labels, wanted)
    if order > _LARGE_ORDER and 8 * wanted < order:
        with suppress(ArpackNoConvergence):
            return _deflated_lanczos(matrix, column_sums, labels, count, wanted)
    matrix = matrix.toarray() if sparse.issparse(matrix) else matrix
    known = _leading_components(column_sums, labels, count)[1]
    squares, vectors = linalg.eigh(matrix - known @ known.T, subset_by_index=[order - wanted + count, order - 1])
    return np.concatenate([np.ones(count), squares[::-1]]), np.concatenate([known, vectors[:, ::-1]], axis=1)


def _leading_components(column_sums: Array, labels: NDArray[np.int64], wanted: int) -> tuple[Array, Array]:
    """Return the vectors of the heaviest components; with as many components all leading values are one."""
    used = np.flatnonzero(labels >= 0)
    masses = np.bincount(labels[used], column_sums[used])
    # Masses are numbers of rows; rounding must not decide between equal ones.
    heaviest = np.argsort(-np.rint(masses), kind="stable")[:wanted]
    vectors = np.zeros((len(column_sums), wanted))
    for place, component in enumerate(heaviest.tolist()):
        own = np.flatnonzero(labels == component)
        vectors[own, place] = np.sqrt(column_sums[own] / masses[component])
    return np.ones(wanted), vectors


def _deflated_lanczos(
    matrix: Any, column_sums: Array, labels: NDArray[np.int64], count: int, wanted: int
) -> tuple[Array, Array]:
    """Take the eigenvalue one, whose multiplicity Lanczos can miss, from the components, and the rest from Lanczos."""
    known = np.zeros((len(column_sums), count))
    used = np.flatnonzero(labels >= 0)
    known[used, labels[used]] = np.sqrt(column_sums[used])
    known /= np.linalg.norm(known, axis=0)

    def multiply(vector: Array) -> Array:
        return np.asarray(matrix @ vector - known @ (known.T @ vector))

    operator = LinearOperator(matrix.shape, matvec=multiply, dtype=np.float64)
    start = np.random.RandomState(0).uniform(-1, 1, len(column_sums))
    squares, vectors = eigsh(operator, k=wanted - count, which="LA", v0=start, maxiter=_MOST_RESTARTS)
    descending = np.argsort(squares)[::-1]
    return (
        np.concatenate([np.ones(count), squares[descending]]),
        np.concatenate([known, vectors[:, descending]], axis=1),
    )


def anchor_components(gram: Any, column_sums: Array) -> tuple[int, NDArray[np.int64]]:
    """Count the components that hold a data row, from ``Z'Z`` alone, and number them for every anchor.

    Two anchors are joined by a row that has weight on both, which is where the Gram matrix is not zero; every row has
    weight somewhere, so the components of the used anchors are those of the whole graph. Costs O(n_anchors^2) whatever
    the number of rows. Anchors without weight hold no row and get -1.
    """
    used = np.flatnonzero(column_sums > 0)
    labels = np.full(len(column_sums), -1, dtype=np.int64)
    own = gram[used][:, used] if sparse.issparse(gram) else gram[np.ix_(used, used)]
    count, numbers = connected_components(sparse.csr_array(own > 0), directed=False)
    labels[used] = numbers
    return int(count), labels


def graph_components(graph: sparse.csr_array) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of components of the bipartite graph, and their numbers for rows and for anchors.

    Every stored entry that is not zero is an edge; an anchor without edges is a component of its own. Components are
    numbered in the order of the first row that they hold.
    """
    n_rows = graph.shape[0]
    edges = sparse.csr_array(graph != 0)
    count, labels = connected_components(sparse.block_array([[None, edges], [edges.T, None]]), directed=False)
    _, first = np.unique(labels, return_index=True)
    order = np.empty(count, dtype=np.int64)
    order[np.argsort(first)] = np.arange(count)
    return int(count), order[labels[:n_rows]], order[labels[n_rows:]]
