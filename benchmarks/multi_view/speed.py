"""Seconds of an MSGL fit beside k-means, over rows and views: ``python -m benchmarks.multi_view.speed [--quick]``."""

import argparse
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from benchmarks.clustering import measure
from benchmarks.multi_view import data
from kedge import MSGL
from kedge.datasets import make_multiview
from kedge.metrics import clustering_accuracy, nmi

ROUNDS = 3
ROWS = (10_000, 30_000, 100_000, 300_000)
N_VIEWS = (1, 2, 4, 8)
NOTES = """
Seconds: median over interleaved rounds, best in brackets. KMeans gets the views joined and scaled beforehand, which is
not counted; MSGL reads and scales the raw views in its time. Growth: one anchor set (n_init=1), two iterations, views
of 50 columns, 10 clusters, generated; the exponent is that of a fitted power of the rows, or of the views.
"""


def print_beside_kmeans(quick):
    """Print seconds on the NUS stand-in."""
    rows = data.load("nus_standin", quick)
    if rows is None:
        return
    views = {name: view.astype(np.float32) for name, view in rows.views.items()}
    side_by_side = data.joined(rows.views.values()).astype(np.float32)
    k = rows.n_clusters
    fits = {
        "MSGL, defaults": lambda seed: MSGL(k, random_state=seed).fit(views),
        "KMeans, n_init=1": lambda seed: KMeans(k, n_init=1, random_state=seed).fit(side_by_side),
    }
    figures = {name: [] for name in fits}
    for seed in range(1 if quick else ROUNDS):
        for name, fit in fits.items():
            seconds, model = measure.timed(fit, seed)
            figures[name].append((seconds, clustering_accuracy(rows.y, model.labels_), nmi(rows.y, model.labels_)))
    print(f"{rows.description}: {len(rows.y):,} rows, {len(views)} views, {side_by_side.shape[1]} columns, k = {k}")
    table = []
    for name, rounds in figures.items():
        seconds, acc, nmis = np.array(rounds).T
        table.append(
            [name, f"{np.median(seconds):.2f} ({seconds.min():.2f})", f"{acc.mean():.3f}", f"{nmis.mean():.3f}"]
        )
    measure.print_table(["method", "seconds", "ACC", "NMI"], table)
    ours, theirs = (np.median([r[0] for r in rounds]) for rounds in figures.values())
    print(f"ratio {ours / theirs:.2f}, {measure.verdict(ours / theirs, 1.0)}\n", flush=True)


def fit_seconds(n_rows, n_views, n_rounds):
    """Return median seconds of a fit of generated views."""
    views, _ = make_multiview(n_rows, n_clusters=10, n_views=n_views, n_features=50, noise=1.0, random_state=0)
    model = MSGL(10, n_init=1, max_iter=2, tol=0.0, random_state=0)
    return float(np.median([measure.timed(model.fit, views)[0] for _ in range(n_rounds)]))


def print_growth(what, sizes, seconds):
    """Print seconds per size and the fitted exponent."""
    slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    measure.print_table([what, "seconds"], [[f"{n:,}", f"{s:.2f}"] for n, s in zip(sizes, seconds, strict=True)])
    print(f"exponent {slope:.2f}, {measure.verdict(slope, 1.1)}\n", flush=True)


def main():
    """Print seconds beside k-means, then their growth."""
    parser = argparse.ArgumentParser(description="Seconds of an MSGL fit.")
    parser.add_argument("--quick", action="store_true", help="tiny data, to see that it runs")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore", ConvergenceWarning)
    measure.start_run("Speed of MSGL", quick)
    print(NOTES.strip() + "\n", flush=True)
    print_beside_kmeans(quick)
    n_rounds, scale = (1, 100) if quick else (ROUNDS, 1)
    fit_seconds(1_000, 2, 1)
    print_growth("rows, 4 views", ROWS, [fit_seconds(n // scale, 4, n_rounds) for n in ROWS])
    print_growth("views, 50,000 rows", N_VIEWS, [fit_seconds(50_000 // scale, v, n_rounds) for v in N_VIEWS])


if __name__ == "__main__":
    main()
