"""Rows that lack views: in fit, in prediction, and in every way of saying so."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from kedge import MSGL, SGL, simplex_qp
from kedge.datasets import make_multiview

VIEWS, Y = make_multiview(300, n_clusters=3, n_views=3, n_features=(5, 8, 12), noise=0.2, random_state=0)
HOLES, _ = make_multiview(300, n_clusters=3, n_views=3, n_features=(5, 8, 12), noise=0.2, missing=0.3, random_state=0)
OBSERVED = np.stack([~np.isnan(view[:, 0]) for view in HOLES], axis=1)


def test_a_full_mask_changes_nothing():
    plain = MSGL(3, random_state=0).fit(VIEWS)
    masked = MSGL(3, random_state=0).fit(VIEWS, observed=np.ones((300, 3), dtype=bool))
    assert (plain.graph_ != masked.graph_).nnz == 0


def test_rows_of_nan_and_a_mask_say_the_same():
    junk = [np.where(np.isnan(view), 1e9, view) for view in HOLES]
    by_nan = MSGL(3, random_state=0).fit(HOLES)
    by_mask = MSGL(3, random_state=0).fit(junk, observed=OBSERVED)
    sparse_views = [sparse.csr_array(view) for view in HOLES]
    by_sparse = MSGL(3, scale="zscore", random_state=0)
    with pytest.raises(ValueError, match="would make the sparse"):
        by_sparse.fit(sparse_views)
    np.testing.assert_array_equal(by_nan.labels_, by_mask.labels_)
    np.testing.assert_allclose(by_nan.graph_.toarray(), by_mask.graph_.toarray())
    dense = MSGL(3, scale="l2", random_state=0).fit(HOLES)
    in_csr = MSGL(3, scale="l2", random_state=0).fit(sparse_views)
    np.testing.assert_array_equal(dense.labels_, in_csr.labels_)


def test_clusters_survive_missing_views():
    model = MSGL(3, random_state=0).fit(HOLES)
    assert adjusted_rand_score(Y, model.labels_) > 0.9
    assert not np.isnan(model.graph_.data).any()


def test_weights_of_a_row_rest_on_the_views_it_has():
    model = MSGL(3, n_anchors=15, n_init=1, locality=0.0, random_state=0).fit(HOLES)
    read = model._source(model._read(HOLES, None, reset=False), model._scalings()).read(slice(0, 300))
    for row in np.random.default_rng(0).choice(300, 40, replace=False):
        hessian, linear = 2 * model.ridge_ * np.eye(15), np.zeros(15)
        for view in np.flatnonzero(OBSERVED[row]):
            anchors, weight = model.graph_anchors_[view], model.problem_weights_[view]
            hessian += 2 * weight * anchors @ anchors.T
            linear -= 2 * weight * anchors @ read[view][row]
        expected = simplex_qp(hessian, linear[None])[0]
        np.testing.assert_allclose(model.graph_[[row]].toarray()[0], expected, atol=1e-8)


def test_a_row_seen_in_one_view_gets_that_views_code():
    anchors = [view[::20] for view in VIEWS]
    holes = [view.copy() for view in VIEWS]
    holes[0][:50] = holes[2][:50] = np.nan
    model = MSGL(3, anchors=anchors, scale="none", penalty_scale="absolute", alpha=0.1, random_state=0).fit(holes)
    weight = model.problem_weights_[1]
    alone = SGL(3, anchors=anchors[1], penalty_scale="absolute", alpha=0.1 / weight, random_state=0).fit(VIEWS[1])
    np.testing.assert_allclose(model.graph_[:50].toarray(), alone.graph_[:50].toarray(), atol=1e-8)


def test_a_view_with_many_gaps_does_not_look_better_for_it():
    rng = np.random.default_rng(0)
    twin = VIEWS[1].copy()
    twin[rng.choice(300, 200, replace=False)] = np.nan
    anchors = [VIEWS[0][::15], VIEWS[1][::15], VIEWS[1][::15]]
    model = MSGL(3, anchors=anchors, scale="none", view_prior="equal", random_state=0).fit([VIEWS[0], VIEWS[1], twin])
    np.testing.assert_allclose(model.view_weights_[2], model.view_weights_[1], rtol=0.1)


@pytest.mark.parametrize("predict_with", ["anchors", "graph"])
def test_new_rows_may_lack_views(predict_with):
    model = MSGL(3, predict_with=predict_with, random_state=0).fit(VIEWS)
    assert adjusted_rand_score(Y, model.predict(HOLES)) > 0.9
    only_last = [np.full_like(VIEWS[0], np.nan), np.full_like(VIEWS[1], np.nan), VIEWS[2]]
    np.testing.assert_array_equal(model.predict(only_last), model.predict([None, None, VIEWS[2]]))
    assert adjusted_rand_score(Y, model.predict([None, None, VIEWS[2]])) > 0.8
    assert np.isfinite(model.transform(HOLES)).all()


def test_training_rows_with_gaps_are_predicted_as_they_were_fitted():
    model = MSGL(3, predict_with="graph", random_state=0).fit(HOLES)
    assert np.mean(model.predict(HOLES) == model.labels_) > 0.99


@pytest.mark.parametrize("alignment", ["joint", "aligned"])
@pytest.mark.parametrize("options", [{}, {"structure": "exact"}, {"beta": 0.1}, {"n_init": 1, "n_anchors": 20}])
def test_gaps_with_other_options(alignment, options):
    model = MSGL(3, anchor_alignment=alignment, random_state=0, **options).fit(HOLES)
    assert adjusted_rand_score(Y, model.labels_) > 0.85


def test_no_row_may_be_complete():
    holes = [view.copy() for view in VIEWS]
    for row in range(300):
        holes[row % 3][row] = np.nan
    assert adjusted_rand_score(Y, MSGL(3, random_state=0).fit(holes).labels_) > 0.9
    with pytest.raises(ValueError, match=r"rows that have every view, and only 0 of the 300"):
        MSGL(3, anchors="random", random_state=0).fit(holes)


def test_errors_name_the_row_and_the_view():
    lost = [view.copy() for view in VIEWS]
    for view in lost:
        view[7] = np.nan
    with pytest.raises(ValueError, match="row 7 lacks every view"):
        MSGL(3).fit(lost)
    partly = [view.copy() for view in VIEWS]
    partly[1][4, 2] = np.nan
    with pytest.raises(ValueError, match="'view 1', row 4, column 2: NaN"):
        MSGL(3).fit(partly)
    partly[1][4, 2] = np.inf
    with pytest.raises(ValueError, match="'view 1', row 4, column 2: infinity"):
        MSGL(3).fit(partly)
    with pytest.raises(ValueError, match=r"'view 2': no row has this view"):
        MSGL(3).fit([*VIEWS[:2], np.full((300, 2), np.nan)])
    with pytest.raises(ValueError, match=r"observed must have shape \(300, 3\)"):
        MSGL(3).fit(VIEWS, observed=np.ones((300, 2)))
    with pytest.raises(ValueError, match="True and False"):
        MSGL(3).fit(VIEWS, observed=np.full((300, 3), 0.5))
