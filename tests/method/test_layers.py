"""The tree of clusters: other layers without another fit."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score

from kedge import MSGL, SGL

X, Y = load_digits(return_X_y=True)
SOME = X[:400]
OPTIONS = [{}, {"beta": 0.1}, {"partition": "spectral"}, {"structure": "exact"}, {"signed": True}, {"n_anchors": 60}]


@pytest.fixture(scope="module", params=OPTIONS, ids=str)
def model(request):
    return SGL(10, random_state=0, **request.param).fit(SOME)


@pytest.fixture(scope="module")
def plain():
    return SGL(10, random_state=0).fit(X)


def test_the_tree_merges_all_communities_into_one(model):
    n = model.n_communities_
    assert model.tree_.shape == (n - 1, 4)
    assert model.community_shares_.shape == (len(model.cluster_shares_), n)
    assert set(model.tree_[:, :2].astype(int).ravel()) == set(range(2 * n - 2))


def test_the_layer_of_the_fit_is_the_fit(model):
    np.testing.assert_array_equal(model.labels_at(model.n_clusters_), model.labels_)
    np.testing.assert_array_equal(model.predict(SOME, n_clusters=model.n_clusters_), model.predict(SOME))


def test_layers_have_as_many_clusters_as_asked_for_numbered_by_first_rows(model):
    for k in range(1, model.n_communities_ + 1):
        found, first = np.unique(model.labels_at(k), return_index=True)
        np.testing.assert_array_equal(found, np.arange(k))
        assert (np.diff(first) > 0).all()


def test_prediction_of_a_layer_is_that_layer(plain):
    for k in (1, 2, 5, plain.n_communities_):
        np.testing.assert_array_equal(plain.predict(X, n_clusters=k), plain.labels_at(k))


def test_layers_are_nested(plain):
    for k in range(2, plain.n_communities_):
        fine, coarse = plain.labels_at(k + 1), plain.labels_at(k)
        table = np.zeros((k + 1, k))
        np.add.at(table, (fine, coarse), 1)
        assert table.max(axis=1).sum() / len(X) > 0.98


def test_prediction_agrees_with_the_fit(plain):
    fitted = SGL(10, random_state=0).fit(X[:1200])
    assert (fitted.predict(X[:1200]) == fitted.labels_).mean() >= 0.98
    assert adjusted_rand_score(plain.labels_[1200:], fitted.predict(X[1200:])) > 0.85


def test_confidence_of_new_rows_is_the_lead_of_their_cluster(plain):
    labels, confidence = plain.predict(X, return_confidence=True)
    np.testing.assert_array_equal(labels, plain.labels_)
    np.testing.assert_allclose(confidence, plain.confidence_, atol=1e-9)
    assert 0 <= confidence.min() < confidence.max() <= 1
    graph = plain.graph_.toarray()
    around = graph / graph.sum(axis=0) @ graph.T @ graph @ plain.cluster_shares_
    rows = np.arange(len(X))
    own = around[rows, labels]
    around[rows, labels] = 0
    np.testing.assert_allclose(np.maximum(1 - around.max(axis=1) / own, 0), confidence, atol=1e-9)
    _, coarse = plain.predict(X, n_clusters=1, return_confidence=True)
    np.testing.assert_allclose(coarse, 1.0)


def test_layers_that_the_tree_lacks_are_refused(plain):
    for wrong in (0, plain.n_communities_ + 1):
        with pytest.raises(ValueError, match=rf"n_clusters={wrong} should be from 1 to n_communities_="):
            plain.labels_at(wrong)
        with pytest.raises(ValueError, match="fit again with that number"):
            plain.predict(X, n_clusters=wrong)
    for wrong in (2.0, "3", True):
        with pytest.raises(TypeError, match="should be an int"):
            plain.labels_at(wrong)


def test_the_number_of_clusters_is_found_where_it_is_clear():
    rows, truth = make_blobs(300, centers=10.0 * np.eye(4, 12), cluster_std=0.5, random_state=0)
    model = SGL(random_state=0).fit(rows)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(truth, model.labels_) == 1
    assert model.auto_report_["n_clusters"]["chosen"] == 4
    assert SGL(n_clusters_range=(6, 9), random_state=0).fit(rows).n_clusters_ in range(6, 10)
    assert SGL(4, random_state=0).fit(rows).auto_report_ is None


def test_layers_of_several_views():
    views = [X[:400, :30], X[:400, 30:]]
    model = MSGL(10, random_state=0).fit(views)
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    np.testing.assert_array_equal(model.predict(views, n_clusters=4), model.labels_at(4))


def test_layers_of_many_rows(tmp_path):
    rows, truth = make_blobs(6000, centers=12.0 * np.eye(6, 14), cluster_std=1.0, random_state=0)
    model = SGL(6, random_state=0).fit(rows)
    assert model.n_near_ is not None
    assert adjusted_rand_score(truth, model.labels_) == 1
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
    np.save(tmp_path / "rows.npy", rows)
    stored = SGL(6, random_state=0).fit(tmp_path / "rows.npy")
    np.testing.assert_array_equal(stored.labels_, model.labels_)
    for k in (1, 3):
        np.testing.assert_array_equal(stored.labels_at(k), model.labels_at(k))
        np.testing.assert_array_equal(model.predict(rows, n_clusters=k), model.labels_at(k))


def assert_doubtful_rows_are_wrong_more_often(model, truth):
    """Compare the errors of the least sure fifth of the rows with those of the rest."""
    n_classes = truth.max() + 1
    class_of = [
        np.bincount(truth[model.labels_ == cluster], minlength=n_classes).argmax() for cluster in range(n_classes)
    ]
    wrong = np.array(class_of)[model.labels_] != truth
    doubtful = model.confidence_ <= np.quantile(model.confidence_, 0.2)
    assert 0 < wrong.mean() < 0.3
    assert wrong[doubtful].mean() >= 2 * wrong[~doubtful].mean()


def test_rows_of_low_confidence_are_wrong_at_least_twice_as_often(plain):
    assert_doubtful_rows_are_wrong_more_often(plain, Y)


@pytest.mark.parametrize("spread", [2.0, 3.0])
def test_so_they_are_where_clusters_overlap(spread):
    rows, truth = make_blobs(400, centers=6.0 * np.eye(4, 10), cluster_std=spread, random_state=0)
    assert_doubtful_rows_are_wrong_more_often(SGL(4, random_state=0).fit(rows), truth)
