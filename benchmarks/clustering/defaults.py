"""How the defaults were chosen: ``python -m benchmarks.clustering.defaults [--quick]``.

Labels are used to score settings over all data sets together, never to choose a setting for one of them.
"""

import argparse
import warnings
from itertools import product

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.clustering import data, measure
from kedge import SGL
from kedge.metrics import clustering_accuracy, nmi
from kedge.model import consensus, label_rows

SEEDS = 2
SETS = (*data.PAPER_SETS, "digits", "mnist")
MNIST_ROWS = 5_000
DEFAULT = {"alpha": 0.01, "beta": 0.0, "per_cluster": 5, "locality": 0.0, "scale": "none"}
# One parameter at a time is moved from the default.
SWEEPS = [
    {"alpha": [0.001, 0.003, 0.01, 0.03, 0.1, 0.3]},
    {"beta": [0.0, 0.01, 0.1]},
    {"per_cluster": [3, 5, 8]},
    {"locality": [0.0, 0.03, 0.1]},
    {"scale": ["none", "l2", "zscore"]},
]
# Votes of the joint graph and of the graphs of single sets; the first is one start of k-means.
VOTES = [(1, 0), (50, 0), (0, 50), (50, 50)]
LABELLING = [(1.0, 0), (1.0, 2), (1.2, 0), (1.2, 2), (1.5, 2)]
NOTES = """
Mean ACC in percent over the seeds, per data set and over all; a row per setting, the default marked with *.
Relative penalties; anchors per cluster; ten anchor sets below 5,000 rows, else fewer, as by default. "zscore" leaves
sparse rows as they are. MNIST: 5,000 random rows.
"""


def load_all(quick):
    """Return the data sets by name; MNIST as a fixed random part."""
    found = {}
    for name in ("digits",) if quick else SETS:
        rows = data.load(name, quick)
        if rows is not None and name == "mnist":
            part = np.sort(np.random.default_rng(0).choice(len(rows.y), MNIST_ROWS, replace=False))
            rows = data.Rows(rows.X[part], rows.y[part], rows.description)
        if rows is not None:
            found[name] = rows
    return found


def fit_accuracies(rows, setting, n_seeds):
    """Return ACC and NMI in percent, averaged over seeds."""
    scale = setting["scale"]
    if scale == "zscore" and not isinstance(rows.X, np.ndarray):
        scale = "none"
    n_anchors = min(setting["per_cluster"] * rows.n_clusters, rows.X.shape[0])
    n_sets = max(1, min(10, 50_000 // rows.X.shape[0]))
    found = []
    for seed in range(n_seeds):
        model = SGL(
            rows.n_clusters,
            n_anchors=n_anchors,
            n_init=n_sets,
            alpha=setting["alpha"],
            beta=setting["beta"],
            locality=setting["locality"],
            scale=scale,
            max_iter=20,
            random_state=seed,
        ).fit(rows.X)
        found.append((100 * clustering_accuracy(rows.y, model.labels_), 100 * nmi(rows.y, model.labels_)))
    return np.mean(found, axis=0)


def print_settings(title, settings, sets, n_seeds, is_default, known, apply=None):
    """Print one row per setting; ``known`` keeps the scores of the default, which every table shows."""
    print(title, flush=True)
    table = []
    for label, setting in settings:
        if apply is not None:
            apply(label)
        marked = is_default(label, setting)
        scores = known.get("default") if marked else None
        if scores is None:
            scores = np.array([fit_accuracies(rows, setting, n_seeds) for rows in sets.values()])
        if marked:
            known["default"] = scores
        cells = [f"{acc:.1f}" for acc in scores[:, 0]]
        mark = "*" if marked else ""
        means = scores.mean(axis=0)
        table.append([f"{label}{mark}", *cells, f"{means[0]:.1f}", f"{means[1]:.1f}"])
    measure.print_table(["setting", *sets, "mean ACC", "mean NMI"], table)
    print()


def sweep_constants(title, module, names, pairs, sets, n_seeds, known):
    """Print one row per pair of values of two constants, which have their own values again afterwards."""
    chosen = tuple(getattr(module, name) for name in names)

    def set_constants(pair):
        for name, value in zip(names, pair, strict=True):
            setattr(module, name, value)

    settings = [(pair, DEFAULT) for pair in pairs]
    print_settings(title, settings, sets, n_seeds, lambda pair, _: pair == chosen, known, set_constants)
    set_constants(chosen)


def main():
    """Sweep the parameters, then the labelling step."""
    parser = argparse.ArgumentParser(description="How the defaults were chosen.")
    parser.add_argument("--quick", action="store_true", help="one data set and seed, to see that it runs")
    quick = parser.parse_args().quick
    warnings.simplefilter(
        "ignore", ConvergenceWarning
    )  # settings far from the default may not settle; that is the point
    measure.start_run("Choice of the defaults", quick)
    print(NOTES.strip() + "\n", flush=True)
    sets, n_seeds, known = load_all(quick), 1 if quick else SEEDS, {}
    for sweep in SWEEPS[:1] if quick else SWEEPS:
        settings = []
        for values in product(*sweep.values()):
            moved = dict(zip(sweep, values, strict=True))
            settings.append((", ".join(f"{k}={v}" for k, v in moved.items()), DEFAULT | moved))
        print_settings(" and ".join(sweep), settings, sets, n_seeds, lambda _, setting: setting == DEFAULT, known)
    title = "(directions per cluster, power of the singular values) in the labelling step"
    names = "DIRECTIONS_PER_CLUSTER", "DAMPING_POWER"
    sweep_constants(title, label_rows, names, LABELLING[:1] if quick else LABELLING, sets, n_seeds, known)
    title = "(votes of the joint graph, votes of the graphs of single anchor sets) in the consensus"
    names = "JOINT_VOTES", "SET_VOTES"
    sweep_constants(title, consensus, names, VOTES[:1] if quick else VOTES, sets, n_seeds, known)


if __name__ == "__main__":
    main()
