"""Spectral embedding of both sides of a sparse graph between rows and columns, whatever its row sums."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.core.block_step import gram_of
from kedge.core.driver_step import anchor_components, spectral_map

Array = NDArray[np.float64]

_SMALL_GRAPH = 1 << 22


@dataclass(frozen=True)
class BipartiteEmbedding:
    """Leading singular vectors of Du^(-1/2) Z Dv^(-1/2), where Du and Dv are the row and column sums of Z."""

    row_vectors: Array  # Shape (n_rows, n_vectors). Left singular vectors times sqrt(1/2).
    # Shape (n_columns, n_vectors). Right singular vectors times sqrt(1/2); zero for a column without weight.
    column_vectors: Array
    squares: Array  # Shape (n_vectors + 1,). Squared singular values in [0, 1], descending, one more than vectors.
    # Shape (n_rows,), (n_columns,). Du and Dv.
    row_sums: Array
    column_sums: Array
    n_components: int  # Connected components, not counting columns without weight.

    def cut_coordinates(self) -> tuple[Array, Array]:
        """Return the points of rows and columns whose squared distances, weighted by Z, add up to the cut.

        These are u_i / sqrt(Du_i) and v_j / sqrt(Dv_j): sum_ij z_ij |u_i / sqrt(Du_i) - v_j / sqrt(Dv_j)|^2 equals the
        number of vectors less the sum of their singular values.
        """
        return (
            self.row_vectors * _inverse_roots(self.row_sums)[:, None],
            self.column_vectors * _inverse_roots(self.column_sums)[:, None],
        )


def embed_graph(graph: sparse.csr_array, n_vectors: int) -> BipartiteEmbedding:
    """Embed both sides of a nonnegative graph of shape (n_rows, n_columns).

    O(nnz^2 / n_rows) for the Gram matrix of the columns, and its leading eigenvectors, O(n_columns^3) at most.
    """
    row_sums, column_sums = (np.asarray(graph.sum(axis=axis), dtype=np.float64).ravel() for axis in (1, 0))
    per_entry = np.repeat(_inverse_roots(row_sums), np.diff(graph.indptr))
    scaled = sparse.csr_array((graph.data * per_entry, graph.indices, graph.indptr), shape=graph.shape)
    gram = gram_of(scaled)
    found = spectral_map(gram, column_sums, n_vectors + 1)
    leading = found.leading(n_vectors)
    return BipartiteEmbedding(
        np.asarray(scaled @ leading.row_map),
        leading.anchor_embedding,
        found.singular_values**2,
        row_sums,
        column_sums,
        anchor_components(gram, column_sums)[0],
    )


def embed_small_graph(graph: sparse.csr_array, n_vectors: int) -> BipartiteEmbedding:
    """Embed both sides by a singular value decomposition of the whole matrix, as the authors' programs do.

    Where singular values are equal, which vectors of their space are found is a matter of the algorithm; with this one
    runs of these programs can be followed. Graphs of more than 2^22 pairs go through :func:`embed_graph`.
    """
    found = embed_graph(graph, n_vectors)
    if graph.shape[0] * graph.shape[1] > _SMALL_GRAPH or n_vectors >= min(graph.shape):
        return found
    scaled = _inverse_roots(found.row_sums)[:, None] * graph.toarray() * _inverse_roots(found.column_sums)
    left, values, right = np.linalg.svd(scaled, full_matrices=False)
    half = np.sqrt(0.5)
    return replace(
        found,
        row_vectors=half * left[:, :n_vectors],
        column_vectors=half * right[:n_vectors].T,
        squares=values[: n_vectors + 1] ** 2,
    )


def _inverse_roots(sums: Array) -> Array:
    return np.divide(1.0, np.sqrt(sums), out=np.zeros_like(sums), where=sums > 0)
