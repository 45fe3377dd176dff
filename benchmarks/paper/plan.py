"""The plan of the experiments: what is declared, the units of work it takes, and which of them come next.

A unit is one method with one setting and one seed on one data set. Settings are compared first, with a few seeds; the
best of them then gets all seeds.
"""

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from kedge.datasets import available, why_not_here

# The generated data set on which time over the number of rows is measured, and its number of clusters.
GENERATED, N_GENERATED = "generated-subspaces", 10
KINDS = ("table", "out of sample", "anchors", "sensitivity", "objective", "time", "complexity")
# Kinds that report the best setting by the labels; the others report every setting.
CHOOSING = ("table", "out of sample")

# What is recorded of finished units, by the key of the unit.
Records = Mapping[str, dict[str, Any]]


@dataclass(frozen=True)
class Column:
    """One method of an experiment, with the settings it is tried in."""

    label: str  # How it is printed.
    method: str
    # Settings that are tried; all with the first seeds, the best by the labels with all seeds. Empty means defaults.
    grid: Mapping[str, list[Any]] = field(default_factory=dict)
    # Grids by data set, in place of ``grid``.
    per_data: Mapping[str, Mapping[str, list[Any]]] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)  # Parameters that are the same in all settings.
    n_seeds: int = 5  # Seeds of the reported mean.
    n_choice_seeds: int | None = None  # Seeds with which its settings are compared; None means those of the experiment.
    published: str | None = None  # The method of the paper that it is set beside.
    note: str = ""  # Where the grid comes from.
    skip: Mapping[str, str] = field(default_factory=dict)  # Why it is not run on some data sets, by data set.

    def grid_on(self, data: str) -> Mapping[str, list[Any]]:
        """Return the grid for a data set."""
        return self.per_data.get(data, self.grid)


@dataclass(frozen=True)
class Experiment:
    """A table or figure."""

    name: str  # The name on the command line.
    kind: str  # One of ``KINDS``.
    title: str
    data: tuple[str, ...]  # Names of data sets.
    columns: tuple[Column, ...]
    # The paper's numbers, in percent and seconds, by data set, method and measure.
    published: Mapping[str, Mapping[str, Mapping[str, Any]]]
    n_choice_seeds: int = 3  # Seeds with which settings are compared.
    seconds: float = 900.0  # Limit for one unit.
    rows: tuple[int, ...] = ()  # Numbers of rows, where time over them is measured; empty means all rows.
    remarks: Mapping[str, str] = field(default_factory=dict)  # What must be known beside the numbers, by data set.
    unavailable: Mapping[str, str] = field(default_factory=dict)  # Why nobody can run it, by data set.
    # Whose published numbers a stand-in is set beside, by data set.
    stands_for: Mapping[str, str] = field(default_factory=dict)
    # Why a method's numbers are far from the paper's, by data set and label.
    comments: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def published_row(self, data: str, method: str | None) -> Mapping[str, Any]:
        """Return the paper's numbers of a method, for a stand-in those of the set it stands for; empty without any."""
        return self.published.get(self.stands_for.get(data, data), {}).get(method or "", {})


@dataclass(frozen=True)
class Unit:
    """What is run once and recorded once."""

    protocol: str  # What is done with the data: "cluster", "out of sample" or "objective".
    data: str
    method: str
    parameters: str  # Its parameters as JSON with sorted keys.
    seed: int
    n_rows: int | None = None  # Rows that are used; None means all.

    @property
    def key(self) -> str:
        """One line that is equal for equal units only."""
        rows = "all" if self.n_rows is None else str(self.n_rows)
        return "|".join([self.protocol, self.data, self.method, self.parameters, str(self.seed), rows])

    def settings(self) -> dict[str, Any]:
        """Return the parameters as a dict."""
        return dict(json.loads(self.parameters))


@dataclass(frozen=True)
class Cut:
    """How much of an experiment is run; None means all."""

    n_rows: int | None = None
    n_cells: int | None = None
    n_seeds: int | None = None


WHOLE = Cut()
QUICK = Cut(n_rows=150, n_cells=2, n_seeds=1)


def experiments() -> dict[str, Experiment]:
    """Return all experiments by name."""
    paths = sorted((Path(__file__).parent / "experiments").glob("*.toml"), key=lambda path: path.stem)
    return {path.stem: read_experiment(path.stem, path.read_text(encoding="utf-8")) for path in paths}


def read_experiment(name: str, text: str) -> Experiment:
    """Read one declaration; unknown keys and kinds are refused."""
    given: dict[str, Any] = tomllib.loads(text)
    kind = given.pop("kind")
    if kind not in KINDS:
        raise ValueError(f"{name}.toml: kind={kind!r} should be one of {', '.join(map(repr, KINDS))}")
    columns = tuple(Column(**column) for column in given.pop("methods"))
    labels = [column.label for column in columns]
    if len(set(labels)) < len(labels):
        raise ValueError(f"{name}.toml: two methods have the same label")
    data, rows, published = tuple(given.pop("data")), tuple(given.pop("rows", ())), given.pop("published", {})
    return Experiment(name=name, kind=kind, data=data, columns=columns, published=published, rows=rows, **given)


