"""What an engine offers to a fit."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.core.block_step import Mergeable, RowBlock

Sums = TypeVar("Sums", bound=Mergeable)


class Engine(Protocol):
    """Runs functions over all blocks of rows and keeps the coefficients between passes.

    Functions get a :class:`kedge.core.block_step.RowBlock` with the coefficients of the last pass. They may run in
    other threads or processes, so they are built of picklable parts and change nothing. What they return is merged in
    the order of the rows, in a fixed tree.
    """

    n_rows: int

    def run_pass(self, solve: Callable[[RowBlock], tuple[sparse.csr_array, Sums]]) -> Sums:
        """Solve all rows and return the merged sums; the new coefficients replace the old ones."""
        ...

    def sum_blocks(self, function: Callable[[RowBlock], Sums], *, with_views: bool = False) -> Sums:
        """Merge what a function returns for all blocks; views are read only if asked for."""
        ...

    def per_row(
        self, function: Callable[[RowBlock], NDArray[Any]], *, width: int | None, dtype: Any, with_views: bool = False
    ) -> Any:
        """Return the arrays of all blocks below one another, of this width (None for one dimension) and dtype.

        Views are read only if asked for.
        """
        ...

    def take(self, rows: NDArray[np.intp]) -> sparse.csr_array:
        """Return the coefficients of these rows, which are in order."""
        ...

    def graph(self, columns: sparse.csr_array | None) -> Any:
        """Return the coefficients of all rows times a map of columns, None meaning as they are."""
        ...

    def solve_graph(self, solve: Callable[[RowBlock], sparse.csr_array], columns: sparse.csr_array | None) -> Any:
        """Solve all rows for a graph of its own, beside the coefficients, which stay."""
        ...

    def embedding(self, row_map: NDArray[Any]) -> Any:
        """Return the coefficients of all rows times a dense matrix."""
        ...

    def close(self) -> Any:
        """Free threads; what graphs and embeddings still need stays until they are gone."""
        ...
