"""Any form of X becomes checked views with names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from kedge.core.rows import View
from kedge.readers.arrays import ROWS_AT_ONCE, StoredView, is_finite, refuse_not_finite
from kedge.readers.dask_arrays import DaskReader
from kedge.readers.open import open_rows

FLOATS = [np.float64, np.float32]
# Up to this many entries, a test of every one of them takes less time than scikit-learn's checks of anything else.
_FEW_ENTRIES = 1 << 16


@dataclass(frozen=True)
class Views:
    """Views by name: as the user gave them, where None is a view that no row has, or checked.

    Checked ones are of float32 or float64: dense, CSR or stored. Rows that lack a view may be NaN there.
    """

    arrays: list[View]  # Each of shape (n_rows, n_features of the view).
    names: tuple[str, ...]
    observed: NDArray[np.bool_] | None = None  # Shape (n_rows, n_views). Which views each row has; None means all.

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.arrays[0].shape[0])

    @property
    def widths(self) -> list[int]:
        """Number of features of each view."""
        return [int(array.shape[1]) for array in self.arrays]


class ReadsViews:
    """Mixin for estimators with a parameter ``views``."""

    views: Any
    view_names_: list[str]
    view_widths_: list[int]

    def _read(self, X: Any, observed: Any, reset: bool) -> Views:
        """Bring any form of X to checked views; without ``reset`` they must be the views of the fit."""
        if not reset:
            require_fit(self)
        separate = split_views(X)
        given = self._cut(single_matrix(X), reset) if separate is None else separate
        if not reset:
            return check_views(_in_order_of_fit(given, tuple(self.view_names_)), observed, self.view_widths_)
        views = check_views(given, observed)
        if separate is not None:
            for name in ("feature_names_in_", "view_columns_"):
                vars(self).pop(name, None)
            self.n_features_in_ = sum(views.widths)
        self.view_names_, self.view_widths_ = list(views.names), views.widths
        return views

    def _cut(self, X: Any, reset: bool) -> Views:
        """Cut one matrix into its views."""
        X = check_matrix(self, X, reset=reset, finite=False)
        if reset:
            names, columns = _resolve_columns(self.views, X.shape[1], getattr(self, "feature_names_in_", None))
            self.view_columns_ = [[c.start, c.stop, c.step] if isinstance(c, slice) else c for c in columns]
        elif not hasattr(self, "view_columns_"):
            raise ValueError("X is one matrix, but fit saw separate views; pass a list or a dict of them")
        else:
            names = self.view_names_
        parts = [slice(*c) if isinstance(c, list) else c for c in self.view_columns_]
        return Views([X.part(p) if isinstance(X, StoredView) else X[:, p] for p in parts], tuple(names))


def require_fit(estimator: Any) -> None:
    """Raise scikit-learn's error if there was no fit; its own look at an estimator takes longer than a prediction."""
    if "n_iter_" not in vars(estimator):
        check_is_fitted(estimator)


def split_views(X: Any) -> Views | None:
    """Return the views of a list, a mapping or a MuData object; None if X is a single matrix."""
    if hasattr(X, "mod") and hasattr(X, "obs_names"):
        return _views_of_mudata(X)
    if isinstance(X, Mapping):
        return Views(list(X.values()), tuple(map(str, X)))
    if isinstance(X, list | tuple):
        return _views_of_list(X)
    if len(getattr(X, "shape", ())) == 3:
        raise ValueError(
            f"X has shape {tuple(X.shape)}; several views of one size are given as a list of 2-D arrays: pass list(X) "
            "if the first axis counts the views"
        )
    return None


def single_matrix(X: Any) -> Any:
    """Return the matrix of an AnnData object, and anything else as it is."""
    return X.X if hasattr(X, "obsm") and hasattr(X, "X") else X


