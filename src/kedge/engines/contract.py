"""What an engine offers to a fit."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.core.block_step import RowBlock
from kedge.engines.sums import Sums, SumTree


class Engine(Protocol):
    """Runs functions over all blocks of rows and keeps the coefficients between passes.

    A function gets a :class:`kedge.core.block_step.RowBlock` with the coefficients of the last pass. It may run in
    another thread or process, so it must be picklable and change nothing. Sums are merged in the order of the rows, in
    a fixed tree. Views are read only if ``with_views`` says so.
    """

    n_rows: int

    def run_pass(self, solve: Callable[[RowBlock], tuple[sparse.csr_array, Sums]]) -> Sums:
        """Solve all rows and return the merged sums; the new coefficients replace the old ones."""
        ...

    def sum_blocks(self, function: Callable[[RowBlock], Sums], *, with_views: bool = False) -> Sums:
        """Merge what a function returns for all blocks."""
        ...

    def per_row(
        self, function: Callable[[RowBlock], NDArray[Any]], *, width: int | None, dtype: Any, with_views: bool = False
    ) -> Any:
        """Stack the arrays that a function returns, of this width (None for one dimension) and dtype."""
        ...

    def take(self, rows: NDArray[np.intp]) -> sparse.csr_array:
        """Return the coefficients of these rows, which are in ascending order."""
        ...

    def graph(self, columns: sparse.csr_array | None) -> Any:
        """Return the coefficients of all rows times a map of columns; None leaves the columns as they are."""
        ...

    def solve_graph(self, solve: Callable[[RowBlock], sparse.csr_array], columns: sparse.csr_array | None) -> Any:
        """Solve all rows for another graph; the coefficients stay as they are."""
        ...

    def embedding(self, row_map: NDArray[Any]) -> Any:
        """Return the coefficients of all rows times a dense matrix."""
        ...

    def close(self) -> Any:
        """Stop threads; graphs and embeddings can still be read."""
        ...


class ResumableEngine(Engine, Protocol):
    """An engine that can go on with a pass in the middle."""

    def run_pass(
        self, solve: Callable[[RowBlock], tuple[sparse.csr_array, Sums]], begun: SumTree[Sums] | None = None
    ) -> Sums:
        """Solve the rows behind the blocks whose sums are given, and add their sums block by block."""
        ...
