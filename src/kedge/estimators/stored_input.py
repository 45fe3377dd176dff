"""Rows that are not in memory, as input of an estimator."""

from os import PathLike
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils.validation import validate_data

from kedge.sources.dask_rows import DaskReader, is_dask_array
from kedge.sources.recognise import open_view
from kedge.sources.stored_view import StoredView

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
    reader = DaskReader(X) if is_dask_array(X) else open_view(X)
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
