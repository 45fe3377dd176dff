"""``scale="auto"`` beside every fixed scaling: ``python -m benchmarks.quality.scalings [--set orl] [--seeds 2]``.

NMI in percent with the number of classes given, mean over seeds. A scaling that a set refuses (sparse rows are never
shifted) is left empty.
"""

import argparse
import warnings

import numpy as np

from benchmarks.clustering import measure
from benchmarks.quality import data
from kedge import MSGL, SGL
from kedge.metrics import nmi

SCALES = ("auto", "none", "zscore", "minmax", "l2", "tfidf")
ALLOWED = 2.0


def mean_nmi(rows, scale, seeds):
    """Return the mean over seeds; NaN where the set refuses the scaling."""
    estimator = MSGL if rows.several else SGL
    try:
        fits = [estimator(rows.n_classes, scale=scale, random_state=seed).fit(rows.X) for seed in seeds]
    except ValueError:
        return np.nan
    return float(np.mean([100 * nmi(rows.y, fit.labels_, average="max") for fit in fits]))


def main():
    """Print a row per set, and how far "auto" is below the best fixed scaling."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.scalings", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="200 digits and one seed, to see that it runs")
    parser.add_argument("--set", action="append", choices=list(data.SETS), help="may be repeated; default: all")
    parser.add_argument("--seeds", type=int, default=2, help="how many, from zero (default 2)")
    arguments = parser.parse_args()
    measure.start_run('NMI with scale="auto" and with fixed scalings', arguments.quick)
    lines = []
    for name in arguments.set or (data.QUICK_SETS if arguments.quick else data.SETS):
        rows = data.load(name, arguments.quick)
        if rows is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seeds = range(1 if arguments.quick else arguments.seeds)
            scores = [mean_nmi(rows, scale, seeds) for scale in SCALES]
        below = np.nanmax(scores[1:]) - scores[0]
        lines.append(
            [name, *("" if np.isnan(one) else f"{one:.1f}" for one in scores), measure.verdict(below, ALLOWED)]
        )
        print(" ".join(lines[-1]), flush=True)
    print()
    measure.print_table(["data", *SCALES, "below the best by"], lines)


if __name__ == "__main__":
    main()
