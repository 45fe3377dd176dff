"""AMGL against the authors' release, and what holds for its graphs, weights and objective."""

import numpy as np
import pytest
from conftest import find_data, find_published
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from kedge.baselines.amgl import AMGL
from kedge.baselines.graphs import weigh_neighbors
from kedge.datasets import make_multiview
from kedge.metrics import clustering_accuracy

VIEWS, Y = make_multiview(150, n_clusters=3, noise=1.0, random_state=0)


def projector(embedding):
    return embedding @ embedding.T


def scatter(points, labels):
    return sum(np.sum((points[labels == own] - points[labels == own].mean(axis=0)) ** 2) for own in np.unique(labels))


def laplacian(graph):
    dense = graph.toarray()
    scale = dense.sum(axis=1) ** -0.5
    return np.eye(len(dense)) - scale[:, None] * dense * scale


def groups_and_noise(n_rows=90, n_groups=6):
    """Return a view of far groups, whose graph falls apart, and one of noise, whose graph is connected."""
    generator = np.random.default_rng(0)
    far = 100.0 * (np.arange(n_rows) % n_groups)[:, None] + generator.normal(size=(n_rows, 3))
    return [far, generator.normal(size=(n_rows, 3))]


@pytest.mark.needs("data", "published")
def test_weights_objective_and_embedding_equal_the_release():
    with np.load(find_published("amgl_cal150.npz"), allow_pickle=False) as file:
        release = dict(file)
    with np.load(find_data("caltech101_7_reextracted_6view.npz"), allow_pickle=False) as file:
        views = [normalize(file[f"view{v}"][release["rows"]].astype(np.float64)) for v in (0, 4, 5)]
    model = AMGL(5, scale="none", random_state=0).fit(views)
    assert model.n_iter_ == int(release["niter"])
    upper = np.triu_indices(150)
    np.testing.assert_allclose(laplacian(model.graphs_[0])[upper], release["laplacian0"], atol=1e-8)
    np.testing.assert_allclose(model.view_weights_history_, release["alpha_history"], rtol=1e-8)
    np.testing.assert_allclose(model.objective_, release["objective_history"], rtol=1e-8)
    np.testing.assert_allclose(projector(model.embedding_), projector(release["F"]), atol=1e-6)
    # The release keeps another replicate of k-means; ours is at least as good by the sum of squares.
    assert scatter(model.embedding_, model.labels_) <= 1.0001 * scatter(release["F"], release["labels"])


def test_graphs_are_adaptive_neighbours_of_every_row_and_symmetric():
    model = AMGL(3, n_neighbors=4, scale="none", random_state=0).fit(VIEWS)
    for view, graph in zip(VIEWS, model.graphs_, strict=True):
        squares = np.square(view[:, None] - view[None]).sum(axis=2)
        np.fill_diagonal(squares, np.inf)
        directed = np.zeros_like(squares)
        for row, distances in enumerate(squares):
            near = np.argsort(distances)[:5]
            gaps = distances[near[4]] - distances[near[:4]]
            directed[row, near[:4]] = gaps / gaps.sum()
        np.testing.assert_allclose(directed.sum(axis=1), 1, atol=1e-12)
        np.testing.assert_allclose(graph.toarray(), (directed + directed.T) / 2, atol=1e-10)


def test_weights_follow_from_the_embedding_and_the_embedding_from_the_weights():
    model = AMGL(3, random_state=0).fit(VIEWS)
    laplacians = [laplacian(graph) for graph in model.graphs_]
    costs = [np.trace(model.embedding_.T @ matrix @ model.embedding_) for matrix in laplacians]
    np.testing.assert_allclose(model.view_weights_history_[-1], 0.5 / np.sqrt(costs), rtol=1e-8)
    np.testing.assert_allclose(model.objective_[-1], np.sqrt(costs).sum(), rtol=1e-8)
    history = model.view_weights_history_
    np.testing.assert_allclose(model.view_weights_, history[-1] / history[-1].sum(), rtol=1e-12)
    mixture = sum(weight * matrix for weight, matrix in zip(history[-2], laplacians, strict=True))
    expected = np.linalg.eigh(mixture)[1][:, :3]
    np.testing.assert_allclose(projector(model.embedding_), projector(expected), atol=1e-8)


