"""Any form of X becomes checked views with names."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from kedge.core.rows import View
from kedge.readers.arrays import DaskReader
from kedge.readers.stored_rows import StoredView
from kedge.view_forms import (
    FLOATS,
    NamedViews,
    check_matrix,
    columns_of,
    in_order_of_fit,
    open_stored,
    resolve_columns,
    single_matrix,
    split_views,
)

# Entries tested for NaN at a time.
_BLOCK_ENTRIES = 1 << 20


@dataclass(frozen=True)
class Views:
    """Views of float32 or float64, dense or CSR.

    Attributes
    ----------
    arrays : list of arrays of shape (n_rows, n_features of the view)
        Where a row lacks a view, its entries have no meaning and may be NaN.
    names : tuple of str
        One per view.
    observed : array of bool of shape (n_rows, n_views) or None
        Which views each row has; None means all.
    """

    arrays: list[View]
    names: tuple[str, ...]
    observed: NDArray[np.bool_] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.arrays[0].shape[0])

    @property
    def widths(self) -> list[int]:
        """Number of features of each view."""
        return [int(array.shape[1]) for array in self.arrays]


def check_views(given: NamedViews, observed: Any, widths: Sequence[int] | None = None) -> Views:
    """Check every view on its own and all against each other.

    Parameters
    ----------
    given : NamedViews
        The views as the user gave them.
    observed : array-like of bool of shape (n_rows, n_views) or None
        Which views each row has, in addition to rows of NaN.
    widths : sequence of int or None
        Features of the views seen in fit, where it is not fit that asks.
    """
    arrays = _checked_arrays(given, widths)
    n_rows = _common_row_count(arrays, given.names)
    present = np.ones((n_rows, len(arrays)), dtype=bool) if given.observed is None else given.observed.copy()
    present &= _checked_observed(observed, present.shape)
    for number, (array, name) in enumerate(zip(arrays, given.names, strict=True)):
        if array is None:
            present[:, number] = False
        else:
            present[:, number] &= ~_rows_of_nan(array, name, present[:, number])
    alone = np.flatnonzero(~present.any(axis=1))
    if len(alone):
        others = f" and {len(alone) - 1} others" if len(alone) > 1 else ""
        raise ValueError(
            f"row {alone[0]}{others} lacks every view: it is NaN, or marked as not observed, in all of them; drop such "
            "rows"
        )
    if widths is not None:
        known = next(array for array in arrays if array is not None)
        arrays = [
            _absent(known, width) if array is None else array for array, width in zip(arrays, widths, strict=True)
        ]
    for name, column in zip(given.names, present.T, strict=True):
        if widths is None and not column.any():
            raise ValueError(f"{name!r}: no row has this view; leave it out")
    return Views(arrays, tuple(given.names), None if present.all() else present)


def _checked_arrays(given: NamedViews, widths: Sequence[int] | None) -> list[View]:
    if widths is not None and len(given.matrices) != len(widths):
        raise ValueError(f"X has {len(given.matrices)} views, but fit saw {len(widths)}; pass the same views")
    arrays: list[View] = []
    for number, (name, matrix) in enumerate(zip(given.names, given.matrices, strict=True)):
        if matrix is None:
            arrays.append(None)
            continue
        array = _checked_array(matrix, name)
        if widths is not None and array.shape[1] != widths[number]:
            raise ValueError(f"{name!r} has {array.shape[1]} features, but {widths[number]} in fit; pass the same ones")
        arrays.append(array)
    return arrays


def _absent(known: View, width: int) -> View:
    """Return a view that no row has, of the kind of another view."""
    if isinstance(known, StoredView) and isinstance(known.reader, DaskReader):
        return StoredView(known.reader.zeros_like(width), gaps_allowed=True)
    return sparse.csr_array((known.shape[0], width), dtype=known.dtype)


def _checked_array(matrix: Any, name: str) -> View:
    try:
        stored = matrix if isinstance(matrix, StoredView) else open_stored(matrix, gaps_allowed=True)
        if stored is not None:
            return stored
        return check_array(matrix, accept_sparse="csr", dtype=FLOATS, ensure_all_finite=False, input_name=name)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{name!r}: {error}") from error


def _common_row_count(arrays: list[View], names: Sequence[str]) -> int:
    counts = {name: array.shape[0] for name, array in zip(names, arrays, strict=True) if array is not None}
    if not counts:
        raise ValueError("X has no view that any row has; give at least one matrix")
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name!r} has {count}" for name, count in counts.items())
        raise ValueError(
            f"views differ in their number of rows: {listed}; row i of every view must be sample i, with a row of NaN "
            "where a sample lacks the view"
        )
    return int(next(iter(counts.values())))


def _checked_observed(observed: Any, shape: tuple[int, int]) -> NDArray[np.bool_]:
    if observed is None:
        return np.ones(shape, dtype=bool)
    mask = np.asarray(observed)
    if mask.shape != shape:
        raise ValueError(f"observed must have shape {shape}, one row per sample and one column per view: {mask.shape}")
    if mask.dtype != bool and not np.isin(mask, (0, 1)).all():
        raise ValueError("observed must hold True and False (or 1 and 0)")
    return mask.astype(bool)


def _rows_of_nan(array: View, name: str, wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which rows are NaN throughout; a row that is so in part, or infinite, is an error."""
    if isinstance(array, StoredView):
        return array.rows_of_nan()
    values = array.data if sparse.issparse(array) else array
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):
            return np.zeros(array.shape[0], dtype=bool)
    n_bad, n_nan, n_entries = _count_not_finite(array)
    whole = (n_nan > 0) & (n_nan == n_entries)
    broken = np.flatnonzero((n_bad > 0) & ~whole & wanted)
    if len(broken):
        row = int(broken[0])
        what = "NaN" if n_nan[row] else "infinity"
        advice = (
            "a row that lacks the view is NaN in all of its features; fill single gaps first"
            if n_nan[row]
            else "replace it or drop the row"
        )
        raise ValueError(f"{name!r} contains {what} in row {row} ({len(broken)} such rows); {advice}")
    return np.asarray(whole)


