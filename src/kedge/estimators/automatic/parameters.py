"""Which parameters of an estimator are left to the data."""

from typing import Any

import numpy as np

from kedge.estimators.automatic.penalties import BETAS, GAMMAS
from kedge.estimators.automatic.settings import ALPHAS, FEW, LOCALITIES, MANY, METHODS, Choices
from kedge.estimators.automatic.stage import OpenParameters

# Parameters that open a fit to the data. "auto" anchors alone are the rule of five per cluster.
AUTOMATIC = ("alpha", "beta", "gamma", "locality")


def is_automatic(estimator: Any) -> bool:
    """Whether any parameter is left to the data."""
    return any(_is_open(estimator, name) for name in AUTOMATIC)


def open_parameters(estimator: Any, n_clusters: int, with_gaps: bool) -> OpenParameters:
    """Return what may be chosen for every parameter; where the user has decided, that alone.

    With rows that lack views, anchors are centres of k-means only: other methods need rows that have all of them.
    """
    if is_automatic(estimator):
        _check_units(estimator)
    given = not isinstance(estimator.anchors, str)
    count = estimator.n_anchors
    sizes: tuple[tuple[float, float], ...] = (FEW, MANY)
    if given or not isinstance(count, str):
        per_cluster = (_count_given(estimator.anchors) if given else count) / n_clusters
        sizes = ((per_cluster, per_cluster),)
    methods: tuple[str, ...] = tuple(dict.fromkeys((estimator.anchors, *METHODS))) if not given else ("given",)
    if with_gaps and not given:
        methods = (estimator.anchors,)
    choices = Choices(
        alphas=_values(estimator, "alpha", ALPHAS),
        localities=_values(estimator, "locality", LOCALITIES),
        sizes=sizes,
        methods=methods,
    )
    return OpenParameters(choices, _values(estimator, "beta", BETAS), _values(estimator, "gamma", GAMMAS))


def _values(estimator: Any, name: str, candidates: tuple[float, ...]) -> tuple[float, ...]:
    """Return the candidates of an open parameter; the value of another, and the usual one of a class without it."""
    value = getattr(estimator, name, candidates[0])
    return candidates if isinstance(value, str) else (float(value),)


def _count_given(anchors: Any) -> int:
    """Return the number of given anchors: of one array, or of the first of several."""
    return len(anchors[0]) if isinstance(anchors, list | tuple) and np.ndim(anchors[0]) == 2 else len(anchors)


def _is_open(estimator: Any, name: str) -> bool:
    return isinstance(getattr(estimator, name, None), str)


def _check_units(estimator: Any) -> None:
    opened = next(name for name in AUTOMATIC if _is_open(estimator, name))
    if estimator.recipe == "published":
        raise ValueError(
            f"{opened}='auto' is not for recipe='published', which leaves nothing to choose; give a number"
        )
    if estimator.penalty_scale == "absolute":
        raise ValueError(f"{opened}='auto' tries values relative to the data; leave penalty_scale='relative'")
