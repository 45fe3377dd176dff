"""Experiments as they are declared: data, methods, grids, seeds and the published numbers."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

KINDS = ("table", "out of sample", "anchors", "sensitivity", "objective", "time", "complexity")


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
    # Whose published numbers a stand-in is set beside, by data set.
    stands_for: Mapping[str, str] = field(default_factory=dict)
    # Why a method's numbers are far from the paper's, by data set and label.
    comments: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def published_row(self, data: str, method: str | None) -> Mapping[str, Any]:
        """Return the paper's numbers of a method, for a stand-in those of the set it stands for; empty without any."""
        return self.published.get(self.stands_for.get(data, data), {}).get(method or "", {})


def experiments() -> dict[str, Experiment]:
    """Return all experiments by name."""
    found = [
        read_experiment(path.name.removesuffix(".toml"), path.read_text(encoding="utf-8"))
        for path in files("kedge.reproduce").joinpath("experiments").iterdir()
        if path.name.endswith(".toml")
    ]
    return {experiment.name: experiment for experiment in sorted(found, key=lambda e: e.name)}


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
