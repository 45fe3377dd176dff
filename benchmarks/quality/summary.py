"""Means and standard deviations of the recorded runs, by set and method."""

from dataclasses import dataclass

import numpy as np

from benchmarks.quality import data, records
from benchmarks.quality.methods import METHODS

LAST_VERSION = ("last version, defaults", "last version, automatic")
OURS = tuple(name for name, method in METHODS.items() if method.is_ours)
RIVALS = tuple(name for name in METHODS if name not in OURS)
# Order of rows in every table.
ORDER = (*OURS, *LAST_VERSION, *RIVALS)
# The last version's automatic mode, too, was told the number of classes.
TOLD = {name: METHODS[name].told if name in METHODS else True for name in ORDER}


@dataclass(frozen=True)
class Summary:
    """All seeds of a method on a set; scores in percent, an empty list where nothing was recorded."""

    n_rows: int
    n_classes: int
    acc: list
    nmi: list
    found: list
    seconds: list
    cpu_seconds: list
    note: str = ""

    def mean(self, score):
        """Return the mean over the seeds."""
        return float(np.mean(getattr(self, score)))

    def spread(self, score):
        """Return the standard deviation over the seeds, that of a sample; NaN for a single one."""
        values = getattr(self, score)
        return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")

    def words(self, score, digits=1):
        """Return mean and standard deviation as text; a dash where nothing was recorded."""
        if not getattr(self, score):
            return "-"
        spread = self.spread(score)
        return f"{self.mean(score):.{digits}f}" + ("" if np.isnan(spread) else f" ± {spread:.{digits}f}")


def summarise(path, with_last_version=True):
    """Return summaries by set and method, in the order of the tables."""
    runs, last = records.read(path), records.read_last_version() if with_last_version else {}
    found = {}
    for name in (*data.SETS, *data.HELD_OUT):
        by_method = {method: _of_runs(list(seeds.values())) for method, seeds in runs.get(name, {}).items()}
        by_method |= {method: _of_last_version(record) for method, record in last.get(name, {}).items()}
        ordered = {method: by_method[method] for method in ORDER if method in by_method}
        if ordered:
            found[name] = ordered
    return found


def _of_runs(runs):
    scores = ("acc", "nmi", "n_found", "seconds", "cpu_seconds")
    return Summary(runs[0]["n_rows"], runs[0]["n_classes"], *([run[score] for run in runs] for score in scores))


def _of_last_version(record):
    scores = record["acc"], record["nmi"]
    return Summary(record["n_rows"], record["n_classes"], *scores, [], [], [], record["note"])


def best_rival(by_method):
    """Return the rival of the largest mean NMI on a set; None if none has run."""
    ran = [name for name in RIVALS if name in by_method]
    return max(ran, key=lambda name: by_method[name].mean("nmi"), default=None)
