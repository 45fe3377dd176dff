"""The unit of work: one method with one setting and one seed on one data set."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any


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


def as_json(parameters: Mapping[str, Any]) -> str:
    """Return parameters in their one written form."""
    return json.dumps(dict(parameters), sort_keys=True)


def resolve(value: Any, n_clusters: int) -> Any:
    """Turn "3k" into three times the number of clusters; all else stays."""
    if isinstance(value, str) and value.endswith("k") and value[:-1].replace(".", "", 1).isdigit():
        return max(1, round(float(value[:-1]) * n_clusters))
    return value


def expand_grid(grid: Mapping[str, Iterable[Any]], n_clusters: int) -> list[str]:
    """Return every combination of a grid in written form, in the order of the grid, each once."""
    names = list(grid)
    cells = [
        as_json(dict(zip(names, values, strict=True)))
        for values in product(*([resolve(v, n_clusters) for v in grid[name]] for name in names))
    ]
    return list(dict.fromkeys(cells))


def written(parameters: Mapping[str, Any]) -> str:
    """Return parameters as a reader would write them."""
    return ", ".join(f"{name}={value}" for name, value in parameters.items()) or "defaults"
