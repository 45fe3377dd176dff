"""SGL inside scikit-learn: pipelines, searches, clones, output containers, files."""

import pickle

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kedge import SGL


@pytest.fixture(scope="module")
def data():
    return make_blobs(150, centers=3, n_features=4, cluster_std=1.0, random_state=0)


def test_pipeline_predicts_and_transforms(data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), SGL(3, random_state=0)).fit(X)
    assert adjusted_rand_score(y, pipeline.predict(X)) > 0.9
    assert pipeline.transform(X).shape == (150, 3)


def test_grid_search_over_parameters(data):
    X, y = data
    search = GridSearchCV(
        SGL(3, random_state=0), {"alpha": [0.01, 0.1], "n_anchors": [6, 9]}, scoring=make_scorer(adjusted_rand_score)
    )
    assert search.fit(X, y).best_score_ > 0.8


def test_clone_keeps_the_parameters_and_drops_the_fit(data):
    model = SGL.as_published(3, 9, 1.0, 1e-3, random_state=0).fit(data[0])
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "labels_")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_set_output_names_the_columns(data, kind):
    model = SGL(3, random_state=0).set_output(transform=kind)
    frame = model.fit(data[0]).transform(data[0])
    assert list(frame.columns) == ["sgl0", "sgl1", "sgl2"]
    assert type(frame).__module__.startswith(kind)


def test_frames_of_names_are_checked(data):
    frame = pd.DataFrame(data[0], columns=list("abcd"))
    model = SGL(3, random_state=0).fit(frame)
    np.testing.assert_array_equal(model.feature_names_in_, list("abcd"))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("dcba")])


@pytest.mark.parametrize("options", [{}, {"beta": 0.1}, {"signed": True}, {"structure": "exact"}, {"scale": "minmax"}])
def test_pickle_and_skops_keep_the_model(data, options):
    X, _ = data
    model = SGL(3, random_state=0, predict_with="graph", **options).fit(X)
    stored = skops.io.dumps(model)
    foreign = [name for name in skops.io.get_untrusted_types(data=stored) if not name.startswith("kedge.")]
    assert foreign == [], "only our own classes need trust"
    for copy in (
        pickle.loads(pickle.dumps(model)),
        skops.io.loads(stored, trusted=["kedge.sgl.SGL"]),
    ):
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
        np.testing.assert_array_equal(copy.transform(X), model.transform(X))
        np.testing.assert_array_equal(copy.graph_.toarray(), model.graph_.toarray())
