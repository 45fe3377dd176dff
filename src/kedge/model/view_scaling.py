"""Scaling of a view: learnt once over blocks of rows, applied to any block."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler, StandardScaler, normalize

from kedge.model.block_step import squared_norm
from kedge.model.row_problem import View

SCALES = ("none", "zscore", "minmax", "l2", "zscore_l2", "auto")
# A nonnegative view with more zeros than this is counts or text: centring it would destroy what zero means.
MOSTLY_ZERO = 0.7


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
        if self.kind == "none" or not rows.shape[0]:
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


class ViewStatistics(Protocol):
    """What a scaling is learnt from; see :class:`BlockStatistics`."""

    def is_sparse(self) -> bool:
        """Whether the view is sparse."""
        ...

    def is_mostly_zero(self) -> bool:
        """Whether a dense view has no negative entry and more zeros than counts would be centred for."""
        ...

    def columns(self, kind: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
        """Return what to subtract from each column and divide it by, and which columns are constant."""
        ...

    def mean_squared_norm(self, scaling: ViewScaling) -> float:
        """Return the mean squared length of the scaled rows."""
        ...


def learn_scaling(kind: str, statistics: ViewStatistics, name: str = "X") -> ViewScaling:
    """Learn the scaling of a view."""
    if kind == "auto":
        kind = "l2" if statistics.is_sparse() or statistics.is_mostly_zero() else "zscore_l2"
    if kind == "none":
        return ViewScaling("none")
    shift = factor = None
    if kind != "l2":
        if statistics.is_sparse():
            raise ValueError(
                f"scale={kind!r} shifts columns and would make the sparse {name} dense; use scale='l2' or 'none', or "
                f"pass {name}.toarray() if it fits in memory"
            )
        shift, spread, constant = statistics.columns(kind)
        shift = np.asarray(shift, dtype=np.float64)
        factor = np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, spread))
    size = float(np.sqrt(statistics.mean_squared_norm(ViewScaling(kind, shift, factor))))
    return ViewScaling(kind, shift, factor, size or 1.0)


@dataclass(frozen=True)
class BlockStatistics:
    """Statistics of blocks of rows on this machine; ``blocks()`` goes over them anew at every call."""

    blocks: Callable[[], Iterable[View]]

    def is_sparse(self) -> bool:
        """Look at the first block."""
        return any(sparse.issparse(block) for block in islice(self.blocks(), 1))

    def is_mostly_zero(self) -> bool:
        """Count zeros until a negative entry decides."""
        zeros, entries = 0, 0
        for block in self.blocks():
            if block.min(initial=0.0) < 0:
                return False
            zeros += block.size - int(np.count_nonzero(block))
            entries += block.size
        return zeros > MOSTLY_ZERO * entries

    def columns(self, kind: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
        """Let scikit-learn's scalers go over the blocks."""
        scaler: Any = MinMaxScaler() if kind == "minmax" else StandardScaler()
        for block in self.blocks():
            scaler.partial_fit(block)
        if kind != "minmax":
            return scaler.mean_, scaler.scale_, scaler.var_ == 0
        return scaler.data_min_, scaler.data_range_, scaler.data_range_ == 0

    def mean_squared_norm(self, scaling: ViewScaling) -> float:
        """Scale every block."""
        total, n_rows = 0.0, 0
        for block in self.blocks():
            total += squared_norm(scaling.apply(block))
            n_rows += block.shape[0]
        return total / n_rows
