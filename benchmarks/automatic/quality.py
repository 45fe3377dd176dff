"""The automatic mode beside the rest: ``python -m benchmarks.automatic.quality [--quick] [--sets tr11,orl]``.

What was measured goes, set by set, to a file that ``python -m benchmarks.automatic.verdicts`` reads.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks.automatic import data, rivals
from benchmarks.clustering import measure
from kedge.metrics import clustering_accuracy, nmi
from kedge.metrics.contingency import contingency_table

QUICK_SEEDS = 2
RECORDS = Path(__file__).parent / "results" / "quality.jsonl"


def wrong_rows(y, labels):
    """Return which rows are not in the class that their cluster is matched to."""
    table = contingency_table(y, labels).toarray()
    classes, clusters = linear_sum_assignment(-table)
    matched = np.full(table.shape[1], -1)
    matched[clusters] = classes
    return matched[np.unique(labels, return_inverse=True)[1]] != np.unique(y, return_inverse=True)[1]


def run(rows, method, n_seeds):
    """Return scores, seconds and models of a method over its seeds; None if it cannot run."""
    scores, seconds, models = [], [], []
    for seed in range(n_seeds):
        begun = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = method(rows, seed)
        if model is None:
            return None
        seconds.append(time.perf_counter() - begun)
        scores.append((100 * clustering_accuracy(rows.y, model.labels_), 100 * nmi(rows.y, model.labels_)))
        models.append(model)
    return np.array(scores), seconds, models


def stability(rows, models):
    """Return how many rows have little confidence, and how often these and the others are wrong, over all seeds."""
    low = np.concatenate([np.asarray(model.confidence_) < 0.5 for model in models])
    wrong = np.concatenate([wrong_rows(rows.y, model.labels_) for model in models])
    return {
        "low": float(low.mean()),
        "wrong_low": float(wrong[low].mean()) if low.any() else None,
        "wrong_others": float(wrong[~low].mean()) if not low.all() else None,
    }


def record_set(name, rows, methods, quick):
    """Run the methods on one data set and return what is kept of it."""
    record = {"set": name, "n_rows": len(rows.y), "n_clusters": rows.n_clusters, "methods": {}}
    for method in methods:
        function, n_seeds = rivals.METHODS[method]
        found = run(rows, function, min(n_seeds, QUICK_SEEDS) if quick else n_seeds)
        if found is None:
            continue
        scores, seconds, models = found
        if method == "automatic":
            record["stability"] = stability(rows, models)
        mean, spread = scores.mean(axis=0), scores.std(axis=0)
        record["methods"][method] = {
            "acc": [float(value) for value in scores[:, 0]],
            "nmi": [float(value) for value in scores[:, 1]],
        }
        said = f"ACC {mean[0]:.1f} ± {spread[0]:.1f}, NMI {mean[1]:.1f} ± {spread[1]:.1f}"
        print(f"{name}: {method}: {said}, {np.median(seconds):.2f} s", flush=True)
    return record


def main():
    """Run the sets and append one line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rows and seeds, to see that it runs")
    parser.add_argument("--sets", default=",".join(data.SETS), help="names, separated by commas")
    parser.add_argument("--methods", default=",".join(rivals.METHODS), help="names; others keep what is recorded")
    parser.add_argument("--out", type=Path, default=RECORDS, help="file of records, one line per set")
    arguments = parser.parse_args()
    measure.start_run("The automatic mode beside the rest", arguments.quick)
    for name in arguments.sets.split(","):
        rows = data.load(name, arguments.quick)
        if rows is None:
            continue
        record = record_set(name, rows, arguments.methods.split(","), arguments.quick) | {"quick": arguments.quick}
        with arguments.out.open("a") as file:
            file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
