"""Rows of arrays in memory, or mapped into it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.model.row_problem import View
from kedge.model.view_scaling import ViewScaling, learn_scaling
from kedge.sources.contract import Rows

# Rows looked at together while a scaling is learnt.
_SCALING_ROWS = 8192


class ArraySource:
    """Views as arrays or CSR arrays with equal row counts; blocks are scaled as they are read, X is never copied.

    Parameters
    ----------
    views : sequence of arrays of shape (n_rows, n_features of the view)
        The views.
    scalings : sequence of ViewScaling
        What happens to each of them.
    observed : array of bool of shape (n_rows, n_views), default=None
        Which views each row has; None means all. What stands in a view for rows that lack it is not looked at.
    view_names : sequence of str, default=("X",)
        Names used in messages.
    """

    def __init__(
        self,
        views: Sequence[View],
        scalings: Sequence[ViewScaling],
        observed: NDArray[np.bool_] | None = None,
        view_names: Sequence[str] = ("X",),
    ) -> None:
        self._views = list(views)
        self._scalings = list(scalings)
        self._observed = observed
        self.view_names = tuple(view_names)
        self.n_rows = int(self._views[0].shape[0])
        self.dtype: np.dtype[Any] = np.result_type(*(view.dtype for view in self._views))

    def read(self, rows: Rows) -> Sequence[View]:
        """Return these rows of every view, scaled; rows that lack a view are zero there."""
        return [self._read_view(number, rows) for number in range(len(self._views))]

    def observed(self, rows: Rows) -> NDArray[np.bool_] | None:
        """Return which views these rows have, or None if no row lacks any."""
        return None if self._observed is None else self._observed[rows]

    def _read_view(self, number: int, rows: Rows) -> View:
        block = self._views[number][rows].astype(self.dtype, copy=False)
        if self._observed is None or self._observed[rows, number].all():
            return self._scalings[number].apply(block)
        # What stands there may be NaN, and a scaling may move zeros: so before and after.
        lacking = ~self._observed[rows, number]
        return without_rows(self._scalings[number].apply(without_rows(block, lacking)), lacking)


def without_rows(block: View, lacking: NDArray[np.bool_]) -> View:
    """Return a copy with these rows zero, whatever stood there."""
    if not sparse.issparse(block):
        return np.where(lacking[:, None], block.dtype.type(0), block)
    kept = ~np.repeat(lacking, np.diff(block.indptr))
    counts = np.where(lacking, 0, np.diff(block.indptr))
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(block.indptr.dtype)
    return sparse.csr_array((block.data[kept], block.indices[kept], indptr), shape=block.shape)


def learn_array_scaling(
    kind: str, view: View, name: str = "X", observed: NDArray[np.bool_] | None = None
) -> ViewScaling:
    """Learn the scaling of one view from all rows that have it."""

    def blocks() -> Any:
        for start in range(0, view.shape[0], _SCALING_ROWS):
            rows = slice(start, start + _SCALING_ROWS)
            block = view[rows]
            if observed is not None and not observed[rows].all():
                block = block[np.flatnonzero(observed[rows])]
            if block.shape[0]:
                yield block

    return learn_scaling(kind, blocks, name)
