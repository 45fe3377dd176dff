"""Labels spread through anchors that rows are near."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from kedge.model import anchor_spreading
from kedge.model.anchor_spreading import NearAnchors, spread_from, trust_of_known
from kedge.model.block_step import RowBlock


@pytest.fixture
def clouds():
    """Three clouds, and anchors that are every tenth row."""
    rows, labels = make_blobs(600, 8, centers=3, cluster_std=1.0, random_state=3)
    return rows, labels.astype(np.int64), rows[::10]


def block(*views, start=0):
    return RowBlock(slice(start, start + views[0].shape[0]), views)


def test_some_known_rows_label_all_others(clouds):
    rows, labels, anchors = clouds
    near = NearAnchors.of_views([anchors], [1.0])
    spread = spread_from(near, near.weights([rows[:30]]), labels[:30])
    np.testing.assert_array_equal(spread.of(block(rows)), labels)


def test_weights_sum_to_one_each_way(clouds):
    rows, _, anchors = clouds
    weights = NearAnchors.of_views([anchors], [1.0]).weights([rows])
    assert weights.shape == (600, 2 * len(anchors))
    for half in (weights[:, : len(anchors)], weights[:, len(anchors) :]):
        np.testing.assert_allclose(half.sum(axis=1), 1.0)


def test_sparse_rows_and_blocks_give_the_same_labels(clouds):
    rows, labels, anchors = clouds
    near = NearAnchors.of_views([anchors], [1.0])
    spread = spread_from(near, near.weights([rows[:30]]), labels[:30])
    whole = spread.of(block(rows))
    np.testing.assert_array_equal(spread.of(block(sparse.csr_array(rows), start=600)), whole)
    parts = [spread.of(block(rows[start : start + 170], start=start)) for start in range(0, 600, 170)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_a_round_mends_wrong_labels_of_known_rows(clouds):
    rows, labels, anchors = clouds
    wrong = labels[:200].copy()
    wrong[::10] = (wrong[::10] + 1) % 3
    near = NearAnchors.of_views([anchors], [1.0])
    weights = near.weights([rows])
    again = spread_from(near, weights[:200], wrong).over(weights, 1)
    np.testing.assert_array_equal(again.of(block(rows)), labels)
    np.testing.assert_allclose(again.seen.on_anchors.sum(), 2 * 600)
    np.testing.assert_array_equal(again.seen.sizes, np.bincount(labels))


def test_a_cluster_that_lost_its_rows_keeps_its_leanings(clouds):
    rows, labels, anchors = clouds
    near = NearAnchors.of_views([anchors], [1.0])
    spread = spread_from(near, near.weights([rows]), labels)
    again = spread.over(near.weights([rows[labels < 2]]), 2)
    np.testing.assert_array_equal(again.of(block(rows)), labels)


def test_weights_of_a_block_are_found_once_and_held_up_to_a_bound(clouds, monkeypatch):
    rows, _, anchors = clouds
    near, searched = NearAnchors.of_views([anchors], [1.0]), []
    search = NearAnchors.weights

    def spy(self, views):
        searched.append(len(views[0]))
        return search(self, views)

    monkeypatch.setattr(NearAnchors, "weights", spy)
    monkeypatch.setattr(anchor_spreading, "MOST_HELD", 700)
    parts = [RowBlock(slice(0, 600), [rows]), RowBlock(slice(600, 800), [rows[:200]])]
    for part in (*parts, *parts):
        np.testing.assert_array_equal(near.of_block(part).toarray(), search(near, part.views).toarray())
    assert searched == [600, 200, 200]


def test_centres_lie_where_rows_are(clouds, monkeypatch):
    monkeypatch.setattr(anchor_spreading, "CENTERS", 40)
    rows, labels, _ = clouds
    near = NearAnchors.centers_of([rows], [4.0], 5, np.random.RandomState(0))
    assert near.roots == (2.0,)
    assert len(near.anchors) == 40
    weights = near.weights([rows])
    np.testing.assert_array_equal(spread_from(near, weights[:60], labels[:60]).of(block(rows)), labels)


def test_a_view_without_weight_has_no_say(clouds):
    rows, labels, anchors = clouds
    noise = np.random.default_rng(0).normal(size=(600, 4))
    one = NearAnchors.of_views([anchors], [1.0])
    alone = spread_from(one, one.weights([rows[:30]]), labels[:30])
    both = NearAnchors.of_views([anchors, noise[::10]], [1.0, 0.0])
    joined = spread_from(both, both.weights([rows[:30], noise[:30]]), labels[:30])
    np.testing.assert_array_equal(joined.of(block(rows, noise)), alone.of(block(rows)))


def test_confidence_of_rows_is_that_of_known_rows_near_the_same_anchors(clouds):
    rows, labels, anchors = clouds
    near = NearAnchors.of_views([anchors], [1.0])
    confidence = np.array([0.9, 0.3, 0.6])[labels]
    trust = trust_of_known(near.weights([rows[:60]]), labels[:60], confidence[:60], 3)
    np.testing.assert_allclose(trust.of_rows(near.weights([rows]), labels), confidence)
    # Rows whose label no known row near them has are trusted by none of them.
    np.testing.assert_allclose(trust.of_rows(near.weights([rows]), (labels + 1) % 3), 0.0)
    halves = [trust_of_known(near.weights([rows[p]]), labels[p], confidence[p], 3) for p in (slice(25), slice(25, 60))]
    np.testing.assert_allclose(halves[0].merge(halves[1]).trusted, trust.trusted, atol=1e-12)
