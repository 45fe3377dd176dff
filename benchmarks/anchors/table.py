"""What the program prints of each data set: a line per method, and kedge beside the best of the others."""

import numpy as np

from benchmarks.anchors.methods import OURS, PRODUCTS, YARDSTICK
from benchmarks.clustering import measure

HEADER = ("method", "seconds", "best", "to products", "sum of squares", "to scikit-learn", "rounds")
ABSENT = "-"
# Largest ratios that we aim at, of seconds and of sums of squares, to the best of the others.
SECONDS_TARGET, SQUARES_TARGET = 1.0, 1.001


def median_seconds(found):
    """Return the median seconds of every method."""
    return {method: float(np.median([one["seconds"] for one in outcomes])) for method, outcomes in found.items()}


def relative_squares(found):
    """Return the mean over the repeats of every method's sum of squares over that of scikit-learn."""
    if YARDSTICK not in found:
        return {}
    theirs = [one["squares"] for one in found[YARDSTICK]]
    return {
        method: float(np.mean([one["squares"] / other for one, other in zip(outcomes, theirs, strict=True)]))
        for method, outcomes in found.items()
        if method != PRODUCTS
    }


def beside_best(values):
    """Return kedge's value over the least of the other libraries, and which one has it; None if either lacks."""
    others = {method: value for method, value in values.items() if method not in (OURS, PRODUCTS)}
    if OURS not in values or not others:
        return None
    best = min(others, key=others.get)
    return values[OURS] / others[best], best


def print_found(title, found, remarks):
    """Print one data set: the table, what could not run, and kedge beside the best of the others."""
    seconds, squares = median_seconds(found), relative_squares(found)
    rows = []
    for method, outcomes in found.items():
        best = min(one["seconds"] for one in outcomes)
        products = f"{seconds[method] / seconds[PRODUCTS]:.2f}" if PRODUCTS in seconds else ABSENT
        total = ABSENT if method == PRODUCTS else f"{np.mean([one['squares'] for one in outcomes]):.6g}"
        relative = f"{squares[method]:.5f}" if method in squares else ABSENT
        n_done = "/".join(map(str, sorted({one["rounds"] for one in outcomes})))
        rows.append([method, f"{seconds[method]:.3f}", f"{best:.3f}", products, total, relative, n_done])
    print(title)
    measure.print_table(HEADER, rows)
    for remark in remarks:
        print(remark)
    for words, values, target, digits in (
        ("seconds", seconds, SECONDS_TARGET, 2),
        ("sum of squares", squares, SQUARES_TARGET, 5),
    ):
        if (beside := beside_best(values)) is not None:
            ratio, best = beside
            print(f"{words}, kedge / best of the others ({best}): {ratio:.{digits}f}, {measure.verdict(ratio, target)}")
    print(flush=True)
