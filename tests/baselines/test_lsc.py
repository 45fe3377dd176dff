"""LSC: its graph, its embedding, and the kernel's width."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons

from kedge.baselines import LSC
from kedge.baselines.lsc import drop_constant
from kedge.core.driver_step import spectral_map
from kedge.metrics import clustering_accuracy


def test_rows_of_the_graph_are_a_kernel_on_the_nearest_landmarks():
    X = np.random.default_rng(0).normal(size=(80, 3))
    for sigma in ("mean_distance", "code"):
        model = LSC(3, n_landmarks=20, sigma=sigma, random_state=0).fit(X)
        squares = ((X[:, None] - model.landmarks_) ** 2).sum(axis=2)
        nearest = np.argsort(squares, axis=1)[:, :5]
        kept = np.take_along_axis(squares, nearest, axis=1)
        width = np.sqrt(kept).mean() if sigma == "mean_distance" else squares.mean()
        kernel = np.exp(-kept / (2 * width**2))
        found = model.graph_.toarray()
        assert ((found > 0).sum(axis=1) == 5).all()
        np.testing.assert_allclose(found.sum(axis=1), 1)
        np.testing.assert_allclose(
            np.take_along_axis(found, nearest, axis=1), kernel / kernel.sum(axis=1, keepdims=True), rtol=1e-8
        )


def test_embedding_holds_the_left_singular_vectors_after_the_constant_one():
    X = np.random.default_rng(1).normal(size=(100, 2))
    model = LSC(3, n_landmarks=25, random_state=0).fit(X)
    graph = model.graph_.toarray()
    left, values, _ = np.linalg.svd(graph / np.sqrt(graph.sum(axis=0)), full_matrices=False)
    np.testing.assert_allclose(np.abs(left[:, 0]), 0.1, atol=1e-10)
    np.testing.assert_allclose(model.singular_values_, values[:4], atol=1e-8)
    assert values[0] == pytest.approx(1)
    wanted = left[:, 1:4] @ left[:, 1:4].T
    np.testing.assert_allclose(model.embedding_ @ model.embedding_.T, wanted, atol=1e-7)


def test_the_constant_vector_is_dropped_whatever_the_basis():
    rng = np.random.default_rng(0)
    vectors = np.linalg.qr(np.column_stack([np.ones(40), rng.normal(size=(40, 4))]))[0]
    turned = vectors @ np.linalg.qr(rng.normal(size=(5, 5)))[0]
    left = drop_constant(turned)
    np.testing.assert_allclose(left.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(left @ left.T, vectors[:, 1:] @ vectors[:, 1:].T, atol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("landmarks", ["kmeans", "random"])
def test_moons_and_far_blobs_are_found(kind, landmarks):
    X, y = make_moons(600, noise=0.05, random_state=0)
    found = LSC(2, n_landmarks=100, landmarks=landmarks, random_state=0).fit_predict(kind(X))
    assert clustering_accuracy(y, found) > 0.98
    X, y = make_blobs(300, centers=[[0, 0], [30, 0], [0, 30]], random_state=0)
    found = LSC(3, n_landmarks=60, landmarks=landmarks, random_state=0).fit_predict(kind(X))
    assert clustering_accuracy(y, found) == 1


def test_only_the_width_of_the_release_depends_on_the_unit():
    X, _ = make_moons(200, noise=0.05, random_state=0)
    for sigma, same in (("mean_distance", True), ("code", False)):
        one, other = (LSC(2, n_landmarks=30, sigma=sigma, random_state=0).fit(f * X).graph_ for f in (1.0, 8.0))
        assert (abs(one - other).max() < 1e-12) == same


def test_landmarks_are_at_most_the_rows():
    X = np.random.default_rng(0).normal(size=(12, 2))
    model = LSC(3, random_state=0).fit(X)
    assert model.landmarks_.shape == (12, 2)
    assert model.graph_.shape == (12, 12)


def test_close_singular_values_of_a_long_chain_are_found():
    # A path of 700 anchors: squared singular values are within 1e-5 of each other and of one.
    rows = np.arange(1400)
    columns = np.stack([rows // 2, np.minimum(rows // 2 + 1, 699)], axis=1)
    chain = sparse.csr_array((np.full(2800, 0.5), columns.ravel(), np.arange(0, 2801, 2)), shape=(1400, 700))
    chain.sum_duplicates()
    sums = np.asarray(chain.sum(axis=0)).ravel()
    found = spectral_map((chain.T @ chain).toarray(), sums, 4)
    expected = np.linalg.svd(chain.toarray() / np.sqrt(sums), compute_uv=False)[:4]
    np.testing.assert_allclose(found.singular_values, expected, atol=1e-8)
