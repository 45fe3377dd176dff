"""Lloyd's rounds of sparse rows do what scikit-learn's do."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans

from kedge.anchors import kmeans as sparse_rounds
from kedge.anchors.kmeans import move_centers


def sparse_rows(n_rows, n_features, seed, dtype=np.float64):
    return sparse.csr_array(sparse.random_array((n_rows, n_features), density=0.1, rng=seed, dtype=dtype))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rounds", [1, 3, 50])
@pytest.mark.parametrize("seed", range(5))
def test_rounds_are_those_of_scikit_learn(dtype, rounds, seed):
    rows = sparse_rows(200, 60, seed, dtype)
    seeds = rows[:12].toarray()
    centers, labels = move_centers(rows, seeds, rounds)
    model = KMeans(12, init=seeds, n_init=1, max_iter=rounds).fit(rows)
    np.testing.assert_array_equal(labels, model.labels_)
    assert centers.dtype == dtype
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(centers, model.cluster_centers_, atol=tolerance)


def test_results_do_not_depend_on_the_block(monkeypatch):
    rows = sparse_rows(300, 40, 0)
    whole = move_centers(rows, rows[:9].toarray(), 20)
    monkeypatch.setattr(sparse_rounds, "BLOCK_ENTRIES", 63)
    for one, other in zip(whole, move_centers(rows, rows[:9].toarray(), 20), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_centre_without_rows_becomes_the_farthest_row():
    rows = sparse.csr_array(np.array([[1.0, 0.0], [1.2, 0.0], [0.0, 9.0], [0.1, 0.0]]))
    centers, labels = move_centers(rows, np.array([[1.0, 0.0], [50.0, 50.0]]), 20)
    np.testing.assert_array_equal(labels, [0, 0, 1, 0])
    np.testing.assert_allclose(centers[1], [0.0, 9.0])


def test_more_centres_than_distinct_rows_stay_finite():
    rows = sparse.csr_array(np.repeat([[1.0, 0.0], [0.0, 2.0]], 3, axis=0))
    centers, labels = move_centers(rows, np.array([[1.0, 0.0], [0.0, 2.0], [7.0, 7.0], [8.0, 8.0]]), 20)
    assert np.isfinite(centers).all()
    np.testing.assert_allclose(centers[labels], rows.toarray())


def test_rows_and_seeds_are_not_changed():
    rows = sparse_rows(50, 20, 3)
    seeds = rows[:5].toarray()
    before, seeds_before = rows.copy(), seeds.copy()
    move_centers(rows, seeds, 5)
    assert (rows != before).nnz == 0
    np.testing.assert_array_equal(seeds, seeds_before)
