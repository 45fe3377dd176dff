"""One fit in a process of its own: ``python -m benchmarks.speed.child FOLDER METHOD K SEED LIMIT``.

Reads ``X.npy`` of the folder, leaves ``labels.npy`` there and prints one line of JSON. A fit that takes longer than the
limit ends the process by SIGALRM.
"""

import gc
import json
import signal
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.speed.rivals import METHODS

# Enough that all code which is compiled or imported on first use has been used; UMAP is approximate from 4,096 on.
WARM_UP_ROWS = 5_000
# Entries of the product that are formed at once: 4 MiB in float32, which stay in the cache.
BLOCK_ENTRIES = 1 << 20
# The shortest of so many products counts.
PRODUCTS = 3


def timed_fit(method, X, k, seed, limit):
    """Return the fitted model and its seconds, after a fit of some rows that does not count."""
    method.fit(X[:WARM_UP_ROWS], k, seed)
    gc.collect()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, limit)
    started = time.perf_counter()
    model = method.fit(X, k, seed)
    seconds = time.perf_counter() - started
    signal.setitimer(signal.ITIMER_REAL, 0)
    return model, seconds


def seconds_of_product(X, n_anchors):
    """Return the seconds of X A', where A are rows of X: what any method with that many anchors must form."""
    transposed = X[np.arange(n_anchors) % len(X)].T
    n_rows = max(1, BLOCK_ENTRIES // n_anchors)
    product = np.empty((n_rows, n_anchors), dtype=X.dtype)
    seconds = []
    for _ in range(PRODUCTS):
        started = time.perf_counter()
        for start in range(0, len(X), n_rows):
            block = X[start : start + n_rows]
            np.matmul(block, transposed, out=product[: len(block)])
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def main():
    """Fit once and say how long it took."""
    folder, name, k, seed, limit = sys.argv[1:]
    X = np.load(Path(folder) / "X.npy")
    model, seconds = timed_fit(METHODS[name], X, int(k), int(seed), float(limit))
    np.save(Path(folder) / "labels.npy", model.labels_)
    outcome = {"seconds": seconds}
    if hasattr(model, "anchors_"):
        n_anchors = len(model.anchors_)
        outcome |= {"n_anchors": n_anchors, "product_seconds": seconds_of_product(X, n_anchors)}
    print(json.dumps(outcome))


if __name__ == "__main__":
    main()
