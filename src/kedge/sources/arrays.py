"""Rows of arrays in memory, or mapped into it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.model.row_problem import View
from kedge.model.view_scaling import ViewScaling, learn_scaling

# Rows looked at together while a scaling is learnt.
_SCALING_ROWS = 8192


class ArraySource:
    """Views as arrays or CSR arrays with equal row counts; blocks are scaled as they are read, X is never copied."""

    def __init__(self, views: Sequence[View], scalings: Sequence[ViewScaling]) -> None:
        self._views = list(views)
        self._scalings = list(scalings)
        self.n_rows = int(self._views[0].shape[0])
        self.dtype: np.dtype[Any] = self._views[0].dtype

    def block(self, rows: slice) -> Sequence[View]:
        """Return consecutive rows of every view, scaled."""
        return [s.apply(view[rows]) for view, s in zip(self._views, self._scalings, strict=True)]

    def take(self, rows: NDArray[np.intp]) -> Sequence[View]:
        """Return these rows of every view, scaled."""
        return [s.apply(view[rows]) for view, s in zip(self._views, self._scalings, strict=True)]


def learn_array_scaling(kind: str, view: View, name: str = "X") -> ViewScaling:
    """Learn the scaling of one view from all of its rows."""
    starts = range(0, view.shape[0], _SCALING_ROWS)
    return learn_scaling(kind, lambda: (view[start : start + _SCALING_ROWS] for start in starts), name)
