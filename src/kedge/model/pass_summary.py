"""What a pass over the rows brings back: sums that merge in any grouping."""

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PassSummary:
    """Sums over rows, all in double precision.

    Attributes
    ----------
    n_rows : int
        Rows summed over.
    gram : array of shape (n_columns, n_columns)
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
    gram: Array
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


def merge_summaries(summaries: list[PassSummary]) -> PassSummary:
    """Merge pairwise in a fixed tree, so that the sum does not depend on which block was done first."""
    level = list(summaries)
    while len(level) > 1:
        merged = [first.merge(second) for first, second in zip(level[::2], level[1::2], strict=False)]
        level = merged + level[2 * len(merged) :]
    return level[0]
