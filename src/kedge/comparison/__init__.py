"""Several methods and settings on the same data, in one table."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kedge.comparison.methods import MethodChoice, fit_alone, known_methods, read_methods
from kedge.comparison.result import SCORES, Comparison, MethodResult
from kedge.inputs import Views, check_views, single_matrix, split_views
from kedge.metrics import as_numbers
from kedge.readers.arrays import StoredView

__all__ = ["Comparison", "MethodChoice", "MethodResult", "compare", "known_methods", "read_methods"]


def compare(
    X: Any,
    n_clusters: int | str,
    methods: str | Iterable[str | MethodChoice] = "sgl,kmeans",
    *,
    y: ArrayLike | None = None,
    observed: Any = None,
    random_state: Any = None,
    memory_limit: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Cluster the same rows with several methods and compare the results.

    The methods run one after another, each in its own process, so that time and memory are those of the method alone. A
    method that cannot run on these rows, or fails, is listed with the reason and does not stop the others. Methods for
    one matrix get several views side by side, each scaled to unit energy.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features), or list or dict of them
        The rows, in memory; a list or dict is several views, which may lack rows as for :class:`kedge.MSGL`.
    n_clusters : int or "auto"
        Number of clusters. With "auto", sgl and msgl find it themselves, and the other methods get the number that the
        first of them found.
    methods : str or iterable of str, default="sgl,kmeans"
        Names, with settings if wanted: ``["sgl:alpha=0.1,n_anchors=50", "kmeans"]``; see :func:`known_methods`.
    y : array-like of shape (n_samples,) or None, default=None
        Classes to score against; never used to fit. Without them, the methods are compared with each other.
    observed : array-like of bool of shape (n_samples, n_views) or None, default=None
        Which views each row has, in addition to rows of NaN, as for :class:`kedge.MSGL`.
    random_state : int, RandomState instance or None, default=None
        Seed of every method.
    memory_limit : float or None, default=None
        Bytes that a fit may take beyond X; None means the memory of the machine. A method that is known to need more
        does not start; one that takes more is stopped.
    progress : callable or None, default=None
        Called with the name of every method before it runs.

    Returns
    -------
    comparison : Comparison
        One row per method; prints as a table.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from kedge.comparison import compare
    >>> X, y = make_blobs(200, centers=3, cluster_std=0.3, random_state=0)
    >>> comparison = compare(X, 3, "sgl,kmeans", y=y, random_state=0)
    >>> [(row.name, row.scores["accuracy"]) for row in comparison.rows]
    [('sgl', 1.0), ('kmeans', 1.0)]
    """
    choices = read_methods(methods)
    views = _checked_rows(X, observed)
    is_count = isinstance(n_clusters, int | np.integer) and not isinstance(n_clusters, bool)
    if n_clusters != "auto" and not (is_count and 1 <= int(n_clusters) <= views.n_rows):
        allowed = f"'auto' or an integer from 1 to the {views.n_rows} rows of X"
        raise ValueError(f"n_clusters={n_clusters!r} should be {allowed}")
    classes = None if y is None else as_numbers(y, "y")
    if classes is not None and len(classes) != views.n_rows:
        raise ValueError(f"y has {len(classes)} labels and X has {views.n_rows} rows; give one label per row")
    rows: dict[int, MethodResult] = {}
    # Methods that find the number of clusters come first, because the others may need it.
    for number in sorted(range(len(choices)), key=lambda place: not choices[place].finds_count):
        choice, count = choices[number], n_clusters
        if progress is not None:
            progress(str(choice))
        found = next((row for row in rows.values() if row.n_clusters is not None), None)
        notes: tuple[str, ...] = ()
        is_told = choice.finds_count or "n_clusters" in choice.settings
        if n_clusters == "auto" and not is_told and found is not None and found.n_clusters is not None:
            count, notes = found.n_clusters, (f"number of clusters as found by {found.name}",)
        reason = choice.why_not(views, count)
        if reason is None:
            model = choice.make(count, random_state=random_state, memory_limit=memory_limit)
            row = fit_alone(choice, model, views, memory_limit)
        else:
            row = MethodResult(choice.name, choice.settings, "refused", reason)
        if row.labels is not None and len(views.arrays) > 1 and not choice.takes_views:
            notes = ("views side by side at unit energy", *notes)
        scores = {}
        if classes is not None and row.labels is not None:
            scores = {name: score(classes, row.labels) for name, score in SCORES.items()}
        rows[number] = replace(row, scores=scores, notes=(*notes, *row.notes))
    return Comparison([rows[number] for number in range(len(choices))], views.n_rows, views.names, classes is not None)


def _checked_rows(X: Any, observed: Any) -> Views:
    views = check_views(split_views(X) or Views([single_matrix(X)], ("X",)), observed)
    for array, name in zip(views.arrays, views.names, strict=True):
        if isinstance(array, StoredView):
            raise TypeError(f"{name!r} is not in memory; most methods need all rows there: load it, or a part of it")
    return views
