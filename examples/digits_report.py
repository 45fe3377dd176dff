"""First look at kedge: solve rows, cluster handwritten digits, leave a page to open.

Run with ``make demo``. Uses only data that ships with scikit-learn; labels are used to score, never to fit.
"""

import argparse
import base64
import html
import io
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

import kedge
from kedge.kernels import solve_rows
from kedge.metrics import clustering_accuracy, nmi

mpl.use("Agg")
import matplotlib.pyplot as plt

SEEDS = range(5)
N_ANCHORS = 100
FOLDER = Path(__file__).parents[1] / "demo-report"


def check_solver(X, anchors):
    """Solve the rows of the digits with both kernels and compare."""
    gram = anchors @ anchors.T
    hessian = 2 * gram + 0.2 * gram.trace() / len(gram) * np.eye(len(gram))
    linear = -2 * X @ anchors.T
    started = time.perf_counter()
    compiled = solve_rows(hessian, linear).coefficients
    seconds = time.perf_counter() - started
    reference = solve_rows(hessian, linear[:200], kernel="reference").coefficients
    return {
        "rows solved": f"{len(X):,} with {len(anchors)} anchors",
        "rows per second": f"{len(X) / seconds:,.0f}",
        "anchors per row": f"{np.count_nonzero(compiled) / len(X):.1f}",
        "largest difference from the NumPy twin (200 rows)": f"{np.abs(compiled[:200] - reference).max():.1e}",
    }


def compare_clusterings(X, y):
    """Score kedge and k-means over a few seeds; returns the rows of the table and one fitted model."""
    methods = {
        f"kedge SGL, {N_ANCHORS} anchors": lambda seed: kedge.SGL(10, n_anchors=N_ANCHORS, random_state=seed),
        "k-means, 10 starts": lambda seed: KMeans(10, n_init=10, random_state=seed),
    }
    table, fitted = [], None
    for name, make in methods.items():
        scores = []
        for seed in SEEDS:
            started = time.perf_counter()
            model = make(seed).fit(X)
            seconds = time.perf_counter() - started
            agreement = clustering_accuracy(y, model.labels_), nmi(y, model.labels_)
            scores.append((100 * agreement[0], 100 * agreement[1], seconds))
            fitted = fitted or model
        mean, spread = np.mean(scores, axis=0), np.std(scores, axis=0)
        table.append((name, f"{mean[0]:.1f} ± {spread[0]:.1f}", f"{mean[1]:.1f} ± {spread[1]:.1f}", f"{mean[2]:.2f}"))
    return table, fitted


def draw_clusters(X, model):
    """Mean image of each cluster above the anchors that belong to it, as an embedded PNG."""
    figure, axes = plt.subplots(5, 10, figsize=(10, 5.4))
    for cluster in range(10):
        images = [X[model.labels_ == cluster].mean(axis=0), *model.anchors_[model.anchor_labels_ == cluster][:4]]
        for line, axis in enumerate(axes[:, cluster]):
            axis.axis("off")
            if line < len(images):
                axis.imshow(images[line].reshape(8, 8), cmap="gray_r")
        axes[0, cluster].set_title(f"{np.count_nonzero(model.labels_ == cluster)} rows", fontsize=9)
    figure.tight_layout()
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    plt.close(figure)
    return base64.b64encode(buffer.getvalue()).decode()


def html_table(header, rows):
    """Return a plain HTML table."""
    lines = ["<tr>" + "".join(f"<th>{html.escape(c)}</th>" for c in header) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{html.escape(str(c))}</td>" for c in row) + "</tr>" for row in rows]
    return f"<table>{''.join(lines)}</table>"


def write_report(folder, solver, scores, picture):
    """Write the page and return its path."""
    page = f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>kedge on digits</title>
<style>body{{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}}
table{{border-collapse:collapse}}td,th{{padding:.3rem .8rem;border-bottom:1px solid #ccc;text-align:left}}
img{{max-width:100%}}</style>
<h1>kedge {kedge.__version__} on handwritten digits</h1>
<p>1,797 images of 8 x 8 pixels, 10 classes (<code>load_digits</code> of scikit-learn). Labels only score.</p>
<h2>Clusters</h2>{html_table(("method", "accuracy, %", "NMI, %", "seconds per fit"), scores)}
<p>Mean ± standard deviation over {len(SEEDS)} seeds. One setting, not tuned on this data.</p>
<p>Top: the mean of each cluster. Below: four of the anchors that carry its rows.</p>
<img alt="cluster means and anchors" src="data:image/png;base64,{picture}">
<h2>Row solver</h2>{html_table(("quantity", "value"), solver.items())}</html>"""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "index.html"
    path.write_text(page, encoding="utf-8")
    return path


def main():
    """Run the demo."""
    parser = argparse.ArgumentParser(description="Cluster handwritten digits and write a page about it.")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the page")
    folder = parser.parse_args().out
    X, y = load_digits(return_X_y=True)
    scores, model = compare_clusterings(X, y)
    solver = check_solver(X, model.anchors_)
    for name, value in solver.items():
        print(f"{name:<52} {value}")
    print(f"\n{'method':<26} {'accuracy, %':>13} {'NMI, %':>13} {'seconds':>8}")
    for row in scores:
        print(f"{row[0]:<26} {row[1]:>13} {row[2]:>13} {row[3]:>8}")
    print(f"\nreport: {write_report(folder, solver, scores, draw_clusters(X, model))}")


if __name__ == "__main__":
    main()
