"""What a reader of rows that are not in memory offers; the readers of files beside this module do so."""

from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kedge.core.rows import View

# Consecutive rows, or row numbers in ascending order.
SortedRows: TypeAlias = slice | NDArray[np.intp]


@runtime_checkable
class ViewReader(Protocol):
    """Rows of one view that stay where they are stored until they are asked for.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    width : int
        Number of features.
    dtype : dtype
        What `read` returns: float32 if the rows are stored so, else float64.
    name : str
        What messages call it: the name of the file, or the kind of object.
    feature_names : list of str or None
        Names of the columns, where they are stored.
    """

    n_rows: int
    width: int
    dtype: np.dtype[Any]
    name: str
    feature_names: list[str] | None

    def read(self, rows: SortedRows) -> View:
        """Return these rows as an array in C order or a CSR array; several threads may call it at once."""
        ...

    def place(self, row: int, column: int) -> str:
        """Return where an entry is, for messages."""
        ...
