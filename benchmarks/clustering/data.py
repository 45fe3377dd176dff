"""The data sets of the benchmarks: read if they are found, else drawn or left out with a message."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from benchmarks.clustering.embeddings import draw_embeddings
from benchmarks.clustering.poker import draw_hands
from kedge.datasets import make_union_of_subspaces

FOLDERS = [Path(folder) for folder in os.environ.get("KEDGE_DATA", "").split(os.pathsep) if folder] + [
    Path(__file__).parents[3] / "shared" / "data"
]
MANY_ROWS = 1_000_000
QUICK_ROWS = 300


@dataclass
class Rows:
    """Rows, their classes, and a line that says what they are."""

    X: np.ndarray
    y: np.ndarray
    description: str

    @property
    def n_clusters(self):
        """Number of classes."""
        return len(np.unique(self.y))


def load(name, quick=False):
    """Return the data set of that name, or None after saying that its file is not there."""
    n_rows = QUICK_ROWS if quick else None
    if name in PAPER_SETS:
        rows = load_small(name, n_rows)
    else:
        rows = load_digits_rows(n_rows) if name == "digits" else LOADERS[name](n_rows)
    if rows is None:
        print(f"{name}: LEFT OUT, no file of it in $KEDGE_DATA or ../shared/data\n", flush=True)
    return rows


def load_mnist(n_rows):
    """Read raw grey levels of handwritten digits."""
    found = _read("MNIST.npz", n_rows)
    return found and Rows(found[0].astype(np.float32), found[1], "MNIST, raw grey levels")


def load_covertype(n_rows):
    """Read forest cover types, each column with mean 0 and deviation 1."""
    found = _read("CoverType.npz", n_rows)
    return found and Rows(_standardised(found[0]), found[1], "CoverType, standardised columns")


def load_poker(n_rows):
    """Read a million poker hands, or draw as many."""
    found = _read("Pokerhand_synth.npz", n_rows)
    note = "poker hands, raw" if found else "poker hands, raw, DRAWN HERE because no file of them was found"
    hands, classes = found or draw_hands(n_rows or MANY_ROWS)
    return Rows(hands.astype(np.float32), classes, note)


def draw_subspaces(n_rows):
    """Draw 10 subspaces of dimension 3 in R^30, x and -x alike."""
    shape = {"n_subspaces": 10, "dim": 3, "ambient_dim": 30}
    X, y = make_union_of_subspaces(n_rows or MANY_ROWS, **shape, random_state=0, dtype=np.float32)
    return Rows(X, y, "10 subspaces of dimension 3 in R^30, x as likely as -x, generated")


def draw_embedded(n_rows):
    """Draw what a neural network might make of 20 classes: rows of unit length on bent patches that overlap."""
    return Rows(*draw_embeddings(n_rows or MANY_ROWS), "20 bent patches that overlap, like embeddings, generated")


def load_digits_rows(n_rows):
    """Return the 8 x 8 digits that come with scikit-learn."""
    X, y = load_digits(return_X_y=True)
    return Rows(X[:n_rows], y[:n_rows], "digits, 8 x 8 grey levels")


def load_small(name, n_rows):
    """Read one of the paper's smaller sets: documents as sparse tf-idf rows, or images as raw grey levels."""
    for folder in FOLDERS:
        if (folder / f"{name.upper()}.npz").exists():
            with np.load(folder / f"{name.upper()}.npz") as file:
                if "X" in file:
                    X = np.ascontiguousarray(file["X"], dtype=np.float64)
                else:
                    indices = file["X_indices"].astype(np.int32), file["X_indptr"].astype(np.int32)
                    X = sparse.csr_array((file["X_data"], *indices), shape=tuple(file["X_shape"]))
                return Rows(X[:n_rows], file["y"][:n_rows], name.upper())
    return None


# Sets on which settings are compared; the first five are those of the paper's first table that can be had.
PAPER_SETS = ("tr11", "tr41", "tr45", "orl", "ba")

LOADERS = {
    "mnist": load_mnist,
    "covertype": load_covertype,
    "poker": load_poker,
    "subspaces": draw_subspaces,
    "embedded": draw_embedded,
}


def _read(file_name, n_rows):
    """Return the first rows and their classes, or None where no folder has the file."""
    for folder in FOLDERS:
        if (folder / file_name).exists():
            with np.load(folder / file_name) as file:
                return np.ascontiguousarray(file["X"][:n_rows]), file["y"][:n_rows]
    return None


def _standardised(X):
    return StandardScaler(copy=False).fit_transform(X.astype(np.float32))
