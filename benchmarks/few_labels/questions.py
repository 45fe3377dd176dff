"""Wrong labels, rows worth a label, classes without any label: ``python -m benchmarks.few_labels.questions``."""

import argparse

import numpy as np

from benchmarks.clustering import measure
from benchmarks.few_labels.accuracy import draw_labels, known_at
from benchmarks.quality import data
from kedge import SGL, SGLClassifier

SETS = ("mnist", "digits")
PER_CLASS, FLIPPED = 50, 0.2
ASKED = (10, 15, 20, 30, 50, 100)
HIDDEN_CLASSES = (3, 6, 7)
DRAWS = 5


def fit(rows, labels, labelled, seed, model=None, **parameters):
    """Return a classifier that sees the labels of some rows, and which rows it does not see.

    A model that is given keeps its graph, as if its user had found out other labels.
    """
    known = known_at(labels, labelled)
    if model is not None:
        return model.update_labels(known), known < 0
    return SGLClassifier(random_state=seed, **parameters).fit(rows.X, known), known < 0


def print_wrong_labels(rows, y, draws):
    """Print what wrong labels cost, and how many of them are found."""
    table = []
    for seed in range(draws):
        labelled = draw_labels(y, PER_CLASS, seed)
        rng = np.random.default_rng(seed)
        wrong = rng.choice(labelled, int(FLIPPED * len(labelled)), replace=False)
        labels = y.copy()
        labels[wrong] = (y[wrong] + rng.integers(1, y.max() + 1, len(wrong))) % (y.max() + 1)
        model, hidden = fit(rows, y, labelled, seed)
        clean = (model.transduction_ == y)[hidden].mean()
        noisy = (fit(rows, labels, labelled, seed, model)[0].transduction_ == y)[hidden].mean()
        named = model.label_disagreement_
        table.append([clean, noisy, np.isin(wrong, named).mean(), np.isin(named, wrong).mean()])
    clean, noisy, found, precise = 100 * np.mean(table, axis=0)
    print(f"{FLIPPED:.0%} of {PER_CLASS} labels per class wrong: accuracy {clean:.1f} without, {noisy:.1f} with them")
    print(f"lost {clean - noisy:.1f} points, {measure.verdict(clean - noisy, 2.0)}")
    print(f"wrong ones named {found:.1f} %, {measure.verdict(found, 90, at_most=False)}; ", end="")
    print(f"wrong among those named {precise:.1f} %, {measure.verdict(precise, 90, at_most=False)}")


def print_rows_asked_for(rows, y, draws):
    """Print the accuracy with rows that kedge asks for, and with as many and twice as many random ones."""
    asked = SGL(len(np.unique(y)), random_state=0).fit(rows.X).rows_to_label(max(ASKED))
    table, model = [], None
    for count in (count for count in ASKED if 4 * count <= len(y)):
        model, hidden = fit(rows, y, asked[:count], 0, model)
        cells = [100 * (model.transduction_ == y)[hidden].mean()]
        for n_random in (count, 2 * count):
            found = []
            for seed in range(draws):
                labelled = np.random.default_rng(seed).choice(len(y), n_random, replace=False)
                model, hidden = fit(rows, y, labelled, 0, model)
                found.append(100 * (model.transduction_ == y)[hidden].mean())
            cells.append(np.mean(found))
        table.append([str(count), *(f"{cell:.1f}" for cell in cells), "yes" if cells[0] >= cells[2] else "NO"])
    measure.print_table(["labels", "asked for", "random", "twice as many random", "asked for as good"], table)


def print_new_classes(rows, y, draws):
    """Print how well classes without any label are found."""
    lines = []
    for seed in range(draws):
        labelled = draw_labels(y, PER_CLASS, seed)
        labelled = labelled[~np.isin(y[labelled], HIDDEN_CLASSES)]
        model, hidden = fit(rows, y, labelled, seed, new_classes="auto")
        found = model.transduction_.copy()
        new = model.classes_[len(np.unique(y[labelled])) :]
        names = {}
        for name in new.tolist():
            members = found == name
            names[name] = np.bincount(y[members]).argmax() if members.any() else -1
        matched = np.array([names.get(one, one) for one in found.tolist()])
        of_new = np.isin(y, HIDDEN_CLASSES)
        lines.append([len(new), 100 * (matched == y)[hidden].mean(), 100 * (matched == y)[of_new].mean()])
    count, accuracy, of_new = np.mean(lines, axis=0)
    listed = ", ".join(map(str, HIDDEN_CLASSES))
    print(f"no label for {listed}: {count:.1f} new classes; accuracy {accuracy:.1f}, of {listed} alone {of_new:.1f},")
    print("each new class named after the class of most of its rows")


def main():
    """Print the answers for every set."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.few_labels.questions", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny data, to see that it runs")
    parser.add_argument("--set", action="append", choices=SETS, help="may be repeated; default: both")
    arguments = parser.parse_args()
    draws = 1 if arguments.quick else DRAWS
    measure.start_run("Wrong labels, rows worth a label, new classes", arguments.quick)
    for name in arguments.set or (("digits",) if arguments.quick else SETS):
        rows = data.load(name, arguments.quick)
        if rows is None:
            continue
        y = np.unique(rows.y, return_inverse=True)[1]
        print(f"{name}, {len(y):,} rows, mean of {draws} draws")
        for answer in (print_wrong_labels, print_rows_asked_for, print_new_classes):
            answer(rows, y, draws)
            print(flush=True)


if __name__ == "__main__":
    main()
