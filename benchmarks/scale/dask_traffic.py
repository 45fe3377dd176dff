"""Seconds of a pass and what travels in a Dask cluster: ``python -m benchmarks.scale.dask_traffic [--quick]``."""

import argparse
import tempfile
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import dask
import dask.array
import numpy as np
import zarr
from distributed import Client, LocalCluster
from sklearn.exceptions import ConvergenceWarning

from benchmarks.clustering import measure
from benchmarks.scale import data
from kedge import SGL
from kedge.readers import dask_arrays

SIZES, QUICK_SIZES = (100_000, 200_000, 400_000, 800_000), (1_000, 2_000)
N_FEATURES, N_CHUNKS = 50, 16
FIXED_CHUNK, QUICK_CHUNK = 25_000, 250
WORKERS, QUICK_WORKERS = (1, 2, 4), (1, 2)
STORED_ROWS, QUICK_STORED_ROWS = 400_000, 2_000
# Which neighbours in the tree of sums are on different workers is a matter of where chunks came to lie.
MOST_GROWTH = 1.5
NOTES = """
SGL(10, n_anchors=50, beta=0.2) on a LocalCluster of processes with one thread each; rows of 50 float32 features. Bytes
and seconds of one pass are means over the passes after the first: "between workers" as the workers count them, "all"
by the counter of the loopback interface, so with the messages of the scheduler, which go with the number of tasks, and
with heartbeats.

First two worker processes and rows that are drawn on the workers. They stay with the worker that drew them, but for the
sample that anchors are chosen from, before the first pass. Dask's work stealing is off, because it sends a chunk to an
idle worker now and then, whatever the program.
"""
STORED_NOTES = """
The same with rows in a Zarr array, and with work stealing, which Dask has on. "held": the rows fit into the memory of
the workers, so they are read once. "read again": kedge is told that they do not fit, so every pass reads them where the
weights of their rows are. This machine has two processors, which the scheduler and this program share with the workers,
so four workers cannot be faster than two.
"""


def lazy_rows(n_rows, chunk_rows):
    """Return rows that every worker draws for itself, chunk by chunk."""
    template = dask.array.zeros((n_rows, N_FEATURES), chunks=(chunk_rows, -1), dtype=np.float32)
    return template.map_blocks(_draw, dtype=np.float32)


def _draw(block, block_info=None):
    start = block_info[0]["array-location"][0][0]
    drawn = [rows for rows, _ in data.draw_rows(len(block), N_FEATURES, 0)]
    return np.concatenate(drawn) + np.random.default_rng(start).normal(size=block.shape).astype(np.float32)


def sent_by_workers(client):
    """Bytes that workers have sent to one another so far."""
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


def sent_on_loopback():
    """Bytes that went through the loopback interface so far; zero where the system does not tell."""
    table = Path("/proc/net/dev")
    lines = table.read_text().splitlines() if table.exists() else []
    return sum(int(line.split(":")[1].split()[0]) for line in lines if line.strip().startswith("lo:"))


def measure_fit(client, rows):
    """Fit; return bytes between workers, bytes in all and seconds, per pass after the first, and seconds and passes."""
    counts = []

    def note(report):
        counts.append((sent_by_workers(client), sent_on_loopback(), time.perf_counter()))

    began = time.perf_counter()
    model = SGL(data.N_CLUSTERS, n_anchors=50, beta=0.2, tol=0.0, max_iter=5, random_state=0, callback=note).fit(rows)
    seconds = time.perf_counter() - began
    return np.diff(counts, axis=0).mean(axis=0).tolist(), seconds, model


