"""``scale="auto"`` beside every fixed scaling: ``python -m benchmarks.quality.scalings [--set orl] [--seeds 2]``.

NMI in percent with the number of classes given, mean over seeds. A cell is empty where the data does not allow the
scaling: sparse rows are never shifted.
"""

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
    quick, names, seeds = data.sets_and_seeds("scalings", __doc__)
    measure.start_run('NMI with scale="auto" and with fixed scalings', quick)
    lines = []
    for name in names:
        rows = data.load(name, quick)
        if rows is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
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
