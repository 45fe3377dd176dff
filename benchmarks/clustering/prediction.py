"""Seconds to label rows beside neighbour classifiers: ``python -m benchmarks.clustering.prediction [--quick]``."""

import argparse

import numpy as np

from benchmarks.clustering import data, measure
from benchmarks.clustering.rivals import OURS, neighbour_classifiers
from kedge import SGL

N_CLUSTERS = 10
N_ANCHORS = 30
REPEATS = 3
WARM_UP_ROWS = 1_000
# How many times as fast as scikit-learn's classifier with its defaults we aim to be.
TARGET = 5.0


def measure_rounds(predictors, X):
    """Return seconds per round and the labels of each predictor, rounds interleaved."""
    seconds, labels = {name: [] for name in predictors}, {}
    for predictor in predictors.values():
        predictor.predict(X[:WARM_UP_ROWS])
    for _ in range(REPEATS):
        for name, predictor in predictors.items():
            duration, labels[name] = measure.timed(predictor.predict, X)
            seconds[name].append(duration)
    return seconds, labels


def print_comparison(seconds, labels):
    """Print the table and how the classifier with its defaults compares with the target."""
    ours = np.median(seconds[OURS])
    table = []
    for name, durations in seconds.items():
        equal = np.mean(labels[name] == labels[OURS])
        ratio = np.median(durations) / ours
        table.append([name, f"{np.median(durations):.4f}", f"{min(durations):.4f}", f"{ratio:.2f}", f"{equal:.6f}"])
    measure.print_table(["method", "seconds", "best", "over ours", "equal labels"], table)
    default = next(name for name in seconds if name != OURS)
    ratio = np.median(seconds[default]) / ours
    print(f"{default} over ours: {ratio:.2f}, target {measure.verdict(ratio, TARGET, at_most=False)}")


def main():
    """Fit once, then time the labelling of the same rows by all."""
    parser = argparse.ArgumentParser(description="Seconds to label rows beside a nearest-neighbour classifier.")
    parser.add_argument("--quick", action="store_true", help="tiny data, to see that it runs")
    quick = parser.parse_args().quick
    measure.start_run("Seconds to label rows beside a nearest-neighbour classifier", quick)
    rows = data.load("poker", quick)
    way = {"scale": "none", "predict_with": "anchors", "random_state": 0}
    model = SGL(N_CLUSTERS, n_anchors=N_ANCHORS, n_init=1, **way).fit(rows.X)
    print(
        f"{rows.description}: {rows.X.shape[0]:,} x {rows.X.shape[1]}. The classifiers are fitted on the {N_ANCHORS} "
        f"anchors of our model and their clusters.\nseconds: median of {REPEATS}, rounds interleaved.\n"
    )
    predictors = {OURS: model, **neighbour_classifiers(model.anchors_, model.anchor_labels_)}
    print_comparison(*measure_rounds(predictors, rows.X))


if __name__ == "__main__":
    main()
