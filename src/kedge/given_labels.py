"""Labels as users give them: for some rows, in any form; and the names of classes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from kedge.metrics import is_missing
from kedge.user_warnings import warn_user


@dataclass(frozen=True)
class Labels:
    """The number of the class of each row, -1 where it is unknown; the classes; and their expected shares, if given."""

    known: NDArray[np.int64]
    classes: Any
    prior: NDArray[np.float64] | None

    @property
    def rows(self) -> NDArray[np.intp]:
        """The rows with a label."""
        return np.flatnonzero(self.known >= 0)


def known_classes(y: Any, minus_one_is_unknown: bool) -> tuple[NDArray[np.int64], Any]:
    """Return the number of the class of each row, -1 where it is unknown, and the classes in order.

    A label is unknown if it is -1, missing or an empty text. If numbers are only -1 and one other, both are classes,
    unless ``minus_one_is_unknown``.
    """
    # Extension types of pandas have missing values that NumPy does not know.
    # NumPy would turn [1, "a"] into text.
    is_mixed = isinstance(y, list | tuple) and len({type(label) for label in y}) > 1
    keep = hasattr(y, "isna") or is_mixed
    column = np.asarray(column_or_1d(np.asarray(y, dtype=object) if keep else y, warn=True))
    unknown = np.array([_is_unknown(value) for value in column.tolist()], dtype=bool)
    named = _of_one_kind(column[~unknown])
    is_minus_one = np.array([_is_minus_one(value) for value in column.tolist()], dtype=bool)
    if is_minus_one.any() and not minus_one_is_unknown and named.dtype.kind in "iuf" and len(np.unique(named)) == 1:
        warn_user("y holds only -1 and one other number, so both are classes; use NaN for rows without a label")
        unknown &= ~is_minus_one
        named = _of_one_kind(column[~unknown])
    if not len(named):
        raise ValueError("y has no label: every entry is -1, NaN, None or empty; give at least one, or use SGL")
    classes, numbers = np.unique(named, return_inverse=True)
    known = np.full(len(column), -1, dtype=np.int64)
    known[~unknown] = numbers
    return known, classes


def _is_unknown(value: Any) -> bool:
    return is_missing(value) or _is_minus_one(value) or (isinstance(value, str) and not value.strip())


def _is_minus_one(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(value == -1)


def _of_one_kind(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels as an array of numbers or text that has an order."""
    is_text = [isinstance(label, str) for label in labels.tolist()]
    if any(is_text) and not all(is_text):
        row = labels[is_text.index(False)]
        raise ValueError(
            f"y mixes text with other labels, such as {row!r}; give all classes as text, or all as numbers"
        )
    if labels.dtype.kind == "O" and not any(is_text):
        labels = np.array(labels.tolist())
    if labels.dtype.kind == "f":
        check_array(labels, ensure_2d=False, ensure_min_samples=0, dtype=None, input_name="y")
    if len(labels):
        check_classification_targets(labels)
    return labels


def with_new_names(classes: Any, n_new: int) -> Any:
    """Add names for new classes: the next whole numbers, or "new 1", "new 2" and so on."""
    if n_new == 0:
        return classes
    if classes.dtype.kind in "iuf":
        return np.concatenate([classes, classes.max() + 1 + np.arange(n_new).astype(classes.dtype)])
    taken = set(map(str, classes))
    names = [name for number in range(1, n_new + len(taken) + 1) if (name := f"new {number}") not in taken]
    return np.array([*map(str, classes), *names[:n_new]])


def checked_prior(given: Any, n_classes: int) -> NDArray[np.float64]:
    """Return the shares of the classes, which sum to one."""
    prior = np.asarray(given, dtype=np.float64)
    if prior.shape != (n_classes,) or not np.isfinite(prior).all() or prior.min() <= 0:
        raise ValueError(f"class_prior must hold a positive number for each of the {n_classes} classes, got {given!r}")
    return np.asarray(prior / prior.sum())
