"""What the data decided: the number of clusters."""

from dataclasses import dataclass
from typing import Any

from kedge.plots.numbers.fitted_model import needed


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
