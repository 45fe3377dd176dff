"""Cost of a fit over the number of rows: ``python -m benchmarks.clustering.scaling [--quick] [--defaults]``."""

import argparse
import json
import subprocess
import sys

import numpy as np

from benchmarks.clustering import measure
from kedge import SGL
from kedge.datasets import make_union_of_subspaces
from kedge.metrics import clustering_accuracy

N_SUBSPACES, DIM, AMBIENT_DIM = 5, 3, 30
N_ANCHORS = 25
SIZES, LARGE_FROM = (10_000, 100_000, 1_000_000, 10_000_000), 100_000
QUICK_SIZES, QUICK_LARGE_FROM = (200, 400, 800), 400
REPEATS = 3
WARM_UP_ROWS = 100
TARGET_EXPONENT = 1.05
MIB = 2**20


def make_model(seed, defaults):
    """Return SGL with the same anchors for all sizes, or with its defaults, which has more per row for few rows."""
    coarse = {} if defaults else {"n_anchors": N_ANCHORS, "n_init": 1}
    return SGL(N_SUBSPACES, random_state=seed, **coarse)


def measure_size(n_rows, defaults):
    """Fit that many rows in this process; return seconds of each fit, memory of the first, and accuracy of the last."""
    X, y = make_union_of_subspaces(
        n_rows, n_subspaces=N_SUBSPACES, dim=DIM, ambient_dim=AMBIENT_DIM, random_state=0, dtype=np.float32
    )
    make_model(0, defaults).fit(X[:WARM_UP_ROWS])
    before = measure.resident_bytes()
    seconds, model = measure.timed(make_model(0, defaults).fit, X)
    # Tiny fits raise the peak by less than the two readings resolve.
    peak, runs = max(0, measure.peak_bytes() - before), [seconds]
    for seed in range(1, REPEATS):
        del model
        seconds, model = measure.timed(make_model(seed, defaults).fit, X)
        runs.append(seconds)
    return {"seconds": runs, "peak": peak, "data": X.nbytes, "accuracy": clustering_accuracy(y, model.labels_)}


def measure_in_fresh_process(n_rows, defaults):
    """Run ``measure_size`` in a process of its own, because the peak of a process never falls."""
    command = [sys.executable, "-m", "benchmarks.clustering.scaling", "--rows", str(n_rows)]
    command += ["--defaults"] if defaults else []
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def fitted_exponent(sizes, seconds):
    """Slope of log seconds over log rows by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def print_scaling(sizes, large_from, defaults):
    """Print the costs of all sizes and the fitted exponents beside the target."""
    table, medians = [], []
    for n_rows in sizes:
        figures = measure_in_fresh_process(n_rows, defaults)
        medians.append(float(np.median(figures["seconds"])))
        memory = [figures["peak"] / MIB, figures["data"] / MIB]
        table.append(
            [f"{n_rows:,}", f"{medians[-1]:.3f}", f"{min(figures['seconds']):.3f}", f"{1e6 * medians[-1] / n_rows:.2f}"]
            + [f"{size:,.1f}" for size in memory]
            + [f"{figures['peak'] / n_rows:,.0f}", f"{figures['accuracy']:.3f}"]
        )
        print(f"{n_rows:,} rows done", file=sys.stderr, flush=True)
    header = ["rows", "seconds", "best", "us per row", "peak MiB", "X MiB", "peak bytes per row", "ACC"]
    measure.print_table(header, table)
    large = [i for i, n_rows in enumerate(sizes) if n_rows >= large_from]
    for words, chosen in (("all sizes", range(len(sizes))), (f"from {large_from:,} rows on", large)):
        exponent = fitted_exponent([sizes[i] for i in chosen], [medians[i] for i in chosen])
        print(f"fitted exponent of n, {words}: {exponent:.3f}, target {measure.verdict(exponent, TARGET_EXPONENT)}")


def main():
    """Print the table, or measure one size for it."""
    parser = argparse.ArgumentParser(description="Seconds and memory of a fit over the number of rows.")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--rows", type=int, help="measure this size only, in this process, and print it as JSON")
    parser.add_argument("--defaults", action="store_true", help="the default anchors, not the same for all sizes")
    arguments = parser.parse_args()
    if arguments.rows:
        print(json.dumps(measure_size(arguments.rows, arguments.defaults)))
        return
    anchors = "" if arguments.defaults else f", n_anchors={N_ANCHORS}, n_init=1"
    measure.start_run("Cost of a fit over the number of rows", arguments.quick)
    print(
        f"SGL({N_SUBSPACES}{anchors}) on {N_SUBSPACES} subspaces of dimension {DIM} in "
        f"R^{AMBIENT_DIM}, float32. Each size in a process of its own; seconds: median of {REPEATS} fits.\npeak: "
        "largest resident memory of the process up to the end of the first fit, less what was resident before\nthat "
        "fit; X is not counted.\n",
        flush=True,
    )
    sizes = (QUICK_SIZES, QUICK_LARGE_FROM) if arguments.quick else (SIZES, LARGE_FROM)
    print_scaling(*sizes, arguments.defaults)


if __name__ == "__main__":
    main()