def _count_not_finite(array: View) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return, per row, how many entries are not finite, how many are NaN, and how many are stored."""
    n_rows, width = array.shape
    if sparse.issparse(array):
        entries = np.diff(array.indptr).astype(np.intp)
        row_of = np.repeat(np.arange(n_rows), entries)
        bad = np.bincount(row_of[~np.isfinite(array.data)], minlength=n_rows)
        return bad, np.bincount(row_of[np.isnan(array.data)], minlength=n_rows), entries
    bad, nan = np.zeros(n_rows, dtype=np.intp), np.zeros(n_rows, dtype=np.intp)
    step = max(1, _BLOCK_ENTRIES // width)
    for start in range(0, n_rows, step):
        block = array[start : start + step]
        bad[start : start + step] = (~np.isfinite(block)).sum(axis=1)
        nan[start : start + step] = np.isnan(block).sum(axis=1)
    return bad, nan, np.full(n_rows, width, dtype=np.intp)


class ReadsViews:
    """Mixin for estimators with a parameter ``views``."""

    views: Any
    view_names_: list[str]
    view_widths_: list[int]

    def _read(self, X: Any, observed: Any, reset: bool) -> Views:
        """Bring any form of views to checked arrays; ``reset`` in fit, else they must be the views of the fit."""
        if not reset:
            check_is_fitted(self)
        separate = split_views(X)
        if separate is None:
            return self._read_columns(single_matrix(X), observed, reset)
        if not reset:
            return check_views(in_order_of_fit(separate, self.view_names_), observed, self.view_widths_)
        views = check_views(separate, observed)
        for name in ("feature_names_in_", "view_columns_"):
            if hasattr(self, name):
                delattr(self, name)
        self.n_features_in_ = sum(views.widths)
        self.view_names_, self.view_widths_ = list(views.names), views.widths
        return views

    def _read_columns(self, X: Any, observed: Any, reset: bool) -> Views:
        """Cut one matrix into its views."""
        X = check_matrix(self, X, reset=reset, finite=False)
        if reset:
            feature_names = getattr(self, "feature_names_in_", None)
            names, columns = resolve_columns(self.views, X.shape[1], feature_names)
            self.view_columns_ = [[c.start, c.stop, c.step] if isinstance(c, slice) else c for c in columns]
        elif not hasattr(self, "view_columns_"):
            raise ValueError("X is one matrix, but fit saw separate views; pass a list or a dict of them")
        else:
            names = self.view_names_
        parts = [slice(*c) if isinstance(c, list) else c for c in self.view_columns_]
        given = NamedViews(names, [columns_of(X, part) for part in parts])
        views = check_views(given, observed, None if reset else self.view_widths_)
        if reset:
            self.view_names_, self.view_widths_ = names, views.widths
        return views
