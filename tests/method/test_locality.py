"""locality: the distance term in the row problem, the objective and the prediction."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs

from kedge import SGL, simplex_qp

X = make_blobs(150, centers=4, n_features=12, cluster_std=3.0, random_state=0)[0]


def test_row_problem_and_objective_hold_the_distance_term():
    options = {"n_init": 1, "scale": "none", "penalty_scale": "absolute", "random_state": 0}
    model = SGL(4, n_anchors=12, alpha=2.0, locality=0.7, **options).fit(X)
    A = model.anchors_
    distances = np.square(X[:, None, :] - A).sum(axis=2)
    expected = simplex_qp(2 * (A @ A.T + 2.0 * np.eye(12)), -2 * X @ A.T + 0.7 * distances)
    Z = model.graph_.toarray()
    np.testing.assert_allclose(Z, expected, atol=1e-10)
    direct = np.square(X - Z @ A).sum() + 2.0 * np.square(Z).sum() + 0.7 * (Z * distances).sum()
    np.testing.assert_allclose(model.objective_, [direct], rtol=1e-9)


def test_rows_are_rebuilt_from_nearer_anchors():
    digits = load_digits().data[:600]

    def mean_distance(locality):
        model = SGL(10, n_anchors=100, locality=locality, random_state=0).fit(digits)
        distances = np.square(digits[:, None, :] - model.anchors_).sum(axis=2)
        return (model.graph_.toarray() * distances).sum()

    assert mean_distance(1.0) < 0.9 * mean_distance(0.0)


def test_a_graph_in_too_many_pieces_is_said():
    with pytest.warns(UserWarning, match=r"falls into \d+ pieces, more than n_clusters=2.*lower locality"):
        model = SGL(2, n_anchors=20, alpha=1e-4, locality=100.0, random_state=0).fit(X)
    assert model.n_components_ > 2
