"""Print every table: ``python -m benchmarks.row_solver [--quick]``."""

import argparse

import numpy as np

from benchmarks.clustering.measure import start_run
from benchmarks.row_solver import measure, rivals
from benchmarks.row_solver.problems import mixture_problem, planted_problem
from kedge.kernels.selection import LARGE_SUPPORT, default_threads

COMPARISON_NOTES = """
Rows per second, n = {n_rows:,}, {threads} threads. cold: no start. threads: over one thread.
warm: after a change of one part in a thousand, from the old solutions; /cold: over our own cold start of those rows;
/vertex: over the textbook cold start that grows every support from one vertex.
prepare: check, factor and inverse of H, once for all rows and not part of the rates.
quadprog runs row by row, ProxQP as a parallel batch, on as many rows as fit in a few seconds.
KKT: our largest residual relative to max|H| + max|f|. gap: largest difference of a weight from theirs.
"""


def compare_with_rivals(sizes, n_rows):
    """Cold, warm and threaded rates beside quadprog and ProxQP."""
    threads = default_threads()
    print(COMPARISON_NOTES.format(n_rows=n_rows, threads=threads))
    print(
        f"{'m':>5} {'regime':>7} {'support':>8} {'cold':>11} {'threads':>8} {'warm':>11} {'/cold':>7} {'/vertex':>8} "
        f"{'prepare':>8} {'quadprog':>9} {'of rows':>8} {'ratio':>8} {'ProxQP':>8} {'of rows':>8} {'ratio':>8} "
        f"{'KKT':>8} {'gap':>8}"
    )
    for m in sizes:
        for regime in ("sparse", "dense"):
            problem = mixture_problem(n_rows, m, regime)
            cold, weights = measure.rate(problem, problem.linear)
            single, _ = measure.rate(problem, problem.linear, n_threads=1)
            cold_changed, _ = measure.rate(problem, problem.changed)
            warm, _ = measure.rate(problem, problem.changed, start=weights)
            from_vertex = measure.forced_rate(problem, large=False, most_rows=1_000)
            theirs, solved = rivals.rows_per_second_of_quadprog(problem)
            batch, batch_solved = rivals.rows_per_second_of_proxqp(problem, threads)
            gap = max(np.abs(s - weights[: len(s)]).max() for s in (solved, batch_solved))
            prepare = measure.preparation_milliseconds(problem)
            support = np.count_nonzero(weights) / n_rows
            kkt = measure.worst_kkt(problem, weights)
            print(
                f"{m:>5} {regime:>7} {support:>8.1f} {cold:>11,.0f} {cold / single:>7.2f}x {warm:>11,.0f} "
                f"{warm / cold_changed:>6.2f}x {warm / from_vertex:>7.1f}x {prepare:>5.1f} ms "
                f"{theirs:>9,.0f} {len(solved):>8,} {cold / theirs:>7,.0f}x "
                f"{batch:>8,.0f} {len(batch_solved):>8,} {cold / batch:>7,.0f}x {kkt:>8.0e} {gap:>8.0e}",
                flush=True,
            )


def cost_over_anchors(sizes, n_rows, support=8):
    """Cost per row at fixed support; printed with the fitted exponent."""
    print(f"\nCost per row when every solution has exactly {support} nonzeros, n = {n_rows:,}, one thread.")
    print(f"{'m':>5} {'us per row':>11} {'ns per row and anchor':>22}")
    micro = []
    for m in sizes:
        problem = planted_problem(n_rows, m, support)
        speed, weights = measure.rate(problem, problem.linear, n_threads=1)
        assert (np.count_nonzero(weights, axis=1) == support).all()
        micro.append(1e6 / speed)
        print(f"{m:>5} {micro[-1]:>11.2f} {1e3 * micro[-1] / m:>22.1f}", flush=True)
    exponent = np.polyfit(np.log(sizes), np.log(micro), 1)[0]
    print(f"fitted exponent of m: {exponent:.2f}")


def crossing_of_the_two_starts(sizes, n_rows):
    """Where the start for large supports overtakes the one for small supports."""
    print(
        f"\nCold rows per second by start, n = {n_rows:,}; the rule picks 'large' above {LARGE_SUPPORT} of the anchors."
    )
    print(f"{'m':>5} {'share':>6} {'small':>11} {'large':>11} {'large/small':>12}")
    for m in sizes:
        for share in (0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9):
            problem = mixture_problem(n_rows, m, "dense", share=share)
            small, large = measure.forced_rate(problem, large=False), measure.forced_rate(problem, large=True)
            print(f"{m:>5} {share:>6.2f} {small:>11,.0f} {large:>11,.0f} {large / small:>11.2f}x", flush=True)


def main():
    """Parse the arguments and print the tables."""
    parser = argparse.ArgumentParser(description="Row solver against general solvers, in one run.")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    quick = parser.parse_args().quick
    start_run("Row solver beside general solvers", quick)
    if quick:
        rivals.SECONDS, measure.LEAST_SECONDS, measure.REPEATS = 0.05, 0.0, 1
    compare_with_rivals((20,) if quick else (50, 100, 200, 500), 300 if quick else 20_000)
    cost_over_anchors((20, 40) if quick else (50, 100, 200, 400, 800, 1600), 300 if quick else 5_000)
    crossing_of_the_two_starts((20,) if quick else (100, 300), 300 if quick else 5_000)


if __name__ == "__main__":
    main()
