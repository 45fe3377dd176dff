"""Lloyd's rounds of sparse rows, ours beside scikit-learn's: ``python -m benchmarks.clustering.sparse_rounds``.

Both start from the same seeds and run on one thread, as they do where anchor sets are found side by side.
"""

import argparse
import warnings

from sklearn.cluster import KMeans, kmeans_plusplus

from benchmarks.automatic import data
from benchmarks.clustering import measure
from kedge.engines.library_threads import one_thread_per_library
from kedge.model.anchor_selection.row_access import canonical_rows, dense_rows
from kedge.model.anchor_selection.sparse_rounds import move_centers

# Name and anchors per class: of the middle one of the sets that a plain fit takes.
SETS, PER_CLUSTER, ROUNDS = ("tr11", "tr41", "tr45", "tdt2"), 7.5, 20


def compare(rows, seeds):
    """Return the seconds of scikit-learn and ours, and the share of rows with the same nearest centre."""
    theirs = KMeans(len(seeds), init=seeds, n_init=1, max_iter=ROUNDS)
    with one_thread_per_library(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before, model = measure.timed(theirs.fit, rows)
        after, (_, labels) = measure.timed(move_centers, rows, seeds, ROUNDS)
    return before, after, float((model.labels_ == labels).mean())


def main():
    """Print seconds of both and their ratio for every set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rows, to see that it runs")
    parser.add_argument("--sets", default=",".join(SETS), help="names, separated by commas")
    arguments = parser.parse_args()
    measure.start_run("Lloyd's rounds of sparse rows", arguments.quick)
    table = []
    for name in arguments.sets.split(","):
        found = data.load(name, arguments.quick)
        if found is None:
            continue
        rows = canonical_rows(found.matrix)
        wanted = min(round(PER_CLUSTER * found.n_clusters), rows.shape[0] // 2)
        seeds = dense_rows(rows, kmeans_plusplus(rows, wanted, random_state=0, n_local_trials=1)[1])
        before, after, same = compare(rows, seeds)
        size = f"{rows.shape[0]} x {rows.shape[1]}"
        cells = [f"{before:.2f}", f"{after:.2f}", f"{before / after:.1f}", f"{100 * same:.2f}%"]
        table.append([name, size, str(len(seeds)), *cells])
    measure.print_table(["set", "rows x features", "centres", "scikit-learn, s", "ours, s", "ratio", "same"], table)


if __name__ == "__main__":
    main()
