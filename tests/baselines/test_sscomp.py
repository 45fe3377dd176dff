"""SSC-OMP picks what a plain loop over rows picks, equals the authors' recorded coefficients, and finds subspaces."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from conftest import GOLDEN
from scipy import sparse
from sklearn.utils import check_array

from kedge.baselines import SSCOMP, sscomp
from kedge.baselines.sscomp import pursue_rows
from kedge.datasets import make_union_of_subspaces
from kedge.metrics import clustering_accuracy


@pytest.fixture(scope="module")
def recorded():
    with np.load(GOLDEN / "sscomp_synthetic.npz") as file:
        return dict(file)


@pytest.fixture(params=["with Gram matrix", "without"])
def search(request, monkeypatch):
    """Both ways to the correlations, whatever the width of the rows."""
    monkeypatch.setattr(sscomp, "wants_gram", lambda *_: request.param == "with Gram matrix")


def unit(X):
    return X / np.linalg.norm(X, axis=1)[:, None]


def pursue_row(X, own, n_nonzero, threshold):
    """Orthogonal matching pursuit of one row, as it is written down."""
    support, residual, weights = [], X[own], np.empty(0)
    while len(support) < n_nonzero and residual @ residual >= threshold * np.linalg.norm(X[own]):
        sizes = np.abs(X @ residual)
        sizes[[own, *support]] = -1
        if sizes.max() <= 1e-14:
            break
        support.append(int(sizes.argmax()))
        weights = np.linalg.lstsq(X[support].T, X[own], rcond=None)[0]
        residual = X[own] - weights @ X[support]
    row = np.zeros(len(X))
    row[support] = weights
    return row


def loop(X, n_nonzero, threshold):
    return np.stack([pursue_row(X, own, n_nonzero, threshold) for own in range(len(X))])


@pytest.mark.parametrize("case", ["n50", "n200", "noise50", "easy30"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_coefficients_equal_those_of_the_authors_program(case, kind, recorded, search):
    X = recorded[f"{case}_X"]
    parts = [recorded[f"{case}_C_{part}"] for part in ("data", "indices", "indptr")]
    expected = sparse.csr_array((parts[0], parts[1].astype(np.int32), parts[2]), shape=(len(X), len(X))).toarray()
    found = pursue_rows(kind(X), int(recorded[f"{case}_n_nonzero"]), float(recorded[f"{case}_thr"])).toarray()
    np.testing.assert_array_equal(found != 0, expected != 0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_recorded_independent_subspaces_are_separated(seed, recorded):
    model = SSCOMP(5, random_state=seed).fit(recorded["easy30_X"])
    assert clustering_accuracy(recorded["easy30_y"], model.labels_) == 1


@pytest.mark.parametrize("case", ["n50", "n200", "noise50"])
def test_accuracy_is_that_of_the_authors_program(case, recorded):
    model = SSCOMP(5, n_nonzero=int(recorded[f"{case}_n_nonzero"]), threshold=float(recorded[f"{case}_thr"]))
    labels = model.set_params(random_state=0).fit_predict(recorded[f"{case}_X"])
    accuracy = clustering_accuracy(recorded[f"{case}_y"], labels)
    # Ten runs of its k-means differ by about 0.02.
    assert accuracy >= recorded[f"{case}_accuracy_10_runs"].min() - 0.03


@pytest.mark.parametrize("shape", [(700, 7), (90, 100), (12, 30), (2, 3)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_picks_are_those_of_a_plain_loop_on_rows_of_any_length(shape, kind, search):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape) * np.exp(rng.normal(size=(shape[0], 1)))
    expected = loop(X, 5, 1e-6)
    found = pursue_rows(kind(X), 5, 1e-6).toarray()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * abs(expected).max())


# Few rows within rounding of the best are compared one by one, many all at once.
@pytest.mark.parametrize("n_alike", [4, 60])
def test_rows_that_single_precision_cannot_tell_apart_are_told_apart(n_alike, search):
    rng = np.random.default_rng(1)
    centers = np.repeat(unit(rng.normal(size=(30, 8))), n_alike, axis=0)
    # Inner products of 1 - 1e-10: single precision has steps of 6e-8, double of 1e-16.
    X = rng.permutation(unit(centers + 1e-5 * rng.normal(size=centers.shape)))
    chosen = np.abs(pursue_rows(X, 1, 0.0).toarray()).argmax(axis=1)
    gram = np.abs(X @ X.T)
    np.fill_diagonal(gram, -1)
    np.testing.assert_allclose(gram[np.arange(len(X)), chosen], gram.max(axis=1), rtol=0, atol=2e-15)


def test_twins_pick_each_other_and_the_first_of_several():
    rng = np.random.default_rng(2)
    X = unit(rng.normal(size=(40, 6)))
    X[[30, 31]], X[35] = X[3], -X[5]
    found = pursue_rows(X, 4, 1e-6).toarray()
    assert (np.count_nonzero(found[[3, 5, 30, 31, 35]], axis=1) == 1).all()
    np.testing.assert_allclose([found[30, 3], found[31, 3], found[3, 30], found[5, 35]], [1, 1, 1, -1], atol=1e-12)


def test_zero_rows_and_rows_orthogonal_to_all_have_no_coefficients(search):
    X = np.zeros((9, 5))
    X[:6, :3] = np.random.default_rng(3).normal(size=(6, 3))
    X[6, 4] = 1.0
    found = pursue_rows(X, 3, 1e-6).toarray()
    assert not found[6:].any()
    assert not found[:, 6:].any()
    assert found[:6].any(axis=1).all()


@pytest.mark.parametrize("n_rows", [2, 3, 500])
def test_one_feature_takes_one_pick_per_row(n_rows):
    X = np.random.default_rng(4).normal(size=(n_rows, 1))
    found = pursue_rows(X, 10, 1e-6)
    np.testing.assert_array_equal(np.diff(found.indptr), 1)
    np.testing.assert_allclose(found @ X, X, atol=1e-12)


def test_residual_is_orthogonal_to_picks_and_never_grows():
    X = unit(np.random.default_rng(5).normal(size=(200, 12)))
    before = np.ones(200)
    for n_nonzero in range(1, 7):
        found = pursue_rows(X, n_nonzero, 0.0)
        assert np.diff(found.indptr).max() <= n_nonzero
        assert not found.diagonal().any()
        residuals = X - found @ X
        products = np.where(found.toarray() != 0, residuals @ X.T, 0.0)
        assert np.abs(products).max() < 1e-13
        now = np.linalg.norm(residuals, axis=1)
        assert (now <= before + 1e-14).all()
        before = now


def test_a_row_is_done_once_its_squared_residual_is_below_the_threshold():
    X = unit(np.random.default_rng(6).normal(size=(300, 10)))
    last, full = pursue_rows(X, 10, 0.05), pursue_rows(X, 10, 0.0)
    left = np.linalg.norm(X - last @ X, axis=1) ** 2
    assert (left < 0.05).all()
    for row in range(300):
        picks = np.diff(last.indptr)[row]
        one_less = pursue_row(X, row, picks - 1, 0.0)
        assert np.linalg.norm(X[row] - one_less @ X) ** 2 >= 0.05
    assert np.diff(last.indptr).mean() < np.diff(full.indptr).mean()


def test_enough_picks_leave_no_weight_on_other_independent_subspaces():
    X, y = make_union_of_subspaces(150, n_subspaces=3, dim=4, ambient_dim=12, random_state=0)
    found = pursue_rows(X, 12, 0.0).toarray()
    assert np.abs(found[y[:, None] != y]).max() < 1e-10


def test_orthogonal_subspaces_are_separated_and_never_mixed():
    X, y = make_union_of_subspaces(150, n_subspaces=3, dim=3, ambient_dim=9, orthogonal=True, random_state=0)
    model = SSCOMP(3, random_state=0).fit(X)
    assert np.abs(model.coefficients_.toarray()[y[:, None] != y]).max() < 1e-10
    assert clustering_accuracy(y, model.labels_) == 1


@pytest.mark.parametrize("n_features", [9, 80])
def test_threads_change_nothing(n_features):
    X = unit(np.random.default_rng(7).normal(size=(1500, n_features)))
    one, three = (pursue_rows(X, 5, 1e-6, n_threads=threads) for threads in (1, 3))
    np.testing.assert_array_equal(one.indices, three.indices)
    np.testing.assert_array_equal(one.data, three.data)


def test_rows_of_equal_length_may_be_of_any_size():
    X = unit(np.random.default_rng(8).normal(size=(80, 6)))
    expected = pursue_rows(X, 3, 0.0)
    for size in (1e-100, 1e100):
        np.testing.assert_allclose(pursue_rows(X * size, 3, 0.0).toarray(), expected.toarray(), atol=1e-10)


@pytest.mark.parametrize(("n_rows", "n_features"), [(6_000, 9), (3_000, 100)])
def test_memory_is_what_was_said(n_rows, n_features):
    X = unit(np.random.default_rng(9).normal(size=(n_rows, n_features)))
    model = SSCOMP(4, n_nonzero=5, random_state=0)
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.3 * model.memory_needed(n_rows, n_features)
    # Without the Gram matrix nothing of n x n is ever there.
    if n_features <= 64:
        assert peak < 8 * n_rows**2 / 2
    assert sscomp.wants_gram(n_rows, n_features, False) == (n_features > 64)


def test_coefficients_can_be_given_to_scikit_learn():
    X, _ = make_union_of_subspaces(120, n_subspaces=3, dim=3, ambient_dim=12, orthogonal=True, random_state=0)
    coefficients = SSCOMP(3, n_nonzero=3, random_state=0).fit(X).coefficients_
    assert coefficients.indices.dtype == coefficients.indptr.dtype == np.int32
    assert check_array(coefficients, accept_sparse="csr", accept_large_sparse=False).shape == (120, 120)


def test_the_page_on_baselines_says_what_the_authors_program_reached_on_a_perfect_graph(recorded):
    page = (Path(__file__).parents[2] / "docs" / "baselines.md").read_text(encoding="utf-8")
    runs = 100 * recorded["easy30_accuracy_10_runs"]
    assert int(recorded["easy30_n_components"]) == 5
    assert f"{runs.min():.0f} to {runs.max():.0f} %" in " ".join(page.split())
