"""LSR equals ridge regression row by row, and separates orthogonal subspaces."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

from kedge.baselines import LSR
from kedge.datasets import make_union_of_subspaces
from kedge.metrics import clustering_accuracy


@pytest.mark.parametrize("shape", [(30, 8), (12, 40)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_of_lsr1_are_ridge_regression_on_the_other_rows(shape, kind):
    X = np.random.default_rng(0).normal(size=shape)
    found = LSR(2, ridge=0.3, scale="none", random_state=0).fit(kind(X)).coefficients_
    for row in range(len(X)):
        others = np.delete(np.arange(len(X)), row)
        expected = Ridge(0.3, fit_intercept=False).fit(X[others].T, X[row]).coef_
        np.testing.assert_allclose(found[row, others], expected, atol=1e-10)
    assert not found.diagonal().any()


@pytest.mark.parametrize("shape", [(30, 8), (12, 40)])
def test_lsr2_is_symmetric_with_eigenvalues_below_one(shape):
    X = np.random.default_rng(1).normal(size=shape)
    found = LSR(2, ridge=0.3, own_row=True, scale="none", random_state=0).fit(X).coefficients_
    np.testing.assert_allclose(found, found.T, atol=1e-12)
    values = np.linalg.svd(X, compute_uv=False) ** 2
    expected = np.zeros(len(X))
    expected[: len(values)] = values / (values + 0.3)
    np.testing.assert_allclose(np.linalg.eigvalsh(found)[::-1], expected, atol=1e-10)


@pytest.mark.parametrize("own_row", [True, False])
def test_orthogonal_subspaces_are_separated(own_row):
    X, y = make_union_of_subspaces(120, n_subspaces=3, dim=3, ambient_dim=9, orthogonal=True, random_state=0)
    model = LSR(3, own_row=own_row, random_state=0).fit(X)
    assert clustering_accuracy(y, model.labels_) == 1
    between = y[:, None] != y[None, :]
    assert np.abs(model.coefficients_[between]).max() < 1e-10


def test_zero_rows_leave_the_unit_length_of_the_others_alone():
    X, _ = make_union_of_subspaces(40, n_subspaces=2, dim=2, ambient_dim=8, random_state=0)
    alone = LSR(2, ridge=0.1, random_state=0).fit(3.0 * X)
    among_zeros = LSR(2, ridge=0.1, random_state=0).fit(np.concatenate([3.0 * X, np.zeros((60, 8))]))
    np.testing.assert_allclose(among_zeros.coefficients_[:40, :40], alone.coefficients_, atol=1e-10)
