"""Where paper, tables and the authors' programs disagree: ``python -m benchmarks.paper.disagreements``.

``--quick`` runs on few rows, and ``--only NUMBER`` shows one. The program needs the data sets in ``$KEDGE_DATA`` and
says what it leaves out.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.clustering import measure
from benchmarks.paper.plan import experiments
from kedge import MSGL, SGL
from kedge.baselines import AMGL, KMM, LSC
from kedge.datasets import load, why_not_here
from kedge.metrics import clustering_accuracy, inverse_purity, nmi, purity

QUICK_ROWS = 200
PUBLISHED = {"n_anchors": 40, "alpha": 1.0, "random_state": 0}


class Rows:
    """Data sets by name, cut in a quick run."""

    def __init__(self, quick):
        self.quick = quick

    def __call__(self, name):
        """Return X or views, and classes; None where the set is not here."""
        if why_not_here(name) is not None:
            print(f"   LEFT OUT: {name} is not in $KEDGE_DATA", flush=True)
            return None, None
        found = load(name)
        X, y = found.get("views", found.get("X")), found.y
        if not self.quick:
            return X, y
        rows = np.sort(np.random.RandomState(0).permutation(len(y))[:QUICK_ROWS])
        return ({v: m[rows] for v, m in X.items()} if isinstance(X, dict) else X[rows]), y[rows]


def impossible_purity(rows):
    """1. Purity columns mix purity and inverse purity; FNC's is a copy of its NMI."""
    table = experiments()["six-data-sets"].published
    fnc = {data: methods["FNC"] for data, methods in table.items()}
    below = [f"{data} ({row['purity']:g} < {row['acc']:g})" for data, row in fnc.items() if row["purity"] < row["acc"]]
    copied = [data for data, row in fnc.items() if row["purity"] == row["nmi"]]
    print(f"   purity is never below accuracy, yet FNC's is on {', '.join(below)}")
    print(f"   and it equals FNC's NMI on {', '.join(copied)}")
    X, y = rows("tr45")
    if X is not None:
        labels = SGL.as_published(10, beta=1e-3, **PUBLISHED).fit(X).labels_
        print(
            f"   SGL on TR45: purity {100 * purity(y, labels):.1f}, inverse purity "
            f"{100 * inverse_purity(y, labels):.1f}; the paper's purity is 76.7"
        )


def rising_objective(rows):
    """2. The stated objective rises under the published update, and never under the centroid form."""
    X, _ = rows("tr45")
    if X is None:
        return
    for penalty in ("degree", "centroid"):
        model = SGL(
            10,
            n_anchors=25,
            alpha=1.0,
            beta=1.0,
            penalty_scale="absolute",
            penalty=penalty,
            n_init=1,
            max_iter=25,
            tol=0.0,
            random_state=0,
        ).fit(X)
        steps = np.diff(model.objective_)
        rises = np.sum(steps > 1e-9 * model.objective_[0])
        print(f"   penalty={penalty!r}: {rises} of {len(steps)} steps raise the objective")


def idle_beta(rows):
    """3. The published values of beta change no label; the graph is one piece."""
    X, _ = rows("tr45")
    if X is None:
        return
    without = SGL.as_published(10, beta=0.0, **PUBLISHED).fit(X)
    for beta in (1e-4, 1e-3, 1.0):
        model = SGL.as_published(10, beta=beta, **PUBLISHED).fit(X)
        agreement = adjusted_rand_score(without.labels_, model.labels_)
        pieces = f"{model.n_components_} component(s)"
        print(f"   beta {beta:g}: agreement with beta 0 {agreement:.3f} (1 = same labels), {pieces}")


