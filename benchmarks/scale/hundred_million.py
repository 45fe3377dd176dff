"""A hundred million rows on disk, and a kill: ``python -m benchmarks.scale.hundred_million [--quick]``."""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import entropy
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import mutual_info_score

from benchmarks.clustering import measure
from benchmarks.scale import data
from kedge import SGL, clusterer
from kedge.engines import checkpoint
from kedge.progress import Progress

N_ROWS, QUICK_ROWS, N_FEATURES = 100_000_000, 20_000, 30
MOST_MEMORY, MOST_SECONDS = 2e9, 3_600
KILLED_AFTER = 0.4
SECONDS_BETWEEN_LINES = 30
# What a run keeps of every row beside the row itself: its class, the labels of two fits, its weights, and some room.
BYTES_BESIDE = 100
GB = 1e9
NOTES = """
Rows of 30 float32 features near ten subspaces of dimension three, x as likely as -x, drawn in blocks into a .npy file.
SGL(random_state=0, checkpoint=...) is fitted to it with its defaults, so it also finds the number of clusters. Each fit
is a process of its own, whose memory is the largest resident memory by the system's count, libraries and all. The
second fit is killed (SIGKILL) in the middle of its pass over the rows, and a third one goes on from its checkpoint. The
file is dropped from the system's cache before every run. The rival is scikit-learn's MiniBatchKMeans, which goes over
the same file block by block, is told the number of clusters, and labels all rows in a second pass. Its ten clusters
have no centres of their own, so this says what k-means makes of such rows, not which program is quicker.
"""


class PrintedProgress(Progress):
    """Prints the stages of a fit and its rows with the time and memory, and kills the process where it is told to."""

    def __init__(self, kill_at):
        super().__init__()
        self.began = self.printed = time.perf_counter()
        self.stage, self.rows, self.kill_at = "digest of all rows", 0, kill_at
        self.from_checkpoint = None

    def begin(self, what, n_rows=None):
        """Print the end of the last stage."""
        self.finish()
        # Before a pass nobody knows whether it will be needed. If not, what comes in its place is the partition.
        self.stage, self.rows = "partition" if n_rows is not None else what, 0

    def rows_done(self, count):
        """Count rows; the first count of a pass is that of the rows that a checkpoint had."""
        if self.stage == "partition":
            self.stage = "pass over the rows"
            self._print(f"{count:,} rows from the checkpoint")
            if self.from_checkpoint is None:
                self.from_checkpoint = count
        self.rows += count
        if time.perf_counter() - self.printed > SECONDS_BETWEEN_LINES:
            self._print(f"{self.rows:,} rows")
        if self.rows >= self.kill_at:
            self._print(f"{self.rows:,} rows, killed")
            os.kill(os.getpid(), signal.SIGKILL)

    def finish(self):
        """Print the end of the stage."""
        self._print("finished")

    def _print(self, what):
        self.printed = time.perf_counter()
        memory = measure.resident_bytes() / GB
        print(f"{self.printed - self.began:8.1f} s  {memory:5.2f} GB  {self.stage}: {what}", flush=True)


def fit_file(path, folder, out, kill_at, quick):
    """Fit the file in this process, and write labels and figures."""
    if quick:
        checkpoint.SECONDS_BETWEEN_RECORDS, checkpoint.BLOCKS_BETWEEN_RECORDS = 0.0, 1
    progress = PrintedProgress(kill_at)

    @contextmanager
    def shown(verbose):
        yield progress

    clusterer.show_progress = shown
    began = time.perf_counter()
    model = SGL(random_state=0, checkpoint=folder, scratch_folder=out.parent).fit(path)
    seconds = time.perf_counter() - began
    progress.finish()
    np.save(out, model.labels_)
    found = {
        "seconds": seconds,
        "clusters": model.n_clusters_,
        "anchors": len(model.anchors_),
        "nearest": model.n_near_,
        "passes": model.n_iter_,
        "confidence": float(model.confidence_.mean()),
        "rows from checkpoint": progress.from_checkpoint,
        "memory": status_bytes("VmHWM"),
        "own memory at the end": status_bytes("RssAnon"),
    }
    out.with_suffix(".json").write_text(json.dumps(found))


