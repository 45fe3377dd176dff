"""What deciding from a bounded sample costs in quality: ``python -m benchmarks.scale.sampling [--quick]``."""

import argparse
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from benchmarks.clustering import data, measure
from kedge import SGL
from kedge.anchors import kmeans
from kedge.anchors import sets as anchor_sets
from kedge.core import labels as label_rows
from kedge.metrics import clustering_accuracy, nmi

SEEDS = 5
ANCHORS_PER_CLUSTER = 5
EVERY_ROW = 10**9
NOTES = """
SGL(partition="spectral") with one set of five anchors per cluster; mean and standard deviation over seeds. "sample":
anchors are the k-means centres of at most max(5,000, 50 m) rows, and the last k-means sees at most max(5,000, 500 k)
embedded rows; the others join the nearest centre. "anchors of all rows", "labels of all rows": one of the two goes over
every row; "all rows": both do. Ratio: seconds over those of "sample", median over seeds.
"""


@contextmanager
def looking_at(anchors_of_all, labels_of_all):
    """Lift the bounds on the samples."""
    bounds = []
    if anchors_of_all:
        bounds += [patch.object(module, "LEAST_SAMPLE", EVERY_ROW) for module in (anchor_sets, kmeans)]
    if labels_of_all:
        bounds.append(patch.object(label_rows, "LEAST_SAMPLED", EVERY_ROW))
    for bound in bounds:
        bound.start()
    try:
        yield
    finally:
        for bound in bounds:
            bound.stop()


WAYS = {
    "sample": (False, False),
    "anchors of all rows": (True, False),
    "labels of all rows": (False, True),
    "all rows": (True, True),
}


def make_model(n_clusters, seed):
    """Return SGL with coarse anchors, clustered by k-means: both look at a sample."""
    n_anchors = ANCHORS_PER_CLUSTER * n_clusters
    return SGL(n_clusters, n_anchors=n_anchors, n_init=1, partition="spectral", random_state=seed)


def print_data_set(name, quick):
    """Print one row per way of sampling."""
    rows = data.load(name, quick)
    if rows is None:
        return
    print(f"{rows.description}: {rows.X.shape[0]:,} rows, k = {rows.n_clusters}", flush=True)
    table, base = [], None
    for way, bounds in WAYS.items():
        scores, seconds = [], []
        for seed in range(2 if quick else SEEDS):
            with looking_at(*bounds):
                spent, model = measure.timed(make_model(rows.n_clusters, seed).fit, rows.X)
            seconds.append(spent)
            scores.append((100 * clustering_accuracy(rows.y, model.labels_), 100 * nmi(rows.y, model.labels_)))
        base = base or seconds
        ratio = np.median(np.array(seconds) / base)
        cells = [f"{np.mean(s):.1f} ± {np.std(s):.1f}" for s in zip(*scores, strict=True)]
        table.append([way, *cells, f"{np.median(seconds):.2f}", f"{ratio:.2f}"])
    measure.print_table(["way", "ACC", "NMI", "seconds", "ratio"], table)
    print(flush=True)


def main():
    """Print one table per data set."""
    parser = argparse.ArgumentParser(description="What deciding from a bounded sample costs in quality.")
    parser.add_argument("--quick", action="store_true", help="tiny data, to see that it runs")
    quick = parser.parse_args().quick
    measure.start_run("Anchors and labels from a sample", quick)
    print(NOTES.strip() + "\n", flush=True)
    for name in ("mnist", "covertype"):
        print_data_set(name, quick)


if __name__ == "__main__":
    main()
