"""One search in a process of its own: ``python -m benchmarks.anchors.child FOLDER METHOD ROUNDS THREADS SEED``.

Reads ``rows.npy`` and ``starts.npy`` of the folder, leaves ``centers.npy`` there and prints one line of JSON.
"""

import gc
import json
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.anchors.methods import METHODS, Task

# Enough that all code which is loaded on first use has been used; SuperKMeans prunes from some hundred centres on.
WARM_UP_ROWS, WARM_UP_CENTERS = 5_000, 500


def main():
    """Find the centres once and say how long it took, after a smaller search that does not count."""
    folder, name, *numbers = sys.argv[1:]
    folder, find, numbers = Path(folder), METHODS[name], list(map(int, numbers))
    rows, starts = np.load(folder / "rows.npy"), np.load(folder / "starts.npy")
    find(Task(rows[:WARM_UP_ROWS], np.arange(min(WARM_UP_CENTERS, len(starts))), *numbers))
    gc.collect()
    started = time.perf_counter()
    centers, n_done = find(Task(rows, starts, *numbers))
    seconds = time.perf_counter() - started
    if centers is not None:
        np.save(folder / "centers.npy", centers)
    print(json.dumps({"seconds": seconds, "rounds": int(n_done)}))


if __name__ == "__main__":
    main()
