"""Accuracy on linear subspaces beside slower methods: ``python -m benchmarks.clustering.subspaces [--quick]``."""

import argparse

import numpy as np

from benchmarks.clustering import measure
from benchmarks.clustering.rivals import subspace_clusterers
from kedge.datasets import make_union_of_subspaces
from kedge.metrics import clustering_accuracy, nmi

N_SUBSPACES, DIM, AMBIENT_DIM = 5, 6, 9
N_ROWS, ANCHORS = 20_000, (1_000, 300, 100)
QUICK_ROWS, QUICK_ANCHORS = 300, (60, 30)
N_SEEDS = 3


def measure_seeds(n_rows, clusterers):
    """Return seconds, accuracy and mutual information of each method, one per draw of the data."""
    figures = {name: [] for name in clusterers}
    for seed in range(N_SEEDS):
        X, y = make_union_of_subspaces(
            n_rows, n_subspaces=N_SUBSPACES, dim=DIM, ambient_dim=AMBIENT_DIM, random_state=seed
        )
        for name, make in clusterers.items():
            seconds, model = measure.timed(make(N_SUBSPACES, seed).fit, X)
            figures[name].append((seconds, clustering_accuracy(y, model.labels_), nmi(y, model.labels_)))
    return figures


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description="Accuracy on linear subspaces beside slower methods.")
    parser.add_argument("--quick", action="store_true", help="tiny data, to see that it runs")
    quick = parser.parse_args().quick
    measure.start_run("Accuracy on linear subspaces", quick)
    n_rows, n_anchors = (QUICK_ROWS, QUICK_ANCHORS) if quick else (N_ROWS, ANCHORS)
    print(
        f"{n_rows:,} rows of {N_SUBSPACES} subspaces of dimension {DIM} in R^{AMBIENT_DIM}, unit length, no noise.\n"
        f"{N_SEEDS} draws, the seed of a draw is also that of the methods. seconds: median; ACC, NMI: mean.\n",
        flush=True,
    )
    table = []
    for name, rounds in measure_seeds(n_rows, subspace_clusterers(n_anchors, DIM)).items():
        seconds, accuracies, nmis = np.array(rounds).T
        scores = [accuracies.mean(), accuracies.min(), accuracies.max(), nmis.mean()]
        table.append([name, f"{np.median(seconds):.2f}", f"{seconds.min():.2f}", *(f"{score:.3f}" for score in scores)])
    measure.print_table(["method", "seconds", "best", "ACC", "lowest", "highest", "NMI"], table)


if __name__ == "__main__":
    main()
