"""The automatic mode beside the rest: ``python -m benchmarks.automatic.quality [--quick] [--sets tr11,orl]``."""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks.automatic import data, rivals
from benchmarks.clustering import measure
from kedge.metrics import clustering_accuracy, nmi
from kedge.metrics.contingency import contingency_table
from kedge.reproduce.plan import experiments
from kedge.reproduce.results_file import RecordedResults
from kedge.reproduce.stages import WHOLE
from kedge.reproduce.summary import summarise

RECORDED = Path(__file__).parents[1] / "results" / "paper" / "results.jsonl"
NOTES = """
ACC and NMI (by the larger entropy) in percent, mean over the seeds and standard deviation. No label was used by any row
but "label-tuned": the best cell of the grid of `kedge reproduce`, chosen by the labels; and "paper", likewise.
"less stable": rows with confidence below 0.5 in the automatic mode, the share of them that is wrong, and of the others.
Seconds are of this run, one fit, and a ratio to the defaults.
"""


def tuned_scores():
    """Return ACC and NMI of our best label-tuned cell by data set, from the recorded reproduction."""
    records, found = RecordedResults(RECORDED), {}
    for name in ("six-data-sets", "citeseer"):
        for line in summarise(experiments()[name], records, WHOLE):
            if line.label.endswith("(kedge, grid by labels)") and line.means:
                found[line.data] = (line.means["acc"].value, line.means["nmi"].value)
    return found


def wrong_rows(y, labels):
    """Return which rows are not in the class that their cluster is matched to."""
    table = contingency_table(y, labels).toarray()
    classes, clusters = linear_sum_assignment(-table)
    matched = np.full(table.shape[1], -1)
    matched[clusters] = classes
    return matched[np.unique(labels, return_inverse=True)[1]] != np.unique(y, return_inverse=True)[1]


def run(rows, method, n_seeds):
    """Return scores, seconds and the last model of a method over its seeds; None if it cannot run."""
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
    return np.array(scores), float(np.median(seconds)), models


def stability_line(rows, models):
    """Say how often rows of little confidence are wrong, and the others, over all seeds."""
    low, wrong = [], []
    for model in models:
        low.append(np.asarray(model.confidence_) < 0.5)
        wrong.append(wrong_rows(rows.y, model.labels_))
    low, wrong = np.concatenate(low), np.concatenate(wrong)
    if not low.any():
        return "less stable: none"
    inside, outside = wrong[low].mean(), wrong[~low].mean()
    ratio = inside / max(outside, 1e-9)
    return f"less stable: {low.mean():.1%} of rows, wrong {inside:.1%}, others {outside:.1%}, ratio {ratio:.2f}"


def report_set(name, rows, tuned, quick):
    """Print the table of one data set."""
    print(f"{name}: {len(rows.y)} rows, {rows.n_clusters} classes", flush=True)
    table, models, base = [], None, None
    for method, (function, n_seeds) in rivals.METHODS.items():
        found = run(rows, function, min(n_seeds, 2) if quick else n_seeds)
        if found is None:
            table.append([method, "-", "-", "too many rows", ""])
            continue
        scores, seconds, fitted = found
        models = fitted if method == "automatic" else models
        base = seconds if method == "defaults" else base
        mean, spread = scores.mean(axis=0), scores.std(axis=0)
        cells = [f"{mean[i]:.1f} ± {spread[i]:.1f}" for i in (0, 1)]
        table.append([method, *cells, f"{seconds:.2f}", seconds])
    for label, known in (("label-tuned", tuned), ("paper", data.PAPER)):
        if name in known:
            table.append([label, *(f"{value:.1f}" for value in known[name]), "", ""])
    for row in table:
        row[-1] = f"{row[-1] / base:.1f}x" if isinstance(row[-1], float) and base else ""
    measure.print_table(["method", "ACC", "NMI", "seconds", "to defaults"], table)
    print(stability_line(rows, models) + "\n", flush=True)


def main():
    """Print one table per data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rows and seeds, to see that it runs")
    parser.add_argument("--sets", default=",".join(data.SETS), help="names, separated by commas")
    arguments = parser.parse_args()
    measure.start_run("The automatic mode beside the rest", arguments.quick)
    print(NOTES.strip() + "\n", flush=True)
    tuned = tuned_scores()
    for name in arguments.sets.split(","):
        rows = data.load(name, arguments.quick)
        if rows is not None:
            report_set(name, rows, tuned, arguments.quick)


if __name__ == "__main__":
    main()
