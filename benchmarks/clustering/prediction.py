"""Time to label new rows, one by one and in batches: ``python -m benchmarks.clustering.prediction [--quick]``."""

import argparse
import time
from types import SimpleNamespace

import numpy as np

from benchmarks.clustering import data, measure
from benchmarks.clustering.rivals import OURS, neighbour_classifiers
from kedge import SGL

N_CLUSTERS, N_FEATURES = 20, 50
N_ROWS, QUICK_ROWS = 200_000, 2_000
N_ANCHORS, QUICK_ANCHORS = 1_000, 40
# Rows of the largest data set that are labelled in a batch.
MOST_ROWS = 200_000
REPEATS, ROWS_ONE_BY_ONE = 5, 1_000
WARM_UP_ROWS = 1_000
# Entries of the product that are formed at once: they stay in the cache.
BLOCK_ENTRIES = 1 << 20
PRODUCT = "bare product"
# What we aim at: microseconds for a row alone with 1,000 anchors and 50 features, times as fast as scikit-learn's
# classifier with its defaults, and times the bare product.
MOST_MICROSECONDS, LEAST_TIMES, MOST_PRODUCTS = 100.0, 10.0, 2.0
NOTES = f"""
kedge: predict of SGL(k, n_anchors={N_ANCHORS:,}, n_init=...) with as many anchor sets as stated. Rows are joined to
their nearest anchors in every set; wide rows are projected before. The classifiers are fitted on the anchors of all
sets and their clusters, in the space that kedge compares rows in. "raw" ones get rows and anchors with all features,
as a user would give them.
bare product: X A' by NumPy in blocks of {BLOCK_ENTRIES * 4 >> 20} MiB, rows as they are given and the anchors of all
sets with all features.
alone: median microseconds of {ROWS_ONE_BY_ONE:,} calls with one float32 row each, which needs no conversion.
batch: median seconds of {REPEATS} calls with all rows, rounds interleaved, on all processors.
equal labels: share of rows that get the cluster that kedge gives them. A classifier asks one anchor, kedge several.
"""


def draw_blobs(quick):
    """Return rows around centres that are apart."""
    random_state = np.random.RandomState(0)
    centers = 1.5 * random_state.normal(size=(N_CLUSTERS, N_FEATURES))
    y = random_state.randint(N_CLUSTERS, size=QUICK_ROWS if quick else N_ROWS)
    X = (centers[y] + random_state.normal(size=(len(y), N_FEATURES))).astype(np.float32)
    return SimpleNamespace(X=X, y=y, description="overlapping blobs, generated", n_clusters=N_CLUSTERS)


def microseconds_alone(predict, X):
    """Return the median time of a call with a single row."""
    rows = [X[i : i + 1] for i in range(min(len(X), ROWS_ONE_BY_ONE))]
    for row in rows[:20]:
        predict(row)
    durations = []
    for row in rows:
        began = time.perf_counter()
        predict(row)
        durations.append(time.perf_counter() - began)
    return 1e6 * float(np.median(durations))


def product_of(anchors):
    """Return a function that multiplies rows with anchors, block by block, and keeps nothing."""
    transposed = anchors.T.copy()
    n_rows = max(1, BLOCK_ENTRIES // len(anchors))
    held = np.empty((n_rows, len(anchors)), dtype=anchors.dtype)

    def multiply(X):
        for start in range(0, len(X), n_rows):
            block = X[start : start + n_rows]
            np.matmul(block, transposed, out=held[: len(block)])
        return np.full(len(X), -1)

    return multiply


def ways_to_label(model, X):
    """Return, by name, what labels rows and the rows it gets: kedge, its rivals and the bare product."""
    (compared,) = model._source(model._read(X, reset=False), model._scalings()).read(slice(0, len(X)))
    anchors, labels = model.graph_anchors_, model.anchor_labels_
    ways = {OURS: (model.predict, X)}
    ways |= {name: (rival.predict, compared) for name, rival in neighbour_classifiers(anchors, labels).items()}
    if compared.shape[1] < X.shape[1]:
        raw = neighbour_classifiers(model.anchors_.astype(X.dtype), labels)
        ways |= {f"raw {name}": (rival.predict, X) for name, rival in raw.items()}
    return ways | {PRODUCT: (product_of(model.anchors_.astype(X.dtype)), X)}


def print_ways(ways, with_targets):
    """Print what every way takes, and how kedge stands beside the targets."""
    alone = {name: microseconds_alone(predict, X) for name, (predict, X) in ways.items() if name != PRODUCT}
    seconds, labels = {name: [] for name in ways}, {}
    for predict, X in ways.values():
        predict(X[:WARM_UP_ROWS])
    for _ in range(REPEATS):
        for name, (predict, X) in ways.items():
            duration, labels[name] = measure.timed(predict, X)
            seconds[name].append(duration)
    median = {name: float(np.median(durations)) for name, durations in seconds.items()}
    table = []
    for name in ways:
        single = f"{alone[name]:.1f}" if name in alone else ""
        equal = f"{np.mean(labels[name] == labels[OURS]):.4f}" if name in alone else ""
        batch = [f"{median[name]:.4f}", f"{min(seconds[name]):.4f}", f"{median[name] / median[OURS]:.2f}"]
        table.append([name, single, *batch, equal])
    measure.print_table(["method", "alone us", "batch s", "best", "over ours", "equal labels"], table)
    if with_targets:
        print(f"a row alone: {alone[OURS]:.1f} us, {measure.verdict(alone[OURS], MOST_MICROSECONDS)}")
    default = next(name for name in ways if name != OURS)
    times, products = median[default] / median[OURS], median[OURS] / median[PRODUCT]
    print(f"{default} over ours: {times:.2f}, {measure.verdict(times, LEAST_TIMES, at_most=False)}")
    print(f"ours over the bare product: {products:.2f}, {measure.verdict(products, MOST_PRODUCTS)}\n", flush=True)


def main():
    """Fit, then label rows in every way, for several data sets."""
    parser = argparse.ArgumentParser(description="Time to label new rows, one by one and in batches.")
    parser.add_argument("--quick", action="store_true", help="tiny data, to see that it runs")
    quick = parser.parse_args().quick
    measure.start_run("Time to label new rows", quick)
    print(NOTES.strip() + "\n", flush=True)
    n_anchors = QUICK_ANCHORS if quick else N_ANCHORS
    sets = {"blobs": draw_blobs(quick), "mnist": data.load("mnist", quick), "poker": data.load("poker", quick)}
    for name, rows in sets.items():
        if rows is None:
            continue
        X = np.ascontiguousarray(rows.X[:MOST_ROWS], dtype=np.float32)
        for n_sets in (1, 3):
            model = SGL(rows.n_clusters, n_anchors=n_anchors, n_init=n_sets, random_state=0).fit(X)
            near = "rebuilt from all" if model.n_near_ is None else f"{model.n_near_} nearest"
            sizes = " + ".join(f"{size:,}" for size in model.anchor_set_sizes_)
            shape = f"{X.shape[0]:,} x {X.shape[1]}, compared in {model.graph_anchors_.shape[1]} columns"
            print(f"{name}: {rows.description}: {shape}; anchors {sizes}, {near}")
            print_ways(ways_to_label(model, X), name == "blobs")


if __name__ == "__main__":
    main()
