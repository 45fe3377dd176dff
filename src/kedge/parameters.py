"""Which values each parameter may take; the only file that uses private names of scikit-learn."""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, Options, StrOptions

from kedge.anchors.select import ANCHOR_METHODS
from kedge.anchors.several_views import ALIGNMENTS
from kedge.core.scaling import SCALES
from kedge.kernels.selection import default_threads

COUNT = Interval(Integral, 1, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")


def one_of(*names: str) -> StrOptions:
    """Return the rule for a parameter that takes one of these names."""
    return StrOptions(set(names))


SGL_RULES: dict[str, list[Any]] = {
    "n_clusters": [COUNT, StrOptions({"auto"})],
    "n_clusters_range": [tuple, list, None],
    "n_anchors": [COUNT, StrOptions({"auto"})],
    "anchors": [StrOptions(set(ANCHOR_METHODS)), "array-like"],
    "alpha": [POSITIVE, StrOptions({"auto"})],
    "beta": [NOT_NEGATIVE, StrOptions({"auto"})],
    "locality": [NOT_NEGATIVE, StrOptions({"auto"})],
    "scale": [StrOptions(set(SCALES))],
    "penalty_scale": [StrOptions({"relative", "absolute"})],
    "penalty": [StrOptions({"centroid", "degree"})],
    "partition": [StrOptions({"communities", "spectral"})],
    "structure": [StrOptions({"soft", "exact"})],
    "signed": ["boolean"],
    "n_neighbors": [COUNT],
    "predict_with": [StrOptions({"anchors", "graph"})],
    "max_iter": [COUNT],
    "tol": [NOT_NEGATIVE],
    "n_init": [COUNT, StrOptions({"auto"})],
    "random_state": ["random_state"],
    "n_jobs": [Options(Integral, {-1}), COUNT, None],
    "verbose": ["verbose"],
    "callback": [callable, None],
    "scratch_folder": [str, PathLike, None],
    "checkpoint": [str, PathLike, None],
}

MSGL_RULES: dict[str, list[Any]] = SGL_RULES | {
    "views": ["array-like", dict, None],
    "anchor_alignment": [StrOptions(set(ALIGNMENTS))],
    "gamma": [Interval(Real, None, 0, closed="neither"), StrOptions({"auto"})],
    "view_prior": [StrOptions({"agreement", "equal"}), "array-like", dict],
    "scale": [StrOptions(set(SCALES)), list, tuple, dict],
}

CLASSIFIER_RULES: dict[str, list[Any]] = {
    name: MSGL_RULES[name]
    for name in ("views", "scale", "n_anchors", "n_init", "random_state", "n_jobs", "verbose", "scratch_folder")
} | {
    "new_classes": [StrOptions({"auto"}), None],
    "class_prior": ["array-like", None],
    "keep_labels": ["boolean"],
}

# Parameters that all baselines have; each adds its own.
BASELINE_RULES: dict[str, list[Any]] = {
    "n_clusters": [COUNT],
    "scale": [StrOptions(set(SCALES))],
    "memory_limit": [POSITIVE, None],
    "random_state": ["random_state"],
}
MULTI_VIEW_BASELINE_RULES: dict[str, list[Any]] = BASELINE_RULES | {
    "views": ["array-like", dict, None],
    "scale": [StrOptions(set(SCALES)), list, tuple, dict],
}

# Checks the parameters of an estimator against its table before ``fit`` runs.
checked_fit = _fit_context(prefer_skip_nested_validation=True)


# What "auto" stands for: one value for all data.
DEFAULTS = {"alpha": 0.1, "beta": 0.0, "locality": 0.02, "gamma": -5.0}


def number_or_default(name: str, value: Any) -> float:
    """Return the value of a parameter; "auto" is the default."""
    return DEFAULTS[name] if isinstance(value, str) else float(value)


def checked_count_range(given: Any, n_rows: int) -> tuple[int, int] | None:
    """Return the smallest and largest number of clusters that may be found; None sets no limits."""
    if given is None:
        return None
    if len(given) != 2 or not all(isinstance(end, Integral) and not isinstance(end, bool) for end in given):
        raise ValueError(f"n_clusters_range must be two whole numbers, least and most: {given!r}")
    least, most = int(given[0]), int(given[1])
    if not 1 <= least <= most <= n_rows:
        raise ValueError(f"n_clusters_range={given!r} must satisfy 1 <= least <= most <= {n_rows}, the number of rows")
    return least, most


def _by_view(parameter: str, given: Any, names: Sequence[str], default: Any) -> list[Any]:
    """Return the value of a parameter for each view, from a list in their order or a dict by name."""
    if not isinstance(given, Mapping):
        return list(given)
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ValueError(f"{parameter} names the view {unknown[0]!r}, but the views are {', '.join(map(repr, names))}")
    return [given.get(name, default) for name in names]


def scale_per_view(scale: Any, names: Sequence[str]) -> list[str]:
    """Return ``scale`` for each view, from one name for all, a list in their order, or a dict by name."""
    if isinstance(scale, str):
        return [scale] * len(names)
    kinds = _by_view("scale", scale, names, "auto")
    if len(kinds) != len(names):
        raise ValueError(f"scale has {len(kinds)} entries for {len(names)} views; give one per view")
    for kind, name in zip(kinds, names, strict=True):
        if kind not in SCALES:
            raise ValueError(f"scale={kind!r} of {name!r} should be one of {', '.join(map(repr, SCALES))}")
    return kinds


def prior_per_view(prior: Any, names: Sequence[str]) -> NDArray[np.float64] | None:
    """Return ``view_prior`` for each view, with mean one; None if it is learnt."""
    if isinstance(prior, str):
        return np.ones(len(names)) if prior == "equal" else None
    values = np.asarray(_by_view("view_prior", prior, names, 1.0), dtype=np.float64)
    if values.shape != (len(names),):
        raise ValueError(
            f"view_prior must have one number for each of the {len(names)} views, got shape {values.shape}"
        )
    if not (np.isfinite(values).all() and values.min() >= 0 and values.max() > 0):
        raise ValueError("view_prior must be finite and not negative, with at least one view above zero")
    return np.asarray(values / values.mean())


def threads_for(n_jobs: int | None) -> int:
    """Translate scikit-learn's ``n_jobs`` into a number of threads; None and -1 mean every processor."""
    return default_threads() if n_jobs is None or n_jobs == -1 else int(n_jobs)
