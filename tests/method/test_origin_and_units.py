"""Where the origin is, in which unit rows are, and in which order columns come does not matter."""

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score

from kedge import SGL

DIGITS = load_digits().data[:300]
BLOBS = make_blobs(200, centers=5, n_features=15, cluster_std=2.0, random_state=1)[0]
FLAT = make_blobs(200, centers=5, n_features=3, cluster_std=1.0, random_state=1)[0]
ROWS = {"digits": DIGITS, "blobs": BLOBS, "blobs in few dimensions": FLAT}


@cache
def plain_fit(name, n_clusters):
    return SGL(n_clusters, random_state=0).fit(ROWS[name])


@pytest.mark.parametrize("n_clusters", [5, "auto"])
@pytest.mark.parametrize(
    "moved",
    [
        lambda X: X + 100.0,
        lambda X: X + 10.0 * np.random.default_rng(0).normal(size=X.shape[1]),
        lambda X: 2.0**-10 * X,
        lambda X: 2.0**20 * X,
        lambda X: X[:, np.random.default_rng(0).permutation(X.shape[1])],
    ],
    ids=["constant", "vector", "small", "large", "columns"],
)
@pytest.mark.parametrize("name", list(ROWS))
def test_labels_stay_the_same(name, moved, n_clusters):
    base = plain_fit(name, n_clusters)
    other = SGL(n_clusters, random_state=0).fit(moved(ROWS[name]))
    assert other.n_clusters_ == base.n_clusters_
    assert adjusted_rand_score(base.labels_, other.labels_) == 1


@pytest.mark.parametrize("factor", [1e-5, 0.3, 7e6])
def test_any_unit_will_do(factor):
    # Digits are whole numbers, so that rows can be equally near to two anchors, and rounding then decides.
    for name in ("blobs", "blobs in few dimensions"):
        base, other = plain_fit(name, 5), SGL(5, random_state=0).fit(factor * ROWS[name])
        assert adjusted_rand_score(base.labels_, other.labels_) == 1


def test_anchors_are_in_the_units_of_the_rows():
    for rows in (DIGITS, BLOBS):
        model = SGL(5, random_state=0).fit(rows + 100.0)
        assert model.anchors_.shape[1] == rows.shape[1]
        np.testing.assert_allclose(model.anchors_.mean(axis=0), (rows + 100.0).mean(axis=0), atol=2.0)


def test_given_anchors_are_in_the_units_of_the_rows():
    for rows, options in ((DIGITS, {}), (BLOBS, {}), (BLOBS, {"scale": "zscore"})):
        base = SGL(5, anchors=rows[::10], random_state=0, **options).fit(rows)
        other = SGL(5, anchors=rows[::10] + 30.0, random_state=0, **options).fit(rows + 30.0)
        np.testing.assert_allclose(base.graph_.toarray(), other.graph_.toarray(), atol=1e-8)
        np.testing.assert_array_equal(base.labels_, other.labels_)
    np.testing.assert_allclose(SGL(5, anchors=BLOBS[::10], random_state=0).fit(BLOBS).anchors_, BLOBS[::10], atol=1e-9)


@pytest.mark.parametrize(
    ("name", "options"), [*((name, {}) for name in ROWS), ("blobs", {"structure": "exact"}), ("blobs", {"beta": 0.1})]
)
def test_typing_the_number_of_anchors_that_auto_chooses_changes_nothing(name, options):
    rows = ROWS[name]
    auto = SGL(5, random_state=0, **options).fit(rows)
    typed = SGL(5, n_anchors=int(auto.anchor_set_sizes_[0]), random_state=0, **options).fit(rows)
    np.testing.assert_array_equal(auto.anchor_set_sizes_, typed.anchor_set_sizes_)
    assert auto.n_near_ == typed.n_near_
    np.testing.assert_array_equal(auto.graph_.data, typed.graph_.data)
    np.testing.assert_array_equal(auto.labels_, typed.labels_)
