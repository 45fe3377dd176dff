"""Spectral clustering: scikit-learn's, on a neighbour graph."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from kedge.baselines import SpectralClustering
from kedge.metrics import clustering_accuracy


@pytest.mark.parametrize("eigen_solver", ["arpack", "lobpcg"])
def test_every_solver_finds_touching_blobs(eigen_solver):
    X, y = make_blobs(300, centers=[(0, 0), (6, 0), (0, 6)], cluster_std=1.2, random_state=0)
    model = SpectralClustering(3, n_neighbors=20, eigen_solver=eigen_solver, random_state=0).fit(X)
    assert clustering_accuracy(y, model.labels_) > 0.97


def test_the_solver_reaches_scikit_learn(monkeypatch):
    used = []

    class Spy:
        def __init__(self, n_clusters, **parameters):
            used.append(parameters["eigen_solver"])

        def set_params(self, **parameters):
            return self

        def fit(self, X):
            self.labels_ = np.arange(X.shape[0]) % 2
            return self

    monkeypatch.setattr("kedge.baselines.sklearn_methods.cluster.SpectralClustering", Spy)
    SpectralClustering(2, n_neighbors=3, eigen_solver="lobpcg", random_state=0).fit(np.eye(6))
    assert used == ["lobpcg"]
