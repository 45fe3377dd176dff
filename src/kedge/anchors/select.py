"""Anchors by the name of a method: k-means, random or spread-out rows, farthest first, or a randomised tree."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state

from kedge.anchors.farthest_first import farthest_first_anchors
from kedge.anchors.hierarchical import hierarchical_anchors
from kedge.anchors.kmeans import kmeans_anchors, plusplus_anchors
from kedge.anchors.rows import fill_up
from kedge.core.rows import canonical_rows, dense_rows, sample_rows
from kedge.user_warnings import warn_convergence


def random_anchors(X: Any, n_anchors: int, random_state: RandomState) -> NDArray[Any]:
    """Return random rows, drawn without replacement; some may be equal."""
    return dense_rows(X, sample_rows(X.shape[0], n_anchors, random_state))


_METHODS: dict[str, Callable[..., NDArray[Any]]] = {
    "kmeans": kmeans_anchors,
    "random": random_anchors,
    "plusplus": plusplus_anchors,
    "ffs": farthest_first_anchors,
    "hierarchical": hierarchical_anchors,
}
ANCHOR_METHODS = tuple(_METHODS)


def select_anchors(X: Any, n_anchors: int, method: str = "kmeans", random_state: Any = None) -> NDArray[Any]:
    """Choose anchors, the prototypes from which every row of X is rebuilt.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows. Not changed, and never made dense as a whole.
    n_anchors : int
        Number of anchors, from 1 to n_samples.
    method : {"kmeans", "random", "plusplus", "ffs", "hierarchical"}, default="kmeans"
        - "kmeans": centres of k-means on a sample of max(5000, 50 n_anchors) rows.
        - "random": distinct random rows.
        - "plusplus": rows that are spread out, drawn like the starts of k-means++.
        - "ffs": farthest-first search. From a sample of max(5000, 5 n_anchors) rows, always adds the row that the
          chosen ones rebuild worst (by the lasso). Covers small clusters; ignores the lengths of rows.
        - "hierarchical": one row per leaf of a randomised tree that splits a sample of max(5000, 10 n_anchors) rows
          by direction.
    random_state : int, RandomState instance or None, default=None
        Seed of every draw.

    Returns
    -------
    anchors : ndarray of shape (n_anchors, n_features)
        Distinct anchors, float32 if X is and float64 otherwise. Duplicates are replaced by other rows of X. There are
        fewer anchors than asked for if X has too few distinct rows.

    Warns
    -----
    ConvergenceWarning
        If X has fewer distinct rows than ``n_anchors``.

    Notes
    -----
    With m anchors and d features (stored entries per row, if X is sparse), the methods cost: "random" O(m d);
    "plusplus" O(max(1000, 5 m) m d); "kmeans" at most 20 rounds of O(max(5000, 50 m) m d); "ffs"
    O(max(5000, 5 m) m (d + m)) and tens of lasso problems per anchor; "hierarchical" O(max(5000, 10 m) d) per level of
    the tree and round of a split. None grows with the number of rows, unless X has so few distinct rows that all are
    searched.

    Examples
    --------
    >>> import numpy as np
    >>> from kedge.anchors.select import select_anchors
    >>> X = np.array([[0.0, 0.0], [0.0, 2.0], [9.0, 0.0], [9.0, 2.0]])
    >>> anchors = select_anchors(X, 2, random_state=0)
    >>> anchors[anchors[:, 0].argsort()]
    array([[0., 1.],
           [9., 1.]])
    """
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    _check_count(X.shape[0], n_anchors)
    return choose_anchors(X, int(n_anchors), method, check_random_state(random_state))


def choose_anchors(
    X: Any, n_anchors: int, method: str, random_state: RandomState, *, signed: bool = False
) -> NDArray[Any]:
    """Choose anchors from checked rows; see :func:`select_anchors`.

    ``signed`` is for models whose weights may be negative: a and -a count as one anchor, anchors have unit length, and
    zero rows are left out. If all rows are zero, there is one zero anchor.
    """
    if method not in ANCHOR_METHODS:
        raise ValueError(
            f"method={method!r} should be one of {', '.join(map(repr, ANCHOR_METHODS))}; choose one of them"
        )
    X = canonical_rows(X)
    options = {"signed": signed} if method == "kmeans" else {}
    found = _METHODS[method](X, n_anchors, random_state, **options)
    anchors = fill_up(X, found, n_anchors, random_state, signed=signed)
    if signed and not len(anchors):
        anchors = np.zeros((1, X.shape[1]), dtype=X.dtype)
    if len(anchors) < n_anchors:
        kind = "rows up to sign and length" if signed else "rows"
        warn_convergence(
            f"X has only {len(anchors)} distinct {kind}, n_anchors={n_anchors} were asked for and {len(anchors)} are "
            f"returned; ask for at most {len(anchors)} anchors"
        )
    return anchors


def _check_count(n_samples: int, n_anchors: Any) -> None:
    if isinstance(n_anchors, bool) or not isinstance(n_anchors, int | np.integer):
        raise TypeError(
            f"n_anchors={n_anchors!r} should be an int from 1 to n_samples={n_samples}; give a whole number"
        )
    if not 1 <= int(n_anchors) <= n_samples:
        raise ValueError(
            f"n_anchors={n_anchors} should be an int from 1 to n_samples={n_samples}; "
            f"ask for at most {n_samples} anchors or give more rows"
        )
