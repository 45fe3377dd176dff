"""How much a few pairs of rows help: ``python -m benchmarks.few_labels.pairs [--quick] [--set moons] [--seeds 5]``.

Pairs are drawn from the classes by chance. "1 %" is either as many must-links as one per hundred rows, or one in a
hundred of all pairs of one class (at most two per row); then as many cannot-links are added. NMI and ACC are those of
all rows, "NMI, others" that of the rows that are in no pair; all are means over seeds. The weight of a pair was settled
with labels on the sets without "new".
"""

import argparse
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_blobs, make_circles, make_moons

from benchmarks.clustering import measure
from kedge import MSGL, SGL, datasets
from kedge.metrics import clustering_accuracy, nmi

# One per hundred rows, and the most per row that the other reading may give.
SHARE, MOST_PER_ROW = 0.01, 2
# With fewer rows in no pair, their score says little.
LEAST_OTHERS = 100


def digits_by(groups):
    """Return digits whose classes are these groups of digits."""
    X, y = load_digits(return_X_y=True)
    return X, np.asarray(groups)[y]


def blobs_of_several_parts(n_parts=4, n_classes=3):
    """Return classes that are several blobs each, here and there."""
    X, part = make_blobs(900, centers=n_parts * n_classes, n_features=6, random_state=0)
    return X, part % n_classes


def uneven_blobs():
    """Return a wide, a narrow and a middling blob, stretched."""
    centers, spreads = [(0, 0), (6, 0), (3, 5)], [1.0, 2.5, 0.5]
    X, y = make_blobs([600, 300, 100], centers=centers, cluster_std=spreads, random_state=0)
    return X @ np.array([[1.0, 0.6], [0.0, 0.4]]), y


def named(name):
    """Return a set of the catalogue: one matrix or a list of views, and the classes."""
    found = datasets.load(name)
    return (list(found.views.values()) if "views" in found else found.X), found.y


SETS = {
    "tr11": lambda: named("tr11"),
    "tr41": lambda: named("tr41"),
    "tr45": lambda: named("tr45"),
    "wine": lambda: load_wine(return_X_y=True),
    "breast-cancer": lambda: load_breast_cancer(return_X_y=True),
    "digits": lambda: load_digits(return_X_y=True),
    "digits, odd and even": lambda: digits_by(np.arange(10) % 2),
    "moons": lambda: make_moons(1000, noise=0.15, random_state=0),
    "uneven blobs": uneven_blobs,
    "blobs of four parts": blobs_of_several_parts,
}
# Sets on which no constant of pairs was settled.
NEW_SETS = {
    "circles": lambda: make_circles(1000, noise=0.08, factor=0.5, random_state=0),
    "digits, round or not": lambda: digits_by([1, 0, 0, 0, 0, 0, 1, 0, 1, 1]),
    "citeseer": lambda: named("citeseer"),
}
QUICK_SETS = ("wine",)


def draw(y, count, random, *, same):
    """Draw pairs of rows of one class, or of two."""
    pairs = []
    while len(pairs) < count:
        first, second = random.integers(len(y), size=2)
        if first != second and (y[first] == y[second]) == same:
            pairs.append((first, second))
    return np.array(pairs)


def scores(X, y, seed, **pairs):
    """Return NMI and ACC of all rows, and NMI of the rows in no pair; NaN where these are few."""
    model = (MSGL if isinstance(X, list) else SGL)(len(np.unique(y)), random_state=seed).fit(X, **pairs)
    for linked, same in (("must_link", True), ("cannot_link", False)):
        ends = model.labels_[pairs.get(linked, np.empty((0, 2), dtype=int))]
        assert ((ends[:, 0] == ends[:, 1]) == same).all()
    paired = np.concatenate([np.empty(0, dtype=int), *(one.ravel() for one in pairs.values())])
    others = np.setdiff1d(np.arange(len(y)), paired)
    of_others = nmi(y[others], model.labels_[others]) if len(others) >= LEAST_OTHERS else np.nan
    return 100 * nmi(y, model.labels_), 100 * clustering_accuracy(y, model.labels_), 100 * of_others


def scores_of(X, y, seed):
    """Return the scores without pairs, then for both readings of 1 %, with must-links and with cannot-links, too."""
    sizes = np.bincount(y)
    of_pairs = min(int(SHARE * (sizes * (sizes - 1) // 2).sum()), MOST_PER_ROW * len(y))
    random, found = np.random.default_rng(seed), [scores(X, y, seed)]
    for count in (max(int(SHARE * len(y)), 1), max(of_pairs, 1)):
        must, cannot = (draw(y, count, random, same=same) for same in (True, False))
        found.append(scores(X, y, seed, must_link=must))
        found.append(scores(X, y, seed, must_link=must, cannot_link=cannot))
    return found


def main():
    """Print three rows per set."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.few_labels.pairs", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one small set and one seed, to see that it runs")
    parser.add_argument("--set", action="append", choices=[*SETS, *NEW_SETS], help="may be repeated; default: all")
    parser.add_argument("--seeds", type=int, default=5, help="how many, from zero (default 5)")
    given = parser.parse_args()
    names = given.set or list(QUICK_SETS if given.quick else {**SETS, **NEW_SETS})
    measure.start_run("Pairs of rows", given.quick)
    lines = []
    for name in names:
        try:
            X, y = (SETS | NEW_SETS)[name]()
        except OSError as error:  # not there, or not to be reached
            print(f"{name}: LEFT OUT, {error}\n", flush=True)
            continue
        y = np.unique(y, return_inverse=True)[1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = np.mean([scores_of(X, y, seed) for seed in range(1 if given.quick else given.seeds)], axis=0)
        title = f"{name}{' (new)' if name in NEW_SETS else ''}"
        for column, measured in enumerate(("NMI", "ACC", "NMI, others")):
            lines.append(
                [title, measured, str(len(y)), *(f"{score:.1f}".replace("nan", "-") for score in found[:, column])]
            )
            print(" ".join(lines[-1]), flush=True)
    print()
    header = ["data", "score", "rows", "no pairs", "1 % of rows", "cannot too", "1 % of pairs", "cannot too"]
    measure.print_table(header, lines)


if __name__ == "__main__":
    main()
