"""Orthogonal matching pursuit in blocks beside a loop over rows: ``python -m benchmarks.baselines.matching_pursuit``.

``--quick`` runs on tiny data.
"""

import argparse

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.clustering import measure
from kedge.baselines.sscomp import pursue_rows
from kedge.datasets import make_union_of_subspaces

N_SUBSPACES, DIM, AMBIENT_DIM = 5, 6, 9
N_ROWS, QUICK_ROWS = 20_000, 300
THRESHOLD = 1e-5
N_ROUNDS = 3
TARGET_RATIO, TARGET_DIFFERENCE = 3, 1e-6


def pursue_row_by_row(X, n_nonzero, threshold):
    """Return the same coefficients by a loop over rows: correlations, the largest, least squares, residual."""
    columns = np.ascontiguousarray(X.T)
    entries, chosen, pointers = [], [], [0]
    for own, row in enumerate(X):
        residual, support, weights = row, [], np.empty(0)
        limit = threshold * np.linalg.norm(row)
        while len(support) < n_nonzero and residual @ residual >= limit:
            sizes = np.abs(X @ residual)
            sizes[own] = 0
            sizes[support] = 0
            support.append(int(sizes.argmax()))
            q, r = np.linalg.qr(columns[:, support])
            projections = row @ q
            weights = np.linalg.solve(r, projections)
            residual = row - q @ projections
        entries.append(weights)
        chosen.append(support)
        pointers.append(pointers[-1] + len(support))
    parts = np.concatenate(entries), np.concatenate(chosen).astype(np.int64), pointers
    return sparse.csr_array(parts, shape=(len(X), len(X)))


def measure_rounds(X, n_rounds):
    """Return seconds per round of the loop on one thread, of the loop on all threads of BLAS and of kedge."""
    seconds = {"row by row, BLAS on one thread": [], "row by row": [], "kedge": []}
    for _ in range(n_rounds):
        with threadpool_limits(1, "blas"):
            taken, _ = measure.timed(pursue_row_by_row, X, DIM, THRESHOLD)
        seconds["row by row, BLAS on one thread"].append(taken)
        taken, expected = measure.timed(pursue_row_by_row, X, DIM, THRESHOLD)
        seconds["row by row"].append(taken)
        taken, found = measure.timed(pursue_rows, X, DIM, THRESHOLD)
        seconds["kedge"].append(taken)
    return seconds, abs(found - expected).max()


def main():
    """Print the table, the ratio and the difference."""
    parser = argparse.ArgumentParser(description="Orthogonal matching pursuit in blocks beside a loop over rows.")
    parser.add_argument("--quick", action="store_true", help="tiny data, to see that it runs")
    quick = parser.parse_args().quick
    measure.start_run("Orthogonal matching pursuit of every row over the others", quick)
    n_rows, n_rounds = (QUICK_ROWS, 1) if quick else (N_ROWS, N_ROUNDS)
    print(
        f"{n_rows:,} rows of {N_SUBSPACES} subspaces of dimension {DIM} in R^{AMBIENT_DIM}, unit length, no noise; at "
        f"most {DIM} picks\nper row, threshold {THRESHOLD:g}. Rounds: {n_rounds}. seconds: median.\n",
        flush=True,
    )
    X, _ = make_union_of_subspaces(n_rows, n_subspaces=N_SUBSPACES, dim=DIM, ambient_dim=AMBIENT_DIM, random_state=0)
    seconds, difference = measure_rounds(X, n_rounds)
    rows = [[name, f"{np.median(taken):.2f}", f"{min(taken):.2f}"] for name, taken in seconds.items()]
    measure.print_table(["method", "seconds", "best"], rows)
    medians = {name: np.median(taken) for name, taken in seconds.items()}
    ours = medians.pop("kedge")
    # The faster of both loops is the one to beat.
    ratio = min(medians.values()) / ours
    print(f"\nrow by row over kedge: {ratio:.1f}, target {measure.verdict(ratio, TARGET_RATIO, at_most=False)}")
    print(
        f"largest difference of coefficients: {difference:.1e}, target {measure.verdict(difference, TARGET_DIFFERENCE)}"
    )


if __name__ == "__main__":
    main()
