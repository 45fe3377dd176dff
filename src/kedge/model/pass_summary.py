"""What a pass over the rows brings back: sums that merge in any grouping."""

from dataclasses import dataclass, fields
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Mergeable(Protocol):
    """Sums over rows that can be added to those over other rows."""

    def merge(self, other: Self) -> Self:
        """Add the sums of other rows."""
        ...


Sums = TypeVar("Sums", bound=Mergeable)


@dataclass(frozen=True)
class PassSummary:
    """Sums over rows, all in double precision.

    Attributes
    ----------
    n_rows : int
        Rows summed over.
    gram : array or CSR array of shape (n_columns, n_columns)
        ``Z'Z`` of the coefficients.
    column_sums : array of shape (n_columns,)
        ``Z'1``.
    view_values : array of shape (n_problems, n_views)
        Data term of each view in each row problem at unit weight, without the squared norms of the rows.
    squared_norms : array of shape (n_views,)
        Sum of squared entries of each view.
    row_counts : array of shape (n_views,)
        Rows that have each view.
    change_gram : array of shape (n_columns, n_columns) or None
        ``D'D`` for the change D of the coefficients in this pass, where it was asked for.
    """

    n_rows: int
    gram: Any
    column_sums: Array
    view_values: Array
    squared_norms: Array
    row_counts: Array
    change_gram: Array | None = None

    def merge(self, other: Self) -> Self:
        """Add the sums of other rows."""
        sums: dict[str, Any] = {}
        for name in (field.name for field in fields(self)):
            mine, others = getattr(self, name), getattr(other, name)
            sums[name] = None if mine is None or others is None else mine + others
        return type(self)(**sums)


class MergeTree(Generic[Sums]):
    """Merges sums that come in order, in a fixed tree of neighbours; only as many are kept as the tree is high."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, Sums]] = []

    def add(self, sums: Sums) -> None:
        """Take the next sums; two neighbours that stand for equally many blocks become one."""
        height = 0
        while self._parts and self._parts[-1][0] == height:
            sums = self._parts.pop()[1].merge(sums)
            height += 1
        self._parts.append((height, sums))

    def total(self) -> Sums:
        """Return the sums of all that was added."""
        total = self._parts[-1][1]
        for _, sums in reversed(self._parts[:-1]):
            total = sums.merge(total)
        return total