def as_json(parameters: Mapping[str, Any]) -> str:
    """Return parameters in the form in which units and records hold them."""
    return json.dumps(dict(parameters), sort_keys=True)


def written(parameters: Mapping[str, Any]) -> str:
    """Return parameters as a reader would write them."""
    return ", ".join(f"{name}={value}" for name, value in parameters.items()) or "defaults"


def expand_grid(grid: Mapping[str, Iterable[Any]], n_clusters: int) -> list[str]:
    """Return every combination of a grid as JSON, in the order of the grid, each once."""
    values = [[_resolve(value, n_clusters) for value in grid[name]] for name in grid]
    return list(dict.fromkeys(as_json(dict(zip(grid, cell, strict=True))) for cell in product(*values)))


def _resolve(value: Any, n_clusters: int) -> Any:
    """Turn "3k" into three times the number of clusters; all else stays."""
    if isinstance(value, str) and value.endswith("k") and value[:-1].replace(".", "", 1).isdigit():
        return max(1, round(float(value[:-1]) * n_clusters))
    return value


def available_data(experiment: Experiment) -> dict[str, str | None]:
    """Return, for every data set of the experiment, why it cannot be run here, or None."""
    return {name: None if name == GENERATED else why_not_here(name) for name in experiment.data}


def settings_of(column: Column, data: str, cut: Cut) -> list[str]:
    """Return the settings of a method on a data set as JSON."""
    known = {entry.name: entry.n_clusters for entry in available()} | {GENERATED: N_GENERATED}
    fixed = {name: [value] for name, value in column.fixed.items()}
    return expand_grid({**fixed, **column.grid_on(data)}, known[data])[: cut.n_cells]


def choice_units(experiment: Experiment, column: Column, data: str, cut: Cut) -> dict[str, list[Unit]]:
    """Return, per setting, the units by which settings are compared; empty where there is nothing to choose."""
    cells = settings_of(column, data, cut)
    if experiment.kind not in CHOOSING or len(cells) == 1:
        return {}
    n_seeds = column.n_choice_seeds or experiment.n_choice_seeds
    return {cell: _make_units(experiment, column, data, cell, n_seeds, cut) for cell in cells}


def reported_units(
    experiment: Experiment, column: Column, data: str, records: Records, cut: Cut
) -> dict[str, list[Unit]]:
    """Return the units that the table or figure shows, by setting; empty while the setting is not chosen yet."""
    candidates = choice_units(experiment, column, data, cut)
    cells: list[str] = []
    if not candidates:
        cells = settings_of(column, data, cut)
    elif all(unit.key in records for units in candidates.values() for unit in units):
        best = chosen_setting(candidates, records)
        cells = [] if best is None else [best]
    return {cell: _make_units(experiment, column, data, cell, column.n_seeds, cut) for cell in cells}


def chosen_setting(candidates: Mapping[str, list[Unit]], records: Records) -> str | None:
    """Return the setting with the best mean accuracy by the labels; None if all failed. The first of equals wins."""
    best, best_score = None, -np.inf
    for cell, units in candidates.items():
        # A unit that failed, or has not been run, counts as the worst.
        score = float(np.mean([records.get(unit.key, {}).get("acc", -np.inf) for unit in units]))
        if score > best_score:
            best, best_score = cell, score
    return best


def pending_units(experiment: Experiment, records: Records, cut: Cut) -> list[Unit]:
    """Return what has to be run next, each unit once; empty when the experiment is finished."""
    wanted: list[Unit] = []
    for data, reason in available_data(experiment).items():
        for column in experiment.columns:
            if reason is None and data not in column.skip:
                wanted += all_units(experiment, column, data, records, cut)
    return [unit for unit in dict.fromkeys(wanted) if unit.key not in records]


def all_units(experiment: Experiment, column: Column, data: str, records: Records, cut: Cut) -> list[Unit]:
    """Return the units of one method on one data set, of the choice of its setting and of what is shown, each once."""
    groups = (choice_units(experiment, column, data, cut), reported_units(experiment, column, data, records, cut))
    return list(dict.fromkeys(unit for group in groups for units in group.values() for unit in units))


def _make_units(experiment: Experiment, column: Column, data: str, cell: str, n_seeds: int, cut: Cut) -> list[Unit]:
    """Return the units of one setting."""
    protocol = experiment.kind if experiment.kind in ("out of sample", "objective") else "cluster"
    sizes = [cut.n_rows] if not experiment.rows else [min(n, cut.n_rows or n) for n in experiment.rows]
    seeds = range(min(n_seeds, cut.n_seeds or n_seeds))
    return [Unit(protocol, data, column.method, cell, seed, n) for n in dict.fromkeys(sizes) for seed in seeds]
