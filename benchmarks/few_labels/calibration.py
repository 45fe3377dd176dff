"""Whether probabilities are as high as the share that is right: ``python -m benchmarks.few_labels.calibration``."""

import argparse
import warnings

import numpy as np
from sklearn.datasets import make_blobs

from benchmarks.clustering import measure
from benchmarks.few_labels.accuracy import LEFT_ASIDE, PER_CLASS, SETS, draw_labels, known_at
from benchmarks.quality import data
from kedge import SGLClassifier
from kedge.few_labels import SHARPNESS

DRAWS = 5
N_BINS = 10
BLOBS = "blobs that overlap"
NOTES = """
Percent, over the rows without a label, means over {draws} draws of labelled rows: the share whose class is right, the
mean probability of the class that is named, and the gap: the mean distance between the two over ten bins of
probability. "Fixed" is the gap if the power of the scores were the usual one, not fitted to labels that are held out.
"""


def overlapping_blobs():
    """Return classes of which a quarter of the rows cannot be told apart."""
    return make_blobs(2000, centers=4, cluster_std=2.5, random_state=0)


def gap_of(probabilities, right):
    """Return the mean distance of the probability of the class from the share that is right, over ten bins."""
    given = probabilities.max(axis=1)
    bins = np.minimum((given * N_BINS).astype(int), N_BINS - 1)
    return np.abs(np.bincount(bins, given, N_BINS) - np.bincount(bins, right, N_BINS)).sum() / len(given)


def of_usual_power(model, probabilities):
    """Return the probabilities as they would be with the power that is usual where labels are few."""
    powers = probabilities ** (SHARPNESS / model.sharpness_)
    return powers / powers.sum(axis=1, keepdims=True)


def lines_of(X, y, draws):
    """Return the figures of a data set, a line for each number of labels."""
    models, lines = {}, []
    for per_class in PER_CLASS:
        found = []
        for seed in range(draws):
            known = known_at(y, draw_labels(y, per_class, seed))
            if seed in models:
                model = models[seed].update_labels(known)
            else:
                model = models[seed] = SGLClassifier(random_state=seed).fit(X, known)
            right = (model.transduction_ == y)[known < 0]
            chances = model.label_distributions_[known < 0]
            usual = gap_of(of_usual_power(model, chances), right)
            found.append([right.mean(), chances.max(axis=1).mean(), gap_of(chances, right), usual])
        lines.append([str(per_class), *(f"{100 * one:.1f}" for one in np.mean(found, axis=0))])
    return lines


def main():
    """Print a table per data set."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.few_labels.calibration", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny data, to see that it runs")
    parser.add_argument("--set", action="append", choices=(*SETS, *LEFT_ASIDE, BLOBS), help="may be repeated")
    arguments = parser.parse_args()
    draws = 1 if arguments.quick else DRAWS
    measure.start_run("Probabilities from a few labels", arguments.quick)
    print(NOTES.format(draws=draws))
    for name in arguments.set or (("digits",) if arguments.quick else (*SETS, *LEFT_ASIDE, BLOBS)):
        if name == BLOBS:
            X, y = overlapping_blobs()
        else:
            rows = data.load(name, arguments.quick)
            if rows is None:
                continue
            X, y = rows.X, np.unique(rows.y, return_inverse=True)[1]
        aside = "; no constant was settled on it" if name in LEFT_ASIDE else ""
        print(f"{name}: {len(y):,} rows{aside}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lines = lines_of(X, y, draws)
        measure.print_table(["labels per class", "right", "probability", "gap", "fixed"], lines)
        print(flush=True)


if __name__ == "__main__":
    main()
