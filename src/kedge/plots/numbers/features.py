"""What distinguishes the rows of a cluster: features that are higher or lower there than elsewhere."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.plots.numbers.fitted_model import membership

Array = NDArray[np.float64]
# Features named per cluster, and of single rows.
TOP_OF_CLUSTER, TOP_OF_ROW = 6, 3
# Numbers that a block of rows may have.
_NUMBERS_PER_BLOCK = 4_000_000


@dataclass(frozen=True)
class FeatureContrasts:
    """One view: how far the mean of every cluster is from that of the other rows."""

    # Shape (n_clusters, n_features). Mean of the cluster less mean of the rest, in standard deviations of all rows; 0
    # where a feature is constant.
    differences: Array
    # Shape (n_features,). Of all rows that have the view.
    mean: Array
    deviation: Array

    def top_of_cluster(self, cluster: int, count: int = TOP_OF_CLUSTER) -> NDArray[np.intp]:
        """Return the features that differ most, without those that do not differ."""
        sizes = np.abs(self.differences[cluster])
        order = np.argsort(-sizes, kind="stable")[:count]
        return np.asarray(order[sizes[order] > 0])


def contrast_features(view: Any, labels: NDArray[np.int64], n_clusters: int) -> FeatureContrasts:
    """Compare the means of clusters, in one pass over a dense or CSR view; rows of NaN lack the view."""
    n_rows, n_features = view.shape
    sums, counts = np.zeros((n_clusters, n_features)), np.zeros(n_clusters)
    shift = _first_present_rows(view)
    squares = np.zeros(n_features)
    for start in range(0, n_rows, _block_length(view)):
        stop = min(start + _block_length(view), n_rows)
        block, own = view[start:stop], labels[start:stop]
        if not sparse.issparse(block):
            block = np.asarray(block, dtype=np.float64)
            present = ~np.isnan(block).any(axis=1)
            # Squares of numbers far from zero would leave no digits for the deviation.
            block, own = block[present] - shift, own[present]
            squares += np.einsum("ij,ij->j", block, block)
        else:
            squares += np.asarray(block.multiply(block).sum(axis=0), dtype=np.float64).ravel()
        summed = membership(own, n_clusters) @ block
        sums += summed.toarray() if sparse.issparse(summed) else summed
        counts += np.bincount(own, minlength=n_clusters)
    total, n_present = sums.sum(axis=0), max(counts.sum(), 1.0)
    mean = total / n_present
    variance = squares / n_present - mean**2
    # What is left of a constant feature is rounding.
    deviation = np.sqrt(np.where(variance > 1e-12 * (squares / n_present), variance, 0.0))
    others = n_present - counts
    apart = sums / np.maximum(counts, 1)[:, None] - (total - sums) / np.maximum(others, 1)[:, None]
    apart[(counts == 0) | (others == 0)] = 0.0
    differences = np.divide(apart, deviation, out=np.zeros_like(apart), where=deviation > 0)
    return FeatureContrasts(differences, mean + shift, deviation)


def top_features_of_rows(
    view: Any, rows: NDArray[np.intp], contrasts: FeatureContrasts, count: int = TOP_OF_ROW
) -> tuple[NDArray[np.intp], Array]:
    """Return the features in which single rows are farthest from the mean, and how far, in standard deviations.

    A row that lacks the view has zeros.
    """
    count = min(count, view.shape[1])
    places = np.zeros((len(rows), count), dtype=np.intp)
    sizes = np.zeros((len(rows), count))
    for start in range(0, len(rows), _block_length(view)):
        part = slice(start, start + _block_length(view))
        block = view[rows[part]]
        dense = block.toarray() if sparse.issparse(block) else np.asarray(block, dtype=np.float64)
        apart = np.nan_to_num(dense - contrasts.mean)
        scores = np.divide(apart, contrasts.deviation, out=np.zeros_like(apart), where=contrasts.deviation > 0)
        best = np.argsort(-np.abs(scores), axis=1, kind="stable")[:, :count]
        places[part], sizes[part] = best, np.take_along_axis(scores, best, axis=1)
    return places, sizes


def _block_length(view: Any) -> int:
    return int(max(1, _NUMBERS_PER_BLOCK // max(view.shape[1], 1)))


def _first_present_rows(view: Any) -> Array:
    """Return a point among the rows, the origin for sparse ones."""
    if sparse.issparse(view):
        return np.zeros(view.shape[1])
    first = np.asarray(view[: min(len(view), 1000)], dtype=np.float64)
    first = first[~np.isnan(first).any(axis=1)]
    return np.asarray(first.mean(axis=0)) if len(first) else np.zeros(view.shape[1])
