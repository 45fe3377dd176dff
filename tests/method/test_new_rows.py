"""predict and transform: anchors' votes, the graph, and agreement with the fit."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_blobs
from sklearn.neighbors import KNeighborsClassifier

from kedge import SGL


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(400, centers=5, n_features=8, cluster_std=1.0, center_box=(-15, 15), random_state=2)[0]


@pytest.mark.parametrize("n_neighbors", [1, 3, 5, 7])
def test_votes_of_anchors_are_those_of_nearest_neighbours(n_neighbors):
    X, _ = load_digits(return_X_y=True)
    model = SGL(10, n_anchors=60, n_neighbors=n_neighbors, predict_with="anchors", random_state=0).fit(X[:1000])
    predicted = model.predict(X[1000:])
    distances = np.square(X[1000:, None, :] - model.anchors_).sum(axis=2)
    near = np.argsort(distances, axis=1, kind="stable")[:, :n_neighbors]
    for row, votes in zip(predicted, model.anchor_labels_[near], strict=True):
        counts = np.bincount(votes, minlength=10)
        best = set(np.flatnonzero(counts == counts.max()))
        assert row == next(v for v in votes if v in best)
    if n_neighbors == 1:
        rival = KNeighborsClassifier(1).fit(model.anchors_, model.anchor_labels_)
        np.testing.assert_array_equal(predicted, rival.predict(X[1000:]))


def test_more_neighbours_than_anchors_is_refused(blobs):
    model = SGL(5, n_anchors=6, n_init=1, n_neighbors=7, predict_with="anchors", random_state=0).fit(blobs)
    with pytest.raises(ValueError, match="n_neighbors=7 is more than the 6 anchors"):
        model.predict(blobs)


@pytest.mark.parametrize("options", [{}, {"beta": 0.1}, {"n_init": 1}, {"structure": "exact"}, {"scale": "zscore"}])
def test_prediction_by_the_graph_agrees_with_the_fit_on_training_rows(blobs, options):
    model = SGL(5, predict_with="graph", random_state=0, **options)
    labels = model.fit_predict(blobs)
    assert (labels == model.predict(blobs)).mean() >= 0.99
    assert (labels == model.set_params(predict_with="anchors").predict(blobs)).mean() >= 0.99


@pytest.mark.parametrize("options", [{}, {"signed": True}, {"locality": 0.3}, {"n_init": 3}, {"scale": "l2"}])
def test_transform_of_training_rows_is_the_embedding(options):
    X, _ = load_digits(return_X_y=True)
    model = SGL(10, random_state=0, **options).fit(X[:300])
    np.testing.assert_allclose(model.transform(X[:300]), model.embedding_, atol=1e-9)
    np.testing.assert_allclose(SGL(10, random_state=0, **options).fit_transform(X[:300]), model.embedding_, atol=1e-9)


def test_transform_with_structure_penalty_is_near_the_embedding_of_a_settled_fit():
    X, _ = load_digits(return_X_y=True)
    model = SGL(10, n_anchors=50, beta=0.01, tol=1e-9, max_iter=500, random_state=0).fit(X[:500])
    np.testing.assert_allclose(model.transform(X[:500]), model.embedding_, atol=1e-3 * np.abs(model.embedding_).max())


@pytest.mark.parametrize("how", ["anchors", "graph"])
@pytest.mark.parametrize("beta", [0.0, 0.1])
def test_rows_alone_shuffled_or_sparse_end_alike(how, beta):
    X, _ = load_digits(return_X_y=True)
    model = SGL(10, n_anchors=50, beta=beta, predict_with=how, random_state=0).fit(X[:600])
    whole = model.predict(X[:300])
    alone = np.concatenate([model.predict(X[i : i + 1]) for i in range(0, 300, 7)])
    np.testing.assert_array_equal(alone, whole[::7])
    order = np.random.default_rng(0).permutation(300)
    np.testing.assert_allclose(model.transform(X[:300][order]), model.transform(X[:300])[order], atol=1e-9)
    np.testing.assert_array_equal(model.predict(sparse.csr_array(X[:300])), whole)


def test_every_anchor_is_labelled_even_without_rows():
    X, _ = make_blobs(100, centers=[[0, -5], [10, -5]], cluster_std=0.5, random_state=0)
    # All rows lie below the anchors; the last is the one farthest up, which no row can use.
    anchors = np.array([[-1.0, 0], [1, 0], [9, 0], [11, 0], [5, 50]])
    model = SGL(2, anchors=anchors, alpha=0.1, penalty_scale="absolute", random_state=0).fit(X)
    assert model.graph_.sum(axis=0)[-1] == 0
    assert set(model.anchor_labels_) == {0, 1}
    assert model.n_components_ <= 2


@pytest.mark.parametrize("options", [{}, {"structure": "exact"}, {"n_init": 1}])
def test_prediction_by_the_graph_is_the_fit_itself_on_training_rows_however_mixed(options):
    X, _ = load_digits(return_X_y=True)
    model = SGL(10, predict_with="graph", random_state=0, **options).fit(X[:600])
    np.testing.assert_array_equal(model.predict(X[:600]), model.labels_)
