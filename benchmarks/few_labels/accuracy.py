"""Accuracy from a few labels beside other methods: ``python -m benchmarks.few_labels.accuracy [--set digits]``."""

import argparse
import time
import warnings
from functools import cached_property

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, kneighbors_graph
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier

from benchmarks.clustering import measure
from benchmarks.quality import data
from kedge import SGLClassifier

# The constants of the method were settled with the labels of the first four sets; the others had no part in it.
SETS = ("mnist", "digits", "tr45", "citeseer")
LEFT_ASIDE = ("tr11", "orl", "tdt2", "caltech101-7-reextracted", "wine", "breast-cancer")
PER_CLASS = (1, 2, 5, 10, 50)
DRAWS = 10
# scikit-learn's default, which its own methods take, too.
NEIGHBORS = 7
# A fit that takes longer gets two draws only.
PATIENCE, FEWER_DRAWS = 30.0, 2
NOTES = """
Accuracy in percent on the rows without a label, mean and standard deviation over {draws} draws of labelled rows; at
most half of a class is labelled. Then the mean seconds of a fit with {most} labels per class, wall time. kedge gets
every set as it comes; the others get it as in benchmarks.quality: scaled, text with unit rows, views side by side.
Label spreading and propagation get scikit-learn's graph of {neighbors} neighbours; it is built once per set and its
time is added to every fit. A star marks cells that got fewer draws, because one took more than {patience} seconds.
"""


def draw_labels(y, per_class, seed):
    """Return the labelled rows: so many of each class, but at most half of them."""
    rng = np.random.default_rng(seed)
    rows = []
    for name in np.unique(y):
        own = np.flatnonzero(y == name)
        rows.append(rng.choice(own, min(per_class, max(1, len(own) // 2)), replace=False))
    return np.concatenate(rows)


class Methods:
    """The methods on one data set; each returns the classes of all rows."""

    def __init__(self, rows):
        self.rows, self.X = rows, rows.matrix

    @cached_property
    def graph(self):
        """Return the neighbour graph as scikit-learn builds it, and the seconds that it took."""
        begun = time.perf_counter()
        graph = kneighbors_graph(self.X, NEIGHBORS, mode="connectivity", include_self=True, n_jobs=-1)
        return sparse.csr_matrix(graph), time.perf_counter() - begun

    def kedge(self, known, seed):
        """Return the classes by kedge."""
        return SGLClassifier(random_state=seed).fit(self.rows.X, known).transduction_

    def label_spreading(self, known, seed):
        """Return the classes by scikit-learn's LabelSpreading."""
        return LabelSpreading(lambda X, Y: self.graph[0]).fit(np.zeros((len(known), 1)), known).transduction_

    def label_propagation(self, known, seed):
        """Return the classes by scikit-learn's LabelPropagation."""
        return LabelPropagation(lambda X, Y: self.graph[0]).fit(np.zeros((len(known), 1)), known).transduction_

    def _supervised(self, model, known):
        labelled = np.flatnonzero(known >= 0)
        return model.fit(self.X[labelled], known[labelled]).predict(self.X)

    def logistic_regression(self, known, seed):
        """Return the classes by logistic regression on the labelled rows."""
        return self._supervised(LogisticRegression(max_iter=500), known)

    def self_training(self, known, seed):
        """Return the classes by self-training with logistic regression."""
        return SelfTrainingClassifier(LogisticRegression(max_iter=500)).fit(self.X, known).predict(self.X)

    def nearest_neighbor(self, known, seed):
        """Return the class of the nearest labelled row."""
        return self._supervised(KNeighborsClassifier(1), known)


NAMES = {
    "kedge": Methods.kedge,
    "LabelSpreading(knn)": Methods.label_spreading,
    "LabelPropagation(knn)": Methods.label_propagation,
    "SelfTraining(LogisticRegression)": Methods.self_training,
    "LogisticRegression": Methods.logistic_regression,
    "1 nearest neighbour": Methods.nearest_neighbor,
}


def measure_method(name, methods, y, draws):
    """Return a cell per number of labels, and the mean seconds with most labels."""
    cells, seconds = [], []
    for per_class in PER_CLASS:
        scores, seconds = [], []
        for seed in range(draws):
            if seed >= FEWER_DRAWS and max(seconds) > PATIENCE:
                break
            labelled = draw_labels(y, per_class, seed)
            known = np.full(len(y), -1)
            known[labelled] = y[labelled]
            begun = time.perf_counter()
            found = NAMES[name](methods, known, seed)
            seconds.append(time.perf_counter() - begun)
            hidden = known < 0
            scores.append(100 * (found == y)[hidden].mean())
        star = "*" if len(scores) < draws else ""
        cells.append(f"{np.mean(scores):.1f} ± {np.std(scores):.1f}{star}")
    extra = methods.graph[1] if "knn" in name else 0.0
    return [*cells, f"{np.mean(seconds) + extra:.2f}"]


def main():
    """Print a table per data set."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.few_labels.accuracy", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny data, to see that it runs")
    parser.add_argument("--set", action="append", choices=(*SETS, *LEFT_ASIDE), help="may be repeated; default: all")
    parser.add_argument("--method", action="append", choices=list(NAMES), help="may be repeated; default: all")
    parser.add_argument("--draws", type=int, default=DRAWS, help=f"draws of labelled rows (default {DRAWS})")
    arguments = parser.parse_args()
    draws = 2 if arguments.quick else arguments.draws
    measure.start_run("Classes from a few labels", arguments.quick)
    print(NOTES.format(draws=draws, most=PER_CLASS[-1], neighbors=NEIGHBORS, patience=PATIENCE))
    for name in arguments.set or (("digits",) if arguments.quick else (*SETS, *LEFT_ASIDE)):
        rows = data.load(name, arguments.quick)
        if rows is None:
            continue
        y = np.unique(rows.y, return_inverse=True)[1]
        table, methods = [], Methods(rows)
        for method in arguments.method or NAMES:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                table.append([method, *measure_method(method, methods, y, draws)])
        aside = "" if name in SETS else "; no constant was settled on it"
        print(f"{name}: {len(y):,} rows, {len(np.unique(y))} classes{aside}")
        measure.print_table(["labels per class", *map(str, PER_CLASS), "seconds"], table)
        print(flush=True)


if __name__ == "__main__":
    main()
