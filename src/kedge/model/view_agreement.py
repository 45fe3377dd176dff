"""How much views have to do with each other: a view that shares nothing with the others is noise to the clustering."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.model.row_problem import View

Array = NDArray[np.float64]

# Rows that are compared pair by pair. The measure is unbiased, and its error at this size about 0.002.
MOST_COMPARED = 1_000
# Agreement that is clearly more than chance, times the number of rows compared: five times its error.
CLEAR_AGREEMENT = 10.0
# What a view without any agreement counts, against one with plenty.
LEAST_SHARE = 0.02
# Pairs of views that share fewer rows say nothing.
_FEWEST_SHARED = 10


def agreement_prior(views: Sequence[View], observed: NDArray[np.bool_] | None) -> Array:
    """Return how much each view counts before any reconstruction, with mean one.

    Reconstruction errors cannot tell a view with clusters from noise: a few columns of noise are rebuilt with less
    error than a thousand columns of text. What noise lacks is any relation to the other views. A view counts fully if
    it depends clearly on any other one, and next to nothing if it depends on none; two views depend on each other
    equally, so with one or two views the prior is one for each. Among views that count, the square root of their mean
    agreement gives those that the others confirm a little more say.

    Parameters
    ----------
    views : sequence of arrays of shape (n_rows, n_features of the view)
        A sample of scaled rows, at most about ``MOST_COMPARED``; zero where a row lacks the view.
    observed : array of bool of shape (n_rows, n_views) or None
        Which views each row has.
    """
    n_rows, n_views = views[0].shape[0], len(views)
    if n_views <= 2:
        return np.ones(n_views)
    similarities = [_similarities(view) for view in views]
    agreement = np.full((n_views, n_views), np.nan)
    for first in range(n_views):
        for second in range(first):
            value = _aligned(similarities[first], similarities[second], _shared(observed, first, second))
            agreement[first, second] = agreement[second, first] = value
    known = ~np.isnan(agreement)
    # A view that could not be compared with any other counts as the average of those that could.
    compared = known.any(axis=1)
    if not compared.any():
        return np.ones(n_views)
    positive = np.where(known, np.maximum(agreement, 0.0), 0.0)
    best, chance = positive.max(axis=1), CLEAR_AGREEMENT / n_rows
    mean = positive.sum(axis=1) / np.maximum(known.sum(axis=1), 1) + 1.0 / n_rows
    prior = (LEAST_SHARE + best**2 / (best**2 + chance**2)) * np.sqrt(mean)
    prior[~compared] = prior[compared].mean()
    return np.asarray(prior / prior.mean())


def _shared(observed: NDArray[np.bool_] | None, first: int, second: int) -> NDArray[np.intp] | None:
    return None if observed is None else np.flatnonzero(observed[:, first] & observed[:, second])


def _similarities(view: View) -> Array:
    products: Any = view @ view.T
    found = np.asarray(products.toarray() if sparse.issparse(products) else products, dtype=np.float64)
    np.fill_diagonal(found, 0.0)
    return found


def _aligned(left: Array, right: Array, shared: NDArray[np.intp] | None) -> float:
    """Return the unbiased alignment of two tables of similarities, near zero for independent ones, at most about one.

    The Hilbert-Schmidt independence criterion in the form of Song, Smola, Gretton, Bedo and Borgwardt ("Feature
    selection via dependence maximization", 2012), whose mean is zero for independent rows, divided by its values of
    each table with itself.
    """
    if shared is not None:
        left, right = left[np.ix_(shared, shared)], right[np.ix_(shared, shared)]
    if len(left) < _FEWEST_SHARED:
        return float("nan")
    own = _dependence(left, left) * _dependence(right, right)
    return _dependence(left, right) / np.sqrt(own) if own > 0 else 0.0


def _dependence(left: Array, right: Array) -> float:
    n = len(left)
    left_sums, right_sums = left.sum(axis=0), right.sum(axis=0)
    total = np.vdot(left, right) + left_sums.sum() * right_sums.sum() / ((n - 1) * (n - 2))
    return float(total - 2.0 / (n - 2) * (left_sums @ right_sums)) / (n * (n - 3))
