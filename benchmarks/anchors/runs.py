"""The runs: each in a process of its own, one at a time, method after method, then the next repeat."""

import json
import subprocess
import sys

import numpy as np
from sklearn.utils import gen_batches

from benchmarks.anchors.methods import METHODS, PRODUCTS
from kedge.anchors.sets import FINE_ROUNDS
from kedge.core.lloyd import first_distinct
from kedge.core.rows import sample_rows
from kedge.kernels.selection import default_threads

_ROWS_AT_A_TIME = 1_000


class RunFailed(Exception):
    """A run ended with an error."""


def draw(X, n_rows, n_centers, seed):
    """Return a sample of the rows and the numbers in it of the starting rows, drawn as a fit draws its anchors."""
    random_state = np.random.RandomState(seed)
    rows = np.ascontiguousarray(X[sample_rows(len(X), n_rows, random_state)], dtype=np.float32)
    return rows, first_distinct([rows], random_state.permutation(len(rows)), n_centers)


def sum_of_squares(rows, centers):
    """Return the sum of the squared distances of rows to their nearest centres."""
    lengths, total = np.einsum("ij,ij->i", centers, centers), 0.0
    for numbers in gen_batches(len(rows), _ROWS_AT_A_TIME):
        block = rows[numbers]
        # Single precision may take one of two centres that are equally near; the distance itself is in double.
        nearest = np.argmin(lengths - 2 * block @ centers.T, axis=1)
        total += float(((block.astype(np.float64) - centers[nearest]) ** 2).sum())
    return total


def run_once(folder, rows, method, seed):
    """Return seconds, rounds done and sum of squares of one run; the bare products have no sum."""
    module, numbers = "benchmarks.anchors.child", (FINE_ROUNDS, default_threads(), seed)
    command = [sys.executable, "-m", module, folder, method, *numbers]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RunFailed((done.stderr.splitlines() or [f"the process ended with {done.returncode}"])[-1])
    outcome = json.loads(done.stdout.splitlines()[-1])
    if method != PRODUCTS:
        outcome["squares"] = sum_of_squares(rows, np.load(folder / "centers.npy"))
    return outcome


def run_all(folder, X, n_rows, n_centers, methods, n_repeats):
    """Return the outcomes of every method, one per repeat, and the errors of those that failed.

    The number of the repeat is the seed of the sample and of the starts.
    """
    found, failed = {method: [] for method in METHODS if method in methods}, {}
    for seed in range(n_repeats):
        rows, starts = draw(X, n_rows, n_centers, seed)
        np.save(folder / "rows.npy", rows)
        np.save(folder / "starts.npy", starts)
        for method in list(found):
            try:
                outcome = run_once(folder, rows, method, seed)
            except RunFailed as error:
                failed[method] = error
                del found[method]
            else:
                found[method].append(outcome)
                took = f"{outcome['seconds']:.3f} s"
                print(f"m = {n_centers}, {method}, seed {seed}: {took}", file=sys.stderr, flush=True)
    return found, failed