def fit_rival(path, out):
    """Go over the file with MiniBatchKMeans in this process, and write labels and figures."""
    began = time.perf_counter()
    model = MiniBatchKMeans(data.N_CLUSTERS, random_state=0)
    for block in data.read_blocks(path):
        model.partial_fit(block)
    labels = np.concatenate([model.predict(block) for block in data.read_blocks(path)])
    seconds = time.perf_counter() - began
    np.save(out, labels)
    found = {"seconds": seconds, "clusters": data.N_CLUSTERS, "memory": status_bytes("VmHWM")}
    out.with_suffix(".json").write_text(json.dumps(found))


def status_bytes(name):
    """Return a line of Linux' account of this process; elsewhere the largest resident memory."""
    table = Path("/proc/self/status")
    if not table.exists():
        return measure.peak_bytes()
    line = next(line for line in table.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


def run_alone(path, out, *options):
    """Run this program on the file in a process of its own; return its figures, its end and the checkpoint's size."""
    data.forget(path)
    command = [sys.executable, "-m", "benchmarks.scale.hundred_million", "--file", str(path), "--out", str(out)]
    most = 0
    with subprocess.Popen([*command, *options]) as process:
        while process.poll() is None:
            most = max(most, bytes_in(path.parent / "checkpoint"))
            time.sleep(0.1)
    if process.returncode not in (0, -signal.SIGKILL):
        raise RuntimeError(f"the process on {path} ended with code {process.returncode}")
    found = json.loads(out.with_suffix(".json").read_text()) if process.returncode == 0 else None
    return found, most


def bytes_in(folder):
    """Return the bytes of the files of a folder, which may vanish meanwhile."""
    total = 0
    for path in folder.glob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total


def scores(path, out):
    """Return accuracy and NMI of stored labels, from a table that is counted block by block."""
    truth, labels = np.load(data.labels_path(path), mmap_mode="r"), np.load(out, mmap_mode="r")
    width = int(labels.max()) + 1
    table = np.zeros((data.N_CLUSTERS, width), dtype=np.int64)
    for start in range(0, len(truth), data.ROWS_DRAWN):
        rows = slice(start, start + data.ROWS_DRAWN)
        cells = truth[rows].astype(np.int64) * width + labels[rows]
        table += np.bincount(cells, minlength=table.size).reshape(table.shape)
    accuracy = table[linear_sum_assignment(table, maximize=True)].sum() / len(truth)
    information = mutual_info_score(None, None, contingency=table)
    return float(accuracy), float(information / max(entropy(table.sum(axis=0)), entropy(table.sum(axis=1))))


def same_labels(one, other):
    """Return whether two files of labels are equal."""
    return np.array_equal(np.load(one, mmap_mode="r"), np.load(other, mmap_mode="r"))


def rows_that_fit(n_rows, folder):
    """Return that many rows, or the largest power of two that the disk has room for."""
    free, row_bytes = shutil.disk_usage(folder).free, N_FEATURES * 4 + BYTES_BESIDE
    if n_rows * row_bytes <= free:
        return n_rows
    fitting = 2 ** int(np.log2(free / row_bytes))
    print(f"{n_rows:,} rows need {n_rows * row_bytes / GB:.1f} GB, {free / GB:.1f} GB are free: {fitting:,} rows\n")
    return fitting


def measure_rows(folder, n_rows, quick):
    """Write the file, run all processes on it and print what they took."""
    path = folder / "rows.npy"
    seconds, _ = measure.timed(data.write_file, path, n_rows, N_FEATURES, 0, data.draw_subspace_rows)
    size = path.stat().st_size
    print(f"{n_rows:,} rows x {N_FEATURES}, {size / GB:.2f} GB, written in {seconds:.0f} s", flush=True)
    whole, resumed, rival = (folder / f"{name}.npy" for name in ("whole", "resumed", "rival"))
    options = ["--checkpoint", str(folder / "checkpoint"), *(["--quick"] if quick else [])]
    print("\nfit in one go", flush=True)
    one, disk = run_alone(path, whole, *options)
    print("\nfit that is killed", flush=True)
    killed, _ = run_alone(path, resumed, *options, "--kill-at", str(int(KILLED_AFTER * n_rows)))
    assert killed is None, "the process was not killed"
    left = bytes_in(folder / "checkpoint")
    print(f"\nfit that goes on from the {left / GB:.2f} GB of its checkpoint", flush=True)
    other, _ = run_alone(path, resumed, *options)
    k_means, _ = run_alone(path, rival, "--rival")
    print()
    lines = []
    fits = (
        ("kedge SGL, in one go", one, whole),
        ("kedge SGL, resumed", other, resumed),
        ("MiniBatchKMeans", k_means, rival),
    )
    for name, found, out in fits:
        quality = [f"{score:.4f}" for score in scores(path, out)]
        lines.append([name, f"{found['seconds']:.1f}", f"{found['memory'] / GB:.2f}", str(found["clusters"]), *quality])
    measure.print_table(["process", "seconds", "memory GB", "clusters", "ACC", "NMI"], lines)
    print_verdicts(n_rows, size, disk, one, other, same_labels(whole, resumed))


def print_verdicts(n_rows, size, disk, one, other, same):
    """Print what the fits have to show beside what was asked of them."""
    memory, seconds = max(one["memory"], other["memory"]), one["seconds"]
    lines = [
        ("file, GB", f"{size / GB:.2f}"),
        ("checkpoint at its largest, GB", f"{disk / GB:.2f}, {disk / n_rows:.0f} bytes per row"),
        ("anchors, nearest ones of a row, passes", f"{one['anchors']:,}, {one['nearest']}, {one['passes']}"),
        ("mean confidence", f"{one['confidence']:.3f}"),
        ("most memory, GB", f"{memory / GB:.2f}, {measure.verdict(memory / GB, MOST_MEMORY / GB)}"),
        ("of it not of files, at the end, GB", f"{one['own memory at the end'] / GB:.2f}"),
        ("seconds in one go", f"{seconds:.0f}, {measure.verdict(seconds, MOST_SECONDS)}"),
        ("rows per second", f"{n_rows / seconds:,.0f}"),
        ("rows that the resumed fit found done", f"{other['rows from checkpoint']:,}"),
        ("labels of both fits", "the same" if same else "DIFFERENT"),
    ]
    print()
    for name, value in lines:
        print(f"{name:<40} {value}", flush=True)


def main():
    """Run everything, or one process for it."""
    parser = argparse.ArgumentParser(description="A hundred million rows on disk, and a fit that is killed.")
    parser.add_argument("--quick", action="store_true", help="few rows, to see that it runs")
    parser.add_argument("--rows", type=int, help=f"number of rows; default: {N_ROWS:,}")
    parser.add_argument("--folder", type=Path, help="where the files are written; default: the temporary folder")
    parser.add_argument("--file", type=Path, help="fit this file only, in this process")
    parser.add_argument("--out", type=Path, help="with --file: where the labels go")
    parser.add_argument("--checkpoint", type=Path, help="with --file: the folder of the checkpoint")
    parser.add_argument(
        "--kill-at", type=float, default=np.inf, help="with --file: rows after which to kill the process"
    )
    parser.add_argument("--rival", action="store_true", help="with --file: fit the rival")
    arguments = parser.parse_args()
    if arguments.file and arguments.rival:
        fit_rival(arguments.file, arguments.out)
        return
    if arguments.file:
        fit_file(arguments.file, arguments.checkpoint, arguments.out, arguments.kill_at, arguments.quick)
        return
    measure.start_run("A hundred million rows", arguments.quick)
    print(NOTES.strip() + "\n", flush=True)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        asked = arguments.rows or (QUICK_ROWS if arguments.quick else N_ROWS)
        measure_rows(Path(folder), rows_that_fit(asked, folder), arguments.quick)


if __name__ == "__main__":
    main()
