"""Seconds and quality of a fit beside its rivals: ``python -m benchmarks.speed [--quick] [--only NAME]``.

A run that was stopped goes on where it stopped, as long as the commit is the same; ``--fresh`` begins anew.
"""

import argparse
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.clustering import data, measure
from benchmarks.quality.neighbour_graphs import DIMENSIONS, NEIGHBORS
from benchmarks.speed import runs, table
from benchmarks.speed.child import BLOCK_ENTRIES, PRODUCTS, WARM_UP_ROWS
from benchmarks.speed.rivals import COARSE, METHODS, OURS, PACKAGES, YARDSTICK

SETS = ("mnist", "covertype", "poker", "subspaces", "embedded")
ROUNDS, LIMIT = 5, 100.0
RECORDS = Path(__file__).parents[2] / "build" / "speed.jsonl"
NOTES = f"""
Every method fits the same float32 array; k is the number of classes. Every fit runs in a process of its own, one at a
time, on all threads that the method takes by itself. Loading rows, importing, and a first fit of {WARM_UP_ROWS:,} rows
do not count. Each round runs every method once, with the number of the round as seed.

{OURS}: SGL(k, random_state=seed). {COARSE}: SGL(k, n_anchors=50, n_init=1, random_state=seed).
faiss, sampled: its default, which trains on 256 rows per cluster. UMAP: {NEIGHBORS} neighbours, {DIMENSIONS}
dimensions, min_dist=0, no seed; k-means on it from ten starts. Leiden: on UMAP's graph at resolution 1, where it finds
the number of clusters, or at the resolution that gives k.

seconds: median; best: the shortest. to KMeans: over the seconds of {YARDSTICK}; to fastest: over those of the
fastest k-means of any kind. ACC, NMI, clusters: mean.
rounds: what finds clusters by chance differs from seed to seed, so quick methods get {ROUNDS} rounds. A method gets no
more after {runs.LEAST_ROUNDS} if its fits took more than {runs.ENOUGH:g} seconds together, and only one if the first
took more than {runs.ONE_ROUND_FROM:g}.
"> N": the fit was stopped after N seconds and has no scores. Leiden at k begins with the graph and the cut of Leiden;
where Leiden was stopped, it counts as stopped without being run.
bare products: over the seconds of X A' by NumPy in the same process, where A has as many rows as the fit had anchors;
the product is formed in blocks of {BLOCK_ENTRIES * 4 >> 20} MiB, and the shortest of {PRODUCTS} counts.

A rival is ahead of a point of kedge if it is no slower and no worse. There are two points, {OURS} and
{COARSE}; where one is ahead of the other, the other does not count.
"""


def parse_arguments():
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny data, one round, to see that it runs")
    parser.add_argument("--only", choices=SETS, help="one data set instead of all")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), metavar="METHOD", help=", ".join(METHODS))
    parser.add_argument("--rounds", type=int, help=f"at most; default {ROUNDS}, with --quick 1")
    parser.add_argument("--limit", type=float, default=LIMIT, help=f"seconds after which a fit is stopped, {LIMIT:g}")
    parser.add_argument("--records", type=Path, help="file of finished runs; default build/speed.jsonl")
    parser.add_argument("--fresh", action="store_true", help="forget the finished runs")
    arguments = parser.parse_args()
    arguments.rounds = arguments.rounds or (1 if arguments.quick else ROUNDS)
    return arguments


def versions_of_rivals():
    """Return the versions of the rivals' libraries, in words."""
    words = []
    for name in PACKAGES.values():
        try:
            words.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            words.append(f"{name} not installed")
    return ", ".join(words)


def measure_set(name, rows, arguments, folder, known):
    """Run what is not known of a data set and print it; return the summaries and what failed."""
    chosen = arguments.methods or list(METHODS)
    missing = {method: METHODS[method].missing() for method in chosen}
    remarks = [f"{method}: NOT INSTALLED: pip install {' '.join(names)}" for method, names in missing.items() if names]
    measurement = runs.Measurement(name, rows, folder, arguments.records, arguments.limit, known)
    failed = measurement.run_rounds([method for method in chosen if not missing[method]], arguments.rounds)
    remarks += [f"{method}: FAILED, {error}" for method, error in failed.items()]
    found = table.summaries({method: known[method] for method in chosen if method in known})
    title = f"{name}: {rows.description}: {rows.X.shape[0]:,} x {rows.X.shape[1]}, k = {rows.n_clusters}"
    table.print_set(title, found, remarks)
    return found, failed


def measure_all(arguments, folder):
    """Run and print every data set that is there, then the summary; return how many methods failed."""
    known, n_others = runs.read(arguments.records, arguments.limit)
    n_known = sum(len(by_seed) for by_method in known.values() for by_seed in by_method.values())
    if n_known:
        print(f"Goes on with {n_known} fits that are in {arguments.records.name}.\n", flush=True)
    if n_others:
        print(f"{n_others} fits of another commit or limit in {arguments.records} do not count", file=sys.stderr)
    by_set, n_failed = {}, 0
    for name in [arguments.only] if arguments.only else SETS:
        rows = data.load(name, arguments.quick)
        if rows is not None:
            by_set[name], failed = measure_set(name, rows, arguments, folder, known.setdefault(name, {}))
            n_failed += len(failed)
    table.print_summary(by_set)
    return n_failed


def main():
    """Print one table per data set, then who is ahead of kedge, and ratios beside their targets."""
    arguments = parse_arguments()
    measure.start_run("Seconds and quality of a fit", arguments.quick)
    print(f"rivals    {versions_of_rivals()}\n{NOTES}Rounds: {arguments.rounds}. Limit: {arguments.limit:g} seconds.\n")
    with tempfile.TemporaryDirectory() as folder:
        if arguments.records is None:
            arguments.records = Path(folder) / "quick.jsonl" if arguments.quick else RECORDS
        arguments.records.parent.mkdir(parents=True, exist_ok=True)
        if arguments.fresh:
            arguments.records.unlink(missing_ok=True)
        n_failed = measure_all(arguments, Path(folder))
    if n_failed:
        raise SystemExit(f"{n_failed} methods failed")


if __name__ == "__main__":
    main()
