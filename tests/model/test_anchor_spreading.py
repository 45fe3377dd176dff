"""Labels spread through anchors that rows are near."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from kedge.model.anchor_spreading import NearAnchors, spread_from, trust_of_known
from kedge.model.block_step import RowBlock


@pytest.fixture
def clouds():
    """Three clouds, and anchors that are every tenth row."""
    rows, labels = make_blobs(600, 8, centers=3, cluster_std=1.0, random_state=3)
    return rows, labels.astype(np.int64), rows[::10]


def block(*views):
    return RowBlock(slice(0, len(views[0]) if isinstance(views[0], np.ndarray) else views[0].shape[0]), views)


def test_some_known_rows_label_all_others(clouds):
    rows, labels, anchors = clouds
    near = NearAnchors.of_views([anchors], [1.0])
    spread = spread_from(near, [rows[:30]], labels[:30])
    np.testing.assert_array_equal(spread.of(block(rows)), labels)


def test_weights_sum_to_one_each_way(clouds):
    rows, _, anchors = clouds
    weights = NearAnchors.of_views([anchors], [1.0]).weights([rows])
    assert weights.shape == (600, 2 * len(anchors))
    for half in (weights[:, : len(anchors)], weights[:, len(anchors) :]):
        np.testing.assert_allclose(half.sum(axis=1), 1.0)


def test_sparse_rows_and_blocks_give_the_same_labels(clouds):
    rows, labels, anchors = clouds
    spread = spread_from(NearAnchors.of_views([anchors], [1.0]), [rows[:30]], labels[:30])
    whole = spread.of(block(rows))
    np.testing.assert_array_equal(spread.of(block(sparse.csr_array(rows))), whole)
    parts = [spread.of(block(rows[start : start + 170])) for start in range(0, 600, 170)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_what_blocks_put_on_anchors_adds_up(clouds):
    rows, labels, anchors = clouds
    spread = spread_from(NearAnchors.of_views([anchors], [1.0]), [rows[:30]], labels[:30])
    whole = spread.weigh(block(rows))
    halves = spread.weigh(block(rows[:250])).merge(spread.weigh(block(rows[250:])))
    np.testing.assert_allclose(halves.on_anchors, whole.on_anchors, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(halves.sizes, whole.sizes)
    np.testing.assert_allclose(whole.on_anchors.sum(), 2 * 600)


def test_a_round_mends_wrong_labels_of_known_rows(clouds):
    rows, labels, anchors = clouds
    wrong = labels[:200].copy()
    wrong[::10] = (wrong[::10] + 1) % 3
    spread = spread_from(NearAnchors.of_views([anchors], [1.0]), [rows[:200]], wrong)
    again = spread.having_seen(spread.weigh(block(rows)))
    np.testing.assert_array_equal(again.of(block(rows)), labels)


def test_a_cluster_that_lost_its_rows_keeps_its_leanings(clouds):
    rows, labels, anchors = clouds
    spread = spread_from(NearAnchors.of_views([anchors], [1.0]), [rows], labels)
    kept = rows[labels < 2]
    again = spread.having_seen(spread.weigh(block(kept)))
    np.testing.assert_array_equal(again.of(block(rows)), labels)


def test_a_view_without_weight_has_no_say(clouds):
    rows, labels, anchors = clouds
    noise = np.random.default_rng(0).normal(size=(600, 4))
    alone = spread_from(NearAnchors.of_views([anchors], [1.0]), [rows[:30]], labels[:30])
    both = NearAnchors.of_views([anchors, noise[::10]], [1.0, 0.0])
    joined = spread_from(both, [rows[:30], noise[:30]], labels[:30])
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
