"""The nearest point of the probability simplex, for many rows at once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def project_rows(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return, for every row v, the x >= 0 with sum one that minimises |x - v|^2.

    With v in descending order u and its running sums C_j, the threshold is theta = (C_r - 1) / r for the largest r with
    u_r > theta_r, and x = max(v - theta, 0). Minus infinity stands for an entry that must stay zero; every row needs a
    finite entry. O(m log m) per row of m entries.
    """
    v = np.asarray(values, dtype=np.float64)
    # The result does not change when a constant is added to a row; near zero sums keep their digits.
    v = v - v.max(axis=1, keepdims=True)
    descending = -np.sort(-v, axis=1)
    counts = np.arange(1, v.shape[1] + 1)
    with np.errstate(invalid="ignore"):
        thresholds = (np.cumsum(descending, axis=1) - 1.0) / counts
        kept = (descending > thresholds).sum(axis=1)
    theta = thresholds[np.arange(len(v)), kept - 1]
    return np.asarray(np.maximum(v - theta[:, None], 0.0))
