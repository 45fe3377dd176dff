"""What each parameter may be; the one place that uses private names of scikit-learn."""

from numbers import Integral, Real
from typing import Any

from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, Options, StrOptions

SGL_RULES: dict[str, list[Any]] = {
    "n_clusters": [Interval(Integral, 1, None, closed="left")],
    "n_anchors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    "alpha": [Interval(Real, 0, None, closed="neither")],
    "random_state": ["random_state"],
    "n_jobs": [Options(Integral, {-1}), Interval(Integral, 1, None, closed="left"), None],
}

# Checks the parameters of an estimator against its table before ``fit`` runs.
checked_fit = _fit_context(prefer_skip_nested_validation=True)


def threads_for(n_jobs: int | None) -> int | None:
    """Translate scikit-learn's ``n_jobs`` into a number of threads; None means every processor."""
    return None if n_jobs is None or n_jobs == -1 else n_jobs
