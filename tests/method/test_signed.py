"""signed=True: x and -x belong to one subspace."""

from copy import copy

import numpy as np
import pytest
from invariants import assert_on_simplex

from kedge import SGL, simplex_qp
from kedge.datasets import make_union_of_subspaces
from kedge.metrics import clustering_accuracy

ONE_SET = {"n_init": 1, "locality": 0.0, "scale": "none", "penalty_scale": "absolute", "random_state": 0}


@pytest.fixture(scope="module")
def subspaces():
    return make_union_of_subspaces(3000, n_subspaces=5, dim=6, ambient_dim=9, random_state=0)


@pytest.fixture(scope="module")
def signed(subspaces):
    return SGL(5, n_anchors=300, signed=True, random_state=0).fit(subspaces[0])


def test_mirrored_anchors_find_linear_subspaces_where_plain_ones_fail(subspaces, signed):
    X, y = subspaces
    plain = SGL(5, n_anchors=300, random_state=0).fit(X)
    assert clustering_accuracy(y, plain.labels_) < 0.5
    assert clustering_accuracy(y, signed.labels_) > 0.8


def test_graph_folds_the_two_halves_of_the_mirrored_problem(subspaces):
    X = subspaces[0][:200]
    model = SGL(5, n_anchors=20, signed=True, alpha=0.5, **ONE_SET).fit(X)
    both = np.vstack([model.anchors_, -model.anchors_])
    full = simplex_qp(2 * (both @ both.T + 0.5 * np.eye(40)), -2 * X @ both.T)
    np.testing.assert_allclose(model.graph_.toarray(), full[:, :20] + full[:, 20:], atol=1e-12)
    assert_on_simplex(model.graph_.toarray())


def test_mirrored_rows_get_the_same_labels_and_embedding(subspaces, signed):
    X, _ = subspaces
    np.testing.assert_array_equal(signed.predict(X[:500]), signed.predict(-X[:500]))
    np.testing.assert_allclose(signed.transform(X[:500]), signed.transform(-X[:500]), atol=1e-12)
    by_graph = copy(signed).set_params(predict_with="graph")
    np.testing.assert_array_equal(by_graph.predict(-X), signed.labels_)


def test_lengths_of_rows_do_not_matter_unless_it_is_asked_for(subspaces):
    X, y = subspaces
    lengths = np.random.default_rng(0).uniform(1, 100, size=(3000, 1))
    model = SGL(5, n_anchors=300, signed=True, random_state=0).fit(lengths * X)
    assert clustering_accuracy(y, model.labels_) > 0.8


def test_objective_counts_the_mirrored_coefficients():
    X, _ = make_union_of_subspaces(100, n_subspaces=2, dim=2, ambient_dim=5, random_state=1)
    model = SGL(2, n_anchors=6, signed=True, alpha=0.3, **ONE_SET).fit(X)
    both = np.vstack([model.anchors_, -model.anchors_])
    full = simplex_qp(2 * (both @ both.T + 0.3 * np.eye(12)), -2 * X @ both.T)
    direct = np.square(X - full @ both).sum() + 0.3 * np.square(full).sum()
    np.testing.assert_allclose(model.objective_, [direct], rtol=1e-9)
