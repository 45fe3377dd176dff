"""How often rows of low confidence are wrong: ``python -m benchmarks.quality.confidence [--set orl] [--seeds 2]``.

A row is wrong if the one-to-one matching of matched accuracy gives its cluster another class. Figures are means over
seeds, with the number of classes given.
"""

import warnings

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from benchmarks.clustering import measure
from benchmarks.quality import data
from kedge import MSGL, SGL

DOUBTFUL, LEAST_RATIO, MOSTLY_WRONG = 0.5, 2.0, 0.5


def wrong_rows(y, labels):
    """Return which rows are in a cluster that stands for another class."""
    table = contingency_matrix(y, labels)
    classes, clusters = linear_sum_assignment(-table)
    class_of = np.full(table.shape[1], -1)
    class_of[clusters] = classes
    return class_of[labels] != y


def shares(rows, seed):
    """Return the shares of rows that are wrong, doubtful, wrong among doubtful and wrong among the others."""
    model = (MSGL if rows.several else SGL)(rows.n_classes, random_state=seed).fit(rows.X)
    wrong, doubtful = wrong_rows(rows.y, model.labels_), model.confidence_ < DOUBTFUL
    of_doubtful = wrong[doubtful].mean() if doubtful.any() else np.nan
    return wrong.mean(), doubtful.mean(), of_doubtful, wrong[~doubtful].mean() if (~doubtful).any() else np.nan


def main():
    """Print a row per set."""
    quick, names, seeds = data.sets_and_seeds("confidence", __doc__)
    measure.start_run("Rows of low confidence", quick)
    lines = []
    for name in names:
        rows = data.load(name, quick)
        if rows is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [shares(rows, seed) for seed in seeds]
            wrong, doubtful, of_doubtful, of_others = np.nanmean(found, axis=0)
        ratio = of_doubtful / of_others
        verdict = "-" if wrong >= MOSTLY_WRONG else measure.verdict(ratio, LEAST_RATIO, at_most=False)
        lines.append(
            [name, *(f"{one:.3f}" for one in (wrong, doubtful, of_doubtful, of_others)), f"{ratio:.1f}", verdict]
        )
        print(" ".join(lines[-1]), flush=True)
    print()
    header = ["data", "wrong", "below 0.5", "wrong below 0.5", "wrong above", "ratio", "target, where most are right"]
    measure.print_table(header, lines)


if __name__ == "__main__":
    main()
