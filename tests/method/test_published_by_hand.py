"""The published algorithms against their equations written out with full matrices, on generated rows."""

import numpy as np
import pytest

from kedge import MSGL, SGL, simplex_qp
from kedge.datasets import make_multiview

K, M, ALPHA, BETA, GAMMA = 3, 9, 0.5, 0.1, -1.0


@pytest.fixture(scope="module")
def views():
    return [np.asarray(view) for view in make_multiview(120, random_state=3)[0]][:2]


@pytest.fixture(scope="module")
def anchors(views):
    rows = np.random.RandomState(0).choice(120, M, replace=False)
    return [view[rows] + 0.01 for view in views]


def embed(Z):
    """Theorem below (11): the leading singular vectors of Z D^-1/2, over sqrt(2)."""
    left, _, right = np.linalg.svd(Z / np.sqrt(Z.sum(axis=0)), full_matrices=False)
    return left[:, :K] / np.sqrt(2), right[:K].T / np.sqrt(2)


def by_hand(views, anchors, norm, max_iter, weights, reweigh):
    """Algorithms 1 and 2: Z by (8) or (17), F by (11), the weights of views by ``reweigh``."""
    W, before, U, history = 0.0, None, None, []
    for iteration in range(1, max_iter + 1):
        hessian = 2 * ALPHA * np.eye(M) + 2 * sum(w * A @ A.T for w, A in zip(weights, anchors, strict=True))
        linear = BETA * W - 2 * sum(w * X @ A.T for w, X, A in zip(weights, views, anchors, strict=True))
        if before is not None:
            U = embed(before)[0]
        Z = simplex_qp(hessian, np.broadcast_to(linear, (len(views[0]), M)).copy())
        errors = [np.square(X - Z @ A).sum() for X, A in zip(views, anchors, strict=True)]
        weights = reweigh(errors)
        history.append(weights)
        if before is not None and iteration > 5:
            order = 2 if norm == "spectral" else None
            if np.linalg.norm(Z - before, order) < 1e-3 * np.linalg.norm(before, order):
                break
        rows, columns = embed(Z)
        targets = columns / np.sqrt(Z.sum(axis=0))[:, None]
        W = np.square(rows[:, None] - targets[None]).sum(axis=2)
        before = Z
    return Z, U, np.array(history)


def assert_same_span(one, other):
    np.testing.assert_allclose(one @ one.T, other @ other.T, atol=1e-7)


def test_one_view(views, anchors):
    Z, U, history = by_hand(views[:1], anchors[:1], "spectral", 100, [1.0], lambda errors: [1.0])
    model = SGL.as_published(K, M, ALPHA, BETA, anchors=anchors[0], random_state=0).fit(views[0])
    assert model.n_iter_ == len(history)
    np.testing.assert_allclose(model.graph_.toarray(), Z, atol=1e-8)
    assert_same_span(model.embedding_, U)


def test_several_views(views, anchors):
    def reweigh(errors):
        return [(-error / GAMMA) ** (1 / (GAMMA - 1)) for error in errors]

    Z, U, history = by_hand(views, anchors, "frobenius", 30, [0.5, 0.5], reweigh)
    model = MSGL.as_published(K, M, ALPHA, BETA, GAMMA, anchors=anchors, random_state=0).fit(views)
    assert model.n_iter_ == len(history)
    np.testing.assert_allclose(model.view_weights_history_, history, rtol=1e-8)
    np.testing.assert_allclose(model.graph_.toarray(), Z, atol=1e-8)
    assert_same_span(model.embedding_, U)


@pytest.mark.parametrize("method", ["random", "plusplus", "ffs", "hierarchical"])
def test_every_choice_of_anchors_is_honoured(views, method):
    usual = SGL.as_published(K, M, ALPHA, BETA, random_state=0).fit(views[0])
    other = SGL.as_published(K, M, ALPHA, BETA, anchors=method, random_state=0).fit(views[0])
    assert other.graph_.shape == usual.graph_.shape
    assert abs(other.anchors_[:, None] - usual.anchors_[None]).max(axis=2).min(axis=0).max() > 1e-3
