"""The recorded output, read back for the picture and the pages."""

import re
from dataclasses import dataclass
from pathlib import Path

from benchmarks.speed.front import rivals_ahead
from benchmarks.speed.table import ABSENT, HEADER

RECORD = Path(__file__).parent / "results" / "speed.txt"
# What readers call the data sets.
TITLES = {
    "mnist": "MNIST",
    "covertype": "CoverType",
    "poker": "poker hands",
    "subspaces": "linear subspaces",
    "embedded": "rows like embeddings",
}
_TITLE = re.compile(r"^(\w+): (.+): ([\d,]+) x (\d+), k = (\d+)$", re.M)


@dataclass(frozen=True)
class Recorded:
    """One data set of the output: what it is, and the cells of its table by method and column, as printed."""

    name: str
    description: str
    n_rows: str
    n_columns: str
    k: str
    cells: dict

    def points(self, score="NMI"):
        """Return seconds and score of every method that was not stopped."""
        return {
            method: (float(row["seconds"]), float(row[score]))
            for method, row in self.cells.items()
            if row[score] != ABSENT
        }

    def stopped(self):
        """Return the methods that were stopped, with what is printed for their seconds."""
        return {method: row["seconds"] for method, row in self.cells.items() if row["seconds"].startswith(">")}

    def ahead(self, score="NMI"):
        """Return the rivals ahead of any point of kedge."""
        found = rivals_ahead(self.points(score)).values()
        return sorted({rival for rivals in found for rival in rivals})


def read(path=RECORD):
    """Return the recorded data sets by name."""
    text = path.read_text(encoding="utf-8")
    found = {}
    for title in _TITLE.finditer(text):
        lines = text[title.end() :].lstrip("\n").split("\n\n")[0].splitlines()
        rows = [re.split(r" {2,}", line) for line in lines[1:]]
        cells = {row[0]: dict(zip(HEADER[1:], row[1:], strict=True)) for row in rows if len(row) == len(HEADER)}
        found[title[1]] = Recorded(*title.groups(), cells)
    return found
