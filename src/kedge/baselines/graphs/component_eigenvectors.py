"""Leading eigenvectors of a sparse symmetric matrix, component by component of its graph.

A Lanczos method can miss vectors of a multiple eigenvalue, and a graph of several components has them: every component
has a largest eigenvalue of its own, and these can be equal. Within one component the largest is simple (Perron and
Frobenius), so each is solved on its own and the best of all are taken.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.exceptions import ConvergenceWarning

Array = NDArray[np.float64]

# Up to this order all eigenvectors are cheaper than a Lanczos method for some of them.
_SMALL_ORDER = 500
# Eigenvalues this near count as equal where vectors of several components compete.
_EQUAL = 1e-12
# Restarts of the Lanczos method per vector before it gives up.
_RESTARTS = 1000
# Residual of an eigenvector, relative to its eigenvalue, at which the Lanczos method ends.
_RESIDUAL = 1e-12
# Share of chance in a start from given vectors, without which directions that they lack would never be found.
_CHANCE = 1e-3


@dataclass(frozen=True)
class GraphComponents:
    """The connected components of a graph."""

    order: NDArray[np.intp]  # Shape (n_rows,). Rows sorted by component, largest component first.
    starts: NDArray[np.intp]  # Shape (n_components + 1,). Where each component begins in that order.

    def __len__(self) -> int:
        """Return the number of components."""
        return len(self.starts) - 1


def find_components(graph: sparse.csr_array) -> GraphComponents:
    """Find the components of a symmetric graph; every stored entry is an edge."""
    count, labels = connected_components(graph, directed=False)
    sizes = np.bincount(labels, minlength=count)
    by_size = np.argsort(-sizes, kind="stable")
    rank = np.empty(count, dtype=np.intp)
    rank[by_size] = np.arange(count)
    return GraphComponents(np.argsort(rank[labels], kind="stable"), np.concatenate([[0], np.cumsum(sizes[by_size])]))


def leading_eigenvectors(
    matrix: sparse.csr_array,
    components: GraphComponents,
    n_vectors: int,
    *,
    near: Array | None = None,
    stacklevel: int = 2,
) -> tuple[Array, Array]:
    """Return the largest eigenvalues of a symmetric nonnegative matrix, descending, and orthonormal eigenvectors.

    Parameters
    ----------
    matrix : CSR array of shape (n_rows, n_rows)
        Symmetric, nonnegative.
    components : GraphComponents
        Those of its graph, or of a graph with more edges.
    n_vectors : int
        Number of eigenvectors, at most n_rows. Of equal eigenvalues those of larger components come first.
    near : array of shape (n_rows, any) or None, default=None
        Eigenvectors of a matrix that differs little: a Lanczos method that starts from them is quicker.
    stacklevel : int, default=2
        Whom the warning below is about.

    Warns
    -----
    ConvergenceWarning
        If a Lanczos method did not converge: the eigenvalues lie too close.
    """
    sorted_matrix = sparse.csr_array(matrix[components.order][:, components.order])
    values: list[Array] = []
    vectors: list[Array] = []
    places: list[tuple[int, int, int, int]] = []
    for start, stop in zip(components.starts[:-1], components.starts[1:], strict=True):
        block = sparse.csr_array(sorted_matrix[start:stop, start:stop])
        begin = None if near is None else near[components.order[start:stop]]
        own_values, own_vectors = _leading_of_block(block, min(n_vectors, stop - start), begin, stacklevel + 1)
        values.append(own_values)
        vectors.append(own_vectors)
        places.extend((start, stop, len(vectors) - 1, column) for column in range(len(own_values)))
    joined = np.concatenate(values)
    # A stable sort keeps the larger component first where eigenvalues are equal but for rounding.
    best = np.argsort(-np.round(joined / _EQUAL) * _EQUAL, kind="stable")[:n_vectors]
    found = np.zeros((matrix.shape[0], len(best)))
    for column, place in enumerate(best):
        start, stop, number, own_column = places[place]
        found[components.order[start:stop], column] = vectors[number][:, own_column]
    return joined[best], found


def _leading_of_block(block: sparse.csr_array, wanted: int, near: Array | None, stacklevel: int) -> tuple[Array, Array]:
    order = block.shape[0]
    if order <= _SMALL_ORDER or 4 * wanted >= order:
        values, vectors = linalg.eigh(block.toarray(), subset_by_index=[order - wanted, order - 1])
    else:
        width, rounds = min(order - 1, max(4 * wanted, 60)), _RESTARTS * wanted
        start = _start(order, near)
        try:
            values, vectors = eigsh(block, k=wanted, which="LA", v0=start, ncv=width, maxiter=rounds, tol=_RESIDUAL)
        except ArpackNoConvergence:
            warnings.warn(
                f"the Lanczos method did not converge on a component of {order} rows, so all eigenvectors were "
                "computed: eigenvalues lie too close to each other; let rows use more neighbours",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )
            values, vectors = linalg.eigh(block.toarray(), subset_by_index=[order - wanted, order - 1])
    # The sign of an eigenvector is free: fix it, so that equal graphs embed equally.
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(wanted)])
    return values[::-1], (vectors * np.where(signs == 0, 1.0, signs))[:, ::-1]


def _start(order: int, near: Array | None) -> Array:
    chance = np.random.RandomState(0).uniform(-1, 1, order)
    if near is None or not near.any():
        return chance
    known = near.sum(axis=1)
    return np.asarray(known + chance * (_CHANCE * np.linalg.norm(near) / np.linalg.norm(chance)))
