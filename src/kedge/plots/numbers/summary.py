"""Sizes, confidence, the course of the fit, agreement with known classes, and the choice of the number of clusters."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kedge.metrics import clustering_accuracy, contingency_table, nmi, purity
from kedge.plots.numbers.fitted_model import confidence_of, count_clusters, labels_of, needed

# Below this a label is worth a look.
DOUBTFUL = 0.5
BINS = 20


def cluster_sizes_of(model: Any) -> NDArray[np.int64]:
    """Return how many rows each cluster holds."""
    return np.bincount(labels_of(model), minlength=count_clusters(model)).astype(np.int64)


@dataclass(frozen=True)
class ConfidenceSpread:
    """How sure the labels are."""

    # Shape (BINS,), (BINS + 1,). The histogram.
    counts: NDArray[np.int64]
    edges: NDArray[np.float64]
    share_doubtful: float  # Share of rows below 0.5.
    least_sure: NDArray[np.intp]  # Numbers of the least sure rows, least first.
    values: NDArray[np.float64]  # Shape (n_samples,). Of all rows.


def confidence_spread(model: Any, n_least: int = 12) -> ConfidenceSpread:
    """Return the histogram of the confidence and the least sure rows."""
    needed(model, "confidence_", "it is there after a fit of SGL or MSGL, but not with recipe='published'")
    values = confidence_of(model)
    assert values is not None
    counts, edges = np.histogram(values, bins=BINS, range=(0.0, 1.0))
    order = np.argsort(values, kind="stable")[:n_least]
    return ConfidenceSpread(counts.astype(np.int64), edges, float((values < DOUBTFUL).mean()), order, values)


def objective_of(model: Any) -> NDArray[np.float64]:
    """Return the objective at the end of every iteration."""
    values = needed(model, "objective_", "only models that are fitted in iterations have it")
    return np.atleast_1d(np.asarray(values, dtype=np.float64))


def view_weights_of(model: Any) -> tuple[list[str], NDArray[np.float64]]:
    """Return the names of the views and their weights, one line per iteration."""
    history = needed(model, "view_weights_history_", "only MSGL weighs views")
    return [str(name) for name in model.view_names_], np.asarray(history, dtype=np.float64)


@dataclass(frozen=True)
class Agreement:
    """The clusters beside known classes."""

    scores: dict[str, float]  # Accuracy, NMI and purity.
    classes: list[str]  # Names of the classes, in the order of the table.
    clusters: NDArray[np.int64]  # Shape (n_columns,). Clusters of the columns.
    table: NDArray[np.int64]  # Shape (n_classes, n_columns). Rows of each class in each cluster that holds rows.


def compare_with_classes(model: Any, true_labels: ArrayLike) -> Agreement:
    """Return scores and the table of classes and clusters."""
    labels, given = labels_of(model), np.asarray(true_labels)
    if given.shape != labels.shape:
        raise ValueError(f"true_labels has shape {given.shape}, but the model has {len(labels)} rows: give one per row")
    # A missing label is refused here, by its row.
    scores = {
        "accuracy": float(clustering_accuracy(given, labels)),
        "NMI": float(nmi(given, labels)),
        "purity": float(purity(given, labels)),
    }
    # Labels of several kinds have no order; as words they have.
    truth = given.astype(str) if given.dtype.kind == "O" else given
    names = np.unique(truth)
    table = contingency_table(truth, labels).toarray()
    return Agreement(scores, [str(name) for name in names], np.unique(labels), table)


@dataclass(frozen=True)
class CountChoice:
    """Numbers of clusters and what speaks for each."""

    # The candidates, best first.
    counts: list[int]
    scores: list[float]
    chosen: int  # The number of clusters of the fit.
    second: int | None  # The next best.
    closeness: float  # Its score as a share of the best.


def count_choice(model: Any) -> CountChoice:
    """Return how the number of clusters was found."""
    remedy = "fit with n_clusters='auto', so that the data choose"
    report = needed(model, "auto_report_", remedy).get("n_clusters")
    if report is None:
        raise ValueError(f"the number of clusters of this {type(model).__name__} was given: {remedy}")
    return CountChoice(
        counts=[int(one["n_clusters"]) for one in report["ranked"]],
        scores=[float(one["score"]) for one in report["ranked"]],
        chosen=int(report["chosen"]),
        second=None if report["second"] is None else int(report["second"]),
        closeness=float(report["closeness"]),
    )
