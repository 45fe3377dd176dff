"""Clusters numbered by their first rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def number_by_first_rows(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Return clusters numbered from zero in the order of their first rows, which no rounding can change."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return np.asarray(order[inverse])