def print_traffic(client, sizes, chunk_of):
    """Print bytes per pass over the number of rows; return them."""
    table, found = [], []
    for n_rows in sizes:
        (between, all_bytes, _), seconds, model = measure_fit(client, lazy_rows(n_rows, chunk_of(n_rows)))
        found.append((between, all_bytes))
        moved = [f"{count / 1e6:.2f}" for count in (between, all_bytes)]
        size = [f"{n_rows:,}", str(-(-n_rows // chunk_of(n_rows))), f"{n_rows * N_FEATURES * 4 / 1e6:,.0f}"]
        table.append([*size, *moved, f"{seconds:.1f}", str(model.n_iter_)])
    measure.print_table(["rows", "chunks", "X MB", "between workers MB", "all MB", "seconds", "passes"], table)
    return np.array(found)


@contextmanager
def cluster_of(n_workers, stealing=True):
    """Yield the client of a cluster of worker processes with one thread each."""
    options = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        dask.config.set({"distributed.scheduler.work-stealing": stealing}),
        LocalCluster(**options) as cluster,
        Client(cluster) as client,
    ):
        yield client


def write_zarr(path, n_rows, chunk_rows):
    """Write rows chunk by chunk, compressed as Zarr does unless told otherwise."""
    stored = zarr.open(
        str(path), mode="w", shape=(n_rows, N_FEATURES), chunks=(chunk_rows, N_FEATURES), dtype="float32"
    )
    start = 0
    for block, _ in data.draw_rows(n_rows, N_FEATURES, 0):
        stored[start : start + len(block)] = block
        start += len(block)


def print_workers(path, numbers):
    """Print seconds and bytes per pass over the number of workers, for rows that are held and rows that are read."""
    table, labels = [], []
    for n_workers in numbers:
        with cluster_of(n_workers) as client:
            for name, share in (("held", dask_arrays.SHARE_FOR_ROWS), ("read again", 0.0)):
                with mock.patch.object(dask_arrays, "SHARE_FOR_ROWS", share):
                    found, seconds, model = measure_fit(client, dask.array.from_zarr(str(path)))
                labels.append(model.labels_.compute())
                moved = [f"{count / 1e6:.2f}" for count in found[:2]]
                table.append([str(n_workers), name, f"{found[2]:.2f}", *moved, f"{seconds:.1f}"])
    measure.print_table(["workers", "rows", "s per pass", "between workers MB", "all MB", "seconds of the fit"], table)
    same = all(np.array_equal(own, labels[0]) for own in labels)
    print(f"labels of all these fits: {'the same' if same else 'DIFFERENT'}")


def main():
    """Print bytes per pass, with as many chunks throughout and with chunks of one size."""
    warnings.simplefilter("ignore", ConvergenceWarning)  # the number of passes is set
    parser = argparse.ArgumentParser(description="Seconds of a pass and what travels in a Dask cluster.")
    parser.add_argument("--quick", action="store_true", help="tiny data, to see that it runs")
    quick = parser.parse_args().quick
    measure.start_run("Dask: seconds and bytes of a pass", quick)
    print(NOTES.strip() + "\n", flush=True)
    sizes, chunk = (QUICK_SIZES, QUICK_CHUNK) if quick else (SIZES, FIXED_CHUNK)
    with cluster_of(2, stealing=False) as client:
        print(f"{N_CHUNKS} chunks whatever the number of rows", flush=True)
        found = print_traffic(client, sizes, lambda n_rows: -(-n_rows // N_CHUNKS))
        rows, growth = sizes[-1] / sizes[0], found[-1, 1] / max(found[0, 1], 1)
        print(f"{rows:.0f} times the rows, {growth:.2f} times the bytes, {measure.verdict(growth, MOST_GROWTH)}\n")
        print(f"chunks of {chunk:,} rows", flush=True)
        print_traffic(client, sizes, lambda n_rows: chunk)
    n_rows, numbers = (QUICK_STORED_ROWS, QUICK_WORKERS) if quick else (STORED_ROWS, WORKERS)
    print(STORED_NOTES.rstrip() + "\n", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.zarr"
        write_zarr(path, n_rows, n_rows // N_CHUNKS)
        print(f"{n_rows:,} rows in {N_CHUNKS} chunks, X {n_rows * N_FEATURES * 4 / 1e6:,.0f} MB", flush=True)
        print_workers(path, numbers)


if __name__ == "__main__":
    main()
