"""MSGL.as_published against recorded runs of the authors' release on 1,000 rows of Citeseer, 30 anchors per view."""

import numpy as np
import pytest
from conftest import find_data, find_published
from scipy import sparse
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

from kedge import MSGL
from kedge.kernels.selection import one_thread_per_library

pytestmark = pytest.mark.needs("data", "published")


@pytest.fixture(scope="module")
def release():
    with np.load(find_published("msgl_citeseer.npz"), allow_pickle=False) as file:
        return dict(file)


def csr(parts, name):
    entries = (parts[f"{name}_data"] * 1.0, parts[f"{name}_indices"].astype(np.int32), parts[f"{name}_indptr"])
    return sparse.csr_array(entries, shape=tuple(parts[f"{name}_shape"]))


@pytest.fixture(scope="module")
def views(release):
    with np.load(find_data("citeseer_2view.npz"), allow_pickle=False) as file:
        return [normalize(csr(file, f"view{v}")[release["rows"]]) for v in (0, 1)]


@pytest.fixture(scope="module")
def fitted(release, views):
    """Every recorded run, fitted once."""
    anchors = [csr(release, f"anchors{v}").toarray() for v in (0, 1)]

    def fit(name):
        alpha, beta, gamma = (float(release[f"{name}_{part}"]) for part in ("alpha", "beta", "gamma"))
        return MSGL.as_published(6, 30, alpha, beta, gamma, anchors=anchors, random_state=0).fit(views)

    with one_thread_per_library():
        return {name: fit(name) for name in ("r1", "r2", "r3")}


def test_iterations_and_weights_equal_the_release(subtests, fitted, release):
    for name, model in fitted.items():
        with subtests.test(name):
            assert model.n_iter_ == int(release[f"{name}_niter"])
            np.testing.assert_allclose(model.view_weights_history_, release[f"{name}_lam_history"][1:], rtol=1e-8)
            np.testing.assert_allclose(model.view_weights_, release[f"{name}_lam_history"][-1], rtol=1e-8)


def test_graph_and_embedding_equal_the_release(subtests, fitted, release):
    for name, model in fitted.items():
        with subtests.test(name):
            np.testing.assert_allclose(model.graph_.toarray(), release[f"{name}_Z"], atol=1e-6)
            recorded = release[f"{name}_U"]
            np.testing.assert_allclose(model.embedding_ @ model.embedding_.T, recorded @ recorded.T, atol=1e-5)


def test_labels_agree_with_the_release(subtests, fitted, release):
    for name, model in fitted.items():
        with subtests.test(name):
            assert adjusted_rand_score(release[f"{name}_labels"], model.labels_) >= 0.97


def test_rows_are_predicted_near_their_labels(subtests, fitted, views):
    for name, model in fitted.items():
        with subtests.test(name):
            model.set_params(predict_with="graph")
            assert adjusted_rand_score(model.predict(views), model.labels_) > 0.8
