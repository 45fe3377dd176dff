"""MSC_IAS: each of its steps is exact, and what it returns has the form it should have."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kedge.baselines.msc_ias import (
    MSC_IAS,
    dependence_of,
    largest_eigenvalue,
    procrustes_basis,
    solve_latent,
)
from kedge.datasets import make_multiview
from kedge.metrics import clustering_accuracy

VIEWS, Y = make_multiview(150, n_clusters=3, noise=0.8, random_state=0)
GENERATOR = np.random.default_rng(0)


def random_similarity(n_rows=40):
    weights = GENERATOR.uniform(size=(n_rows, n_rows)) * (GENERATOR.uniform(size=(n_rows, n_rows)) < 0.2)
    np.fill_diagonal(weights, 0)
    weights[:, 0] += 0.1
    return sparse.csr_array(weights / weights.sum(axis=1, keepdims=True))


def centring(n_rows):
    return np.eye(n_rows) - 1 / n_rows


@pytest.fixture(scope="module")
def model():
    return MSC_IAS(3, n_latent=6, n_neighbors=7, random_state=0).fit(VIEWS)


def test_bases_are_orthonormal_and_similarity_is_stochastic(model):
    assert [basis.shape for basis in model.bases_] == [(10, 6), (15, 6)]
    for basis in model.bases_:
        np.testing.assert_allclose(basis.T @ basis, np.eye(6), atol=1e-10)
    similarity = model.similarity_
    np.testing.assert_allclose(similarity.sum(axis=1), 1, atol=1e-12)
    assert similarity.data.min() > 0
    assert not similarity.diagonal().any()
    assert np.diff(similarity.indptr).max() == 7


def test_objective_is_what_it_says(model):
    views = model._read_new_rows(VIEWS)
    errors = [np.sum((view - model.latent_ @ basis.T) ** 2) for view, basis in zip(views, model.bases_, strict=True)]
    centered = centring(150) @ model.latent_
    dependence = np.trace(centered.T @ model.similarity_.toarray() @ centered)
    expected = sum(errors) - model.dependence_weight_ * dependence
    assert model.objective_[-1] == pytest.approx(expected, rel=1e-10)
    assert len(model.objective_) == model.n_iter_ <= 30


def test_fit_ends_when_three_changes_of_the_objective_are_small_in_the_mean(model):
    relative = np.abs(np.diff(model.objective_)) / np.abs(model.objective_[1:])
    means = np.convolve(relative, np.ones(3) / 3, mode="valid")
    assert means[-1] < 1.01e-3
    assert (means[:-1] > 0.99e-3).all()
    # Ending at the last pass is normal: no warning, which would be an error here.
    assert MSC_IAS(3, max_iter=2, random_state=0).fit(VIEWS).n_iter_ == 2


def test_dependence_is_the_trace_and_for_doubly_stochastic_graphs_one_of_distances():
    latent = GENERATOR.normal(size=(40, 5)) + 3.0
    similarity = random_similarity()
    centered = latent - latent.mean(axis=0)
    pairs = similarity.toarray() * (centered @ centered.T)
    assert dependence_of(latent, similarity) == pytest.approx(pairs.sum(), rel=1e-12)
    swap = sparse.csr_array(np.eye(40)[np.arange(40) ^ 1])
    distances = np.square(latent - latent[np.arange(40) ^ 1]).sum()
    assert dependence_of(latent, swap) == pytest.approx(np.sum(centered**2) - distances / 2, rel=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.9])
def test_latent_step_solves_its_linear_system(share):
    similarity = random_similarity()
    graph = sparse.csr_array((similarity + similarity.T) / 2)
    matrix = centring(40) @ graph.toarray() @ centring(40)
    largest = np.linalg.eigvalsh(matrix)[-1]
    assert largest_eigenvalue(graph) == pytest.approx(largest, rel=1e-3)
    target, weight = GENERATOR.normal(size=(40, 4)), share * 3 / largest
    found = solve_latent(target, graph, weight, 3, np.zeros((40, 4)))
    np.testing.assert_allclose(found, np.linalg.solve(3 * np.eye(40) - weight * matrix, target), atol=1e-9)


def test_basis_rebuilds_the_view_better_than_other_orthonormal_ones():
    view, latent = GENERATOR.normal(size=(40, 8)), GENERATOR.normal(size=(40, 3))
    best = procrustes_basis(view, latent)
    error = np.sum((view - latent @ best.T) ** 2)
    for size in (1e-3, 0.1, 1.0, 10.0):
        other = np.linalg.qr(best + size * GENERATOR.normal(size=best.shape))[0]
        other *= np.sign(np.sum(other * best, axis=0))
        assert np.sum((view - latent @ other.T) ** 2) > error


def test_without_dependence_latent_points_are_the_mean_of_the_turned_views():
    model = MSC_IAS(3, dependence=0.0, random_state=0).fit(VIEWS)
    views = model._read_new_rows(VIEWS)
    images = [view @ basis for view, basis in zip(views, model.bases_, strict=True)]
    np.testing.assert_allclose(model.latent_, np.mean(images, axis=0), atol=1e-10)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_one_view_without_dependence_is_rebuilt_exactly(kind):
    X = GENERATOR.normal(size=(60, 5)) @ GENERATOR.normal(size=(5, 12))
    model = MSC_IAS(2, n_latent=5, dependence=0.0, scale="none", random_state=0).fit([kind(X)])
    np.testing.assert_allclose(model.latent_ @ model.bases_[0].T, X, atol=1e-9)


def test_latent_dimensions_are_capped_by_the_narrowest_view_and_the_rows():
    assert MSC_IAS(3, random_state=0).fit(VIEWS).latent_.shape == (150, 10)
    assert MSC_IAS(3, n_latent=12, random_state=0).fit(VIEWS).latent_.shape == (150, 10)
    wide = np.random.default_rng(1).normal(size=(9, 300))
    assert MSC_IAS(2, random_state=0).fit(wide).latent_.shape == (9, 8)


def test_too_much_dependence_is_refused_or_lowered_aloud():
    with pytest.raises(ValueError, match=r"should be at most 0\.9"):
        MSC_IAS(3, dependence=0.95).fit(VIEWS)
    model = MSC_IAS(3, dependence=0.5)
    assert model._within_bound(1.0, n_views=2, largest=1.5) == 1.0
    with pytest.warns(ConvergenceWarning, match="lowered from 1 to 0.9"):
        assert model._within_bound(1.0, n_views=2, largest=2.0) == pytest.approx(0.9)


def test_a_graph_without_clusters_does_not_ask_for_an_infinite_weight():
    complete = sparse.csr_array((np.ones((6, 6)) - np.eye(6)) / 5)
    assert largest_eigenvalue(complete) == 0.1


def test_clusters_are_found():
    assert clustering_accuracy(Y, MSC_IAS(3, random_state=0).fit_predict(VIEWS)) > 0.98
