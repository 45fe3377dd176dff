"""k-means anchors on a bounded sample, and the published k-means."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from kedge.anchors import kmeans
from kedge.anchors.kmeans import kmeans_anchors, own_distances, published_kmeans


def mean_squared_distance(X, anchors):
    return ((X[:, None, :] - anchors[None]) ** 2).sum(axis=2).min(axis=1).mean()


def test_centres_of_separated_blobs_are_found():
    centres = 20 * np.eye(5)
    X, y = make_blobs(1_000, centers=centres, cluster_std=1.0, random_state=0)
    anchors = kmeans_anchors(X, 5, np.random.RandomState(0))
    means = np.array([X[y == label].mean(axis=0) for label in range(5)])
    order = anchors.argmax(axis=1)
    np.testing.assert_allclose(anchors, means[order], atol=1e-8)


def test_anchors_serve_nearly_as_well_as_those_of_a_long_run_on_all_rows():
    X, _ = make_blobs(9_000, centers=30, n_features=6, random_state=1)
    anchors = kmeans_anchors(X, 40, np.random.RandomState(0))
    long_run = KMeans(40, n_init=3, max_iter=300, random_state=0).fit(X)
    # One start on five ninths of the rows; random rows would be at twice the distance.
    assert mean_squared_distance(X, anchors) < 1.3 * long_run.inertia_ / len(X)


def test_no_more_rows_than_the_sample_are_clustered(monkeypatch):
    seen = []

    def record(X, model):
        seen.append(X.shape[0])
        return model.fit(X)

    monkeypatch.setattr(kmeans, "_run_lloyd", record)
    kmeans_anchors(np.random.default_rng(0).normal(size=(20_000, 2)), 3, np.random.RandomState(0))
    kmeans_anchors(np.random.default_rng(0).normal(size=(20_000, 2)), 150, np.random.RandomState(0))
    assert seen == [5_000, 7_500]


def test_rows_far_from_the_origin_are_still_told_apart():
    X, _ = make_blobs(300, centers=6, n_features=4, cluster_std=0.01, random_state=3)
    near = kmeans_anchors(X, 6, np.random.RandomState(0))
    far = kmeans_anchors(X + 2.0**30, 6, np.random.RandomState(0))
    # The shift leaves seven digits after the point.
    np.testing.assert_allclose(far - 2.0**30, near, atol=1e-5)


def test_a_centre_that_ends_without_rows_becomes_the_row_farthest_from_its_centre(monkeypatch):
    X = np.array([[0.0], [1.0], [5.0]])
    stuck = SimpleNamespace(labels_=np.array([0, 0, 0]), cluster_centers_=np.array([[2.0], [99.0]]))
    monkeypatch.setattr(kmeans, "_run_lloyd", lambda X, model: stuck)
    np.testing.assert_array_equal(kmeans._point_centers(X, np.array([[0.0], [1.0]])), [[2.0], [5.0]])


def test_signed_anchors_find_lines_whatever_the_signs_and_lengths():
    rng = np.random.default_rng(0)
    lines = np.linalg.qr(rng.normal(size=(10, 8)))[0].T
    owner = np.repeat(np.arange(8), 100)
    lengths = rng.choice([-1.0, 1.0], size=800) * rng.uniform(0.1, 10.0, size=800)
    X = lengths[:, None] * (lines[owner] + 0.02 * rng.normal(size=(800, 10)))
    anchors = kmeans_anchors(X, 8, np.random.RandomState(0), signed=True)
    assert np.abs(anchors @ lines.T).max(axis=0).min() > 0.999


def test_signed_anchors_serve_better_than_half_space_means():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(600, 3))
    units = X / np.linalg.norm(X, axis=1, keepdims=True)
    flipped = units * np.where(units[:, :1] < 0, -1.0, 1.0)
    plain = KMeans(5, n_init=1, random_state=0).fit(flipped).cluster_centers_
    plain /= np.linalg.norm(plain, axis=1, keepdims=True)
    anchors = kmeans_anchors(X, 5, np.random.RandomState(0), signed=True)
    assert np.abs(units @ anchors.T).max(axis=1).sum() > np.abs(units @ plain.T).max(axis=1).sum()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_own_distances_are_euclidean(form):
    rng = np.random.default_rng(0)
    X, centers, labels = rng.normal(size=(30, 4)), rng.normal(size=(3, 4)), rng.integers(0, 3, 30)
    expected = np.linalg.norm(X - centers[labels], axis=1)
    np.testing.assert_allclose(own_distances(form(X), labels, centers), expected, atol=1e-12)


def runs_of(X, n_clusters, seed, n_replicates):
    seeds = np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=n_replicates)
    return [KMeans(n_clusters, init="random", n_init=1, max_iter=100, tol=0, random_state=s).fit(X) for s in seeds]


def test_published_kmeans_keeps_the_least_sum_of_unsquared_distances():
    X = np.random.default_rng(5).standard_t(1.5, size=(120, 2))
    runs = runs_of(X, 4, 0, 10)
    sums = [np.linalg.norm(X - run.cluster_centers_[run.labels_], axis=1).sum() for run in runs]
    squares = [run.inertia_ for run in runs]
    assert np.argmin(sums) != np.argmin(squares), "the data must tell the two rules apart"
    labels, centers = published_kmeans(X, 4, np.random.RandomState(0), 10)
    np.testing.assert_array_equal(labels, runs[np.argmin(sums)].labels_)
    np.testing.assert_array_equal(centers, runs[np.argmin(sums)].cluster_centers_)


def test_published_kmeans_runs_on_sparse_rows_alike():
    X = np.random.default_rng(6).normal(size=(80, 5))
    X[X < 0] = 0
    dense, centers = published_kmeans(X, 3, np.random.RandomState(0), 4)
    from_sparse, sparse_centers = published_kmeans(sparse.csr_array(X), 3, np.random.RandomState(0), 4)
    np.testing.assert_array_equal(from_sparse, dense)
    np.testing.assert_allclose(sparse_centers, centers, atol=1e-10)


def test_published_kmeans_centres_are_the_means_of_their_rows():
    X = np.random.default_rng(7).normal(size=(100, 3))
    labels, centers = published_kmeans(X, 5, np.random.RandomState(0), 2)
    means = [X[labels == label].mean(axis=0) for label in range(5)]
    np.testing.assert_allclose(centers, means, atol=1e-12)
    assert labels.dtype == np.int64


def test_published_kmeans_says_when_clusters_are_empty():
    with pytest.warns(
        ConvergenceWarning, match="only 2 of n_clusters=4 clusters hold a row.*at most 2 clusters"
    ) as caught:
        published_kmeans(np.tile([[0.0], [1.0]], (10, 1)), 4, np.random.RandomState(0), 5)
    assert len(caught) == 1


def test_published_kmeans_refuses_no_replicates():
    with pytest.raises(ValueError, match="n_replicates=0 should be at least 1"):
        published_kmeans(np.eye(3), 2, np.random.RandomState(0), 0)
