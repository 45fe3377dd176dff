"""The few directions in which rows are compared: principal components of wide rows."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.utils.extmath import randomized_svd

from kedge.model.row_problem import View
from kedge.model.view_scaling import ViewScaling

Array = NDArray[np.float64]

# Wider rows are projected onto this many principal components: they hold what clusters differ in, the rest is mostly
# noise, and every later step costs in proportion. Many rows get fewer, for speed.
MOST_DIRECTIONS, DIRECTIONS_OF_MANY, MANY_ROWS = 100, 50, 4_000
# Sparse rows get as many as the square root of their number, within these limits: with few rows the topics of a single
# document would be taken for structure.
LEAST_SPARSE_DIRECTIONS, MOST_SPARSE_DIRECTIONS = 25, 100
# Rows the components are computed from; more of them hardly turn the components.
ROWS_FOR_DIRECTIONS = 5_000
# Up to this many features or rows an exact decomposition is affordable.
_EXACT_ORDER = 1_500


def count_directions(n_rows: int, is_sparse: bool) -> int:
    """Return how many directions rows are compared in, at most."""
    if is_sparse:
        return int(np.clip(round(np.sqrt(n_rows)), LEAST_SPARSE_DIRECTIONS, MOST_SPARSE_DIRECTIONS))
    return MOST_DIRECTIONS if n_rows <= MANY_ROWS else DIRECTIONS_OF_MANY


def with_projection(scaling: ViewScaling, sample: View, n_rows: int, signed: bool) -> ViewScaling:
    """Return a scaling that also centres rows and projects wide ones; ``sample`` is some of ``n_rows`` scaled rows.

    Sparse rows are not centred, which would make them dense; nor are rows of mirrored anchors, whose lines go through
    the origin.
    """
    center = None
    if not (sparse.issparse(sample) or signed):
        center = np.asarray(sample.mean(axis=0, dtype=np.float64))
    most = count_directions(n_rows, sparse.issparse(sample))
    if sample.shape[1] <= most and not sparse.issparse(sample):
        return replace(scaling, center=center)
    return replace(scaling, center=center, directions=_leading_directions(sample, center, most))


def _leading_directions(sample: View, center: Array | None, most: int) -> Array:
    """Return the right singular vectors of the sample, shape (n_features, n_directions)."""
    n_rows, n_features = sample.shape
    count = min(most, n_rows, n_features)
    if min(n_rows, n_features) > _EXACT_ORDER:
        rows = sample if center is None else sample - center.astype(sample.dtype)
        return np.asarray(randomized_svd(rows, count, random_state=0)[2].T, dtype=np.float64)
    rows = sample.astype(np.float64)
    if center is not None:
        rows = rows - center
    by_feature = n_features <= n_rows
    gram = rows.T @ rows if by_feature else rows @ rows.T
    gram = gram.toarray() if sparse.issparse(gram) else gram
    order = len(gram)
    values, vectors = linalg.eigh(gram, subset_by_index=[order - count, order - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    if not by_feature:
        vectors = np.asarray(rows.T @ vectors)
        lengths = np.linalg.norm(vectors, axis=0)
        vectors = vectors / np.where(lengths > 0, lengths, 1.0)
    # Directions without variance are rounding noise; one is kept where all rows are equal.
    kept = values > np.finfo(np.float64).eps * order * max(values[0], 0.0)
    kept[0] = True
    return np.ascontiguousarray(vectors[:, kept])
