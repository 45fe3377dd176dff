"""How much each view counts: before the fit, and by how well the anchors rebuild it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.core.rows import View

Array = NDArray[np.float64]

# Share of a view's energy that is added to its error, so that a view rebuilt without error gets a finite weight.
_SMOOTHING = 1e-6
# The published algorithm gets a floor instead, which keeps the published digits.
_PUBLISHED_FLOOR = 1e-12


@dataclass(frozen=True)
class ViewErrors:
    """What a pass says about each view: sums over the rows that have it."""

    values: Array  # The data term at unit weight.
    squared_norms: Array  # Sum of squared entries.
    row_counts: Array  # Number of rows that have the view.


class ViewWeighting:
    """View weights, and the part of the objective that depends on them; here a single view of weight one."""

    def first(self, row_counts: Array, n_rows: int) -> Array:
        """Return the weights of the first pass."""
        return np.ones(len(row_counts))

    def weights(self, errors: ViewErrors, n_rows: int) -> Array:
        """Return the best weights for these errors."""
        return np.ones(len(errors.values))

    def value(self, errors: ViewErrors, n_rows: int) -> float:
        """Return the data term of the objective at the best weights."""
        return float(errors.values.sum())


@dataclass(frozen=True)
class NormalisedWeighting(ViewWeighting):
    """Minimise ``sum_v w_v e_v`` over weights whose power mean of exponent gamma is fixed; e_v sums errors over rows.

    The published model adds ``sum_v w_v^gamma`` to the objective instead. The weights have the same proportions,
    ``w_v ~ e_v^(-1 / (1 - gamma))``, but under the constraint the minimum is a power mean of the errors,
    n M_s(e_v / n_v) with s = -gamma / (1 - gamma). It has the units of the errors, so alpha and beta mean the same
    for every gamma, number of rows and scale. The power mean is concave in the errors, so alternating between weights
    and coefficients never lets the objective rise. Equal errors get weights n / sum_v n_v: one over the number of
    views if no row lacks a view. A view without energy gets weight zero. A view with the prior p_v counts as p_v views.
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
        """Return smoothed errors per row and shares in the mean of all views with energy, and which views these are."""
        speaks = (errors.squared_norms > 0) & (self.prior > 0)
        counts = errors.row_counts[speaks]
        smoothed = np.maximum(errors.values[speaks], 0.0) + _SMOOTHING * errors.squared_norms[speaks]
        shares = self.prior[speaks] * counts
        return smoothed / counts, shares / shares.sum(), speaks


@dataclass(frozen=True)
class PublishedWeighting(ViewWeighting):
    """Minimise ``sum_v (w_v e_v + w_v^gamma)``, as in the paper; the weights are not normalised."""

    gamma: float

    def first(self, row_counts: Array, n_rows: int) -> Array:
        """Return one over the number of views."""
        return np.full(len(row_counts), 1.0 / len(row_counts))

    def weights(self, errors: ViewErrors, n_rows: int) -> Array:
        """Return ``(-e_v / gamma)^(1 / (gamma - 1))``, or zero for a view without energy."""
        speaks = errors.squared_norms > 0
        floored = np.maximum(errors.values, _PUBLISHED_FLOOR * errors.squared_norms)
        weights = np.zeros(len(speaks))
        weights[speaks] = (-floored[speaks] / self.gamma) ** (1.0 / (self.gamma - 1.0))
        return weights

    def value(self, errors: ViewErrors, n_rows: int) -> float:
        """Return the weighted errors and the penalty on the weights."""
        weights = self.weights(errors, n_rows)
        return float(weights @ errors.values + np.sum(weights[weights > 0] ** self.gamma))


# Rows that are compared pair by pair. The measure is unbiased; its error at this size is about 0.002.
MOST_COMPARED = 1_000
# Agreement that is clearly more than chance, times the number of rows compared: five times its error.
CLEAR_AGREEMENT = 10.0
# How much a view without any agreement counts, compared with a view that clearly agrees.
LEAST_SHARE = 0.02
# Pairs of views that share fewer rows are not compared.
_FEWEST_SHARED = 10


def agreement_prior(views: Sequence[View], observed: NDArray[np.bool_] | None) -> Array:
    """Return how much each view counts before any reconstruction, with mean one, from a sample of scaled rows.

    Reconstruction errors cannot tell a view with clusters from noise: a few columns of noise are rebuilt with less
    error than a thousand columns of text. But noise has no relation to the other views. A view counts fully if it
    clearly depends on another view, and next to nothing if it depends on none. Two views depend on each other equally,
    so the prior of one or two views is one. The square root of the mean agreement gives a little more weight to views
    that the others confirm.
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
    # A view that shares too few rows with all others counts as much as the average of the rest.
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
    """Return the unbiased alignment of two similarity matrices: near zero if independent, at most about one.

    This is the Hilbert-Schmidt independence criterion of Song, Smola, Gretton, Bedo and Borgwardt ("Feature selection
    via dependence maximization", 2012), normalised by the dependence of each matrix on itself.
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
