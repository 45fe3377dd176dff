"""Which units an experiment needs next: settings are compared first, the best then gets all seeds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from kedge.datasets import available, why_not_here
from kedge.reproduce.data_rows import GENERATED
from kedge.reproduce.plan import Column, Experiment
from kedge.reproduce.units import Unit, expand_grid, resolve

# What is done with the rows in each kind of experiment; the others cluster them.
PROTOCOL_OF = {"out of sample": "out of sample", "objective": "objective"}
# Kinds that report the best setting by the labels; the others report every setting.
CHOOSING = ("table", "out of sample")


class Records(Protocol):
    """Finished units."""

    def get(self, unit: Unit) -> dict[str, Any] | None:
        """Return what was recorded of a unit."""
        ...


@dataclass(frozen=True)
class Cut:
    """How much of an experiment is run; None means all."""

    n_rows: int | None = None
    n_cells: int | None = None
    n_seeds: int | None = None


WHOLE = Cut()
QUICK = Cut(n_rows=150, n_cells=2, n_seeds=1)


def available_data(experiment: Experiment) -> dict[str, str | None]:
    """Return, for every data set of the experiment, why it cannot be run here, or None."""
    return {name: None if name == GENERATED else why_not_here(name) for name in experiment.data}


def cluster_count(data: str) -> int:
    """Return the number of classes of a data set without reading it."""
    if data == GENERATED:
        return 10
    return next(entry.n_clusters for entry in available() if entry.name == data)


def settings_of(column: Column, data: str, cut: Cut) -> list[str]:
    """Return the settings of a method on a data set in written form."""
    n_clusters = cluster_count(data)
    fixed = {name: [resolve(value, n_clusters)] for name, value in column.fixed.items()}
    cells = expand_grid({**fixed, **column.grid_on(data)}, n_clusters)
    return cells[: cut.n_cells]


def seeds_of(column: Column, cut: Cut) -> range:
    """Return the seeds of the reported mean."""
    return range(min(column.n_seeds, cut.n_seeds or column.n_seeds))


def make_units(experiment: Experiment, column: Column, data: str, cell: str, seeds: range, cut: Cut) -> list[Unit]:
    """Return the units of one setting."""
    protocol = PROTOCOL_OF.get(experiment.kind, "cluster")
    sizes = [cut.n_rows] if not experiment.rows else [min(n, cut.n_rows or n) for n in experiment.rows]
    return [Unit(protocol, data, column.method, cell, seed, n) for n in dict.fromkeys(sizes) for seed in seeds]


def choice_units(experiment: Experiment, column: Column, data: str, cut: Cut) -> dict[str, list[Unit]]:
    """Return, per setting, the units by which settings are compared; empty where there is nothing to choose."""
    cells = settings_of(column, data, cut)
    if experiment.kind not in CHOOSING or len(cells) == 1:
        return {}
    seeds = range(min(experiment.n_choice_seeds, cut.n_seeds or experiment.n_choice_seeds))
    return {cell: make_units(experiment, column, data, cell, seeds, cut) for cell in cells}


def chosen_setting(candidates: Mapping[str, list[Unit]], records: Records) -> str | None:
    """Return the setting with the best mean accuracy by the labels; None if all failed. The first of equals wins."""
    best, best_score = None, -np.inf
    for cell, units in candidates.items():
        found = [records.get(unit) for unit in units]
        if any(record is None or "acc" not in record for record in found):
            continue
        mean = float(np.mean([record["acc"] for record in found if record is not None]))
        if mean > best_score:
            best, best_score = cell, mean
    return best


def reported_units(
    experiment: Experiment, column: Column, data: str, records: Records, cut: Cut
) -> dict[str, list[Unit]]:
    """Return the units that the table or figure shows, by setting; empty while the setting is not chosen yet."""
    candidates = choice_units(experiment, column, data, cut)
    seeds = seeds_of(column, cut)
    if not candidates:
        return {cell: make_units(experiment, column, data, cell, seeds, cut) for cell in settings_of(column, data, cut)}
    if any(records.get(unit) is None for units in candidates.values() for unit in units):
        return {}
    best = chosen_setting(candidates, records)
    return {} if best is None else {best: make_units(experiment, column, data, best, seeds, cut)}


def pending_units(experiment: Experiment, records: Records, cut: Cut) -> list[Unit]:
    """Return what has to be run next, each unit once; empty when the experiment is finished."""
    wanted: list[Unit] = []
    for data, reason in available_data(experiment).items():
        for column in experiment.columns:
            if reason is not None or data in column.skip:
                continue
            for units in choice_units(experiment, column, data, cut).values():
                wanted += units
            for units in reported_units(experiment, column, data, records, cut).values():
                wanted += units
    return [unit for unit in dict.fromkeys(wanted) if records.get(unit) is None]
