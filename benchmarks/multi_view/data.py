"""The multi-view data sets of the benchmarks: read if they are found, else left out with a message."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler, normalize

from benchmarks.clustering.data import FOLDERS
from kedge.datasets import make_multiview

FILES = {
    "citeseer": "citeseer_2view.npz",
    "caltech7": "caltech101_7_reextracted_6view.npz",
    "nus_standin": "nus_standin_tinyimagenet31_5view.npz",
}
DESCRIPTIONS = {
    "citeseer": "Citeseer, the paper's own data: words and citations",
    "caltech7": "Caltech101-7, features re-extracted: not digit for digit the paper's",
    "nus_standin": "NUS stand-in: 30,000 Tiny ImageNet images with the same kinds of features, NOT NUS-WIDE",
}
QUICK_ROWS = 200


@dataclass
class Views:
    """Views by name, classes, and a line that says what they are."""

    views: dict
    y: np.ndarray
    description: str

    @property
    def n_clusters(self):
        """Number of classes."""
        return len(np.unique(self.y))


def load(name, quick=False):
    """Return the data set of that name, or None after saying that its file is not there."""
    if quick:
        views, y = make_multiview(QUICK_ROWS, n_clusters=3, n_views=2, random_state=0)
        return Views({"first": views[0], "second": views[1]}, y, f"generated in place of {name}")
    for folder in FOLDERS:
        if (folder / FILES[name]).exists():
            return _read(folder / FILES[name], name)
    print(f"{name}: LEFT OUT, no file of it in $KEDGE_DATA or ../shared/data\n", flush=True)
    return None


def _read(path, name):
    views = {}
    with np.load(path, allow_pickle=False) as file:
        for number, view_name in enumerate(file["view_names"]):
            key = f"view{number}"
            if key in file:
                views[str(view_name)] = file[key].astype(np.float64)
            else:
                parts = file[f"{key}_data"].astype(np.float64), file[f"{key}_indices"].astype(np.int32)
                shape = tuple(file[f"{key}_shape"])
                views[str(view_name)] = sparse.csr_array((*parts, file[f"{key}_indptr"].astype(np.int32)), shape=shape)
        return Views(views, file["y"].astype(int), DESCRIPTIONS[name])


def scaled(view):
    """Scale a view as MSGL does by default: columns to mean zero and variance one unless sparse, then unit rows."""
    rows = normalize(view if sparse.issparse(view) else StandardScaler().fit_transform(view))
    energy = np.mean(rows.multiply(rows).sum(axis=1) if sparse.issparse(rows) else np.square(rows).sum(axis=1))
    return rows / np.sqrt(energy)


def joined(views):
    """Return all scaled views side by side."""
    parts = [scaled(view) for view in views]
    return sparse.csr_array(sparse.hstack(parts)) if any(map(sparse.issparse, parts)) else np.hstack(parts)
