"""SLSR against recorded runs of the authors' release, and what its classification of new rows promises."""

from itertools import product

import numpy as np
import pytest
from conftest import find_data, find_published
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.preprocessing import normalize

from kedge.baselines import LSR, SLSR, slsr
from kedge.baselines.slsr import classify_by_residual
from kedge.datasets import make_union_of_subspaces
from kedge.metrics import clustering_accuracy

X, Y = make_union_of_subspaces(400, n_subspaces=3, dim=3, ambient_dim=12, orthogonal=True, random_state=0)
SETS = ("mnist", "covtype")
OUTSIDE = [
    ("out_labels_kappa1", "kappa1", "in_labels"),
    ("out_labels_kappa2", "kappa2", "in_labels"),
    ("out_labels_with_true_in_labels_kappa2", "kappa2", "y"),
]


def released(name):
    with np.load(find_published("slsr_300.npz"), allow_pickle=False) as file:
        parts = {key.removeprefix(f"{name}_"): file[key] for key in file.files if key.startswith(name)}
    with np.load(find_data(f"{parts['dataset']}.npz"), allow_pickle=False) as file:
        return parts, normalize(file["X"][parts["rows"]].astype(np.float64))


@pytest.mark.needs("data", "published")
def test_coefficients_and_embedding_equal_the_release(subtests):
    for name in SETS:
        with subtests.test(name=name):
            parts, rows = released(name)
            model = SLSR(parts["embedding"].shape[1], ridge=float(parts["lambda"]), random_state=0).fit(rows[:300])
            np.testing.assert_array_equal(model.in_sample_indices_, np.arange(300))
            # The release has samples in columns.
            np.testing.assert_allclose(model.coefficients_.T[:, :60], parts["Z_LSR1_cols0_60"], atol=1e-8)
            recorded = parts["embedding"]
            np.testing.assert_allclose(model.embedding_ @ model.embedding_.T, recorded @ recorded.T, atol=1e-7)
            both = LSR(2, ridge=float(parts["lambda"]), own_row=True, random_state=0).fit(rows[:300])
            np.testing.assert_allclose(both.coefficients_[:, :20], parts["Z_LSR2_cols0_20"], atol=1e-8)


@pytest.mark.needs("data", "published")
def test_new_rows_get_the_labels_of_the_release(subtests):
    for name, (recorded, ridge, labels) in product(SETS, OUTSIDE):
        parts, rows = released(name)
        known = parts[labels][:300].astype(np.int64)
        with subtests.test(f"{name}, {recorded}"):
            for kind in (np.asarray, sparse.csr_array):
                found = classify_by_residual(kind(rows[300:]), kind(rows[:300]), known, float(parts[ridge]))
                np.testing.assert_array_equal(found, parts[recorded])


@pytest.mark.parametrize("shape", [(40, 6), (20, 50)])
@pytest.mark.parametrize("regularised", [False, True])
def test_labels_are_those_of_the_smallest_residual(shape, regularised, monkeypatch):
    monkeypatch.setattr(slsr, "_BATCH_ENTRIES", 3 * max(shape))
    random = np.random.default_rng(0)
    known, labels = random.normal(size=shape), random.integers(0, 4, size=shape[0]) + 5
    rows = random.normal(size=(30, shape[1]))
    expected = []
    for row in rows:
        code = Ridge(0.5, fit_intercept=False).fit(known.T, row).coef_
        parts = [labels == label for label in range(5, 9)]
        residuals = [np.linalg.norm(row - code[part] @ known[part]) ** 2 for part in parts]
        if regularised:
            residuals = [r / np.linalg.norm(code[part]) ** 2 for r, part in zip(residuals, parts, strict=True)]
        expected.append(5 + np.argmin(residuals))
    assert len(set(expected)) >= 3
    for kind in (np.asarray, sparse.csr_array):
        found = classify_by_residual(kind(rows), kind(known), labels, 0.5, regularised=regularised)
        np.testing.assert_array_equal(found, expected)


def test_rows_that_nothing_rebuilds_join_the_largest_cluster():
    known = np.eye(4)[[0, 1, 1, 2]]
    for rows in (np.zeros((2, 4)), np.eye(4)[[3]]):
        for kind in (np.asarray, sparse.csr_array):
            for regularised in (False, True):
                labels = np.array([3, 8, 8, 9])
                assert set(classify_by_residual(kind(rows), known, labels, 1e-6, regularised=regularised)) == {8}


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("residual", ["plain", "regularised"])
def test_orthogonal_subspaces_are_separated_inside_and_outside_of_the_sample(kind, residual):
    model = SLSR(3, n_in_sample=100, residual=residual, random_state=0).fit(kind(X[:300]))
    assert len(model.in_sample_indices_) == 100
    assert clustering_accuracy(Y[:300], model.labels_) == 1
    new = model.predict(kind(X[300:]))
    assert clustering_accuracy(Y, np.concatenate([model.labels_, new])) == 1
    np.testing.assert_array_equal(model.predict(kind(X[:300])), model.labels_)


def test_permuted_rows_get_permuted_labels():
    rows, _ = make_union_of_subspaces(300, n_subspaces=3, dim=3, ambient_dim=6, noise=0.1, random_state=1)
    model = SLSR(3, n_in_sample=80, random_state=0).fit(rows[:200])
    order = np.random.default_rng(0).permutation(100)
    np.testing.assert_array_equal(model.predict(rows[200:])[order], model.predict(rows[200:][order]))


def test_rows_are_scaled_as_in_fit_before_they_are_classified():
    model = SLSR(3, n_in_sample=100, random_state=0).fit(X[:300])
    np.testing.assert_array_equal(model.predict(7.0 * X[300:]), model.predict(X[300:]))


def test_sample_is_the_only_part_clustered_and_lsr_does_it():
    model = SLSR(3, n_in_sample=60, ridge=0.01, random_state=0).fit(X)
    assert model.coefficients_.shape == (60, 60)
    expected = LSR(3, ridge=0.01, random_state=0).fit(X[model.in_sample_indices_]).coefficients_
    np.testing.assert_allclose(model.coefficients_, expected, atol=1e-10)


def test_a_sample_smaller_than_the_number_of_clusters_is_refused():
    with pytest.raises(ValueError, match="n_in_sample=2 should be >= n_clusters=3"):
        SLSR(3, n_in_sample=2).fit(X)
