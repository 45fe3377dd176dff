"""Seconds of a fit beside k-means: ``python -m benchmarks.clustering.speed [--only NAME] [--repeats N] [--umap]``."""

import argparse

import numpy as np

from benchmarks.clustering import data, measure
from benchmarks.clustering.rivals import (
    COARSE,
    FAST_CLUSTERERS,
    OURS,
    SLOW_RIVAL,
    YARDSTICK,
    UmapKMeans,
    multiply_by_rows,
)
from kedge.metrics import clustering_accuracy, nmi

# Largest ratio of our seconds to those of KMeans(n_init=1) that we aim at.
TARGETS = {"mnist": 2.0, "covertype": 3.0, "subspaces": 3.0}
COARSE_TARGETS = {"mnist": 0.2}
# Largest ratio of our seconds to those of UMAP + k-means, and the most rows that it is given.
SLOW_TARGETS, MOST_SLOW_ROWS = {"mnist": 1 / 20}, 100_000
# Enough that all code which is compiled on first use has been used.
WARM_UP_ROWS = 5_000
NOTES = f"""
Every method fits the same float32 array; k is the number of classes. Rounds are interleaved: each runs every method
once, with the number of the round as seed. seconds: median. ratio: median over that of {YARDSTICK}.
ACC, NMI: mean over the rounds. X A': one product with as many rows of X as SGL used anchors, for scale.
"""


def measure_rounds(rows, clusterers, n_rounds):
    """Return seconds, accuracies and NMI of each method, one per round."""
    figures = {}
    for make in clusterers.values():
        make(rows.n_clusters, 0).fit(rows.X[:WARM_UP_ROWS])
    for seed in range(n_rounds):
        n_anchors = None
        for name, make in clusterers.items():
            seconds, model = measure.timed(make(rows.n_clusters, seed).fit, rows.X)
            scores = clustering_accuracy(rows.y, model.labels_), nmi(rows.y, model.labels_)
            figures.setdefault(name, []).append((seconds, *scores))
            n_anchors = len(model.anchors_) if name == OURS else n_anchors
            del model
        seconds, _ = measure.timed(multiply_by_rows, rows.X, n_anchors)
        figures.setdefault(f"X A', {n_anchors} rows in A", []).append((seconds, np.nan, np.nan))
    return figures


def print_figures(rows, figures):
    """Print the table of one data set; return the ratios of all seconds to the yardstick's."""
    print(f"{rows.description}: {rows.X.shape[0]:,} x {rows.X.shape[1]}, k = {rows.n_clusters}")
    yardstick = np.median([seconds for seconds, _, _ in figures[YARDSTICK]])
    table, ratios = [], {}
    for name, rounds in figures.items():
        seconds, accuracies, nmis = np.array(rounds).T
        ratios[name] = np.median(seconds) / yardstick
        scores = [f"{values.mean():.3f}" if np.isfinite(values).all() else "" for values in (accuracies, nmis)]
        table.append([name, f"{np.median(seconds):.3f}", f"{seconds.min():.3f}", f"{ratios[name]:.2f}", *scores])
    measure.print_table(["method", "seconds", "best", "ratio", "ACC", "NMI"], table)
    print()
    return ratios


def parse_arguments():
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description="Seconds of a fit beside k-means.")
    parser.add_argument("--quick", action="store_true", help="tiny data, to see that it runs")
    parser.add_argument("--only", choices=list(data.LOADERS), help="one data set instead of all")
    parser.add_argument("--repeats", type=int, default=3, help="rounds, default 3")
    parser.add_argument("--umap", action="store_true", help=f"also {SLOW_RIVAL}, up to {MOST_SLOW_ROWS:,} rows")
    return parser.parse_args()


def main():
    """Print one table per data set, then the ratios beside their targets."""
    arguments = parse_arguments()
    measure.start_run("Seconds of a fit beside k-means", arguments.quick)
    print(NOTES.strip() + f"\nRounds: {arguments.repeats}.\n", flush=True)
    summary = []
    for name in [arguments.only] if arguments.only else data.LOADERS:
        rows = data.load(name, arguments.quick)
        if rows is None:
            continue
        with_umap = arguments.umap and len(rows.X) <= MOST_SLOW_ROWS
        clusterers = FAST_CLUSTERERS | ({SLOW_RIVAL: UmapKMeans} if with_umap else {})
        ratios = print_figures(rows, measure_rounds(rows, clusterers, arguments.repeats))
        for method, targets in ((OURS, TARGETS), (COARSE, COARSE_TARGETS)):
            aim = measure.verdict(ratios[method], targets[name]) if name in targets else "none"
            summary.append([name, method, YARDSTICK, f"{ratios[method]:.2f}", aim])
        if with_umap:
            ratio = ratios[OURS] / ratios[SLOW_RIVAL]
            aim = measure.verdict(ratio, SLOW_TARGETS[name]) if name in SLOW_TARGETS else "none"
            summary.append([name, OURS, SLOW_RIVAL, f"{ratio:.3f}", aim])
    print("Ratio of median seconds:")
    measure.print_table(["data", "method", "beside", "ratio", "target"], summary)


if __name__ == "__main__":
    main()
