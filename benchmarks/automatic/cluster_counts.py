"""How many clusters ``n_clusters="auto"`` finds: ``python -m benchmarks.automatic.cluster_counts [--quick]``."""

import argparse

import numpy as np

from benchmarks.automatic import data
from benchmarks.clustering import measure
from kedge import MSGL, SGL

COUNTS = range(2, 21)
SETS = ("digits", "orl", "citeseer", "tr11", "tr41", "tr45", "ba", "mnist")
SEEDS = 3
NOTES = """
Made data: clouds with centres at least ten deviations apart, in 4 dimensions, and subspaces of dimension 3 at right
angles, for 2 to 20 clusters of 40 rows. Real data: the number of classes is what people called them, not what is there;
the second guess and how close it comes (1: as good) are told. Advice, not proof.
"""


def draw_clouds(n_clusters, seed, n_features=4):
    """Draw Gaussian clouds whose centres are at least ten deviations apart."""
    rng = np.random.RandomState(seed)
    centers = [rng.uniform(-40, 40, n_features)]
    while len(centers) < n_clusters:
        drawn = rng.uniform(-40, 40, n_features)
        if min(np.linalg.norm(drawn - center) for center in centers) >= 10:
            centers.append(drawn)
    return np.vstack([center + rng.normal(size=(40, n_features)) for center in centers])


def draw_subspaces(n_clusters, seed):
    """Draw points of subspaces at right angles, x as likely as -x."""
    rng = np.random.RandomState(seed)
    basis = np.linalg.qr(rng.normal(size=(3 * n_clusters, 3 * n_clusters)))[0]
    return np.vstack([rng.normal(size=(40, 3)) @ basis[3 * i : 3 * i + 3] for i in range(n_clusters)])


def main():
    """Print what is found on made and on real data."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rows and seeds, to see that it runs")
    quick = parser.parse_args().quick
    measure.start_run("Numbers of clusters without being told", quick)
    print(NOTES.strip() + "\n", flush=True)
    seeds = range(1 if quick else SEEDS)
    for title, draw in (("clouds", draw_clouds), ("orthogonal subspaces", draw_subspaces)):
        found = [
            SGL("auto", random_state=seed).fit(draw(count, seed)).n_clusters_ == count
            for count in (COUNTS[:2] if quick else COUNTS)
            for seed in seeds
        ]
        print(f"{title}: exact in {sum(found)} of {len(found)}", flush=True)
    print()
    table = []
    for name in SETS[:2] if quick else SETS:
        rows = data.load(name, quick)
        if rows is None:
            continue
        for seed in seeds:
            model = (MSGL if rows.several else SGL)("auto", random_state=seed).fit(rows.X)
            said = model.auto_report_["n_clusters"]
            numbers = [rows.n_clusters, seed, said["chosen"], said["second"]]
            table.append([name, *map(str, numbers), f"{said['closeness']:.2f}"])
    measure.print_table(["data", "classes", "seed", "found", "second", "closeness"], table)


if __name__ == "__main__":
    main()
