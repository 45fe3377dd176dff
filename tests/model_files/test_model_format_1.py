"""A file of format 1, written once and for all, still loads and does what it did."""

import numpy as np
import pytest
from conftest import GOLDEN
from sklearn.utils.validation import check_is_fitted

import kedge


@pytest.fixture(scope="module")
def recorded():
    with np.load(GOLDEN / "model_format_1.npz") as file:
        return dict(file)


def test_file_of_format_1_loads_and_predicts_as_recorded(recorded):
    model = kedge.load(GOLDEN / "model_format_1.kedge")
    check_is_fitted(model)
    views = {"left": recorded["left"], "right": recorded["right"]}
    np.testing.assert_array_equal(model.predict(views), recorded["labels"])
    # Other machines add in another order.
    np.testing.assert_allclose(model.transform(views), recorded["embedding"], atol=1e-9)


def test_file_of_format_1_holds_what_it_held(recorded):
    model = kedge.load(GOLDEN / "model_format_1.kedge")
    assert isinstance(model, kedge.MSGL)
    assert (model.n_clusters, model.n_anchors, model.beta, model.random_state) == (3, 6, 0.1, 0)
    assert model.scale == {"left": "zscore", "right": "minmax"}
    assert model.view_prior == [1.0, 2.0]
    assert model.view_names_ == ["left", "right"]
    assert model.callback is None
    assert model.graph_.indices.dtype == np.int64
    np.testing.assert_array_equal(model.graph_.toarray(), recorded["graph"])
    np.testing.assert_array_equal(model.labels_, recorded["labels"])
