"""Joint anchors of rows that lack views: all rows take part, by the views they have."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from kedge.anchors.several_views import choose_view_anchors, incomplete_kmeans

JOINED, GROUPS = make_blobs(240, n_features=6, centers=4, cluster_std=0.05, random_state=0)
JOINED -= JOINED.mean(axis=0)
CENTERS = np.array([JOINED[np.equal(GROUPS, group)].mean(axis=0) for group in range(4)])
VIEWS = [JOINED[:, :2], JOINED[:, 2:4], JOINED[:, 4:]]


def chosen(views, observed, n_anchors=4, seed=0):
    return choose_view_anchors(views, observed, n_anchors, "kmeans", "joint", np.random.RandomState(seed))


def test_a_cluster_that_always_lacks_a_view_has_anchors():
    observed = np.ones((240, 3), dtype=bool)
    observed[GROUPS == 0, 1] = False
    views = [np.where(observed[:, [number]], view, 0.0) for number, view in enumerate(VIEWS)]
    anchors = chosen(views, observed, n_anchors=20)
    near = np.linalg.norm(np.hstack([anchors[0], anchors[2]]) - CENTERS[0, [0, 1, 4, 5]], axis=1)
    assert near.min() < 0.1


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_incomplete_means_are_over_the_rows_that_have_the_view(share):
    observed = np.random.default_rng(0).uniform(size=(240, 3)) >= share
    observed[~observed.any(axis=1), 0] = True
    views = [np.where(observed[:, [number]], view, 0.0) for number, view in enumerate(VIEWS)]
    # The best of some starts finds the blobs; their centres are then those of the rows that have the view.
    starts = [np.hstack(incomplete_kmeans(views, observed, 4, np.random.RandomState(seed))) for seed in range(10)]
    gaps = [np.abs(start[:, None] - CENTERS).max(axis=2).min(axis=0).max() for start in starts]
    assert min(gaps) < 0.1


def test_an_empty_centre_takes_the_row_that_is_farthest_from_its_own(monkeypatch):
    rows = np.array([[0.0, 0.0], [0.1, 0.0], [100.0, 0.0], [100.0, 1.0]])
    seeds = np.array([[0.05, 0.0], [90.0, 0.0], [1e4, 0.0]])
    monkeypatch.setattr("kedge.anchors.several_views._seeds", lambda *_: [seeds[:, :1], seeds[:, 1:]])
    views = [rows[:, :1], rows[:, 1:]]
    centers = np.hstack(incomplete_kmeans(views, np.ones((4, 2), dtype=bool), 3, np.random.RandomState(0)))
    np.testing.assert_allclose(centers, [[0.05, 0.0], [100.0, 0.0], [100.0, 1.0]])
