"""What a source of rows offers."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kedge.model.row_problem import View


class RowSource(Protocol):
    """Rows of one or several views, in one order."""

    n_rows: int
    dtype: np.dtype[Any]

    def block(self, rows: slice) -> Sequence[View]:
        """Return consecutive rows of every view."""
        ...

    def take(self, rows: NDArray[np.intp]) -> Sequence[View]:
        """Return these rows of every view."""
        ...
