"""The forms in which people hold several views, brought to one: named matrices and which rows have them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils.validation import validate_data

from kedge.readers.open import open_rows
from kedge.readers.stored_rows import StoredView


@dataclass(frozen=True)
class NamedViews:
    """Views as they were given, by name; None stands for a view that no row has."""

    names: list[str]
    matrices: list[Any]
    observed: NDArray[np.bool_] | None = None


def split_views(X: Any) -> NamedViews | None:
    """Return the views of a list, a mapping or a MuData object; None if X is a single matrix."""
    if is_mudata(X):
        return _views_of_mudata(X)
    if isinstance(X, Mapping):
        return NamedViews([str(name) for name in X], list(X.values()))
    if isinstance(X, list | tuple):
        return _views_of_list(X)
    if len(getattr(X, "shape", ())) == 3:
        raise ValueError(
            f"X has shape {tuple(X.shape)}; several views of one size are given as a list of 2-D arrays: pass list(X) "
            "if the first axis counts the views"
        )
    return None


def is_mudata(X: Any) -> bool:
    """Whether X looks like a MuData object; the package itself is not needed."""
    return hasattr(X, "mod") and hasattr(X, "obs_names")


def single_matrix(X: Any) -> Any:
    """Return the matrix of an AnnData object, and anything else as it is."""
    return X.X if hasattr(X, "obsm") and hasattr(X, "X") else X


def resolve_columns(
    views: Any, n_features: int, feature_names: NDArray[Any] | None
) -> tuple[list[str], list[slice | NDArray[np.intp]]]:
    """Return names and columns of the views of one matrix.

    Parameters
    ----------
    views : None, list of widths, slices or lists of columns, or a mapping of names to them
        The parameter of the estimator; None means one view.
    n_features : int
        Columns of the matrix.
    feature_names : array of str or None
        Their names, where the matrix has names.
    """
    if views is None:
        return ["X"], [slice(0, n_features)]
    named = isinstance(views, Mapping)
    parts = list(views.values()) if named else list(views)
    names = [str(name) for name in views] if named else [f"view {number}" for number in range(len(parts))]
    if not parts:
        raise ValueError("views is empty; give at least one group of columns, or None for a single view")
    if all(_is_count(part) for part in parts):
        return names, _columns_of_widths(parts, n_features)
    return names, [_columns_of(part, name, n_features, feature_names) for part, name in zip(parts, names, strict=True)]


def in_order_of_fit(given: NamedViews, names: list[str]) -> NamedViews:
    """Order named views as in fit; a name left out is a view that all rows lack. Views without names go by place."""
    unnamed = given.names == [f"view {number}" for number in range(len(given.names))]
    if unnamed or given.names == names:
        return NamedViews(names if len(given.names) == len(names) else given.names, given.matrices, given.observed)
    unknown = [name for name in given.names if name not in names]
    if unknown:
        raise ValueError(f"fit did not see the view {unknown[0]!r}; it saw {', '.join(map(repr, names))}")
    place = {name: number for number, name in enumerate(given.names)}
    matrices = [given.matrices[place[name]] if name in place else None for name in names]
    observed = None
    if given.observed is not None:
        observed = np.zeros((len(given.observed), len(names)), dtype=bool)
        for number, name in enumerate(names):
            if name in place:
                observed[:, number] = given.observed[:, place[name]]
    return NamedViews(names, matrices, observed)


def _columns_of_widths(widths: Sequence[int], n_features: int) -> list[slice | NDArray[np.intp]]:
    if min(widths) < 1 or sum(widths) != n_features:
        raise ValueError(
            f"views={list(widths)} are widths of {sum(widths)} columns in all, but X has {n_features}; widths must be "
            "positive and add up"
        )
    ends = np.cumsum(widths)
    return [slice(int(end - width), int(end)) for end, width in zip(ends, widths, strict=True)]


def _columns_of(part: Any, name: str, n_features: int, feature_names: NDArray[Any] | None) -> slice | NDArray[np.intp]:
    if isinstance(part, slice):
        columns: slice | NDArray[np.intp] = slice(*part.indices(n_features))
        count = len(range(*part.indices(n_features)))
    elif _is_count(part):
        raise ValueError(
            f"views mixes widths with other forms at {name!r}; give widths, or slices, or lists of columns"
        )
    else:
        columns = np.array([_column_number(column, name, n_features, feature_names) for column in part], dtype=np.intp)
        count = len(columns)
    if count == 0:
        raise ValueError(f"views: {name!r} has no columns; leave it out or correct it")
    return columns


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


def _views_of_list(X: list[Any] | tuple[Any, ...]) -> NamedViews | None:
    """Take a list whose members are matrices for views; a list of rows, of whatever kind, is one matrix."""
    kinds = [member is None or is_path(member) or _n_dimensions(member) == 2 for member in X]
    if not any(kinds):
        return None
    if not all(kinds):
        number = kinds.index(False)
        raise ValueError(
            f"X is a list of views, but member {number} is not a 2-D array ({_describe(X[number])}); give every view "
            "as a matrix with one row per sample, as a path, or None where all rows lack it"
        )
    names = [f"view {number}" for number in range(len(X))]
    return NamedViews(names, [None if member is None else single_matrix(member) for member in X])


def _n_dimensions(member: Any) -> int:
    shape = getattr(member, "shape", None)
    if shape is not None:
        return len(shape)
    try:
        return int(np.ndim(member))
    except ValueError:  # ragged: a matrix with rows of different lengths, if anything
        return 2


def _describe(member: Any) -> str:
    shape = getattr(member, "shape", None)
    return f"shape {tuple(shape)}" if shape is not None else type(member).__name__


def _views_of_mudata(mudata: Any) -> NamedViews:
    """Line the modalities up with the observations of the whole; an observation may lack some of them."""
    names = [str(name) for name in mudata.mod]
    matrices, observed = [], np.ones((len(mudata.obs_names), len(names)), dtype=bool)
    for number, modality in enumerate(mudata.mod.values()):
        places = np.asarray(modality.obs_names.get_indexer(mudata.obs_names))
        observed[:, number] = places >= 0
        in_order = len(places) == modality.n_obs and np.array_equal(places, np.arange(len(places)))
        # Observations without the modality get some row of it, which nobody looks at.
        matrices.append(modality.X if in_order else modality.X[np.maximum(places, 0)])
    return NamedViews(names, matrices, None if observed.all() else observed)


FLOATS = [np.float64, np.float32]


def is_path(X: Any) -> bool:
    """Whether X names a file or folder."""
    return isinstance(X, str | PathLike)


def open_stored(X: Any, *, gaps_allowed: bool = False) -> StoredView | None:
    """Return a view of rows that are not in memory; None if X is in memory.

    Parameters
    ----------
    X : object
        Anything that ``fit`` may be given: paths and arrays on disk are opened, all else is left alone.
    gaps_allowed : bool, default=False
        Whether rows may be NaN throughout.
    """
    if isinstance(X, np.memmap) and X.nbytes <= get_config()["working_memory"] * 2**20:
        return None  # an array like any other, of which results in memory are expected
    reader = open_rows(X)
    return None if reader is None else StoredView(reader, gaps_allowed=gaps_allowed)


def check_matrix(estimator: Any, X: Any, *, reset: bool, finite: bool = True) -> Any:
    """Check one matrix, in memory or not, against what the estimator has seen; ``reset`` in fit."""
    stored = open_stored(X)
    if stored is None:
        return validate_data(estimator, X, accept_sparse="csr", dtype=FLOATS, ensure_all_finite=finite, reset=reset)
    _check_features(estimator, stored, reset=reset)
    return stored


def columns_of(X: Any, columns: Any) -> Any:
    """Return some columns of a checked matrix as a view of its own."""
    return X.part(columns) if isinstance(X, StoredView) else X[:, columns]


def _check_features(estimator: Any, view: StoredView, *, reset: bool) -> None:
    """Remember number and names of the features in fit, and compare them afterwards, as is done for arrays."""
    names = view.reader.feature_names
    if reset:
        estimator.n_features_in_ = view.shape[1]
        if names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return
    if view.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"{view.reader.name} has {view.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input; pass the same ones"
        )
    seen = getattr(estimator, "feature_names_in_", None)
    if names is not None and seen is not None and list(names) != list(seen):
        number = next(i for i, (one, other) in enumerate(zip(names, seen, strict=True)) if one != other)
        raise ValueError(
            f"{view.reader.name}: column {number} is {names[number]!r}, but was {seen[number]!r} in fit; bring the "
            "columns into the same order"
        )
