"""How rows are scaled, and the few directions in which wide rows are compared."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.preprocessing import MinMaxScaler, StandardScaler, normalize
from sklearn.utils.extmath import randomized_svd

from kedge.core.block_step import squared_norm
from kedge.core.rows import View

SCALES = ("none", "zscore", "minmax", "l2", "zscore_l2", "tfidf", "auto")
# A nonnegative view with more zeros than this is counts or text: centring it would destroy what zero means.
MOSTLY_ZERO = 0.7
# Columns are taken to be in different units if the widest spreads this many times more than the middle one.
SAME_UNITS = 10.0


@dataclass(frozen=True)
class ViewScaling:
    """How the rows of a view are scaled, then projected onto a few directions."""

    kind: str  # One of SCALES but "auto"; "tfidf" and "zscore_l2" scale columns, then rows to unit length.
    # Columns become (x - shift) * factor; constant columns become zero.
    shift: NDArray[np.float64] | None = None
    factor: NDArray[np.float64] | None = None
    # Rows are then divided by this, the root mean squared row norm, which gives every view unit energy.
    size: float = 1.0
    center: NDArray[np.float64] | None = None  # Subtracted from the scaled rows.
    directions: NDArray[np.float64] | None = None  # Shape (n_features, n_directions); None keeps all features.

    def apply(self, rows: View) -> View:
        """Return the scaled and projected rows, in the same dtype."""
        if not rows.shape[0]:
            return rows if self.directions is None else np.empty((0, self.directions.shape[1]), dtype=rows.dtype)
        return self.project(self.scale(rows))

    def project(self, scaled: View) -> View:
        """Return scaled rows in the directions, less the centre."""
        if self.directions is None:
            return scaled if self.center is None else scaled - self.center.astype(scaled.dtype)
        projected = np.asarray(scaled @ self.directions.astype(scaled.dtype))
        if self.center is not None:
            projected -= (self.center @ self.directions).astype(scaled.dtype)
        return projected

    def width_of(self, n_features: int) -> int:
        """Return the number of columns of projected rows."""
        return n_features if self.directions is None else int(self.directions.shape[1])

    def scale(self, rows: View) -> View:
        """Return the scaled rows without projection."""
        if self.kind == "none":
            return rows if self.size == 1.0 else rows / rows.dtype.type(self.size)
        if self.kind == "l2":
            return normalize(rows) / rows.dtype.type(self.size)
        assert self.factor is not None
        unit_rows = self.kind in ("zscore_l2", "tfidf")
        factor = (self.factor if unit_rows else self.factor / self.size).astype(rows.dtype)
        if sparse.issparse(rows):
            moved: View = sparse.csr_array(rows.multiply(factor[None, :]))
        else:
            moved = np.asarray((rows if self.shift is None else rows - self.shift.astype(rows.dtype)) * factor)
        return normalize(moved, copy=False) / rows.dtype.type(self.size) if unit_rows else moved

    def restore(self, points: NDArray[Any]) -> NDArray[Any]:
        """Return projected points in the units of the scaled rows."""
        restored = points if self.directions is None else points @ self.directions.T.astype(points.dtype)
        return restored if self.center is None else restored + self.center.astype(points.dtype)


def choose_scale(sample: View, to_unit_rows: bool = False) -> str:
    """Decide how to scale a view, from a sample of its rows.

    Sparse counts get tf-idf, other sparse rows unit length. Dense columns stay as they are, or get unit variance if
    their units differ. With ``to_unit_rows``, for the baselines, all rows end at unit length; dense columns get unit
    variance first unless most entries are zero.
    """
    if sparse.issparse(sample):
        counts = sample.data.min(initial=0.0) >= 0 and np.array_equal(sample.data, np.rint(sample.data))
        return "tfidf" if counts and not to_unit_rows else "l2"
    if to_unit_rows:
        is_count = sample.min(initial=0.0) >= 0 and np.mean(sample == 0) > MOSTLY_ZERO
        return "l2" if is_count else "zscore_l2"
    spreads = sample.std(axis=0, dtype=np.float64)
    varying = np.sort(spreads[spreads > 0])
    differ = len(varying) > 1 and varying[-1] > SAME_UNITS * varying[(len(varying) - 1) // 2]
    return "zscore" if differ else "none"


class ViewStatistics(Protocol):
    """Statistics that a scaling is learnt from; see :class:`BlockStatistics`."""

    def is_sparse(self) -> bool:
        """Return whether the view is sparse."""
        ...

    def columns(self, kind: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
        """Return the shift and the divisor of each column, and which columns are constant."""
        ...

    def rows_per_column(self) -> tuple[int, NDArray[np.float64]]:
        """Return the number of rows, and in how many of them each column is not zero."""
        ...

    def mean_squared_norm(self, scaling: ViewScaling) -> float:
        """Return the mean squared length of the scaled rows."""
        ...


def learn_scaling(kind: str, statistics: ViewStatistics, name: str = "X", unit_energy: bool = False) -> ViewScaling:
    """Learn the scaling of a view; :func:`choose_scale` has decided what "auto" means.

    With ``unit_energy`` an unscaled view also gets a size, so that its units do not decide how much it counts: the
    square root of its total variance, or of its mean squared row norm if it is sparse.
    """
    if kind == "none":
        if not unit_energy:
            return ViewScaling("none")
        if statistics.is_sparse():
            total = statistics.mean_squared_norm(ViewScaling("none"))
        else:
            _, spread, constant = statistics.columns("zscore")  # constant columns have a spread of one here
            total = float(np.square(np.where(constant, 0.0, spread)).sum())
        # The last digits depend on the blocks, and nearly tied distances would amplify the difference.
        return ViewScaling("none", size=float(f"{np.sqrt(total):.10g}") or 1.0)
    shift = factor = None
    if kind == "tfidf":
        n_rows, found = statistics.rows_per_column()
        # As in scikit-learn, a word that is in every document still has some weight.
        factor = np.log((1.0 + n_rows) / (1.0 + found)) + 1.0
    elif kind != "l2":
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
    """Statistics of blocks of rows on this machine; every call of ``blocks()`` starts over."""

    blocks: Callable[[], Iterable[View]]

    def is_sparse(self) -> bool:
        """Look at the first block."""
        return any(sparse.issparse(block) for block in islice(self.blocks(), 1))

    def rows_per_column(self) -> tuple[int, NDArray[np.float64]]:
        """Count over the blocks."""
        n_rows, found = 0, None
        for block in self.blocks():
            n_rows += block.shape[0]
            own = np.asarray((block != 0).sum(axis=0), dtype=np.float64).ravel()
            found = own if found is None else found + own
        assert found is not None
        return n_rows, found

    def columns(self, kind: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
        """Fit scikit-learn's scalers to the blocks."""
        scaler: Any = MinMaxScaler() if kind == "minmax" else StandardScaler()
        for block in self.blocks():
            scaler.partial_fit(block)
        if kind != "minmax":
            # The scaler replaces a deviation that is only rounding noise by one.
            return scaler.mean_, scaler.scale_, scaler.scale_ != np.sqrt(scaler.var_)
        return scaler.data_min_, scaler.data_range_, scaler.data_range_ == 0

    def mean_squared_norm(self, scaling: ViewScaling) -> float:
        """Scale every block."""
        total, n_rows = 0.0, 0
        for block in self.blocks():
            total += squared_norm(scaling.scale(block))
            n_rows += block.shape[0]
        return total / n_rows