def check_matrix(estimator: Any, X: Any, *, reset: bool, finite: bool = True) -> Any:
    """Check one matrix, in memory or not, against what the estimator has seen; ``reset`` in fit."""
    if not reset and _is_checked(estimator, X):
        return X
    stored = open_stored(X)
    if stored is None:
        return validate_data(estimator, X, accept_sparse="csr", dtype=FLOATS, ensure_all_finite=finite, reset=reset)
    name, width, names = stored.name, stored.width, stored.feature_names
    if reset:
        vars(estimator).pop("feature_names_in_", None)
        estimator.n_features_in_ = width
        if names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        return stored
    if width != estimator.n_features_in_:
        raise ValueError(
            f"{name} has {width} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input; pass the same ones"
        )
    seen = getattr(estimator, "feature_names_in_", None)
    for number, (one, other) in enumerate(() if names is None or seen is None else zip(names, seen, strict=True)):
        if one != other:
            raise ValueError(
                f"{name}: column {number} is {one!r}, but was {other!r} in fit; bring the columns into the same order"
            )
    return stored


def _is_checked(estimator: Any, X: Any) -> bool:
    """Return whether scikit-learn's checks would find nothing and return X itself: for few rows they take longest."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in FLOATS
        and 0 < X.size <= _FEW_ENTRIES
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
        and is_finite(X)
    )


def check_views(given: Views, observed: Any, widths: Sequence[int] | None = None) -> Views:
    """Check every view on its own and all against each other.

    `observed` of shape (n_rows, n_views) says which views each row has, in addition to rows of NaN. `widths` are the
    numbers of features seen in fit; None in fit itself.
    """
    arrays = checked_arrays(given, widths)
    known = next(array for array in arrays if array is not None)
    present = np.ones((known.shape[0], len(arrays)), dtype=bool) if given.observed is None else given.observed.copy()
    if observed is not None:
        present &= _checked_observed(observed, present.shape)
    for number, (array, name) in enumerate(zip(arrays, given.names, strict=True)):
        if array is None:
            present[:, number] = False
        else:
            present[:, number] &= ~_rows_of_nan(array, name, present[:, number])
    alone = np.flatnonzero(~present.any(axis=1))
    if len(alone):
        others = f" and {len(alone) - 1} others" if len(alone) > 1 else ""
        raise ValueError(f"row {alone[0]}{others} lacks every view (NaN, or marked as not observed); drop such rows")
    if widths is not None:
        arrays = [_absent(known, width) if a is None else a for a, width in zip(arrays, widths, strict=True)]
    for name, column in zip(given.names, present.T, strict=True):
        if widths is None and not column.any():
            raise ValueError(f"{name!r}: no row has this view; leave it out")
    return Views(arrays, given.names, None if present.all() else present)


def _views_of_mudata(mudata: Any) -> Views:
    """Line the modalities up with the observations of the whole; an observation may lack some of them."""
    matrices, observed = [], np.ones((len(mudata.obs_names), len(mudata.mod)), dtype=bool)
    for number, modality in enumerate(mudata.mod.values()):
        places = np.asarray(modality.obs_names.get_indexer(mudata.obs_names))
        observed[:, number] = places >= 0
        in_order = len(places) == modality.n_obs and np.array_equal(places, np.arange(len(places)))
        # Observations without the modality get any row of it; the mask leaves it out.
        matrices.append(modality.X if in_order else modality.X[np.maximum(places, 0)])
    return Views(matrices, tuple(map(str, mudata.mod)), None if observed.all() else observed)


def _views_of_list(X: list[Any] | tuple[Any, ...]) -> Views | None:
    """Return the views of a list of matrices; None for a list of rows, which is one matrix."""
    kinds = [member is None or isinstance(member, str | PathLike) or _n_dimensions(member) == 2 for member in X]
    if not any(kinds):
        return None
    if not all(kinds):
        number = kinds.index(False)
        shape = getattr(X[number], "shape", None)
        what = type(X[number]).__name__ if shape is None else f"shape {tuple(shape)}"
        raise ValueError(
            f"X is a list of views, but member {number} is not a 2-D array ({what}); give every view as a matrix with "
            "one row per sample, as a path, or None where all rows lack it"
        )
    return Views([single_matrix(member) for member in X], _numbered(len(X)))


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(f"view {number}" for number in range(count))


def _n_dimensions(member: Any) -> int:
    shape = getattr(member, "shape", None)
    if shape is not None:
        return len(shape)
    try:
        return int(np.ndim(member))
    except ValueError:  # rows of different lengths: a broken matrix, not a row
        return 2


def _in_order_of_fit(given: Views, names: tuple[str, ...]) -> Views:
    """Order named views as in fit; all rows lack a view that is left out. Views without names keep their order."""
    if given.names in (names, _numbered(len(given.names))):
        return replace(given, names=names) if len(given.names) == len(names) else given
    unknown = [name for name in given.names if name not in names]
    if unknown:
        raise ValueError(f"fit did not see the view {unknown[0]!r}; it saw {', '.join(map(repr, names))}")
    places = [given.names.index(name) if name in given.names else None for name in names]
    arrays = [None if place is None else given.arrays[place] for place in places]
    # The mask of a view that is left out does not matter.
    observed = None if given.observed is None else given.observed[:, [place or 0 for place in places]]
    return Views(arrays, names, observed)


def _resolve_columns(
    views: Any, n_features: int, feature_names: NDArray[Any] | None
) -> tuple[list[str], list[slice | NDArray[np.intp]]]:
    """Return names and columns of the views of one matrix, from the estimator's parameter ``views``."""
    if views is None:
        return ["X"], [slice(0, n_features)]
    named = isinstance(views, Mapping)
    parts = list(views.values()) if named else list(views)
    names = [str(name) for name in views] if named else list(_numbered(len(parts)))
    if not parts:
        raise ValueError("views is empty; give at least one group of columns, or None for a single view")
    if not all(_is_count(part) for part in parts):
        pairs = zip(parts, names, strict=True)
        return names, [_columns_of(part, name, n_features, feature_names) for part, name in pairs]
    if min(parts) < 1 or sum(parts) != n_features:
        raise ValueError(
            f"views={parts} are widths of {sum(parts)} columns in all, but X has {n_features}; widths must be "
            "positive and add up"
        )
    ends = np.cumsum(parts)
    return names, [slice(int(end - width), int(end)) for end, width in zip(ends, parts, strict=True)]


