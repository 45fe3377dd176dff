"""What travels between the processes of a Dask cluster: ``python -m benchmarks.scale.dask_traffic [--quick]``."""

import argparse
import time
import warnings
from pathlib import Path

import dask.array
import numpy as np
from distributed import Client, LocalCluster
from sklearn.exceptions import ConvergenceWarning

from benchmarks.clustering import measure
from benchmarks.scale import data
from kedge import SGL

SIZES, QUICK_SIZES = (100_000, 200_000, 400_000, 800_000), (1_000, 2_000)
N_FEATURES, N_CHUNKS = 50, 16
FIXED_CHUNK, QUICK_CHUNK = 25_000, 250
# Which neighbours in the tree of sums are on different workers is a matter of where chunks came to lie.
MOST_GROWTH = 1.5
NOTES = """
SGL(10, beta=0.2) on a LocalCluster of two worker processes with one thread each; rows of 50 float32 features, drawn on
the workers. Bytes of one pass, mean over the passes after the first: "between workers" as the workers count them,
"all" by the counter of the loopback interface, so with the messages of the scheduler, which go with the number of
tasks, and with heartbeats. Rows stay with the worker that drew them, but for the sample that anchors are chosen from,
before the first pass, and for what Dask's scheduler may move to an idle worker.
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
    """Fit; return bytes between workers and in all, per pass after the first, seconds and passes."""
    counts = []

    def note(report):
        counts.append((sent_by_workers(client), sent_on_loopback()))

    began = time.perf_counter()
    model = SGL(data.N_CLUSTERS, n_anchors=50, beta=0.2, tol=0.0, max_iter=5, random_state=0, callback=note).fit(rows)
    seconds = time.perf_counter() - began
    between, all_bytes = (np.diff([count[i] for count in counts]).mean() for i in (0, 1))
    return between, all_bytes, seconds, model.n_iter_


def print_traffic(client, sizes, chunk_of):
    """Print bytes per pass over the number of rows; return them."""
    table, found = [], []
    for n_rows in sizes:
        between, all_bytes, seconds, passes = measure_fit(client, lazy_rows(n_rows, chunk_of(n_rows)))
        found.append((between, all_bytes))
        moved = [f"{count / 1e6:.2f}" for count in (between, all_bytes)]
        size = [f"{n_rows:,}", str(-(-n_rows // chunk_of(n_rows))), f"{n_rows * N_FEATURES * 4 / 1e6:,.0f}"]
        table.append([*size, *moved, f"{seconds:.1f}", str(passes)])
    measure.print_table(["rows", "chunks", "X MB", "between workers MB", "all MB", "seconds", "passes"], table)
    return np.array(found)


def main():
    """Print bytes per pass, with as many chunks throughout and with chunks of one size."""
    warnings.simplefilter("ignore", ConvergenceWarning)  # the number of passes is set
    parser = argparse.ArgumentParser(description="What travels between the processes of a Dask cluster.")
    parser.add_argument("--quick", action="store_true", help="tiny data, to see that it runs")
    quick = parser.parse_args().quick
    measure.start_run("Dask: bytes moved per pass", quick)
    print(NOTES.strip() + "\n", flush=True)
    sizes, chunk = (QUICK_SIZES, QUICK_CHUNK) if quick else (SIZES, FIXED_CHUNK)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        print(f"{N_CHUNKS} chunks whatever the number of rows", flush=True)
        found = print_traffic(client, sizes, lambda n_rows: -(-n_rows // N_CHUNKS))
        rows, growth = sizes[-1] / sizes[0], found[-1, 1] / max(found[0, 1], 1)
        print(f"{rows:.0f} times the rows, {growth:.2f} times the bytes, {measure.verdict(growth, MOST_GROWTH)}\n")
        print(f"chunks of {chunk:,} rows", flush=True)
        print_traffic(client, sizes, lambda n_rows: chunk)


if __name__ == "__main__":
    main()
