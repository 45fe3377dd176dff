"""Short forms of all experiments together: what was run and how long it took, and tables for the documentation."""

from collections.abc import Mapping, Sequence
from typing import Any

from kedge.reproduce.plan import Experiment
from kedge.reproduce.stages import Cut, Records
from kedge.reproduce.summary import Line, Mean, finished_records, summarise
from kedge.reproduce.tables import Grid

_OVERVIEW_HEADER = ("table or figure", "units", "of them failed", "hours of fits")
_DIGEST_NOTE = "ACC / NMI in percent: the paper's → ours; ★ of a setting chosen by the labels, as in the paper."


def all_records_of(experiment: Experiment, records: Records, cut: Cut) -> dict[str, dict[str, Any]]:
    """Return what is recorded of an experiment by key, the choice of settings included."""
    return {
        record["key"]: record
        for data in experiment.data
        for column in experiment.columns
        for record in finished_records(experiment, records, cut, data, column)
    }


def overview_grid(experiments: Sequence[Experiment], records: Records, cut: Cut) -> Grid:
    """Return how many units each experiment took and how long; experiments share units, the last row has each once."""
    rows: list[list[str]] = []
    together: dict[str, dict[str, Any]] = {}
    for experiment in experiments:
        found = all_records_of(experiment, records, cut)
        together |= found
        if found:
            rows.append(_overview_row(f"[{experiment.title}]({experiment.name}.md)", found))
    return Grid("What was run", _OVERVIEW_HEADER, [*rows, _overview_row("all together", together)])


def _overview_row(title: str, found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    seconds = sum(record.get("seconds", 0.0) + record.get("fit_seconds", 0.0) for record in found.values())
    failed = sum("failed" in record for record in found.values())
    return [title, f"{len(found):,}", str(failed), f"{seconds / 3600:.2f}"]


def digest_grid(experiment: Experiment, records: Records, cut: Cut) -> Grid:
    """Return a table with a row per method and a column per data set of which there are results."""
    lines = summarise(experiment, records, cut)
    shown = [data for data in experiment.data if any(line.means for line in lines if line.data == data)]
    rows = []
    for column in experiment.columns:
        own = {line.data: line for line in lines if line.label == column.label}
        rows.append([column.label, *(_digest_cell(own[data]) for data in shown)])
    return Grid(_DIGEST_NOTE, ("method", *shown), rows)


def _digest_cell(line: Line) -> str:
    paper = [line.published.get(measure) for measure in ("acc", "nmi")]
    published = " / ".join(f"{value:.1f}" for value in paper if value is not None)
    if not line.means:
        return f"{published} → {line.reason}".strip(" →")
    star = " ★" if line.n_tried > 1 else ""
    ours = " / ".join(_short(line.means[measure]) for measure in ("acc", "nmi"))
    return (f"{published} → **{ours}**" if published else f"**{ours}**") + star


def _short(mean: Mean) -> str:
    return f"{mean.value:.1f}"
