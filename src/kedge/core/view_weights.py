"""How much each view counts: beforehand, and by how well the anchors rebuild it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.core.rows import View

Array = NDArray[np.float64]

# Share of a view's energy that is added to its error, so that a view rebuilt without error gets a large weight, not an
# infinite one.
_SMOOTHING = 1e-6
# The same in the published algorithm, where a floor and not an addition keeps the published digits.
_PUBLISHED_FLOOR = 1e-12


@dataclass(frozen=True)
class ViewErrors:
    """What a pass says about the views; sums over the rows that have the view.

    Attributes
    ----------
    values : array of shape (n_views,)
        The data term of each view at unit weight.
    squared_norms : array of shape (n_views,)
        Sum of squared entries.
    row_counts : array of shape (n_views,)
        Rows that have the view.
    """

    values: Array
    squared_norms: Array
    row_counts: Array


class ViewWeighting(Protocol):
    """Weights of the views, and the part of the objective that they decide."""

    def first(self, row_counts: Array, n_rows: int) -> Array:
        """Return the weights of the first pass."""
        ...

    def weights(self, errors: ViewErrors, n_rows: int) -> Array:
        """Return the best weights for these errors."""
        ...

    def value(self, errors: ViewErrors, n_rows: int) -> float:
        """Return the data term of the objective at the best weights."""
        ...


@dataclass(frozen=True)
class FixedWeighting:
    """One view of weight one, as in the single-view model."""

    def first(self, row_counts: Array, n_rows: int) -> Array:
        """Return one."""
        return np.ones(len(row_counts))

    def weights(self, errors: ViewErrors, n_rows: int) -> Array:
        """Return one."""
        return np.ones(len(errors.values))

    def value(self, errors: ViewErrors, n_rows: int) -> float:
        """Return the data term itself."""
        return float(errors.values.sum())


@dataclass(frozen=True)
class NormalisedWeighting:
    """Minimise ``sum_v w_v e_v`` over weights whose power mean of exponent gamma is fixed; e_v sums errors over rows.

    The published model adds ``sum_v w_v^gamma`` to the objective instead of constraining it. The proportions of the
    weights are the same, ``w_v ~ e_v^(-1 / (1 - gamma))``, but under the constraint the least value is a power mean of
    the errors, n M_s(e_v / n_v) with s = -gamma / (1 - gamma): it has the units of the errors, so alpha and beta keep
    their meaning whatever gamma, the number of rows and the scale of the data. Since the power mean is concave in the
    errors, alternating between weights and coefficients never lets the objective rise. Equal errors get weights
    n / sum_v n_v, which is one over the number of views if no row lacks a view. A view without any energy says nothing
    and gets weight zero.

    A prior p_v makes a view count as p_v views: its share in the power mean, and thereby its weight, is multiplied.
    """

    gamma: float
    prior: Array

    def first(self, row_counts: Array, n_rows: int) -> Array:
        """Return the weights for equal errors; they sum to one over the views of an average row."""
        return np.asarray(self.prior * (n_rows / (self.prior @ row_counts)))

    def weights(self, errors: ViewErrors, n_rows: int) -> Array:
        """Return the derivative of the power mean by the summed errors."""
        per_row, shares, speaks = self._errors_per_row(errors)
        if not speaks.any():
            return self.first(errors.row_counts, n_rows)
        mean = self._power_mean(per_row, shares)
        weights = np.zeros(len(speaks))
        equal = n_rows * shares / errors.row_counts[speaks]
        weights[speaks] = equal * (mean / per_row) ** (1.0 / (1.0 - self.gamma))
        return weights

    def value(self, errors: ViewErrors, n_rows: int) -> float:
        """Return the power mean of the errors per row, times the number of rows."""
        per_row, shares, speaks = self._errors_per_row(errors)
        return n_rows * self._power_mean(per_row, shares) if speaks.any() else 0.0

    def _power_mean(self, per_row: Array, shares: Array) -> float:
        exponent = -self.gamma / (1.0 - self.gamma)
        # Relative to the largest error, so that no power over- or underflows.
        largest = float(per_row.max())
        return largest * float(float(shares @ (per_row / largest) ** exponent) ** (1.0 / exponent))

    def _errors_per_row(self, errors: ViewErrors) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Return smoothed errors per row and shares in the mean, of the views that say something, and which do."""
        speaks = (errors.squared_norms > 0) & (self.prior > 0)
        counts = errors.row_counts[speaks]
        smoothed = np.maximum(errors.values[speaks], 0.0) + _SMOOTHING * errors.squared_norms[speaks]
        shares = self.prior[speaks] * counts
        return smoothed / counts, shares / shares.sum(), speaks


@dataclass(frozen=True)
class PublishedWeighting:
    """Minimise ``sum_v (w_v e_v + w_v^gamma)``, as in the paper; the weights are not normalised."""

    gamma: float

    def first(self, row_counts: Array, n_rows: int) -> Array:
        """Return one over the number of views."""
        return np.full(len(row_counts), 1.0 / len(row_counts))

    def weights(self, errors: ViewErrors, n_rows: int) -> Array:
        """Return ``(-e_v / gamma)^(1 / (gamma - 1))``; a view without any energy says nothing and gets zero."""
        speaks = errors.squared_norms > 0
        floored = np.maximum(errors.values, _PUBLISHED_FLOOR * errors.squared_norms)
        weights = np.zeros(len(speaks))
        weights[speaks] = (-floored[speaks] / self.gamma) ** (1.0 / (self.gamma - 1.0))
        return weights

    def value(self, errors: ViewErrors, n_rows: int) -> float:
        """Return the weighted errors and the penalty on the weights."""
        weights = self.weights(errors, n_rows)
        return float(weights @ errors.values + np.sum(weights[weights > 0] ** self.gamma))


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
