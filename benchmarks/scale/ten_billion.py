"""A model of 1e10 rows on a hundred workers: ``python -m benchmarks.scale.ten_billion [--quick]``."""

import argparse
import pickle
import tempfile
import time
from functools import partial
from pathlib import Path
from unittest import mock

import dask.array
import numpy as np
import zarr

from benchmarks.clustering import measure
from benchmarks.scale import data
from benchmarks.scale.dask_traffic import cluster_of
from kedge.core.block_step import PassState, solve_block
from kedge.core.driver_step import EmbeddingPenalty
from kedge.core.rows import build_near_problem, build_row_problem, mean_squared_norm
from kedge.core.scaling import ViewScaling
from kedge.engines.dask_engine import DaskEngine
from kedge.engines.local import choose_engine
from kedge.inputs import Views
from kedge.kernels.selection import one_thread_per_library
from kedge.readers import dask_arrays
from kedge.readers.arrays import ArraySource, StoredView, settle_views
from kedge.readers.dask_arrays import DaskReader

N_ROWS, N_WORKERS, N_FEATURES = 10_000_000_000, 100, 100
CHUNK_BYTES = 100e6
NETWORK = 1e9
TIMED_ROWS, QUICK_ROWS = 200_000, 4_000
STORED_BYTES, QUICK_BYTES = 1e9, 4e6
EMPTY_CHUNKS, QUICK_CHUNKS = 200, 8
ROWS_OF_EMPTY = 10
REPEATS = 3
GB = 1e9
NOTES = f"""
1e10 rows of {N_FEATURES} float32 features in chunks of {CHUNK_BYTES / 1e6:.0f} MB; {N_WORKERS} workers of one thread.
Measured here: rows per second of a first pass on one thread, rows in memory; how fast one thread reads a Zarr array
from this disk, compressed as Zarr does unless told otherwise and dropped from the system's cache; the sizes of pickled
states and sums; and what a chunk costs beside its rows: a pass over chunks of {ROWS_OF_EMPTY} rows on a cluster of two
worker processes, divided by the number of chunks, the median of {REPEATS}. Assumed:
- Workers have equal shares of the rows, and each is as quick as one thread of this machine. Each reads as quickly as
  one thread here, also while the others read.
- Reading, solving and what a chunk costs come one after the other. What a chunk costs counts in full for the one
  scheduler, so that more workers do not help, although workers do a part of it, and two of them share two processors
  with the scheduler here.
- Neighbouring chunks lie on one worker, so the state of a pass and its sums travel once for each worker. All go through
  one point at {NETWORK / GB:g} GB per second, although sums are merged on the way.
- Left out: anchors, which come from a sample of the rows; the cut of the graph, which has as many nodes as there are
  anchors; labels, which are computed when they are asked for.
"""


