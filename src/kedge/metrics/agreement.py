"""Accuracy after matching, normalised mutual information, purity and inverse purity."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

AVERAGES = ("max", "min", "geometric", "arithmetic")


def clustering_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of rows in the right class when clusters are matched to classes one to one, as well as possible.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters; any labels, in any number.

    Returns
    -------
    float
        Between 0 and 1. Symmetric in its arguments.

    Examples
    --------
    >>> from kedge.metrics import clustering_accuracy
    >>> clustering_accuracy([0, 0, 1, 1], ["b", "b", "a", "b"])
    0.75
    """
    table = _count_table(y_true, y_pred)
    return float(table[linear_sum_assignment(table, maximize=True)].sum() / table.sum())


def nmi(y_true: ArrayLike, y_pred: ArrayLike, average: str = "max") -> float:
    """Mutual information of classes and clusters divided by an average of their entropies.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters.
    average : {"max", "min", "geometric", "arithmetic"}, default="max"
        "max" is what the SGL and MSGL papers report; scikit-learn's default is "arithmetic".

    Returns
    -------
    float
        Between 0 and 1; 1 if both have a single block. Symmetric in its arguments.

    Examples
    --------
    >>> from kedge.metrics import nmi
    >>> nmi([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    if average not in AVERAGES:
        raise ValueError(f"average must be one of {list(AVERAGES)}, got {average!r}")
    labels = [_checked_labels(values, name) for values, name in ((y_true, "y_true"), (y_pred, "y_pred"))]
    _check_lengths(*labels)
    return float(normalized_mutual_info_score(*labels, average_method=average))


def purity(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of rows that belong to the largest class of their cluster.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters.

    Returns
    -------
    float
        Between 0 and 1, never below the accuracy. Grows with the number of clusters.

    Examples
    --------
    >>> from kedge.metrics import purity
    >>> purity([0, 0, 1, 1], [0, 1, 2, 3])
    1.0
    """
    table = _count_table(y_true, y_pred)
    return float(table.max(axis=0).sum() / table.sum())


def inverse_purity(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of rows that belong to the largest cluster of their class.

    The purity columns of the SGL and MSGL papers hold this measure: their programs pass the arguments of purity in the
    other order.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters.

    Returns
    -------
    float
        Between 0 and 1, never below the accuracy. Grows as clusters merge.

    Examples
    --------
    >>> from kedge.metrics import inverse_purity
    >>> inverse_purity([0, 0, 1, 1], [0, 0, 0, 0])
    1.0
    """
    table = _count_table(y_true, y_pred)
    return float(table.max(axis=1).sum() / table.sum())


def _count_table(y_true: ArrayLike, y_pred: ArrayLike) -> NDArray[np.int64]:
    truth, found = _checked_labels(y_true, "y_true"), _checked_labels(y_pred, "y_pred")
    _check_lengths(truth, found)
    return np.asarray(contingency_matrix(truth, found))


def _checked_labels(labels: ArrayLike, name: str) -> NDArray[Any]:
    values: NDArray[Any] = np.asarray(labels)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"{name} must be a list of at least one label, got shape {values.shape}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(f"{name} has {values[~np.isfinite(values)][0]} in row {np.argmin(np.isfinite(values))}")
    return values


def _check_lengths(truth: NDArray[Any], found: NDArray[Any]) -> None:
    if len(truth) != len(found):
        raise ValueError(f"y_true has {len(truth)} labels and y_pred {len(found)}; they must be the same rows")
