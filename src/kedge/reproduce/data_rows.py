"""The rows of an experiment: a data set, or a part of it in random order, or generated rows."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.datasets import load, make_union_of_subspaces

# Rows of the generated set of which time over n is measured.
GENERATED = "generated-subspaces"


@dataclass(frozen=True)
class DataRows:
    """What a method is given, and what it is scored by."""

    X: Any  # The rows: an array, a CSR array, or a dict of them by view.
    y: NDArray[np.int64]  # Shape (n_rows,). Classes.
    n_clusters: int  # Number of classes of the whole set.
    status: str  # Whether it is the paper's data.


@lru_cache(maxsize=1)
def load_rows(name: str, n_rows: int | None = None) -> DataRows:
    """Return the rows of a data set; with ``n_rows`` that many of them, drawn once for all with seed 0."""
    if name == GENERATED:
        drawn = make_union_of_subspaces(n_rows or 10_000, n_subspaces=10, dim=3, ambient_dim=30, random_state=0)
        return DataRows(*drawn, 10, "generated")
    found = load(name)
    y: NDArray[np.int64] = np.asarray(found.y, dtype=np.int64)
    X: Any = found.get("views", found.get("X"))
    if n_rows is not None and n_rows < len(y):
        rows = np.sort(np.random.RandomState(0).permutation(len(y))[:n_rows])
        X = {view: matrix[rows] for view, matrix in X.items()} if isinstance(X, dict) else X[rows]
        y = y[rows]
    return DataRows(X, y, int(found.n_clusters), str(found.status))
