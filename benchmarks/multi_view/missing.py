"""What missing views cost: ``python -m benchmarks.multi_view.missing [--quick]``."""

import argparse
import warnings

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from benchmarks.clustering import measure
from benchmarks.multi_view import data
from kedge import MSGL
from kedge.metrics import clustering_accuracy

SEEDS = 4
# Share of (row, view) cells dropped, and the most points of ACC that it may cost.
TARGETS = {0.1: 2.0, 0.3: 6.0, 0.5: 12.0}
NOTES = """
Cells (row, view) are dropped at random, the same for all methods; a row that would lose every view keeps one. ACC in
percent, mean and standard deviation over seeds, of the holes and of the fit. Mean imputation: a missing view is the
mean of the rows that have it, after the same scaling; then MSGL as if nothing were missing.
"""


def drop_cells(n_rows, n_views, share, seed):
    """Return which views each row keeps."""
    rng = np.random.default_rng(seed)
    observed = rng.uniform(size=(n_rows, n_views)) >= share
    lost = np.flatnonzero(~observed.any(axis=1))
    observed[lost, rng.integers(0, n_views, len(lost))] = True
    return observed


def impute_means(view, has):
    """Scale a view by the rows that have it and put their mean in the others."""
    rows = data.scaled(view[np.flatnonzero(has)])
    filled = np.empty(view.shape, dtype=np.float32)
    filled[has] = rows.toarray() if sparse.issparse(rows) else rows
    filled[~has] = filled[has].mean(axis=0)
    return filled


def print_data_set(name, quick):
    """Print the loss of accuracy per share of cells dropped."""
    rows = data.load(name, quick)
    if rows is None:
        return
    print(rows.description, flush=True)
    n_seeds, views = 2 if quick else SEEDS, list(rows.views.values())
    whole = [clustering_accuracy(rows.y, _fit(views, rows, seed).labels_) for seed in range(n_seeds)]
    table = [["0 %", f"{100 * np.mean(whole):.1f} ± {100 * np.std(whole):.1f}", "", "", "", ""]]
    for share, most in TARGETS.items():
        found, imputed = [], []
        for seed in range(n_seeds):
            observed = drop_cells(len(rows.y), len(views), share, seed)
            found.append(clustering_accuracy(rows.y, _fit(views, rows, seed, observed).labels_))
            filled = [impute_means(view, has) for view, has in zip(views, observed.T, strict=True)]
            model = MSGL(rows.n_clusters, scale="none", random_state=seed).fit(filled)
            imputed.append(clustering_accuracy(rows.y, model.labels_))
        loss = 100 * (np.mean(whole) - np.mean(found))
        cells = [f"{100 * np.mean(f):.1f} ± {100 * np.std(f):.1f}" for f in (found, imputed)]
        beats = "beaten" if np.mean(found) > np.mean(imputed) else "NOT BEATEN"
        table.append(
            [f"{share:.0%}".replace("%", " %"), cells[0], f"{loss:.1f}", measure.verdict(loss, most), cells[1], beats]
        )
    measure.print_table(["dropped", "MSGL", "loss", "target", "mean imputation", ""], table)
    print(flush=True)


def _fit(views, rows, seed, observed=None):
    return MSGL(rows.n_clusters, random_state=seed).fit(views, observed=observed)


def main():
    """Print one table per data set."""
    parser = argparse.ArgumentParser(description="What missing views cost.")
    parser.add_argument("--quick", action="store_true", help="tiny data, to see that it runs")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore", ConvergenceWarning)
    measure.start_run("Missing views", quick)
    print(NOTES.strip() + "\n", flush=True)
    for name in ("citeseer", "caltech7"):
        print_data_set(name, quick)


if __name__ == "__main__":
    main()