def _columns_of(part: Any, name: str, n_features: int, feature_names: NDArray[Any] | None) -> slice | NDArray[np.intp]:
    if _is_count(part):
        raise ValueError(f"views mixes widths with other forms at {name!r}; give widths, slices, or lists of columns")
    is_slice = isinstance(part, slice)
    numbers = range(n_features)[part] if is_slice else part
    columns = np.array([_column_number(number, name, n_features, feature_names) for number in numbers], dtype=np.intp)
    if not len(columns):
        raise ValueError(f"views: {name!r} has no columns; leave it out or correct it")
    return slice(*part.indices(n_features)) if is_slice else columns


def _column_number(column: Any, name: str, n_features: int, feature_names: NDArray[Any] | None) -> int:
    if isinstance(column, str):
        if feature_names is None:
            raise ValueError(f"views: {name!r} names columns, but X has no column names; pass a data frame or numbers")
        found = np.flatnonzero(feature_names == column)
        if len(found) == 0:
            raise ValueError(f"views: {name!r} asks for column {column!r}, which X does not have")
        return int(found[0])
    number = int(column)
    if not -n_features <= number < n_features:
        raise ValueError(f"views: {name!r} asks for column {number}, but X has {n_features} columns")
    return number % n_features


def _is_count(part: Any) -> bool:
    return isinstance(part, int | np.integer) and not isinstance(part, bool)


