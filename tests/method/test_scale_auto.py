"""scale="auto": what decides how rows are scaled."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_wine

from kedge import MSGL, SGL
from kedge.core.scaling import choose_scale

rng = np.random.default_rng(0)
COUNTS = rng.poisson(0.1, size=(200, 60)).astype(float)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (sparse.csr_array(COUNTS), "tfidf"),
        (sparse.csr_array(0.37 * COUNTS), "l2"),
        (sparse.csr_array(-COUNTS), "l2"),
        (load_digits().data, "none"),
        (load_wine().data, "zscore"),
        (np.ones((20, 3)), "none"),
    ],
    ids=["sparse counts", "sparse weights", "negative", "same units", "mixed units", "constant"],
)
def test_one_view(rows, expected):
    assert choose_scale(rows) == expected
    assert SGL(1, random_state=0).fit(rows).scalings_[0]["kind"] == expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (sparse.csr_array(COUNTS), "tfidf"),
        (sparse.csr_array(0.37 * COUNTS), "l2"),
        (rng.normal(size=(200, 4)), "none"),
        (rng.normal(size=(200, 4)) * [1.0, 1.0, 1.0, 1000.0], "zscore"),
    ],
    ids=["sparse counts", "sparse weights", "same units", "mixed units"],
)
def test_one_of_several_views_is_scaled_as_alone_and_to_unit_energy(rows, expected):
    model = MSGL(2, n_anchors=10, random_state=0).fit([rows, rng.normal(size=(200, 3))])
    assert model.scalings_[0]["kind"] == expected
    scaled = model._scalings()[0].scale(rows)
    # Dense rows about their mean, which is subtracted later; sparse rows about zero.
    moved = scaled.toarray() if sparse.issparse(scaled) else scaled - scaled.mean(axis=0)
    assert np.square(moved).sum() == pytest.approx(200)


@pytest.mark.parametrize(("rows", "expected"), [(COUNTS, "l2"), (rng.normal(size=(200, 4)), "zscore_l2")])
def test_baselines_for_several_views_take_unit_rows(rows, expected):
    assert choose_scale(rows, to_unit_rows=True) == expected


def test_mirrored_anchors_take_unit_rows():
    assert SGL(2, signed=True, random_state=0).fit(load_wine().data).scalings_[0]["kind"] == "l2"


def test_rare_words_weigh_more_in_tfidf():
    rows = sparse.csr_array(np.array([[1.0, 1.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]))
    model = SGL(1, scale="tfidf", random_state=0).fit(rows)
    common, rare = model.scalings_[0]["factor"]
    assert common == pytest.approx(1.0)
    assert rare == pytest.approx(np.log(5 / 2) + 1)


def test_a_decision_of_the_data_and_the_same_one_typed_give_the_same_fit():
    for rows, kind in ((load_wine().data, "zscore"), (sparse.csr_array(COUNTS), "tfidf")):
        decided = SGL(3, random_state=0).fit(rows)
        typed = SGL(3, scale=kind, random_state=0).fit(rows)
        np.testing.assert_array_equal(decided.labels_, typed.labels_)
        np.testing.assert_array_equal(decided.graph_.data, typed.graph_.data)
