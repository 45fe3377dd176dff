"""Number of clusters with nothing given, where it is known: ``python -m benchmarks.quality.cluster_counts``.

Separate blobs in 2, 10 and 50 dimensions, and unions of linear subspaces, for k = 2 to 20.
"""

import argparse
import warnings

import numpy as np
from sklearn.datasets import make_blobs

from benchmarks.clustering import measure
from kedge import SGL
from kedge.datasets import make_union_of_subspaces

COUNTS, QUICK_COUNTS = range(2, 21), (2, 3)
ROWS_PER_CLUSTER, DIMENSIONS = 60, (2, 10, 50)


def separated_blobs(n_clusters, n_features, seed):
    """Return blobs of unit variance whose centres are at least ten apart."""
    random_state = np.random.RandomState(seed)
    centers = np.empty((0, n_features))
    half = 10.0 * max(2.0, n_clusters ** (1 / min(n_features, 3)))
    while len(centers) < n_clusters:
        drawn = random_state.uniform(-half, half, n_features)
        if all(np.linalg.norm(drawn - one) >= 10 for one in centers):
            centers = np.vstack([centers, drawn])
    return make_blobs(ROWS_PER_CLUSTER * n_clusters, centers=centers, random_state=seed)[0]


def subspaces(n_clusters, seed):
    """Return rows of linear subspaces of dimension three in thirty."""
    options = {"n_subspaces": n_clusters, "dim": 3, "ambient_dim": 30, "random_state": seed}
    return make_union_of_subspaces(ROWS_PER_CLUSTER * n_clusters, **options)[0]


def main():
    """Print what is found for every k."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.cluster_counts", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two numbers only, to see that it runs")
    quick = parser.parse_args().quick
    measure.start_run("Number of clusters with nothing given", quick)
    kinds = {
        f"blobs, {d} dimensions": lambda k, d=d: SGL(random_state=0).fit(separated_blobs(k, d, k)) for d in DIMENSIONS
    }
    kinds["subspaces, signed"] = lambda k: SGL(signed=True, random_state=0).fit(subspaces(k, k))
    lines = []
    counts = QUICK_COUNTS if quick else COUNTS
    for name, fit in kinds.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = {k: fit(k).n_clusters_ for k in counts}
        wrong = ", ".join(f"{k}: {other}" for k, other in found.items() if other != k)
        lines.append([name, f"{sum(found[k] == k for k in counts)} of {len(counts)}", wrong or "none"])
    measure.print_table(["data", "exact", "k: found otherwise"], lines)


if __name__ == "__main__":
    main()