def open_stored(X: Any, *, gaps_allowed: bool = False) -> StoredView | None:
    """Return a view of rows that are not in memory, such as those of a path; None if X is in memory."""
    if isinstance(X, np.memmap) and X.nbytes <= get_config()["working_memory"] * 2**20:
        return None  # a small map is used as an array in memory
    reader = open_rows(X)
    return None if reader is None else StoredView(reader, gaps_allowed=gaps_allowed)


def checked_arrays(given: Views, widths: Sequence[int] | None = None) -> list[View]:
    """Open or convert every view, and check the rows and features against each other; None stays None."""
    arrays = [None if a is None else _checked_array(a, name) for a, name in zip(given.arrays, given.names, strict=True)]
    if widths is not None and len(arrays) != len(widths):
        raise ValueError(f"X has {len(arrays)} views, but fit saw {len(widths)}; pass the same views")
    for array, name, width in zip(arrays, given.names, widths or [], strict=widths is not None):
        if array is not None and array.shape[1] != width:
            raise ValueError(f"{name!r} has {array.shape[1]} features, but {width} in fit; pass the same ones")
    counts = {name: array.shape[0] for name, array in zip(given.names, arrays, strict=True) if array is not None}
    if not counts:
        raise ValueError("X has no view that any row has; give at least one matrix")
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name!r} has {count}" for name, count in counts.items())
        raise ValueError(
            f"views differ in their number of rows: {listed}; row i of every view must be sample i, with a row of NaN "
            "where a sample lacks the view"
        )
    return arrays


def _checked_array(matrix: Any, name: str) -> View:
    try:
        stored = matrix if isinstance(matrix, StoredView) else open_stored(matrix, gaps_allowed=True)
        if stored is not None:
            return stored
        return check_array(matrix, accept_sparse="csr", dtype=FLOATS, ensure_all_finite=False, input_name=name)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{name!r}: {error}") from error


def _absent(known: View, width: int) -> View:
    """Return a view that no row has, of the kind of another view."""
    if isinstance(known, StoredView) and isinstance(known.reader, DaskReader):
        return StoredView(known.reader.zeros_like(width), gaps_allowed=True)
    return sparse.csr_array((known.shape[0], width), dtype=known.dtype)


def _checked_observed(observed: Any, shape: tuple[int, int]) -> NDArray[np.bool_]:
    mask = np.asarray(observed)
    if mask.shape != shape:
        raise ValueError(f"observed must have shape {shape}, one row per sample and one column per view: {mask.shape}")
    if mask.dtype != bool and not np.isin(mask, (0, 1)).all():
        raise ValueError("observed must hold True and False (or 1 and 0)")
    return mask.astype(bool)


def _rows_of_nan(array: View, name: str, has_view: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which rows are NaN throughout; any other entry that is not finite is an error."""
    is_stored = isinstance(array, StoredView)
    if is_stored and isinstance(array.reader, DaskReader):
        return array.reader.rows_of_nan(array.columns)
    found = np.zeros(array.shape[0], dtype=bool)
    if not is_stored and is_finite(array):
        return found

    def place(row: int, column: int) -> str:
        return f"{name!r}, row {row}, column {column}"

    for start in range(0, array.shape[0], ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        found[rows] = _nan_throughout(array[rows])
        if not is_stored:  # stored rows are checked as they are read
            # Rows that lack the view may hold anything.
            checked = start + np.flatnonzero(has_view[rows] & ~found[rows])
            refuse_not_finite(array[checked], checked, place, gaps_allowed=True)
    return found


def _nan_throughout(block: View) -> NDArray[np.bool_]:
    """Return which rows of a block are NaN throughout; in sparse rows, only stored entries count."""
    if not sparse.issparse(block):
        return np.asarray(np.isnan(block).all(axis=1))
    counts = np.diff(block.indptr)
    row_of = np.repeat(np.arange(len(counts)), counts)
    n_nan = np.bincount(row_of, weights=np.isnan(block.data), minlength=len(counts))
    return np.asarray((counts > 0) & (n_nan == counts))
