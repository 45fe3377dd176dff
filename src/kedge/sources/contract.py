"""What a source of rows offers."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kedge.model.row_problem import View

# Consecutive rows, or the numbers of rows in any order.
Rows: TypeAlias = slice | NDArray[np.intp]


class RowSource(Protocol):
    """Rows of one or several views, in one order."""

    n_rows: int
    dtype: np.dtype[Any]  # Of every block that is read, float32 or float64.
    view_names: tuple[str, ...]  # Names used in messages.
    in_memory: bool  # Whether all rows are in memory.
    on_dask: bool  # Whether the rows are those of Dask arrays.
    bytes_per_row: int  # What a row of all views takes in memory once read, about.

    def read(self, rows: Rows) -> Sequence[View]:
        """Return these rows of every view, scaled; rows that lack a view are zero there."""
        ...

    def observed(self, rows: Rows) -> NDArray[np.bool_] | None:
        """Return which views these rows have, shape (n_rows, n_views); None if no row of the source lacks any."""
        ...
