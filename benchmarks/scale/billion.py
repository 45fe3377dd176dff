"""A worked calculation for 1e9 rows on a cluster: ``python -m benchmarks.scale.billion [--quick]``."""

import argparse
import pickle
from functools import partial

import numpy as np

from benchmarks.clustering import measure
from benchmarks.scale import data
from kedge.core.block_step import PassState, RowBlock, solve_block
from kedge.core.driver_step import EmbeddingPenalty
from kedge.core.rows import build_row_problem, mean_squared_norm
from kedge.kernels.selection import one_thread_per_library

N_ROWS, N_FEATURES, N_ANCHORS, N_WORKERS = 1_000_000_000, 100, 50, 100
TIMED_ROWS, QUICK_ROWS = 200_000, 2_000
GB = 1e9
NOTES = """
1e9 rows of 100 float32 features, 10 clusters, 50 anchors; 100 workers of one thread with equal shares of the rows,
whose chunks they read themselves. Sizes are those of pickled objects of such a fit; weights per row and rows per second
are measured here, on one thread, with drawn rows. Left out: the time to read the rows, to start tasks (about a
millisecond for each chunk and pass), and whatever the network adds to the few bytes that travel.
"""


def main():
    """Print what travels, what stays, and how long a pass takes."""
    parser = argparse.ArgumentParser(description="A worked calculation for 1e9 rows on a cluster.")
    parser.add_argument("--quick", action="store_true", help="few rows, to see that it runs")
    quick = parser.parse_args().quick
    measure.start_run("1e9 rows, a calculation", quick)
    print(NOTES.strip() + "\n", flush=True)
    n_timed = QUICK_ROWS if quick else TIMED_ROWS
    rows = np.concatenate([block for block, _ in data.draw_rows(n_timed, N_FEATURES, 0)])
    anchors = rows[np.random.default_rng(0).choice(n_timed, N_ANCHORS, replace=False)]
    ridge = 0.01 * mean_squared_norm([anchors], [1.0])
    problem = build_row_problem([anchors], weights=[1.0], ridge=ridge)
    shape = (N_ANCHORS, data.N_CLUSTERS)
    penalty = EmbeddingPenalty(1.0, np.ones(shape), np.ones(shape), np.zeros(N_ANCHORS, dtype=bool))
    state = PassState((build_row_problem([anchors], weights=[1.0], ridge=ridge),), penalty)
    with one_thread_per_library():
        seconds, (coefficients, summary) = measure.timed(
            solve_block, PassState((problem,)), RowBlock(slice(0, n_timed), [rows])
        )
    out, back = len(pickle.dumps(partial(solve_block, state))), len(pickle.dumps(summary))
    kept = (coefficients.data.nbytes + coefficients.indices.nbytes + coefficients.indptr.nbytes) / n_timed
    share = N_ROWS / N_WORKERS
    lines = [
        ("state of a pass, to each worker", f"{out / 1e3:.0f} kB, {N_WORKERS * out / 1e6:.1f} MB in all"),
        ("sums of a pass, from each worker", f"{back / 1e3:.0f} kB, {N_WORKERS * back / 1e6:.1f} MB in all"),
        ("moved per pass, at any number of rows", f"{N_WORKERS * (out + back) / 1e6:.1f} MB"),
        ("rows, all", f"{N_ROWS * N_FEATURES * 4 / GB:.0f} GB"),
        ("rows, of each worker", f"{share * N_FEATURES * 4 / GB:.1f} GB, in memory or on its disk"),
        ("weights per row", f"{coefficients.nnz / n_timed:.1f}, {kept:.0f} bytes"),
        ("weights, of each worker", f"{share * kept / GB:.2f} GB"),
        ("labels, of each worker", f"{share * 8 / GB:.2f} GB"),
        ("rows per second and thread", f"{n_timed / seconds:,.0f}"),
        ("a pass", f"{share * seconds / n_timed:.0f} s"),
    ]
    for name, value in lines:
        print(f"{name:<40} {value}", flush=True)


if __name__ == "__main__":
    main()
