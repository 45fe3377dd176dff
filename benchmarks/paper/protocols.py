"""What is done with the rows of a unit, and what is recorded of it.

Seconds are processor time. Units use one thread, so this is what a quiet machine would take, whatever else runs.
"""

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.multi_view.data import joined
from benchmarks.paper.plan import GENERATED, N_GENERATED, Unit
from kedge import MSGL, SGL
from kedge.baselines import find_method
from kedge.datasets import load, make_union_of_subspaces
from kedge.metrics import ari, clustering_accuracy, inverse_purity, nmi, purity

# Ours, by name; every other name is that of a baseline.
OURS = {"SGL": SGL, "MSGL": MSGL}
AS_PUBLISHED = {"SGL as published": SGL, "MSGL as published": MSGL}
MEASURES: dict[str, Callable[..., float]] = {
    "acc": clustering_accuracy,
    "nmi": nmi,
    "purity": purity,
    "inverse_purity": inverse_purity,
    "ari": ari,
}
# What a method of one matrix gets of a set with several views: all of them side by side at equal energy.
JOINED = " on joined views"
# Rows that the out-of-sample protocol clusters; the others are only predicted.
IN_SAMPLE = {"mnist": 2000}
OTHERWISE_IN_SAMPLE = 1000


@dataclass(frozen=True)
class DataRows:
    """What a method is given, and what it is scored by."""

    X: Any  # The rows: an array, a CSR array, or a dict of them by view.
    y: NDArray[np.int64]  # Shape (n_rows,). Classes.
    n_clusters: int  # Number of classes of the whole set.


@lru_cache(maxsize=1)
def load_rows(name: str, n_rows: int | None = None) -> DataRows:
    """Return the rows of a data set; with ``n_rows`` only that many of them, always the same."""
    if name == GENERATED:
        drawn = make_union_of_subspaces(
            n_rows or 10_000, n_subspaces=N_GENERATED, dim=3, ambient_dim=30, random_state=0
        )
        return DataRows(*drawn, N_GENERATED)
    found = load(name)
    y: NDArray[np.int64] = np.asarray(found.y, dtype=np.int64)
    X: Any = found.get("views", found.get("X"))
    if n_rows is not None and n_rows < len(y):
        rows = np.sort(np.random.RandomState(0).permutation(len(y))[:n_rows])
        X = {view: matrix[rows] for view, matrix in X.items()} if isinstance(X, dict) else X[rows]
        y = y[rows]
    return DataRows(X, y, int(found.n_clusters))


def make_estimator(method: str, n_clusters: int, seed: int, parameters: Mapping[str, Any]) -> Any:
    """Return an estimator to fit; ours gets one thread, because units run side by side."""
    method = method.removesuffix(JOINED)
    if method in AS_PUBLISHED:
        return AS_PUBLISHED[method].as_published(n_clusters, random_state=seed, n_jobs=1, **parameters)
    if method in OURS:
        return OURS[method](n_clusters, random_state=seed, n_jobs=1, **parameters)
    return find_method(method).make(n_clusters, random_state=seed, **parameters)


def memory_estimate(method: str, n_clusters: int, parameters: Mapping[str, Any], shape: tuple[int, int]) -> int:
    """Return about how many bytes a fit takes beyond the data."""
    method = method.removesuffix(JOINED)
    n_samples, n_features = shape
    if method in OURS or method in AS_PUBLISHED:
        # A dense table of weights and its copies; the sets of anchors have five per cluster, unless told otherwise.
        n_anchors = parameters.get("n_anchors", 5 * n_clusters)
        return int(4 * 8 * n_samples * (int(n_anchors) if not isinstance(n_anchors, str) else 5 * n_clusters))
    return int(make_estimator(method, n_clusters, 0, parameters).memory_needed(n_samples, n_features))


def run_unit(unit: Unit) -> dict[str, Any]:
    """Run a unit and return its record."""
    rows = load_rows(unit.data, unit.n_rows)
    reset_peak()
    with warnings.catch_warnings():
        # What a method says about its fit is not news in a grid of settings; scores tell.
        warnings.simplefilter("ignore")
        record = PROTOCOLS[unit.protocol](unit, rows)
    return record | {"peak_mib": peak_mib()}


def score(y: NDArray[Any], labels: NDArray[Any]) -> dict[str, float]:
    """Return all measures in percent."""
    return {name: round(100.0 * measure(y, labels), 4) for name, measure in MEASURES.items()}


def cluster_rows(unit: Unit, rows: DataRows) -> dict[str, Any]:
    """Fit all rows and score the labels; the protocol "objective" also records the objective of every iteration."""
    model = make_estimator(unit.method, rows.n_clusters, unit.seed, unit.settings())
    started = time.process_time()
    model.fit(joined(rows.X.values()) if unit.method.endswith(JOINED) else rows.X)
    record: dict[str, Any] = {"seconds": time.process_time() - started, **score(rows.y, np.asarray(model.labels_))}
    if unit.protocol == "objective":
        record["objective"] = [float(value) for value in model.objective_]
    return record


def classify_new_rows(unit: Unit, rows: DataRows) -> dict[str, Any]:
    """Fit some rows, predict the others, and score all together.

    The parameter ``neighbors_of`` is "anchors" or "rows": by whose labels new rows are labelled. Seconds are those of
    prediction alone, as in the paper for SGL; those of the fit are recorded beside.
    """
    parameters = unit.settings()
    neighbors_of = parameters.pop("neighbors_of", None)
    order = np.random.RandomState(0).permutation(len(rows.y))
    chosen = min(IN_SAMPLE.get(unit.data, OTHERWISE_IN_SAMPLE), len(order) // 2)
    inside, outside = order[:chosen], order[chosen:]
    model = make_estimator(unit.method, rows.n_clusters, unit.seed, parameters)
    started = time.process_time()
    model.fit(rows.X[inside])
    fitted = time.process_time()
    if neighbors_of == "rows":
        classifier = KNeighborsClassifier(1).fit(rows.X[inside], model.labels_)
        predicted = classifier.predict(rows.X[outside])
    else:
        predicted = model.predict(rows.X[outside])
    seconds = time.process_time() - fitted
    labels = np.empty(len(order), dtype=np.int64)
    labels[inside], labels[outside] = model.labels_, predicted
    return {"seconds": seconds, "fit_seconds": fitted - started, **score(rows.y, labels)}


PROTOCOLS: dict[str, Callable[[Unit, DataRows], dict[str, Any]]] = {
    "cluster": cluster_rows,
    "out of sample": classify_new_rows,
    "objective": cluster_rows,
}


def reset_peak() -> None:
    """Let the system count the peak memory of this process anew, where it can."""
    file = Path("/proc/self/clear_refs")
    if file.exists():
        try:
            file.write_text("5")
        except OSError:
            return


def peak_mib() -> float | None:
    """Return the peak memory of this process since the last reset; None where the system does not tell."""
    file = Path("/proc/self/status")
    if not file.exists():
        return None
    line = next(line for line in file.read_text().splitlines() if line.startswith("VmHWM"))
    return round(int(line.split()[1]) / 1024, 1)
