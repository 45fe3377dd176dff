"""The table of counts that all measures are taken from."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse


def contingency_table(y_true: ArrayLike, y_pred: ArrayLike) -> sparse.csr_array:
    """Count the rows of every class in every cluster.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters; labels of any kind, in any number.

    Returns
    -------
    table : CSR array of shape (n_classes, n_clusters)
        Classes and clusters in sorted order, or in order of appearance where their labels have no order.

    Examples
    --------
    >>> from kedge.metrics import contingency_table
    >>> contingency_table(["a", "a", "b"], [0, 1, 1]).toarray()
    array([[1, 1],
           [0, 1]])
    """
    truth, found = numbered_labels(y_true, y_pred)
    counts = np.ones(len(truth), dtype=np.int64)
    table = sparse.coo_array((counts, (truth, found)), shape=(int(truth.max()) + 1, int(found.max()) + 1))
    return table.tocsr()


def numbered_labels(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return both lists of labels as numbers from zero, after checking that they are of the same rows."""
    truth, found = as_numbers(y_true, "y_true"), as_numbers(y_pred, "y_pred")
    if len(truth) != len(found):
        raise ValueError(f"y_true has {len(truth)} labels and y_pred {len(found)}; they must be the same rows")
    return truth, found


def as_numbers(labels: ArrayLike, name: str) -> NDArray[np.int64]:
    """Return labels of any kind as numbers from zero; a missing one is refused by its row."""
    values = _as_flat_array(labels, name)
    if values.dtype.kind in "fc" and not np.isfinite(values).all():
        raise ValueError(f"{name} has {values[~np.isfinite(values)][0]} in row {np.argmin(np.isfinite(values))}")
    if values.dtype.kind != "O":
        return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.int64)
    for row, value in enumerate(values):
        # A missing label, of whatever library, is None or does not equal itself.
        if value is None or _differs_from_itself(value):
            raise ValueError(f"{name} has {value} in row {row}; every row needs a label")
    try:
        return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.int64)
    except TypeError:  # labels of several kinds have no order
        numbers: dict[Any, int] = {}
        return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)


def _as_flat_array(labels: ArrayLike, name: str) -> NDArray[Any]:
    values: NDArray[Any]
    if isinstance(labels, list | tuple) and len({type(label) for label in labels}) > 1:
        # NumPy would turn [1, "1"] into two equal strings.
        values = np.empty(len(labels), dtype=object)
        values[:] = labels
    else:
        values = np.asarray(labels)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"{name} must be a list of at least one label, got shape {values.shape}")
    return values


def _differs_from_itself(value: Any) -> bool:
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA is neither true nor false
        return True
