"""What a fitted model says about its rows, whether it keeps them in memory, on disk or on a cluster."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from kedge.core.rows import sample_rows

# Rows that are looked at together where all rows are.
ROWS_PER_BLOCK = 65_536


def needed(model: Any, name: str, remedy: str) -> Any:
    """Return a fitted attribute; an error that says what to do if the model has none or it is empty."""
    check_is_fitted(model)
    value = getattr(model, name, None)
    if value is None:
        raise ValueError(f"this {type(model).__name__} has no {name}: {remedy}")
    return value


def labels_of(model: Any) -> NDArray[np.int64]:
    """Return the clusters of all rows."""
    return np.asarray(needed(model, "labels_", "give a fitted clusterer"), dtype=np.int64)


def count_clusters(model: Any) -> int:
    """Return how many clusters the figures have: those asked for, or those that hold rows if the model does not say."""
    return max(int(getattr(model, "n_clusters_", 0)), int(labels_of(model).max()) + 1)


def confidence_of(model: Any) -> NDArray[np.float64] | None:
    """Return how sure the label of every row is; None where the model does not know."""
    check_is_fitted(model)
    confidence = getattr(model, "confidence_", None)
    return None if confidence is None else np.asarray(confidence, dtype=np.float64)


def row_slices(n_rows: int) -> Iterator[slice]:
    """Yield blocks of rows, one after the other."""
    for start in range(0, n_rows, ROWS_PER_BLOCK):
        yield slice(start, min(start + ROWS_PER_BLOCK, n_rows))


def graph_rows(graph: Any, rows: Any) -> sparse.csr_array:
    """Return rows of a graph that is in memory, on disk, or on the workers of a cluster."""
    part = graph[rows]
    return sparse.csr_array(part.compute() if hasattr(part, "compute") else part)


def membership(labels: NDArray[np.int64], n_clusters: int) -> sparse.csr_array:
    """Return the matrix of shape (n_clusters, n_rows) with a one where a row is in a cluster."""
    ones = np.ones(len(labels))
    return sparse.csr_array((ones, (labels, np.arange(len(labels)))), shape=(n_clusters, len(labels)))


def sampled_by_cluster(labels: NDArray[np.int64], n_clusters: int, most: int) -> NDArray[np.intp]:
    """Return at most about ``most`` rows in order, evenly but with a few of every cluster; always the same."""
    if len(labels) <= most:
        return np.arange(len(labels))
    random_state = np.random.RandomState(0)
    chosen = sample_rows(len(labels), most, random_state)
    fewest = max(1, min(5, most // n_clusters))
    counts = np.bincount(labels[chosen], minlength=n_clusters)
    extra = [np.flatnonzero(labels == cluster)[:fewest] for cluster in np.flatnonzero(counts < fewest)]
    return np.unique(np.concatenate([chosen, *extra]))