Array = NDArray[np.float64]

# Wider rows are projected onto this many principal components: these hold the differences between clusters, the rest is
# mostly noise, and every later step costs in proportion. With many rows there are fewer, for speed.
MOST_DIRECTIONS, DIRECTIONS_OF_MANY, MANY_ROWS = 100, 50, 4_000
# Sparse rows get the square root of their number, within these limits: with few rows, the topics of single documents
# would look like structure.
LEAST_SPARSE_DIRECTIONS, MOST_SPARSE_DIRECTIONS = 25, 100
# Rows from which the components are computed; more rows hardly change them.
ROWS_FOR_DIRECTIONS = 5_000
# Up to this many features or rows an exact decomposition is affordable.
_EXACT_ORDER = 1_500


def count_directions(n_rows: int, is_sparse: bool) -> int:
    """Return the largest number of directions in which rows are compared."""
    if is_sparse:
        return int(np.clip(round(np.sqrt(n_rows)), LEAST_SPARSE_DIRECTIONS, MOST_SPARSE_DIRECTIONS))
    return MOST_DIRECTIONS if n_rows <= MANY_ROWS else DIRECTIONS_OF_MANY


def with_projection(scaling: ViewScaling, sample: View, n_rows: int, signed: bool) -> ViewScaling:
    """Return a scaling that also centres rows and projects wide ones; ``sample`` holds some of ``n_rows`` scaled rows.

    Sparse rows are not centred, because that would make them dense. Neither are rows for mirrored anchors, whose lines
    go through the origin.
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
    # Directions without variance are rounding noise. One is kept even if all rows are equal.
    kept = values > np.finfo(np.float64).eps * order * max(values[0], 0.0)
    kept[0] = True
    return np.ascontiguousarray(vectors[:, kept])
