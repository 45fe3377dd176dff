"""The graph and the embedding of rows whose coefficients are not in memory, read when asked for."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.row_store.contract import RowStore

Rows = Any


class StoredGraph:
    """The bipartite graph on disk; ``graph[rows]`` reads the rows asked for.

    The scratch space is freed when nothing refers to the graph any more, or when the process ends.

    Attributes
    ----------
    shape : tuple of int
        Rows and anchors.
    dtype : dtype
        Of the weights.
    """

    ndim = 2

    def __init__(self, store: RowStore, starts: NDArray[np.intp], columns: sparse.csr_array | None, dtype: Any) -> None:
        self._store, self._starts, self._columns = store, starts, columns
        self.dtype = np.dtype(dtype)
        width = self._block(0).shape[1] if len(starts) > 1 else 0
        self.shape = (int(starts[-1]), int(width))

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def __repr__(self) -> str:
        """Say what it is."""
        return f"<graph of {self.shape[0]} rows and {self.shape[1]} anchors on disk; [rows] reads rows, to_csr() all>"

    def __getitem__(self, rows: Rows) -> sparse.csr_array:
        """Return rows as a CSR array: a slice, a mask, row numbers in any order, or one number."""
        if isinstance(rows, slice):
            return self.take(np.arange(*rows.indices(self.shape[0])))
        numbers = np.atleast_1d(np.asarray(rows))
        if numbers.dtype == bool:
            if numbers.shape != self.shape[:1]:
                raise IndexError(f"a mask of {len(numbers)} rows does not fit a graph of {self.shape[0]} rows")
            return self.take(np.flatnonzero(numbers))
        numbers = numbers.astype(np.intp)
        numbers = np.where(numbers < 0, numbers + self.shape[0], numbers)
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < self.shape[0]:
            raise IndexError(f"row numbers must be below {self.shape[0]}, the number of rows of the graph")
        return self.take(numbers)

    def take(self, rows: NDArray[np.intp]) -> sparse.csr_array:
        """Return these rows; every block is read once."""
        order = np.argsort(rows, kind="stable")
        in_order = rows[order]
        bounds = np.searchsorted(in_order, self._starts)
        parts = [
            self._block(number)[in_order[first:last] - self._starts[number]]
            for number, (first, last) in enumerate(pairwise(bounds))
            if last > first
        ]
        if not parts:
            return sparse.csr_array((0, self.shape[1]), dtype=self.dtype)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return sparse.csr_array(sparse.vstack(parts, format="csr"))[back]

    def blocks(self) -> Iterator[tuple[slice, sparse.csr_array]]:
        """Yield consecutive rows and their part of the graph."""
        for number, (start, stop) in enumerate(pairwise(self._starts)):
            yield slice(int(start), int(stop)), self._block(number)

    def to_csr(self) -> sparse.csr_array:
        """Return the whole graph in memory."""
        return join_blocks([block for _, block in self.blocks()])

    def _block(self, number: int) -> sparse.csr_array:
        block = self._store.read(number)
        assert block is not None
        return mapped_columns(block, self._columns)


class StoredEmbedding:
    """The embedding of the rows of a stored graph, computed when asked for; ``np.asarray`` makes the whole array."""

    ndim = 2

    def __init__(self, graph: StoredGraph, row_map: NDArray[Any]) -> None:
        self._graph, self._row_map = graph, row_map
        self.shape = (graph.shape[0], row_map.shape[1])
        self.dtype = row_map.dtype

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def __getitem__(self, rows: Rows) -> NDArray[Any]:
        """Return the embedding of these rows."""
        return np.asarray(self._graph[rows] @ self._row_map)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the embedding of all rows."""
        parts = [np.asarray(block @ self._row_map) for _, block in self._graph.blocks()]
        return np.concatenate(parts).astype(dtype or self.dtype, copy=False)


def mapped_columns(block: sparse.csr_array, columns: sparse.csr_array | None) -> sparse.csr_array:
    """Add up or select columns: the block times a map of columns, with sorted indices; None leaves it as it is."""
    if columns is None:
        return block
    mapped = sparse.csr_array(block @ columns.astype(block.dtype))
    mapped.sort_indices()
    return mapped


def join_blocks(blocks: Sequence[sparse.csr_array]) -> sparse.csr_array:
    """Put blocks below one another; SciPy's vstack goes through more copies than these three."""
    starts = np.cumsum([0, *(block.nnz for block in blocks)])
    pointers = [block.indptr[1:] + start for block, start in zip(blocks, starts[:-1], strict=True)]
    indptr = np.concatenate([starts[:1], *pointers])
    indices = np.concatenate([block.indices for block in blocks])
    n_rows = sum(block.shape[0] for block in blocks)
    parts = np.concatenate([block.data for block in blocks]), indices, indptr
    return sparse.csr_array(parts, shape=(n_rows, blocks[0].shape[1]))