@pytest.mark.filterwarnings("ignore:the graph of:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_rows", [90, 700])
@pytest.mark.parametrize("kind", ["plain", "one takes over", "noise"])
def test_objective_never_rises(kind, n_rows):
    generator = np.random.default_rng(1)
    views = {
        "plain": make_multiview(n_rows, n_clusters=4, n_views=3, n_features=5, noise=1.0, random_state=1)[0],
        "one takes over": groups_and_noise(n_rows),
        "noise": [generator.normal(size=(n_rows, 4)) for _ in range(3)],
    }[kind]
    objective = AMGL(4, scale="none", random_state=0).fit(views).objective_
    assert len(objective) >= 3
    assert (np.diff(objective) <= 1e-9 * objective[:-1]).all()


def test_units_and_rotations_of_a_view_change_nothing():
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(15, 15)))[0]
    expected = AMGL(3, scale="none", random_state=0).fit(VIEWS)
    found = AMGL(3, scale="none", random_state=0).fit([-1000.0 * VIEWS[0], VIEWS[1] @ rotation])
    for graph, other in zip(found.graphs_, expected.graphs_, strict=True):
        np.testing.assert_allclose(graph.toarray(), other.toarray(), atol=1e-8)
    np.testing.assert_array_equal(found.labels_, expected.labels_)


def test_copies_of_a_view_embed_like_the_view():
    alone = AMGL(3, random_state=0).fit(VIEWS[:1])
    thrice = AMGL(3, random_state=0).fit(VIEWS[:1] * 3)
    np.testing.assert_allclose(projector(thrice.embedding_), projector(alone.embedding_), atol=1e-8)
    np.testing.assert_allclose(thrice.view_weights_, 1 / 3, rtol=1e-8)


def test_lanczos_and_dense_solvers_agree(monkeypatch):
    views, _ = make_multiview(700, n_clusters=3, noise=1.0, random_state=3)
    lanczos = AMGL(3, random_state=0).fit(views)
    monkeypatch.setattr("kedge.baselines.amgl.SMALL_ORDER", 1000)
    dense = AMGL(3, random_state=0).fit(views)
    assert lanczos.n_iter_ == dense.n_iter_
    np.testing.assert_allclose(lanczos.objective_, dense.objective_, rtol=1e-10)
    np.testing.assert_allclose(projector(lanczos.embedding_), projector(dense.embedding_), atol=1e-7)


def test_a_view_that_falls_apart_takes_over_and_is_named():
    far, noise = groups_and_noise()
    with pytest.warns(ConvergenceWarning, match="'far' has 6 connected components for 4 clusters") as caught:
        model = AMGL(4, scale="none", random_state=0).fit({"noise": noise, "far": far})
    assert [warning.filename for warning in caught] == [__file__]
    np.testing.assert_array_equal(model.n_components_, [1, 6])
    assert model.view_weights_[1] > 0.999
    assert np.isfinite(model.view_weights_history_).all()


def test_one_view_with_as_many_components_as_clusters_is_solved_without_a_warning():
    far, _ = groups_and_noise()
    labels = AMGL(6, scale="none", random_state=0).fit_predict(far)
    assert clustering_accuracy(np.arange(90) % 6, labels) == 1


def test_rows_that_coincide_are_not_cut_off():
    rows = np.concatenate([np.tile(VIEWS[0][:1], (9, 1)), VIEWS[0][9:]])
    model = AMGL(3, random_state=0).fit([rows, VIEWS[1]])
    assert model.graphs_[0].sum(axis=1).min() >= 0.5
    assert not model.graphs_[0].diagonal().any()
    assert np.isfinite(model.embedding_).all()
    directed = weigh_neighbors(rows, rows, 5, among_themselves=True)
    np.testing.assert_allclose(directed.weights[:9], 0.2)


def test_neighbours_are_capped_by_the_rows_and_two_rows_are_refused():
    model = AMGL(2, n_neighbors=50, random_state=0).fit([view[:5] for view in VIEWS])
    assert np.isfinite(model.embedding_).all()
    with pytest.raises(ValueError, match="minimum of 3 is required"):
        AMGL(2).fit([view[:2] for view in VIEWS])


def test_too_few_passes_are_said():
    with pytest.warns(ConvergenceWarning, match="after max_iter=2 passes"):
        assert AMGL(3, max_iter=2, random_state=0).fit(VIEWS).n_iter_ == 2


def test_clusters_are_found():
    views, y = make_multiview(150, n_clusters=3, noise=0.8, random_state=4)
    assert clustering_accuracy(y, AMGL(3, random_state=0).fit_predict(views)) > 0.98
