"""Scaling of a view: learnt once over blocks of rows, applied to any block."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler, StandardScaler, normalize

from kedge.model.block_step import squared_norm
from kedge.model.row_problem import View

SCALES = ("none", "zscore", "minmax", "l2", "zscore_l2", "auto")
# A nonnegative view with more zeros than this is counts or text: centring it would destroy what zero means.
_MOSTLY_ZERO = 0.7


@dataclass(frozen=True)
class ViewScaling:
    """What happens to a block of rows of a view.

    Attributes
    ----------
    kind : str
        "none", "zscore", "minmax", "l2" or "zscore_l2", which is the first, then unit rows.
    shift, factor : arrays of shape (n_features,) or None
        ``(x - shift) * factor`` by column; constant columns become zero.
    size : float
        Square root of the mean squared row norm after that; rows are divided by it, so that every view has unit energy.
    """

    kind: str
    shift: NDArray[np.float64] | None = None
    factor: NDArray[np.float64] | None = None
    size: float = 1.0

    def apply(self, rows: View) -> View:
        """Return the scaled rows in their own dtype; the rows given stay as they are."""
        if self.kind == "none":
            return rows
        if self.kind == "l2":
            return normalize(rows) / rows.dtype.type(self.size)
        assert self.shift is not None
        assert self.factor is not None
        unit_rows = self.kind == "zscore_l2"
        factor = (self.factor if unit_rows else self.factor / self.size).astype(rows.dtype)
        if sparse.issparse(rows):
            return sparse.csr_array(rows.multiply(factor[None, :]))
        moved = np.asarray((rows - self.shift.astype(rows.dtype)) * factor)
        return normalize(moved, copy=False) / rows.dtype.type(self.size) if unit_rows else moved


def learn_scaling(kind: str, blocks: Callable[[], Iterable[View]], name: str = "X") -> ViewScaling:
    """Learn the scaling of a view from its rows; ``blocks()`` goes over them anew at every call."""
    if kind == "auto":
        kind = _automatic_kind(blocks())
    if kind == "none":
        return ViewScaling("none")
    scaling = ViewScaling("l2") if kind == "l2" else _learn_columns(kind, blocks(), name)
    total, n_rows = 0.0, 0
    for block in blocks():
        total += squared_norm(scaling.apply(block))
        n_rows += block.shape[0]
    return ViewScaling(scaling.kind, scaling.shift, scaling.factor, float(np.sqrt(total / n_rows)) or 1.0)


def _automatic_kind(blocks: Iterable[View]) -> str:
    zeros, entries = 0, 0
    for block in blocks:
        if sparse.issparse(block):
            return "l2"
        if block.min(initial=0.0) < 0:
            return "zscore_l2"
        zeros += block.size - int(np.count_nonzero(block))
        entries += block.size
    return "l2" if zeros > _MOSTLY_ZERO * entries else "zscore_l2"


def _learn_columns(kind: str, blocks: Iterable[View], name: str) -> ViewScaling:
    scaler: Any = None
    for block in blocks:
        if sparse.issparse(block):
            raise ValueError(
                f"scale={kind!r} shifts columns and would make the sparse {name} dense; use scale='l2' or 'none', or "
                f"pass {name}.toarray() if it fits in memory"
            )
        scaler = scaler or (MinMaxScaler() if kind == "minmax" else StandardScaler())
        scaler.partial_fit(block)
    if kind != "minmax":
        constant, shift, spread = scaler.var_ == 0, scaler.mean_, scaler.scale_
    else:
        constant, shift, spread = scaler.data_range_ == 0, scaler.data_min_, scaler.data_range_
    factor = np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, spread))
    return ViewScaling(kind, np.asarray(shift, dtype=np.float64), factor)
