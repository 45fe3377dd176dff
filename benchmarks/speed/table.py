"""What the program prints: a table per data set, the rivals ahead of kedge, and the ratios beside their targets."""

from dataclasses import dataclass

import numpy as np

from benchmarks.clustering import measure
from benchmarks.speed.front import rivals_ahead
from benchmarks.speed.rivals import COARSE, METHODS, OURS, UMAP, YARDSTICK

HEADER = ("method", "seconds", "best", "to KMeans", "to fastest", "ACC", "NMI", "clusters", "rounds", "bare products")
ABSENT = "-"
SECONDS_DIGITS, SCORE_DIGITS = 3, 4
SCORES = {"NMI": "nmi", "ACC": "acc"}
# Largest ratio of seconds that we aim at, by method and by that beside it.
TARGETS = {
    (OURS, YARDSTICK): {"mnist": 2.0, "covertype": 3.0, "subspaces": 3.0},
    (COARSE, YARDSTICK): {"mnist": 0.2, "covertype": 0.7, "poker": 1.0, "subspaces": 0.4},
    (OURS, UMAP): {"mnist": 0.05},
}
# Classes of poker hands are no clusters: no method finds them, so the fastest would win.
WITHOUT_FRONT = ("poker",)


@dataclass(frozen=True)
class Summary:
    """What the rounds of one method come to; seconds are None if it was over the limit."""

    seconds: float | None
    best: float | None
    limit: float
    acc: float
    nmi: float
    n_found: float
    n_rounds: int
    n_products: float | None

    @classmethod
    def of(cls, runs):
        """Return medians of seconds, and means of scores."""
        limit = runs[0]["limit"]
        if runs[0]["seconds"] is None:
            return cls(None, None, limit, np.nan, np.nan, np.nan, 1, None)
        finished = [run for run in runs if run["seconds"] is not None]
        seconds = [np.inf if run["seconds"] is None else run["seconds"] for run in runs]
        acc, nmi, n_found = (float(np.mean([run[key] for run in finished])) for key in ("acc", "nmi", "n_found"))
        median = float(np.median(seconds))
        products = [run["product_seconds"] for run in finished if "product_seconds" in run]
        n_products = median / float(np.median(products)) if products else None
        return cls(
            median if np.isfinite(median) else None, min(seconds), limit, acc, nmi, n_found, len(runs), n_products
        )


def summaries(by_method):
    """Return the summaries of one data set, in the order of the tables."""
    return {
        name: Summary.of([by_seed[seed] for seed in sorted(by_seed)])
        for name in METHODS
        if (by_seed := by_method.get(name))
    }


def ratio(found, method, other):
    """Return a method's seconds over another's; None where one of them has no seconds."""
    ours, theirs = (found[name].seconds if name in found else None for name in (method, other))
    return None if ours is None or theirs is None else ours / theirs


def points(found, score):
    """Return seconds and score, as they are printed, of every method that was within the limit."""
    return {
        name: (round(one.seconds, SECONDS_DIGITS), round(getattr(one, score), SCORE_DIGITS))
        for name, one in found.items()
        if one.seconds is not None
    }


def _number(value, digits):
    return ABSENT if value is None or not np.isfinite(value) else f"{value:.{digits}f}"


def print_set(title, found, remarks):
    """Print one data set: the table, what could not run, and who is ahead of kedge."""
    print(title)
    timed = {name: one.seconds for name, one in found.items() if METHODS[name].is_kmeans and one.seconds is not None}
    fastest = min(timed, key=timed.get, default=None)
    rows = []
    for name, one in found.items():
        seconds = f"> {one.limit:g}" if one.seconds is None else _number(one.seconds, SECONDS_DIGITS)
        ratios = [_number(ratio(found, name, other), 2) for other in (YARDSTICK, fastest)]
        scores = [
            _number(one.acc, SCORE_DIGITS),
            _number(one.nmi, SCORE_DIGITS),
            _number(one.n_found, 0 if float(one.n_found).is_integer() else 1),
        ]
        rows.append(
            [
                name,
                seconds,
                _number(one.best, SECONDS_DIGITS),
                *ratios,
                *scores,
                str(one.n_rounds),
                _number(one.n_products, 1),
            ]
        )
    measure.print_table(HEADER, rows)
    for remark in remarks:
        print(remark)
    for words, score in SCORES.items():
        for ours, rivals in rivals_ahead(points(found, score)).items():
            print(f"ahead of {ours} by {words}: {'; '.join(rivals) or 'nobody'}")
    print(flush=True)


def print_summary(by_set):
    """Print how many rivals are ahead of kedge on every data set, and the ratios of seconds beside their targets."""
    print("Rivals ahead of a point of kedge:")
    rows = []
    for name, found in by_set.items():
        ahead = {words: set().union(*rivals_ahead(points(found, score)).values()) for words, score in SCORES.items()}
        is_judged = name not in WITHOUT_FRONT and {OURS, COARSE} <= set(points(found, "nmi"))
        aim = measure.verdict(len(ahead["NMI"]), 0) if is_judged else "none"
        rows.append([name, *(str(len(rivals)) for rivals in ahead.values()), aim])
    measure.print_table(["data", "by NMI", "by ACC", "target by NMI"], rows)
    print("\nRatio of median seconds:")
    rows = []
    for (method, other), targets in TARGETS.items():
        for name, found in by_set.items():
            value = ratio(found, method, other)
            aim = measure.verdict(value, targets[name]) if name in targets and value is not None else "none"
            rows.append([name, method, other, _number(value, 3), aim])
    measure.print_table(["data", "method", "beside", "ratio", "target"], rows)
