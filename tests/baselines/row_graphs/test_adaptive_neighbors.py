"""Weights of nearest points: their closed form is a projection, and coinciding points do no harm."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from kedge import simplex_qp
from kedge.baselines.graphs import weigh_neighbors

RNG = np.random.default_rng(0)
POINTS, TARGETS = RNG.normal(size=(40, 5)) + 1e4, RNG.normal(size=(12, 5)) + 1e4


def test_weights_are_the_projection_of_scaled_distances_with_the_asked_number_of_positive_ones():
    found = weigh_neighbors(POINTS, TARGETS, 4)
    distances = cdist(POINTS, TARGETS, "sqeuclidean")
    expected = simplex_qp(np.eye(distances.shape[1]), distances / (2 * found.ridges[:, None]))
    np.testing.assert_allclose(found.as_graph(12).toarray(), expected, atol=1e-10)
    np.testing.assert_array_equal((found.weights > 0).sum(axis=1), 4)
    np.testing.assert_allclose(found.squared_distances, np.sort(distances, axis=1)[:, :5], rtol=1e-12)


def test_points_among_themselves_never_choose_themselves():
    doubled = np.concatenate([POINTS, POINTS, POINTS[:1].repeat(9, axis=0)])
    found = weigh_neighbors(doubled, doubled, 3, among_themselves=True)
    assert (found.indices != np.arange(len(doubled))[:, None]).all()
    np.testing.assert_allclose(found.weights.sum(axis=1), 1)
    # All neighbours coincide with the point: no distance tells them apart.
    np.testing.assert_allclose(found.weights[-1], 1 / 3)


@pytest.mark.parametrize("points_kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("targets_kind", [np.asarray, sparse.csr_array])
def test_sparse_and_dense_agree(points_kind, targets_kind):
    points, targets = np.maximum(POINTS - 1e4, 0), np.maximum(TARGETS - 1e4, 0)
    expected = weigh_neighbors(points, targets, 4).as_graph(12).toarray()
    found = weigh_neighbors(points_kind(points), targets_kind(targets), 4).as_graph(12).toarray()
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_too_few_targets_are_refused():
    with pytest.raises(ValueError, match="4 neighbours with weight need 5 points to choose from: 4"):
        weigh_neighbors(POINTS, TARGETS[:4], 4)
