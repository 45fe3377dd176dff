"""Near anchors that leave the rows in more pieces than clusters are wanted give way to coarse ones."""

import numpy as np
import pytest

from kedge import SGL
from kedge.anchors.sets import count_anchors
from kedge.metrics import nmi


@pytest.fixture(scope="module")
def pieces():
    """Return 5,000 rows of three clusters, each of twenty separate specks."""
    random_state = np.random.RandomState(0)
    centers = 40.0 * np.eye(3, 12)
    specks = np.repeat(centers, 20, axis=0) + random_state.uniform(-10, 10, (60, 12))
    speck = random_state.randint(60, size=5_000)
    return specks[speck] + 0.01 * random_state.normal(size=(5_000, 12)), speck // 20, speck


def test_rows_are_rebuilt_from_coarse_anchors(pieces):
    X, y, _ = pieces
    model = SGL(3, random_state=0).fit(X)
    assert model.n_near_ is None
    np.testing.assert_array_equal(model.anchor_set_sizes_, [15] * 4)
    assert nmi(y, model.labels_) > 0.99
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_coarse_anchors_are_not_blamed_on_rows_that_repeat(pieces):
    X, _, _ = pieces
    auto = count_anchors(5_000, 12, "auto", "auto", n_clusters=3)
    model = SGL(3, n_anchors=auto.sizes[0], random_state=0).fit(X)  # a warning would be an error here
    np.testing.assert_array_equal(model.anchor_set_sizes_, [15] * 4)


@pytest.mark.parametrize("n_rows", [60, 900, 4_000, 4_001, 30_000, 1_000_000])
@pytest.mark.parametrize("n_features", [4, 40])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("n_clusters", [None, 3, 50])
def test_the_number_that_auto_would_choose_gives_the_same_plan(n_rows, n_features, is_sparse, n_clusters):
    options = {"n_clusters": n_clusters, "is_sparse": is_sparse, "n_complete": n_rows // 2}
    auto = count_anchors(n_rows, n_features, "auto", "auto", **options)
    assert count_anchors(n_rows, n_features, auto.sizes[0], "auto", **options) == auto


@pytest.mark.parametrize("n_rows", [900, 4_000, 4_001, 30_000, 1_000_000])
@pytest.mark.parametrize("n_features", [4, 40])
def test_number_of_clusters_does_not_change_the_anchors(n_rows, n_features):
    counts = [count_anchors(n_rows, n_features, "auto", "auto", n_clusters=k) for k in range(1, 101)]
    assert len({(count.sizes, count.n_near) for count in counts}) == 1


def test_as_many_clusters_as_pieces_keep_near_anchors(pieces):
    X, _, speck = pieces
    model = SGL(60, random_state=0).fit(X)
    assert model.n_near_ is not None
    assert nmi(speck, model.labels_) > 0.99


def test_number_of_pieces_is_found_where_nothing_is_given(pieces):
    X, _, speck = pieces
    model = SGL(random_state=0).fit(X)
    assert model.n_clusters_ == 60
    assert nmi(speck, model.labels_) > 0.99


def test_anchors_that_are_asked_for_stay(pieces):
    assert SGL(3, n_anchors=500, random_state=0).fit(pieces[0]).n_near_ is not None


def test_coarse_fit_goes_on_from_a_checkpoint(pieces, tmp_path):
    X = pieces[0]

    def stop(report):
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        SGL(3, random_state=0, checkpoint=tmp_path / "run", callback=stop).fit(X)
    resumed = SGL(3, random_state=0, checkpoint=tmp_path / "run").fit(X)
    whole = SGL(3, random_state=0).fit(X)
    np.testing.assert_array_equal(resumed.labels_, whole.labels_)
    assert resumed.n_near_ is None
