"""The data sets by name: as they are for kedge, and as a careful user would prepare them for other tools."""

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs, make_moons
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler, normalize

from kedge import datasets

# Name, and the most rows that are used; None means all.
SETS = {
    "tr11": None,
    "tr41": None,
    "tr45": None,
    "orl": None,
    "ba": None,
    "citeseer": None,
    "digits": None,
    "caltech101-7-reextracted": None,
    "nus-standin": 5_000,
    "tdt2": None,
    "covertype": 20_000,
    "pokerhand-synthesised": 20_000,
    "mnist": None,
}
# Sets that had no part when the constants of kedge were settled: scikit-learn's own, and drawn by scikit-learn or
# kedge. Two more, Caltech and Pokerhand, are among those above.
HELD_OUT = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "breast-cancer": lambda: load_breast_cancer(return_X_y=True),
    "blobs-of-unequal-size": lambda: make_blobs(
        [1000, 500, 250, 100, 50], n_features=20, center_box=(-4, 4), random_state=0
    ),
    "moons": lambda: make_moons(2000, noise=0.08, random_state=0),
    "subspaces": lambda: datasets.make_union_of_subspaces(
        2000, n_subspaces=8, dim=4, ambient_dim=30, noise=0.05, random_state=0
    ),
    "drawn-views": lambda: datasets.make_multiview(
        2000, n_clusters=8, n_views=3, n_features=(20, 50, 10), random_state=0
    ),
}
HELD_OUT_ABOVE = ("caltech101-7-reextracted", "pokerhand-synthesised")
COUNTS = ("tdt2",)
UNEQUAL_COLUMNS = ("covertype", "wine", "breast-cancer")
QUICK_SETS, QUICK_ROWS = ("digits",), 200
# A dense view without negative entries and with more zeros than this is not centred.
MOSTLY_ZERO = 0.7


@dataclass
class Rows:
    """Rows with their classes.

    Attributes
    ----------
    name : str
        Name of the set.
    X : array, CSR array or list of them
        What kedge is given: one matrix or a list of views, as they come.
    matrix : array or CSR array
        What every other method is given: see :func:`prepare`.
    y : array of int
        Classes, from zero.
    """

    name: str
    X: Any
    matrix: Any
    y: np.ndarray

    @property
    def several(self):
        """Whether there are several views."""
        return isinstance(self.X, list)

    @property
    def n_rows(self):
        """Number of rows."""
        return len(self.y)

    @property
    def n_classes(self):
        """Number of classes."""
        return len(np.unique(self.y))


def load(name, quick=False):
    """Return the set, cut to its most rows by a fixed draw; None after saying that its file is not there."""
    try:
        X, y = _read(name)
    except OSError as error:  # not there, or not to be reached
        print(f"{name}: LEFT OUT, {error}\n", flush=True)
        return None
    most = QUICK_ROWS if quick else SETS.get(name)
    if most is not None and len(y) > most:
        kept = np.sort(np.random.RandomState(0).permutation(len(y))[:most])
        X, y = ([view[kept] for view in X] if isinstance(X, list) else X[kept]), y[kept]
    return Rows(name, X, prepare(name, X), np.unique(y, return_inverse=True)[1])


def sets_and_seeds(program, description):
    """Read the command line of a program that goes over the sets; return quick or not, sets and seeds."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.quality.{program}", description=description)
    parser.add_argument("--quick", action="store_true", help="200 digits and one seed, to see that it runs")
    parser.add_argument("--set", action="append", choices=list(SETS), help="may be repeated; default: all")
    parser.add_argument("--seeds", type=int, default=2, help="how many, from zero (default 2)")
    found = parser.parse_args()
    return found.quick, found.set or list(QUICK_SETS if found.quick else SETS), range(1 if found.quick else found.seeds)


def prepare(name, X):
    """Return the one matrix for methods that neither scale nor take views.

    Term counts become tf-idf with rows of unit length, columns of different units are standardised, views are put side
    by side at unit energy, and every other set stays as it is.
    """
    if isinstance(X, list):
        scaled = [unit_energy(view) for view in X]
        return sparse.csr_matrix(sparse.hstack(scaled)) if sparse.issparse(scaled[0]) else np.hstack(scaled)
    if name in COUNTS:
        return sparse.csr_matrix(TfidfTransformer().fit_transform(X))
    if name in UNEQUAL_COLUMNS:
        return StandardScaler().fit_transform(X)
    return sparse.csr_matrix(X) if sparse.issparse(X) else X


def unit_energy(view):
    """Return a view with rows of mean squared length one; columns of dense views are standardised before."""
    if not sparse.issparse(view):
        view = np.asarray(view, dtype=np.float64)
        if view.min() < 0 or np.mean(view == 0) <= MOSTLY_ZERO:
            view = StandardScaler().fit_transform(view)
    rows = normalize(view)
    energy = np.sqrt(rows.multiply(rows).sum() / rows.shape[0] if sparse.issparse(rows) else (rows**2).sum(1).mean())
    return rows / (energy or 1.0)


def _read(name):
    if name == "digits":
        return load_digits(return_X_y=True)
    if name in HELD_OUT:
        return HELD_OUT[name]()
    found = datasets.load(name)
    if "views" in found:
        return list(found.views.values() if isinstance(found.views, dict) else found.views), found.y
    return (found.X if sparse.issparse(found.X) else np.asarray(found.X, dtype=np.float64)), found.y
