"""The first form of SGL: scikit-learn's checks, quality, edges."""

import pickle

import numpy as np
import pytest
from invariants import assert_on_simplex
from scipy import sparse
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from kedge import SGL


@pytest.mark.filterwarnings("ignore:Number of distinct clusters:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([SGL()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_separated_blobs_are_found_exactly():
    X, y = make_blobs(500, centers=4, n_features=5, cluster_std=0.5, center_box=(-20, 20), random_state=1)
    model = SGL(4, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert adjusted_rand_score(y, model.predict(X)) == 1


def test_digits_beat_chance_by_far():
    X, y = load_digits(return_X_y=True)
    model = SGL(10, n_anchors=100, random_state=0).fit(X)
    assert normalized_mutual_info_score(y, model.labels_) > 0.7


def test_attributes_have_the_promised_shapes():
    X, _ = make_blobs(200, centers=3, n_features=6, random_state=0)
    model = SGL(3, n_anchors=12, n_init=1, random_state=0).fit(X)
    assert model.graph_.shape == (200, 12)
    assert sparse.issparse(model.graph_)
    assert model.graph_.format == "csr"
    assert_on_simplex(model.graph_.toarray())
    assert model.anchors_.shape == (12, 6)
    assert model.anchor_labels_.shape == (12,)
    assert model.embedding_.shape == (200, 3)
    assert model.anchor_embedding_.shape == (12, 3)
    assert set(model.labels_) == {0, 1, 2}


def test_left_singular_vectors_are_orthonormal_up_to_the_half():
    X, _ = make_blobs(200, centers=3, n_features=6, random_state=0)
    embedding = SGL(3, n_anchors=12, random_state=0).fit(X).embedding_
    np.testing.assert_allclose(embedding.T @ embedding, np.eye(3) / 2, atol=1e-10)


def test_sparse_and_dense_input_agree():
    X, _ = make_blobs(150, centers=3, n_features=6, random_state=0)
    X[X < 0] = 0
    dense = SGL(3, scale="none", random_state=0).fit(X)
    from_sparse = SGL(3, scale="none", random_state=0).fit(sparse.csr_array(X))
    assert adjusted_rand_score(dense.labels_, from_sparse.labels_) == 1


def test_float32_is_kept():
    X = make_blobs(150, centers=3, random_state=0)[0].astype(np.float32)
    model = SGL(3, random_state=0).fit(X)
    assert model.anchors_.dtype == np.float32
    assert model.graph_.dtype == np.float32


def test_fit_again_and_other_thread_counts_give_the_same_bits():
    X = load_digits().data[:600]
    first = SGL(10, random_state=3).fit(X)
    for n_jobs in (1, 2, 7):
        again = SGL(10, random_state=3, n_jobs=n_jobs).fit(X)
        np.testing.assert_array_equal(first.labels_, again.labels_)
        np.testing.assert_array_equal(first.graph_.data, again.graph_.data)


def test_pickle_keeps_the_model():
    X, _ = make_blobs(100, centers=3, random_state=0)
    model = SGL(3, random_state=0).fit(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_one_cluster_and_rows_of_zeros():
    assert set(SGL(1, random_state=0).fit(np.random.default_rng(0).normal(size=(20, 3))).labels_) == {0}
    with pytest.warns(ConvergenceWarning, match="only 1 of n_clusters=2 clusters"):
        assert set(SGL(2, random_state=0).fit(np.zeros((20, 3))).labels_) == {0}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 30}, "n_samples=20 should be >= n_clusters=30"),
        ({"n_clusters": 5, "n_anchors": 3}, "n_anchors=3 should be >= n_clusters=5"),
        ({"n_clusters": 2, "n_anchors": 21}, "n_anchors=21 should be <= n_samples=20"),
    ],
)
def test_counts_that_do_not_fit_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        SGL(**parameters).fit(np.random.default_rng(0).normal(size=(20, 3)))


@pytest.mark.parametrize("options", [{}, {"n_init": 1}, {"structure": "exact"}])
def test_clusters_are_numbered_by_their_first_rows(options):
    rows, _ = make_blobs(200, centers=6, cluster_std=0.3, random_state=3)
    labels = SGL(6, random_state=0, **options).fit(rows).labels_
    _, first = np.unique(labels, return_index=True)
    assert (np.diff(first) > 0).all()
