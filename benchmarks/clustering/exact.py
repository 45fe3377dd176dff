"""Graphs with exactly k components: ``python -m benchmarks.clustering.exact [--quick]``.

Compares the default with two other ways: rows choose the group of anchors that rebuilds them best, and groups follow;
or a structure penalty grows until the graph falls into k pieces.
"""

import argparse
import warnings

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning

from benchmarks.clustering import data, measure
from kedge import SGL, simplex_qp
from kedge.metrics import clustering_accuracy

SETS = (*data.PAPER_SETS, "digits", "mnist")
ROUNDS = 10
ANCHORS_PER_CLUSTER = 5
# The two other routes are for comparison only and do not scale; they are shown up to this many rows.
MOST_ROWS_OF_OTHERS = 5_000
NOTES = """
ACC in percent, mean over the seeds. components: of the returned graph, counted by SciPy over rows and anchors together,
every stored nonzero an edge. labels = soft: share of rows whose label the exact graph keeps. raised: largest factor by
which the ridge of a cluster was raised to connect it. alternate, penalty: the other two routes, on five anchors per
cluster and rows as they are.
"""


def count_components(graph):
    """Count over rows and anchors together."""
    return connected_components(sparse.block_array([[None, graph], [graph.T, None]]), directed=False)[0]


def restricted_values(X, anchors, ridge):
    """Return for every row the smallest objective, per weight of the ridge term of a uniform row, on these anchors."""
    gram = anchors @ anchors.T
    linear = -2 * np.asarray(X @ anchors.T)
    Z = simplex_qp(2 * (gram + ridge * np.eye(len(gram))), linear)
    value = np.einsum("ij,ij->i", Z @ (gram + ridge * np.eye(len(gram))), Z) + np.einsum("ij,ij->i", linear, Z)
    # A larger group has a smaller ridge term whatever the row: take off what a uniform row would pay.
    return value - ridge / len(anchors), Z


def alternate(X, model):
    """Let rows choose the group that rebuilds them best, and anchors the group that leans on them most."""
    anchors, groups, ridge = model.anchors_, model.anchor_labels_.copy(), model.ridge_
    k = model.n_clusters
    for _ in range(ROUNDS):
        values, weights = np.full((X.shape[0], k), np.inf), {}
        for group in np.unique(groups):
            values[:, group], weights[group] = restricted_values(X, anchors[groups == group], ridge)
        labels = values.argmin(axis=1)
        support = np.zeros((len(anchors), k))
        full = simplex_qp(2 * (anchors @ anchors.T + ridge * np.eye(len(anchors))), -2 * np.asarray(X @ anchors.T))
        for group in range(k):
            support[:, group] = full[labels == group].sum(axis=0)
        changed = support.argmax(axis=1)
        if np.array_equal(changed, groups):
            break
        groups = changed
    return labels


def grow_penalty(X, k, anchors, seed):
    """Double the structure penalty until the graph has k pieces, and label by them; None if it never has exactly k."""
    beta, low, high = 0.1, 0.0, np.inf
    for _ in range(20):
        model = SGL(k, anchors=anchors, scale="none", beta=beta, max_iter=30, random_state=seed).fit(X)
        if model.n_components_ == k:
            _, labels = connected_components(
                sparse.block_array([[None, model.graph_], [model.graph_.T, None]]), directed=False
            )
            return labels[: X.shape[0]]
        if model.n_components_ < k:
            low = beta
        else:
            high = beta
        beta = 2 * low if np.isinf(high) else (low + high) / 2
    return None


def measure_set(rows, n_seeds, others):
    """Return the cells of one data set."""
    found = {"soft": [], "exact": [], "kept": [], "raised": [], "alternate": [], "penalty": []}
    counts = set()
    for seed in range(n_seeds):
        soft = SGL(rows.n_clusters, random_state=seed).fit(rows.X)
        exact = SGL(rows.n_clusters, structure="exact", random_state=seed).fit(rows.X)
        counts.add(count_components(exact.graph_))
        found["soft"].append(clustering_accuracy(rows.y, soft.labels_))
        found["exact"].append(clustering_accuracy(rows.y, exact.labels_))
        found["kept"].append((soft.labels_ == exact.labels_).mean())
        found["raised"].append(exact.ridge_factors_.max())
        if others:
            coarse = {"n_anchors": ANCHORS_PER_CLUSTER * rows.n_clusters, "n_init": 1, "scale": "none"}
            one = SGL(rows.n_clusters, **coarse, random_state=seed).fit(rows.X)
            found["alternate"].append(clustering_accuracy(rows.y, alternate(rows.X, one)))
            grown = grow_penalty(rows.X, rows.n_clusters, one.anchors_, seed)
            found["penalty"].append(np.nan if grown is None else clustering_accuracy(rows.y, grown))
    means = {name: 100 * np.mean(values) if values else np.nan for name, values in found.items()}
    cells = [f"{means[name]:.1f}" for name in ("soft", "exact", "kept", "alternate", "penalty")]
    return [*cells[:2], ", ".join(map(str, sorted(counts))), cells[2], f"{max(found['raised']):g}", *cells[3:]]


def main():
    """Print one row per data set."""
    parser = argparse.ArgumentParser(description="Graphs with exactly k components.")
    parser.add_argument("--quick", action="store_true", help="one small data set, to see that it runs")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore", ConvergenceWarning)  # the growing penalty passes through graphs in many pieces
    measure.start_run("Graphs with exactly k components", quick)
    print(NOTES.strip() + "\n", flush=True)
    table = []
    for name in ("digits",) if quick else SETS:
        rows = data.load(name, quick)
        if rows is not None:
            few = rows.X.shape[0] <= MOST_ROWS_OF_OTHERS
            table.append([name, str(rows.n_clusters), *measure_set(rows, 1 if quick else 3, few)])
            print(f"{name} done", flush=True)
    print()
    header = ["data", "k", "soft", "exact", "components", "labels = soft", "raised", "alternate", "penalty"]
    measure.print_table(header, table)


if __name__ == "__main__":
    main()
