"""JoinedKMeans is k-means on scaled views; and the forms that views may have, for all methods that take several."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler, normalize

from kedge.baselines.amgl import AMGL
from kedge.baselines.lmvsc import LMVSC
from kedge.baselines.msc_ias import MSC_IAS
from kedge.baselines.sklearn_methods import JoinedKMeans
from kedge.datasets import make_multiview
from kedge.metrics import clustering_accuracy

VIEWS, Y = make_multiview(120, n_clusters=3, noise=0.8, random_state=0)
SEVERAL_VIEWS = [AMGL, JoinedKMeans, LMVSC, MSC_IAS]


def counts(n_rows, width, random_state):
    """Sparse nonnegative rows of three kinds: every kind uses its own third of the columns, and some of all."""
    generator = np.random.default_rng(random_state)
    kinds = np.arange(n_rows) % 3
    own = (np.arange(width) * 3 // width)[None, :] == kinds[:, None]
    return sparse.csr_array(generator.poisson(np.where(own, 0.5, 0.05)) * 1.0), kinds


@pytest.mark.parametrize("method", SEVERAL_VIEWS)
def test_list_dict_and_columns_of_one_matrix_give_the_same(method):
    model = method(3, random_state=0)
    expected = model.fit(VIEWS).labels_
    assert clustering_accuracy(Y, expected) > 0.9
    np.testing.assert_array_equal(model.fit({"a": VIEWS[0], "b": VIEWS[1]}).labels_, expected)
    assert model.view_names_ == ["a", "b"]
    np.testing.assert_array_equal(method(3, views=[10, 15], random_state=0).fit(np.hstack(VIEWS)).labels_, expected)
    columns = {"first": slice(0, 10), "second": list(range(10, 25))}
    np.testing.assert_array_equal(method(3, views=columns, random_state=0).fit(np.hstack(VIEWS)).labels_, expected)


@pytest.mark.parametrize("method", SEVERAL_VIEWS)
def test_sparse_views_give_what_dense_ones_give(method):
    first, kinds = counts(150, 60, 0)
    second, _ = counts(150, 45, 1)
    model = method(3, scale="l2", random_state=0)
    dense = model.fit([first.toarray(), second.toarray()]).labels_
    assert clustering_accuracy(kinds, dense) > 0.9
    np.testing.assert_array_equal(model.fit([first, second]).labels_, dense)
    np.testing.assert_array_equal(model.fit([first, second.toarray()]).labels_, dense)


@pytest.mark.parametrize("method", SEVERAL_VIEWS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_awkward_views_are_clustered(method):
    model = method(3, random_state=0)
    constant = np.full((120, 4), 7.0)
    single = VIEWS[0][:, :1]
    for views in ([VIEWS[0], constant], [constant], [single, VIEWS[1]], [np.repeat(VIEWS[0][:4], 5, axis=0)]):
        labels = model.fit(views).labels_
        assert set(labels) <= {0, 1, 2}
    assert set(model.fit([view[:3] for view in VIEWS]).labels_) <= {0, 1, 2}


@pytest.mark.parametrize("method", [JoinedKMeans, LMVSC])
def test_views_of_new_rows_are_found_by_name(method):
    model = method(3, random_state=0).fit({"a": VIEWS[0], "b": VIEWS[1]})
    np.testing.assert_array_equal(model.predict({"b": VIEWS[1][:9], "a": VIEWS[0][:9]}), model.labels_[:9])
    with pytest.raises(ValueError, match="9 features"):
        model.predict({"a": VIEWS[0][:, :9], "b": VIEWS[1]})


def test_it_is_kmeans_on_views_of_unit_energy():
    scaled = []
    for view in VIEWS:
        rows = normalize(StandardScaler().fit_transform(view))
        scaled.append(rows / np.sqrt(np.mean(np.sum(rows**2, axis=1))))
    expected = KMeans(3, n_init=10, random_state=0).fit(np.hstack(scaled))
    model = JoinedKMeans(3, random_state=1).fit(VIEWS)
    assert adjusted_rand_score(expected.labels_, model.labels_) == 1
    assert model.inertia_ == pytest.approx(expected.inertia_, rel=1e-10)


def test_centre_j_is_the_mean_of_the_rows_numbered_j():
    model = JoinedKMeans(3, scale="none", random_state=0).fit(VIEWS)
    joined = np.hstack(VIEWS)
    for cluster in range(3):
        mean = joined[model.labels_ == cluster].mean(axis=0)
        np.testing.assert_allclose(model.cluster_centers_[cluster], mean, rtol=1e-8)
    np.testing.assert_array_equal(model.predict(VIEWS), model.labels_)


def test_clusters_that_no_single_view_shows_are_found():
    generator = np.random.default_rng(0)
    y = np.arange(120) % 4
    views = [np.stack([part, part], axis=1) * 9.0 for part in (y % 2, y // 2)]
    views = [view + generator.normal(size=view.shape) for view in views]
    assert clustering_accuracy(y, JoinedKMeans(4, scale="zscore", random_state=0).fit_predict(views)) == 1
    assert clustering_accuracy(y, JoinedKMeans(4, scale="zscore", random_state=0).fit_predict(views[0])) < 0.8


def test_sparse_rows_with_long_indices_are_taken():
    rows, _ = counts(60, 30, 0)
    expected = JoinedKMeans(3, random_state=0).fit(rows).labels_
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    np.testing.assert_array_equal(JoinedKMeans(3, random_state=0).fit(rows).labels_, expected)


def test_clusters_without_rows_are_dropped_aloud():
    rows = np.repeat([[0.0, 1.0], [5.0, 2.0]], 10, axis=0)
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        model = JoinedKMeans(3, random_state=0).fit(rows)
    assert model.cluster_centers_.shape == (2, 2)
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
