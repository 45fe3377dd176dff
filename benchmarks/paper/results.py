"""Results: the file in which finished units are recorded, and what they say beside the published numbers."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paper.plan import (
    Column,
    Cut,
    Experiment,
    Records,
    Unit,
    all_units,
    available_data,
    choice_units,
    reported_units,
)

# Sizes, from the largest down, that the growth of time is taken from.
SIZES_OF_GROWTH = 3
MEASURES = ("acc", "nmi", "purity", "inverse_purity", "seconds")


class ResultsFile:
    """The file of finished units: one line of JSON each, appended as it finishes and never changed.

    Parameters
    ----------
    path : Path
        The file; made with its folder where missing.

    Attributes
    ----------
    records : dict
        What is recorded, by the key of the unit.

    Notes
    -----
    A line is written by one call and flushed to disk before it counts. A line cut off by a crash is moved to a file
    beside, so that its unit is run again. A second process that opens the same file for writing is refused.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            _lock(self._descriptor, path)
            self.records = self._read()
        except BaseException:
            os.close(self._descriptor)
            raise

    def append(self, unit: Unit, record: dict[str, Any]) -> None:
        """Record a finished unit."""
        if unit.key in self.records:
            raise ValueError(f"{unit.key} is recorded already; a unit is run once")
        full = {"key": unit.key, **record}
        os.write(self._descriptor, (json.dumps(full, sort_keys=True, allow_nan=False) + "\n").encode())
        os.fsync(self._descriptor)
        self.records[unit.key] = full

    def close(self) -> None:
        """Release the file."""
        os.close(self._descriptor)

    def _read(self) -> dict[str, dict[str, Any]]:
        content = self.path.read_bytes()
        whole, _, torn = content.rpartition(b"\n")
        if torn:
            self.path.with_suffix(".torn").write_bytes(torn)
            os.ftruncate(self._descriptor, len(content) - len(torn))
        records = {}
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                record = json.loads(line)
                records[record["key"]] = record
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"{self.path}, line {number}, is not a record of this program; move the file away or correct it"
                ) from error
        return records


def read_records(path: Path) -> dict[str, dict[str, Any]]:
    """Return what a results file holds, by key, without opening it for writing; nothing where there is no file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {record["key"]: record for record in map(json.loads, lines)}


def _lock(descriptor: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: the user must take care
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise RuntimeError(f"{path} is in use by another run; wait for it or choose another --out") from None


@dataclass(frozen=True)
class Mean:
    """A mean over seeds."""

    value: float
    spread: float
    n_seeds: int


@dataclass(frozen=True)
class Line:
    """A method with a setting on a data set."""

    data: str
    label: str
    settings: Mapping[str, Any]
    n_tried: int  # Settings among which the labels chose; one means that there was no choice.
    means: Mapping[str, Mean]  # Ours; empty if there is a reason.
    published: Mapping[str, float]  # The paper's; empty if it has none.
    reason: str | None = None  # Why there are no numbers of ours.
    n_rows: int | None = None  # Rows used; None means all.
    records: list[dict[str, Any]] = field(default_factory=list)  # What was recorded of each seed.
    best_accuracy: float | None = None  # Of the best single run of all settings and seeds, by the labels.
    n_choice_seeds: int = 0  # Seeds with which these settings were compared.


def summarise(experiment: Experiment, records: Records, cut: Cut) -> list[Line]:
    """Return the lines of an experiment, data set by data set."""
    lines = []
    for data, missing in available_data(experiment).items():
        for column in experiment.columns:
            reason = column.skip.get(data, experiment.unavailable.get(data))
            published = experiment.published_row(data, column.published)
            if reason is None and missing and not finished_records(experiment, records, cut, data, column):
                # Where the data was looked for is of this machine, and pages go to others.
                reason = "data not at hand; python -m benchmarks.paper --list says why"
            if reason is not None:
                lines.append(Line(data, column.label, {}, 1, {}, published, reason))
                continue
            lines += _lines_of(experiment, column, data, published, records, cut)
    return lines


def finished_records(
    experiment: Experiment, records: Records, cut: Cut, data: str, column: Column
) -> list[dict[str, Any]]:
    """Return what is recorded of one method on one data set, of the choice of its setting and of what is shown."""
    units = all_units(experiment, column, data, records, cut)
    return [records[unit.key] for unit in units if unit.key in records]


def _lines_of(
    experiment: Experiment,
    column: Column,
    data: str,
    published: Mapping[str, float],
    records: Records,
    cut: Cut,
) -> list[Line]:
    candidates = choice_units(experiment, column, data, cut)
    n_tried, n_seeds = max(1, len(candidates)), len(next(iter(candidates.values()), []))
    finished = finished_records(experiment, records, cut, data, column)
    best = max((record["acc"] for record in finished if "acc" in record), default=None)
    lines = []
    for cell, units in reported_units(experiment, column, data, records, cut).items():
        for n_rows in dict.fromkeys(unit.n_rows for unit in units):
            found = [records.get(unit.key) for unit in units if unit.n_rows == n_rows]
            done = [record for record in found if record is not None and "failed" not in record]
            failed = [record["failed"] for record in found if record is not None and "failed" in record]
            reason = failed[0] if failed else None if len(done) == len(found) else "not run yet"
            means = {} if reason else mean_over_seeds(done)
            settings = json.loads(cell)
            facts = (published, reason, n_rows, done, best, n_seeds)
            lines.append(Line(data, column.label, settings, n_tried, means, *facts))
    if not lines:
        failures = [records.get(unit.key) for units in candidates.values() for unit in units]
        told = [record["failed"] for record in failures if record is not None and "failed" in record]
        unfinished = any(record is None for record in failures)
        lines = [Line(data, column.label, {}, n_tried, {}, published, "not run yet" if unfinished else told[0])]
    return lines


def mean_over_seeds(records: list[dict[str, Any]]) -> dict[str, Mean]:
    """Return mean and standard deviation of every measure."""
    means = {}
    for measure in (*MEASURES, "ari", "peak_mib", "fit_seconds"):
        values = [record[measure] for record in records if record.get(measure) is not None]
        if values:
            means[measure] = Mean(float(np.mean(values)), float(np.std(values)), len(values))
    return means


def growth_exponent(lines: list[Line]) -> float | None:
    """Return how the seconds of one method grow with the rows: the slope of a line through the logarithms.

    Only the largest sizes count, because what does not depend on the rows takes most of the time at small ones.
    """
    points = sorted((line.n_rows, line.means["seconds"].value) for line in lines if line.n_rows and line.means)
    if len(points) < 2:
        return None
    n_rows, seconds = np.log(np.array(points[-SIZES_OF_GROWTH:], dtype=float)).T
    return float(np.polyfit(n_rows, seconds, 1)[0])