def timed_prediction(rows):
    """4. The published times of SGL on new rows leave out the fit; those of SLSR include it."""
    X, _ = rows("mnist")
    if X is None:
        return
    count = min(2000, len(X) // 2)
    started = time.perf_counter()
    model = SGL.as_published(10, n_anchors=30, alpha=1.0, beta=1e-4, random_state=0).fit(X[:count])
    fitted = time.perf_counter()
    model.predict(X[count:])
    predicted = time.perf_counter()
    print(
        f"   MNIST: {count:,} rows fitted in {fitted - started:.2f} s, the others predicted in {predicted - fitted:.2f}"
    )


def unrelated_anchors(rows):
    """5. Anchors of different views are unrelated, and weights of views jump after the first iteration."""
    views, y = rows("citeseer")
    if views is None:
        return
    for alignment in ("per_view", "joint"):
        scores = [
            clustering_accuracy(y, MSGL(6, anchor_alignment=alignment, random_state=seed).fit(views).labels_)
            for seed in range(3)
        ]
        print(f"   anchors {alignment}: ACC {100 * np.mean(scores):.1f} over 3 seeds")
    model = MSGL.as_published(6, n_anchors=30, alpha=1.0, beta=1e-3, scale="l2", random_state=0).fit(views)
    history = np.asarray(model.view_weights_history_).sum(axis=1)
    print(f"   published weights add up to 1 at the start and to {history[0]:.3g} after one iteration")


def entropies(rows):
    """6. Mutual information is divided by the larger entropy, unlike scikit-learn's default."""
    X, y = rows("tr45")
    if X is None:
        return
    labels = SGL.as_published(10, beta=1e-3, **PUBLISHED).fit(X).labels_
    told = ", ".join(
        f"{kind} {100 * nmi(y, labels, average=kind):.1f}" for kind in ("max", "arithmetic", "geometric", "min")
    )
    print(f"   the same labels of TR45: {told}")


def block_labels(rows):
    """7. AMGL's row on Citeseer is that of scoring against blocks of consecutive rows."""
    views, y = rows("citeseer")
    if views is None:
        return
    labels = AMGL(6, scale="none", random_state=0).fit(views).labels_
    blocks = np.repeat(np.arange(6), len(y) // 6 + 1)[: len(y)]
    paper = experiments()["citeseer"].published["citeseer"]["AMGL"]
    print(
        f"   scored by the classes ACC {100 * clustering_accuracy(y, labels):.2f}, by blocks "
        f"{100 * clustering_accuracy(blocks, labels):.2f}; the paper prints {paper['acc']:g}, below the largest class, "
        f"{100 * np.bincount(y).max() / len(y):.1f}"
    )


def swapped_similarities(rows):
    """8. KMM's program uses distances where similarities are meant."""
    X, y = rows("ba")
    if X is None:
        return
    for recipe in ("published", "kedge"):
        scores = [clustering_accuracy(y, KMM(36, recipe=recipe, random_state=seed).fit(X).labels_) for seed in range(3)]
        print(f"   recipe={recipe!r}: ACC {100 * np.mean(scores):.1f} on BA over 3 seeds; paper 41.5")


def unit_of_data(rows):
    """9. LSC's kernel width is a mean of squared distances, so that the unit of X decides."""
    X, y = rows("orl")
    if X is None:
        return
    for sigma in ("code", "mean_distance"):
        models = [LSC(40, n_landmarks=120, sigma=sigma, random_state=0).fit(X * unit) for unit in (1.0, 1 / 255)]
        scores = [f"{100 * clustering_accuracy(y, model.labels_):.1f}" for model in models]
        print(f"   sigma={sigma!r}: ACC {scores[0]} on grey levels of 0 to 255, {scores[1]} on the same divided by 255")


FINDINGS = (
    impossible_purity,
    rising_objective,
    idle_beta,
    timed_prediction,
    unrelated_anchors,
    entropies,
    block_labels,
    swapped_similarities,
    unit_of_data,
)


def main():
    """Show one disagreement after the other."""
    parser = argparse.ArgumentParser(description="Where paper, tables and programs disagree.")
    parser.add_argument("--quick", action="store_true", help="few rows, to see that it runs")
    parser.add_argument("--only", type=int, help="number of one of them")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    measure.start_run("Disagreements", arguments.quick)
    rows = Rows(arguments.quick)
    for finding in FINDINGS:
        number = int(finding.__doc__.split(".")[0])
        if arguments.only in (None, number):
            print(finding.__doc__, flush=True)
            finding(rows)


if __name__ == "__main__":
    main()
