"""Clusters that several views show in different ways."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from kedge.datasets import make_multiview
from kedge.metrics import clustering_accuracy


def accuracy_of_kmeans(X, y):
    return clustering_accuracy(y, KMeans(y.max() + 1, n_init=5, random_state=0).fit(X).labels_)


def test_same_seed_gives_the_same_views():
    first, second = (make_multiview(missing=0.2, random_state=5) for _ in range(2))
    for a, b in zip(first[0], second[0], strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(first[1], second[1])


def test_views_have_the_asked_shapes_and_share_the_rows():
    views, y = make_multiview(100, n_clusters=4, n_views=3, n_features=(5, 1, 30), random_state=0)
    assert [view.shape for view in views] == [(100, 5), (100, 1), (100, 30)]
    assert y.shape == (100,)
    assert np.bincount(y).tolist() == [25] * 4


def test_one_number_of_features_serves_all_views():
    views, _ = make_multiview(20, n_views=4, n_features=6, random_state=0)
    assert [view.shape[1] for view in views] == [6] * 4


@pytest.mark.parametrize("seed", range(5))
def test_every_view_shows_the_clusters(seed):
    views, y = make_multiview(300, n_clusters=4, n_views=2, n_features=(20, 30), random_state=seed)
    for view in views:
        assert accuracy_of_kmeans(view, y) > 0.95


def test_views_differ_in_scale_and_noise():
    views, y = make_multiview(300, n_views=2, n_features=20, noise=(0.0, 50.0), random_state=0)
    assert np.linalg.matrix_rank(views[0] - views[0].mean(axis=0), tol=1e-8 * views[0].std()) == 3
    assert np.linalg.matrix_rank(views[1] - views[1].mean(axis=0)) == 20
    assert accuracy_of_kmeans(views[0], y) > 0.95
    assert accuracy_of_kmeans(views[1], y) < 0.6
    spreads = [view.std() for view in make_multiview(n_views=6, n_features=5, random_state=0)[0]]
    assert max(spreads) > 10 * min(spreads)


@pytest.mark.parametrize(("n_views", "missing"), [(2, 0.5), (3, 0.3), (3, 2 / 3), (5, 0.8)])
def test_missing_rows_are_whole_and_every_row_is_seen_somewhere(n_views, missing):
    views, _ = make_multiview(101, n_views=n_views, n_features=4, missing=missing, random_state=0)
    absent = np.array([np.isnan(view).all(axis=1) for view in views])
    some = np.array([np.isnan(view).any(axis=1) for view in views])
    np.testing.assert_array_equal(absent, some)
    assert not absent.all(axis=0).any()
    # 101 rows cannot be split evenly: one row less than asked at most.
    np.testing.assert_allclose(absent.sum(axis=1), missing * 101, rtol=0, atol=1)


def test_complete_views_have_no_gap():
    assert not any(np.isnan(view).any() for view in make_multiview(random_state=0)[0])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_clusters": 0}, ValueError, "n_clusters"),
        ({"n_samples": 2}, ValueError, "n_samples == 2, must be >= 3"),
        ({"n_views": 3}, ValueError, "n_features must be one number or one per view, got 2 numbers for n_views=3"),
        ({"n_features": (3, 0)}, ValueError, r"n_features\[1\] == 0"),
        ({"noise": (0.1, -0.1)}, ValueError, r"noise\[1\]"),
        ({"noise": "much"}, TypeError, "noise"),
        ({"missing": 0.6}, ValueError, "missing == 0.6, must be <= 0.5"),
        ({"n_views": 1, "n_features": 5, "missing": 0.1}, ValueError, "missing"),
    ],
    ids=str,
)
def test_wrong_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        make_multiview(**arguments)
