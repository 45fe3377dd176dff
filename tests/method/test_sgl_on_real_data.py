"""SGL on the paper's own data, where a folder with it is found."""

import numpy as np
import pytest
from conftest import find_data
from scipy import sparse

from kedge import SGL
from kedge.kernels.simplex import solve_rows
from kedge.metrics import nmi

pytestmark = pytest.mark.needs("data")


@pytest.fixture(scope="module")
def documents():
    """TR45: 690 documents, 8,261 words, tf-idf of unit length, sparse."""
    with np.load(find_data("TR45.npz")) as file:
        parts = (file["X_data"], file["X_indices"], file["X_indptr"])
        return sparse.csr_array(parts, shape=tuple(file["X_shape"])), file["y"]


def test_sparse_documents_are_clustered(documents):
    X, y = documents
    scores = [nmi(y, SGL(10, random_state=seed).fit(X).labels_) for seed in range(3)]
    assert np.mean(scores) > 0.5


def test_row_problems_of_documents_agree_with_the_twin(documents):
    X, _ = documents
    model = SGL(10, n_anchors=50, n_init=1, locality=0.0, random_state=0).fit(X)
    anchors = model.graph_anchors_
    spread = np.square(anchors - anchors.mean(axis=0)).sum(axis=1).mean()
    hessian = 2 * anchors @ anchors.T + 2 * model.alpha * spread * np.eye(len(anchors))
    rows = model._scalings()[0].apply(X[:100])
    expected = solve_rows(hessian, -2 * rows @ anchors.T, kernel="reference").coefficients
    np.testing.assert_allclose(model.graph_[:100].toarray(), expected, rtol=0, atol=1e-12)