def problems(anchors):
    """Return the states of two kinds of fits: the default one for many rows, and one with a structure penalty."""
    near = PassState((build_near_problem([anchors], [1.0], 3),))
    few = anchors[:: len(anchors) // 50]
    ridge = 0.1 * mean_squared_norm([few], [1.0])
    shape = (len(few), data.N_CLUSTERS)
    penalty = EmbeddingPenalty(1.0, np.ones(shape), np.ones(shape), np.zeros(len(few), dtype=bool))
    mixed = PassState((build_row_problem([few], weights=[1.0], ridge=ridge),), penalty)
    return {f"nearest of {len(anchors):,} anchors": near, f"mixes of {len(few)}, beta > 0": mixed}


def solve_rows(rows, state):
    """Return seconds of a first pass over rows on one thread, bytes of weights per row, and bytes of the sums."""
    source = ArraySource([rows], [ViewScaling("none")])
    engine = choose_engine(source, sum(problem.row_entries for problem in state.problems), 1)
    with one_thread_per_library():
        seconds, summary = measure.timed(engine.run_pass, partial(solve_block, PassState(state.problems)))
    graph = engine.graph(None)
    kept = graph.data.nbytes + graph.indices.nbytes + graph.indptr.nbytes
    return seconds, kept / len(rows), len(pickle.dumps(summary))


def reading_speed(folder, n_bytes):
    """Return bytes per second of rows that are read from a Zarr array by one thread."""
    n_rows = int(n_bytes / (4 * N_FEATURES))
    chunk = min(n_rows, int(CHUNK_BYTES / (4 * N_FEATURES)))
    stored = zarr.open(str(folder), mode="w", shape=(n_rows, N_FEATURES), chunks=(chunk, N_FEATURES), dtype="float32")
    for start in range(0, n_rows, chunk):
        stored[start : start + chunk] = np.concatenate([b for b, _ in data.draw_rows(chunk, N_FEATURES, start)])
    for path in (path for path in folder.rglob("*") if path.is_file()):
        data.forget(path)
    began = time.perf_counter()
    with dask.config.set(scheduler="synchronous"):
        for block in dask.array.from_zarr(str(folder)).blocks.ravel():
            block.compute()
    return n_rows * N_FEATURES * 4 / (time.perf_counter() - began)


def seconds_per_chunk(folder, state, n_chunks, share):
    """Return the seconds of a pass over nearly empty chunks on two workers, for each of them."""
    rows = np.zeros((n_chunks * ROWS_OF_EMPTY, N_FEATURES), dtype=np.float32)
    stored = zarr.open(str(folder), mode="w", shape=rows.shape, chunks=(ROWS_OF_EMPTY, N_FEATURES), dtype="float32")
    stored[:] = rows
    with cluster_of(2), mock.patch.object(dask_arrays, "SHARE_FOR_ROWS", share):
        views = Views([StoredView(DaskReader(dask.array.from_zarr(str(folder))))], ("X",))
        settle_views(views.arrays)
        engine = DaskEngine(ArraySource(views.arrays, [ViewScaling("none")]), ROWS_OF_EMPTY)
        engine.run_pass(partial(solve_block, PassState(state.problems)))
        seconds = [measure.timed(engine.run_pass, partial(solve_block, state))[0] for _ in range(REPEATS)]
    return float(np.median(seconds)) / n_chunks


def model(seconds_per_row, per_chunk, sums, state, read=0.0):
    """Return the parts of the seconds of a pass."""
    n_chunks = N_ROWS * N_FEATURES * 4 / CHUNK_BYTES
    share = N_ROWS / N_WORKERS
    return {
        "reading": share * N_FEATURES * 4 * read,
        "rows": share * seconds_per_row,
        "chunks": n_chunks * per_chunk,
        "network": N_WORKERS * (sums + state) / NETWORK,
    }


def print_kinds(rows, folder, speed, n_chunks):
    """Print a column of figures for both kinds of fits."""
    anchors = rows[np.random.default_rng(0).choice(len(rows), min(1_000, len(rows) // 4), replace=False)]
    columns = []
    for state in problems(anchors).values():
        seconds, kept, sums = solve_rows(rows, state)
        out = len(pickle.dumps(partial(solve_block, state)))
        held, again = (
            seconds_per_chunk(folder / f"empty-{share}.zarr", state, n_chunks, share)
            for share in (dask_arrays.SHARE_FOR_ROWS, 0.0)
        )
        per_row = seconds / len(rows)
        passes = model(per_row, held, sums, out), model(per_row, again, sums, out, 1 / speed)
        columns.append(
            {
                "state of a pass, kB": f"{out / 1e3:,.0f}",
                "sums of a pass, kB": f"{sums / 1e3:,.0f}",
                "state and sums of all workers, MB": f"{N_WORKERS * (out + sums) / 1e6:,.1f}",
                "weights, bytes per row": f"{kept:.0f}",
                "weights of a worker, GB": f"{kept * N_ROWS / N_WORKERS / GB:.1f}",
                "rows per second and thread": f"{1 / per_row:,.0f}",
                "ms of a chunk, rows held": f"{1e3 * held:.1f}",
                "ms of a chunk, read again": f"{1e3 * again:.1f}",
                "s of a pass, rows held": f"{sum(passes[0].values()):,.0f}",
                "s of a pass, read again": f"{sum(passes[1].values()):,.0f}",
                **{f"of it s for {name}": f"{value:,.0f}" for name, value in passes[1].items()},
            }
        )
    table = [[name, *(column[name] for column in columns)] for name in columns[0]]
    measure.print_table(["what", *problems(anchors)], table)


def main():
    """Print what is measured and what follows from it."""
    parser = argparse.ArgumentParser(description="A model of 1e10 rows on a hundred workers.")
    parser.add_argument("--quick", action="store_true", help="few rows, to see that it runs")
    quick = parser.parse_args().quick
    measure.start_run("1e10 rows, a model", quick)
    print(NOTES.strip() + "\n", flush=True)
    rows = np.concatenate([b for b, _ in data.draw_rows(QUICK_ROWS if quick else TIMED_ROWS, N_FEATURES, 0)])
    share = N_ROWS / N_WORKERS * N_FEATURES * 4
    with tempfile.TemporaryDirectory() as folder:
        speed = reading_speed(Path(folder) / "rows.zarr", QUICK_BYTES if quick else STORED_BYTES)
        lines = [
            ("rows of all workers", f"{share * N_WORKERS / 1e12:.0f} TB"),
            ("rows of a worker", f"{share / GB:.0f} GB"),
            ("memory of a worker that holds them", f"{share / dask_arrays.SHARE_FOR_ROWS / GB:.0f} GB"),
            ("chunks", f"{share * N_WORKERS / CHUNK_BYTES:,.0f}"),
            ("read from Zarr", f"{speed / 1e6:,.0f} MB per second"),
        ]
        for name, value in lines:
            print(f"{name:<40} {value}", flush=True)
        print()
        print_kinds(rows, Path(folder), speed, QUICK_CHUNKS if quick else EMPTY_CHUNKS)


if __name__ == "__main__":
    main()
