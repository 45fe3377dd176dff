"""A file larger than the memory allowed: ``python -m benchmarks.scale.out_of_core [--quick] [--gigabytes 8]``."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.clustering import measure
from benchmarks.scale import data
from kedge import SGL
from kedge.metrics import clustering_accuracy

N_FEATURES = 100
N_ANCHORS = 50
FITTING_GIGABYTES = 1.0
REPEATS = 3
MOST_MEMORY = 1.0
LEAST_THROUGHPUT = 0.6
GB = 1e9
NOTES = """
Rows of 100 float32 features in a .npy file, ten clusters, SGL(10, n_anchors=50, n_init=1). The large file is fitted and
predicted by a process of its own; its memory is the largest resident memory of that process less what it was after
importing kedge, in GB of 1e9 bytes. beta > 0 needs several passes, between which the weights are in a scratch file.
Throughput: rows per second from the file over those from the same rows in memory, in turn in one process, median of the
ratios; the file has been read before, so that it may come from the system's cache as far as that reaches.
"""


def make_model(beta, seed, folder=None):
    """Return SGL with one set of coarse anchors, whatever the number of rows."""
    return SGL(data.N_CLUSTERS, n_anchors=N_ANCHORS, n_init=1, beta=beta, scratch_folder=folder, random_state=seed)


def fit_file(path, beta, folder):
    """Fit and predict a file in this process; return seconds, memory and accuracy."""
    SGL(2, random_state=0).fit(np.random.default_rng(0).normal(size=(100, 4)))  # everything is imported now
    before = measure.resident_bytes()
    model = make_model(beta, 0, folder)
    fit_seconds, _ = measure.timed(model.fit, path)
    fit_peak = measure.peak_bytes() - before
    predict_seconds, labels = measure.timed(model.predict, path)
    peak = measure.peak_bytes() - before
    truth = np.load(path.with_suffix(".labels.npy"))
    return {
        "rows": len(labels),
        "passes": model.n_iter_,
        "fit": fit_seconds,
        "predict": predict_seconds,
        "fit_peak": fit_peak,
        "peak": peak,
        "accuracy": clustering_accuracy(truth, model.labels_),
        "agree": float(np.mean(labels == model.labels_)),
    }


def fit_in_fresh_process(path, beta):
    """Run ``fit_file`` in a process of its own, because the peak of a process never falls."""
    command = [sys.executable, "-m", "benchmarks.scale.out_of_core", "--file", str(path), "--beta", str(beta)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def print_large(folder, gigabytes):
    """Write the large file and print what its fits take."""
    n_rows = int(gigabytes * GB / (4 * N_FEATURES))
    path = folder / "large.npy"
    seconds, _ = measure.timed(data.write_file, path, n_rows, N_FEATURES)
    print(f"{n_rows:,} rows, {path.stat().st_size / GB:.2f} GB, written in {seconds:.0f} s", flush=True)
    table = []
    for beta in (0.0, 0.2):
        found = fit_in_fresh_process(path, beta)
        peak = found["peak"] / GB
        seconds = [f"{found[name]:.0f}" for name in ("fit", "predict")]
        memory = [f"{found['fit_peak'] / GB:.2f}", f"{peak:.2f}", measure.verdict(peak, MOST_MEMORY)]
        quality = [f"{found['rows'] / found['fit']:,.0f}", f"{found['accuracy']:.3f}", f"{found['agree']:.3f}"]
        table.append([f"{beta:g}", str(found["passes"]), *seconds, *memory, *quality])
    header = ["beta", "passes", "fit s", "predict s", "fit GB", "peak GB", "target", "rows/s", "ACC", "predict agrees"]
    measure.print_table(header, table)
    path.unlink()


def print_throughput(folder, gigabytes):
    """Print rows per second from a file beside those from memory."""
    n_rows = int(gigabytes * GB / (4 * N_FEATURES))
    path = folder / "small.npy"
    data.write_file(path, n_rows, N_FEATURES)
    rows = np.load(path)
    table = []
    for beta in (0.0, 0.2):
        ratios, same = [], True
        for seed in range(REPEATS):
            in_memory, one = measure.timed(make_model(beta, seed).fit, rows)
            from_file, two = measure.timed(make_model(beta, seed).fit, path)
            ratios.append(in_memory / from_file)
            same &= np.array_equal(one.labels_, two.labels_)
        ratio = float(np.median(ratios))
        speeds = [f"{n_rows / seconds:,.0f}" for seconds in (in_memory, from_file)]
        judged = measure.verdict(ratio, LEAST_THROUGHPUT, at_most=False)
        table.append([f"{beta:g}", *speeds, f"{ratio:.2f}", judged, "same" if same else "DIFFERENT"])
    print(f"\n{n_rows:,} rows, {path.stat().st_size / GB:.2f} GB, in memory and from the file", flush=True)
    measure.print_table(["beta", "rows/s in memory", "rows/s from file", "ratio", "target", "labels"], table)


def main():
    """Print both tables, or fit one file for them."""
    parser = argparse.ArgumentParser(description="A file larger than the memory allowed.")
    parser.add_argument("--quick", action="store_true", help="a tiny file, to see that it runs")
    parser.add_argument("--gigabytes", type=float, default=8.2, help="size of the large file")
    parser.add_argument("--folder", type=Path, help="where the files are written; default: the temporary folder")
    parser.add_argument("--file", type=Path, help="fit this file only, in this process, and print it as JSON")
    parser.add_argument("--beta", type=float, default=0.0, help="with --file: beta of the fit")
    arguments = parser.parse_args()
    if arguments.file:
        print(json.dumps(fit_file(arguments.file, arguments.beta, arguments.file.parent)))
        return
    measure.start_run("Out of core", arguments.quick)
    print(NOTES.strip() + "\n", flush=True)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        print_large(Path(folder), 0.002 if arguments.quick else arguments.gigabytes)
        print_throughput(Path(folder), 0.002 if arguments.quick else FITTING_GIGABYTES)


if __name__ == "__main__":
    main()
