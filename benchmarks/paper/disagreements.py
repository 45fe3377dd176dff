"""Where paper, tables and the authors' programs disagree: ``python -m benchmarks.paper.disagreements``.

``--quick`` runs on few rows, and ``--only NUMBER`` shows one. The program needs the data sets in ``$KEDGE_DATA`` and
says what it leaves out.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from benchmarks.clustering import measure
from benchmarks.paper.plan import experiments
from kedge import MSGL, SGL
from kedge.baselines import AMGL, KMM, LSC
from kedge.datasets import load, make_union_of_subspaces, why_not_here
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
    """3. The published values of beta change no label on TR45, and many on Caltech-7."""
    X, _ = rows("tr45")
    if X is not None:
        print("   TR45, whose program has beta 0.0001 and 0.001:")
        compare_betas(lambda beta: SGL.as_published(10, beta=beta, **PUBLISHED).fit(X), (1e-4, 1e-3, 1.0))
    views, _ = rows("caltech101-7-reextracted")
    if views is not None:
        print("   Caltech-7 with features of our own, whose program has beta 50,000 to 500,000:")
        settings = {"n_anchors": 100, "alpha": 1.0, "gamma": -1.0, "random_state": 0}
        compare_betas(lambda beta: MSGL.as_published(7, beta=beta, **settings).fit(views), (5e4, 1e5, 5e5))


def compare_betas(fit, betas):
    """Print how much labels agree with those of beta = 0, and the number of components."""
    without = fit(0.0)
    for beta in betas:
        model = fit(beta)
        agreement = adjusted_rand_score(without.labels_, model.labels_)
        pieces = f"{model.n_components_} component(s)"
        print(f"   beta {beta:g}: agreement with beta 0 {agreement:.3f} (1 = same labels), {pieces}", flush=True)


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
    # As published but for the anchors: few of them, one set, and k-means on the embedding.
    settings = {"n_anchors": 30, "n_init": 1, "partition": "spectral"}
    for alignment in ("per_view", "joint"):
        models = [MSGL(6, anchor_alignment=alignment, random_state=seed, **settings).fit(views) for seed in range(5)]
        scores = [100 * clustering_accuracy(y, model.labels_) for model in models]
        print(f"   anchors {alignment}: ACC {np.mean(scores):.1f} ± {np.std(scores):.1f} over 5 seeds")
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
        models = [LSC(40, n_landmarks=120, sigma=sigma, random_state=0).fit(X / unit) for unit in (1, 255, 25_500)]
        first, second, third = (f"{100 * clustering_accuracy(y, model.labels_):.1f}" for model in models)
        print(
            f"   sigma={sigma!r}: ACC {first} on grey levels of 0 to 255, {second} if divided by 255, {third} by 25,500"
        )


def kmeans_relation(rows):
    """10. For large alpha SGL is not k-means: Theorem 3 drops a term that depends on the clusters."""
    X, y = make_blobs([100, 30, 20], n_features=2, cluster_std=0.3, random_state=0)
    print("   The proof: a uniform Z on k components has the squared norm k, so the alpha term is a constant.")
    # Anchors per component; every row of a component has equal weights on its anchors.
    for n_anchors in ((2, 2, 2), (1, 2, 3), (3, 2, 1)):
        squared = sum(count / own for count, own in zip(np.bincount(y), n_anchors, strict=True))
        print(f"   clusters of 100, 30, 20 rows with {n_anchors} anchors: squared norm {squared:.1f}, k = 3")
    print("   The claim: the larger alpha, the nearer to k-means.")
    by_kmeans = KMeans(3, n_init=10, random_state=0).fit(X).labels_
    for alpha in (1.0, 1e3, 1e6, 1e12):
        model = SGL.as_published(3, n_anchors=6, alpha=alpha, beta=1.0, random_state=0).fit(X)
        distance = np.abs(model.graph_.toarray() - 1 / 6).max()
        agreement = adjusted_rand_score(by_kmeans, model.labels_)
        print(
            f"   alpha {alpha:g}: agreement with k-means {agreement:.3f} (1 = same labels), "
            f"largest |z - 1/m| {distance:.1e}, {model.n_components_} component(s)"
        )


def ten_iterations(rows):
    """11. MSGL is said to converge within ten iterations; the objective of the paper may rise on the way."""
    for name, k, scale in (("citeseer", 6, "l2"), ("caltech101-7-reextracted", 7, "none")):
        views, _ = rows(name)
        if views is None:
            continue
        for beta in (0.0, 1.0, 5e4):
            model = MSGL.as_published(k, n_anchors=30, alpha=1.0, beta=beta, scale=scale, random_state=0).fit(views)
            values = np.array(model.objective_)
            # The first value has weights of the views that were not chosen yet.
            steps = np.diff(values[1:]) / np.abs(values[1:-1])
            rises = np.count_nonzero(steps > 1e-6)
            print(
                f"   {name}, beta {beta:g}: {len(values)} iterations, {rises} of {len(steps)} later steps raise it, "
                f"the worst by {100 * max(steps.max(), 0):.2g} %",
                flush=True,
            )


def growing_cost(rows):
    """12. Time of the published algorithm grows linearly with rows, as stated, but not with the cube of anchors."""
    sizes = (500, 1000) if rows.quick else (16_000, 64_000, 256_000)
    counts = (20, 40) if rows.quick else (50, 100, 200)
    for what, cases in (
        ("rows", [(n, 50 if not rows.quick else 20) for n in sizes]),
        ("anchors", [(sizes[0], m) for m in counts]),
    ):
        seconds = []
        for n_rows, n_anchors in cases:
            X, _ = make_union_of_subspaces(n_rows, n_subspaces=10, dim=3, ambient_dim=30, random_state=0)
            model = SGL.as_published(10, n_anchors=n_anchors, alpha=1.0, beta=1e-3, max_iter=6, tol=1e-9, n_jobs=1)
            started = time.process_time()
            model.set_params(random_state=0).fit(X)
            seconds.append(time.process_time() - started)
        varied = [case[0] if what == "rows" else case[1] for case in cases]
        power = np.polyfit(np.log(varied), np.log(seconds), 1)[0]
        told = ", ".join(f"{one:,}: {own:.1f} s" for one, own in zip(varied, seconds, strict=True))
        print(f"   {what} {told}; time grows like {what}^{power:.2f}", flush=True)


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
    kmeans_relation,
    ten_iterations,
    growing_cost,
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
