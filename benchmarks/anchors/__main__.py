"""Thousands of k-means centres beside other libraries: ``python -m benchmarks.anchors [--quick] [--only NAME]``."""

import argparse
import tempfile
from pathlib import Path

from benchmarks.anchors import runs, table
from benchmarks.anchors.child import WARM_UP_CENTERS, WARM_UP_ROWS
from benchmarks.anchors.methods import METHODS, package_missing, versions_of_rivals
from benchmarks.clustering import data, measure
from benchmarks.speed.child import BLOCK_ENTRIES
from kedge.anchors.sets import FINE_ROUNDS, FINE_ROWS_PER_ANCHOR

SETS = ("mnist", "embedded")
# Numbers of centres; the first one is also found from all rows of the first data set.
CENTERS, QUICK_CENTERS = (1_000, 4_000), (10, 20)
REPEATS = 5
NOTES = f"""
Every method does {FINE_ROUNDS} rounds, each an assignment of all rows and an update of all centres, in float32, on all
processors. In each repeat all get the same {FINE_ROWS_PER_ANCHOR} rows per centre (in the last table all rows) and the
same distinct random rows of these as starts; SuperKMeans takes no starts and draws its own random rows. The number of
the repeat is the seed. Every run is a process of its own, one at a time; loading, imports, and a first search of
{WARM_UP_CENTERS} centres for {WARM_UP_ROWS:,} rows do not count.

kedge: the rounds that find a fit's fine anchors, with one thread of BLAS per thread of kedge, as in a fit. It prunes by
exact bounds; making the sketches for them is part of its time. It does nothing after the last update. A centre that is
nearest to no row stays where it was.
faiss: Kmeans without sampling. It first checks the rows for NaN; after the last update it puts the centres into its
index. A centre that is nearest to no row is moved beside another one.
SuperKMeans: without sampling, hierarchy, early termination and angular. Its time includes a random rotation, which it
makes, applies to rows and centres, and takes back from the centres at the end; it labels no rows after the last update.
The first round is a full product; the others are pruned by bounds that hold with high probability. A centre that is
nearest to no row is moved beside another one.
scikit-learn: algorithm="lloyd", n_init=1, tol=0. After the last update it labels the rows once more and sums their
distances; this cannot be turned off and is part of its time. A centre that is nearest to no row is moved to a far row.
bare products: rows times centres by NumPy, once per round, in blocks of {BLOCK_ENTRIES * 4 >> 20} MiB; none is kept.

seconds: median; best: the shortest. to products: over the seconds of the bare products. sum of squares: squared
distances of the rows that the method was given to their nearest final centres, summed by one function for all; mean.
to scikit-learn: mean over the repeats of the ratio to its sum; SuperKMeans has other starts, so there it is also a
matter of luck. rounds: as many as the library says.
"""


def parse_arguments():
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.anchors", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny data, one repeat, to see that it runs")
    parser.add_argument("--only", choices=SETS, help="one data set instead of both")
    parser.add_argument("--repeats", type=int, help=f"default {REPEATS}, with --quick 1")
    arguments = parser.parse_args()
    arguments.repeats = arguments.repeats or (1 if arguments.quick else REPEATS)
    return arguments


def measure_one(name, rows, n_rows, n_centers, n_repeats):
    """Measure and print all methods on some rows of a data set; return how many failed."""
    missing = {method: package_missing(method) for method in METHODS}
    remarks = [f"{method}: NOT INSTALLED: pip install {package}" for method, package in missing.items() if package]
    with tempfile.TemporaryDirectory() as folder:
        ready = [method for method in METHODS if not missing[method]]
        found, failed = runs.run_all(Path(folder), rows.X, n_rows, n_centers, ready, n_repeats)
    remarks += [f"{method}: FAILED, {error}" for method, error in failed.items()]
    n_all, n_features = rows.X.shape
    shape = f"{n_rows:,} of {n_all:,} rows x {n_features}" if n_rows < n_all else f"all {n_all:,} rows x {n_features}"
    table.print_found(f"{name}: {rows.description}: {shape}, m = {n_centers:,}", found, remarks)
    return len(failed)


def measure_all(arguments):
    """Measure samples of every data set that is there, then all rows of the first; return how many runs failed."""
    counts, n_failed = QUICK_CENTERS if arguments.quick else CENTERS, 0
    names = [arguments.only] if arguments.only else SETS
    for name in names:
        rows = data.load(name, arguments.quick)
        for n_centers in counts if rows is not None else ():
            n_sampled = FINE_ROWS_PER_ANCHOR * n_centers
            n_failed += measure_one(name, rows, n_sampled, n_centers, arguments.repeats)
    if SETS[0] in names and (rows := data.load(SETS[0], arguments.quick)) is not None:
        n_failed += measure_one(SETS[0], rows, len(rows.X), counts[0], arguments.repeats)
    return n_failed


def main():
    """Print a table per data set and number of centres, with kedge beside the best of the others."""
    arguments = parse_arguments()
    measure.start_run("Anchors: thousands of k-means centres", arguments.quick)
    print(f"rivals    {versions_of_rivals()}\n{NOTES}Repeats: {arguments.repeats}.\n", flush=True)
    if n_failed := measure_all(arguments):
        raise SystemExit(f"{n_failed} methods failed")


if __name__ == "__main__":
    main()
