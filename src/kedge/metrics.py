"""Measures of agreement between a clustering and known classes."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

__all__ = [
    "adjusted_rand_score",
    "ari",
    "clustering_accuracy",
    "contingency_table",
    "inverse_purity",
    "nmi",
    "purity",
]


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
    table = contingency_table(y_true, y_pred)
    return float(_matched_mass(table) / table.sum())


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
    truth, found = numbered_labels(y_true, y_pred)
    # Rounding of the logarithms can pass the bounds by an ulp.
    return float(np.clip(normalized_mutual_info_score(truth, found, average_method=average), 0.0, 1.0))


def ari(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of pairs of rows on which classes and clusters agree, less what chance would give: scikit-learn's measure.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters; any labels, in any number.

    Returns
    -------
    float
        At most 1, about 0 for random clusters, below 0 for worse. Symmetric in its arguments.

    Examples
    --------
    >>> from kedge.metrics import ari
    >>> ari([0, 0, 1, 1], ["b", "b", "a", "a"])
    1.0
    """
    return float(adjusted_rand_score(*numbered_labels(y_true, y_pred)))


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

    Examples
    --------
    >>> from kedge.metrics import inverse_purity
    >>> inverse_purity([0, 0, 1, 1], [0, 0, 0, 0])
    1.0
    """
    table = contingency_table(y_true, y_pred)
    return float(table.max(axis=1).sum() / table.sum())


def _matched_mass(table: sparse.csr_array) -> int:
    """Return the most rows that a one-to-one matching of classes and clusters can put in the right class.

    Classes and clusters that share no row, directly or through others, are matched apart, so that many tiny clusters
    need no dense table of all pairs.
    """
    n_classes = table.shape[0]
    joined = sparse.block_array([[None, table], [table.T, None]], format="csr")
    count, component = connected_components(joined, directed=False)
    of_class, of_cluster = component[:n_classes], component[n_classes:]
    largest = np.zeros(count, dtype=np.int64)
    entries = table.tocoo()
    np.maximum.at(largest, of_class[entries.coords[0]], entries.data)
    # One class, or one cluster: only one of its counts can be matched.
    is_plain = (np.bincount(of_class, minlength=count) == 1) | (np.bincount(of_cluster, minlength=count) == 1)
    mass = int(largest[is_plain].sum())
    for number in np.flatnonzero(~is_plain):
        block = table[np.flatnonzero(of_class == number)][:, np.flatnonzero(of_cluster == number)].toarray()
        mass += int(block[linear_sum_assignment(block, maximize=True)].sum())
    return mass
