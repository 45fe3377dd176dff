"""Measures of agreement between a clustering and known classes.

Labels may be of any kind and in any number, and every row needs one. Missing labels are refused by their row.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

__all__ = [
    "adjusted_rand_score",
    "ari",
    "clustering_accuracy",
    "contingency_table",
    "inverse_purity",
    "nmi",
    "purity",
]

AVERAGES = ("max", "min", "geometric", "arithmetic")


def contingency_table(y_true: ArrayLike, y_pred: ArrayLike) -> sparse.csr_array:
    """Count the rows of every class in every cluster.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters.

    Returns
    -------
    table : CSR array of shape (n_classes, n_clusters)
        Classes and clusters in sorted order, or in order of appearance if their labels have no order.

    Examples
    --------
    >>> from kedge.metrics import contingency_table
    >>> contingency_table(["a", "a", "b"], [0, 1, 1]).toarray()
    array([[1, 1],
           [0, 1]])
    """
    return sparse.csr_array(contingency_matrix(*_numbered_labels(y_true, y_pred), sparse=True, dtype=np.int64))


def _numbered_labels(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return both lists of labels as numbers from zero, after checking that they are of the same length."""
    truth, found = as_numbers(y_true, "y_true"), as_numbers(y_pred, "y_pred")
    if len(truth) != len(found):
        raise ValueError(f"y_true has {len(truth)} labels and y_pred {len(found)}; they must be the same rows")
    return truth, found


def as_numbers(labels: ArrayLike, name: str) -> NDArray[np.int64]:
    """Return labels of any kind as numbers from zero; an error names the row of a missing label."""
    values: NDArray[Any]
    if isinstance(labels, list | tuple) and len({type(label) for label in labels}) > 1:
        # NumPy would turn [1, "1"] into two equal strings.
        values = np.empty(len(labels), dtype=object)
        values[:] = labels
    else:
        values = np.asarray(labels)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"{name} must be a list of at least one label, got shape {values.shape}")
    missing = ~np.isfinite(values) if values.dtype.kind in "fc" else np.zeros(len(values), dtype=bool)
    if values.dtype.kind == "O":
        missing[:] = [is_missing(value) for value in values]
    if missing.any():
        row = int(missing.argmax())
        raise ValueError(f"{name} has {values[row]} in row {row}; every row needs a label")
    try:
        return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.int64)
    except TypeError:  # labels of several kinds have no order
        numbers: dict[Any, int] = {}
        return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)


def is_missing(value: Any) -> bool:
    """Return whether a label is None or, as in any library, does not equal itself."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA is neither true nor false
        return True


def clustering_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of rows in the right class under the best one-to-one matching of clusters and classes.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters.

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
    table = contingency_table(y_true, y_pred)
    return float(_matched_rows(table) / table.sum())


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
        Between 0 and 1; 1 if there is one class and one cluster. Symmetric in its arguments.

    Examples
    --------
    >>> from kedge.metrics import nmi
    >>> nmi([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    if average not in AVERAGES:
        raise ValueError(f"average must be one of {list(AVERAGES)}, got {average!r}")
    score = normalized_mutual_info_score(*_numbered_labels(y_true, y_pred), average_method=average)
    # Rounding of the logarithms can pass the bounds by an ulp.
    return float(np.clip(score, 0.0, 1.0))


def ari(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Agreement on pairs of rows, less what chance would give: scikit-learn's adjusted Rand index.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters.

    Returns
    -------
    float
        At most 1, about 0 for random clusters, below 0 for worse. Symmetric in its arguments.
    """
    return float(adjusted_rand_score(*_numbered_labels(y_true, y_pred)))


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
    """
    table = contingency_table(y_true, y_pred)
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
    """
    table = contingency_table(y_true, y_pred)
    return float(table.max(axis=1).sum() / table.sum())


def _matched_rows(table: sparse.csr_array) -> int:
    """Return the most rows that a one-to-one matching of classes and clusters can put in the right class."""
    # Groups of classes and clusters that share no row are matched separately, so that many tiny clusters need no dense
    # table of all pairs.
    n_classes = table.shape[0]
    joined = sparse.block_array([[None, table], [table.T, None]], format="csr")
    count, group = connected_components(joined, directed=False)
    of_class, of_cluster = group[:n_classes], group[n_classes:]
    largest = np.zeros(count, dtype=np.int64)
    np.maximum.at(largest, of_class, table.max(axis=1).toarray().ravel())
    # A group with one class or one cluster can match only one of its counts.
    is_plain = (np.bincount(of_class, minlength=count) == 1) | (np.bincount(of_cluster, minlength=count) == 1)
    total = int(largest[is_plain].sum())
    for number in np.flatnonzero(~is_plain):
        block = table[of_class == number][:, of_cluster == number].toarray()
        total += int(block[linear_sum_assignment(block, maximize=True)].sum())
    return total
