"""What the automatic mode costs beside a plain fit: ``python -m benchmarks.automatic.cost [--quick] [--sets tr11]``.

Each set is fitted in turn by both, plain first, and the ratio is that of the medians: run it on a quiet machine.
"""

import argparse
import warnings

import numpy as np

from benchmarks.automatic import data, rivals
from benchmarks.clustering import measure

REPEATS = 3


def main():
    """Print seconds of both and their ratio for every set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rows, to see that it runs")
    parser.add_argument("--sets", default=",".join(data.SETS), help="names, separated by commas")
    arguments = parser.parse_args()
    measure.start_run("The automatic mode beside a plain fit", arguments.quick)
    table = []
    for name in arguments.sets.split(","):
        rows = data.load(name, arguments.quick)
        if rows is None:
            continue
        seconds = {"defaults": [], "automatic": []}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for seed in range(1 if arguments.quick else REPEATS):
                for method in seconds:
                    seconds[method].append(measure.timed(rivals.METHODS[method][0], rows, seed)[0])
        plain, automatic = np.median(seconds["defaults"]), np.median(seconds["automatic"])
        cells = [f"{plain:.2f}", f"{automatic:.2f}", f"{automatic / plain:.1f}"]
        table.append([name, str(len(rows.y)), *cells])
        print(f"{name}: {cells[-1]}", flush=True)
    print()
    measure.print_table(["set", "rows", "defaults, s", "automatic, s", "ratio"], table)


if __name__ == "__main__":
    main()
