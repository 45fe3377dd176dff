"""MLRSSC against recorded runs of the authors' release, and the facts of its solution."""

import numpy as np
import pytest
from conftest import find_data, find_published
from scipy import linalg, sparse
from scipy.spatial.distance import pdist, squareform
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from kedge.baselines import MLRSSC
from kedge.baselines.affinity import embed_affinity
from kedge.baselines.lrr import shrink_rows, shrink_singular_values
from kedge.baselines.mlrssc import gaussian_kernel
from kedge.baselines.self_expression import shrink
from kedge.datasets import make_union_of_subspaces
from kedge.metrics import clustering_accuracy

FIRST, Y = make_union_of_subspaces(90, n_subspaces=3, dim=2, ambient_dim=12, orthogonal=True, random_state=0)
SECOND = FIRST @ np.random.default_rng(1).normal(size=(12, 15))
RUNS = [f"{data}_c{number}" for data in ("cite150", "cal150") for number in range(1, 6)]


def released_views(file, data):
    with np.load(find_data(f"{file[f'{data}_dataset']}.npz"), allow_pickle=False) as parts:
        for number in str(file[f"{data}_views"]).split(","):
            name = f"view{number}"
            if name in parts:
                view = parts[name].astype(np.float64)
            else:
                entries = (parts[f"{name}_data"] * 1.0, parts[f"{name}_indices"].astype(np.int32))
                view = sparse.csr_array((*entries, parts[f"{name}_indptr"]), shape=tuple(parts[f"{name}_shape"]))
            yield normalize(view[file[f"{data}_rows"]])


@pytest.mark.needs("data", "published")
@pytest.mark.filterwarnings("ignore:the graph between rows has:sklearn.exceptions.ConvergenceWarning")
def test_graph_iterations_and_embedding_equal_the_release(subtests):
    for run in RUNS:
        with subtests.test(run=run):
            with np.load(find_published("mlrssc_150.npz"), allow_pickle=False) as file:
                views = list(released_views(file, run.split("_")[0]))
                recorded = {key.removeprefix(f"{run}_"): file[key] for key in file.files if key.startswith(f"{run}_")}
            low_rank, sparsity, agreement = recorded["lambda"]
            width = 1.0
            if "sigma" in recorded:
                dense = [view.toarray() if sparse.issparse(view) else view for view in views]
                width = [s / np.median(pdist(view)) for s, view in zip(recorded["sigma"], dense, strict=True)]
            model = MLRSSC(
                recorded["embedding"].shape[1],
                consensus=str(recorded["kind"]),
                kernel=str(recorded["kernel"]).lower(),
                kernel_width=width,
                low_rank=float(low_rank),
                sparsity=float(sparsity),
                agreement=float(agreement),
                penalty=float(recorded["mu0"]),
                penalty_growth=float(recorded["rho"]),
                max_penalty=float(recorded["max_mu"]),
                tol=float(recorded["err_thr"]),
                centroid_update="accumulated",
                scale="none",
                random_state=0,
            ).fit(views)
            assert model.n_iter_ == int(recorded["niter"])
            np.testing.assert_allclose(model.affinity_[np.triu_indices(150)], recorded["affinity_upper"], atol=1e-9)
            if run.startswith("cal150") or run == "cite150_c5":
                found, expected = model.embedding_, recorded["embedding"]
                np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-6)


@pytest.mark.parametrize("consensus", ["pairwise", "centroid"])
@pytest.mark.parametrize("noisy", [True, False])
def test_orthogonal_subspaces_are_separated(consensus, noisy):
    model = MLRSSC(3, consensus=consensus, noisy=noisy, scale="l2", random_state=0).fit([FIRST, FIRST[:, ::-1]])
    assert clustering_accuracy(Y, model.labels_) == 1
    assert model.affinity_[Y[:, None] != Y].max() < 1e-8


@pytest.mark.parametrize("consensus", ["pairwise", "centroid"])
def test_diagonals_are_zero_and_the_copies_agree(consensus):
    model = MLRSSC(3, consensus=consensus, random_state=0).fit([FIRST, SECOND])
    assert not any(coefficients.diagonal().any() for coefficients in model.view_coefficients_)
    np.testing.assert_array_equal(model.affinity_, model.affinity_.T)
    assert model.affinity_.min() >= 0
    assert model.residuals_.shape == (2, 4)
    assert model.residuals_.max() <= model.tol
    joint = np.mean(model.view_coefficients_, axis=0)
    np.testing.assert_allclose(model.affinity_, abs(joint) + abs(joint.T), atol=1e-14)


def test_only_the_gram_matrix_of_a_view_counts():
    expected = MLRSSC(3, scale="none", random_state=0).fit([FIRST, SECOND]).affinity_
    roots = [linalg.sqrtm(view @ view.T + 1e-15 * np.eye(90)).real for view in (FIRST, SECOND)]
    found = MLRSSC(3, scale="none", random_state=0).fit([roots[0], sparse.csr_array(roots[1])]).affinity_
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_equal_views_have_their_common_coefficients_as_centre():
    model = MLRSSC(3, consensus="centroid", random_state=0).fit([SECOND, SECOND])
    first, second = model.view_coefficients_
    np.testing.assert_allclose(first, second, atol=1e-12)
    np.testing.assert_allclose(model.affinity_, abs(first) + abs(first.T), atol=1e-12)


def test_a_slow_penalty_reaches_the_minimum():
    random = np.random.default_rng(0)
    X = normalize(random.normal(size=(14, 5)))
    weights = {"low_rank": 0.2, "sparsity": 0.05, "agreement": 1.0}
    model = MLRSSC(1, **weights, penalty=1.0, penalty_growth=1.0, max_iter=5000, tol=1e-10, scale="none")
    C = model.fit([X]).view_coefficients_[0].T

    def objective(C):
        return 0.2 * linalg.svdvals(C).sum() + 0.05 * abs(C).sum() + 0.5 * np.linalg.norm(X.T - X.T @ C) ** 2

    assert np.count_nonzero(C) > 14
    for _ in range(200):
        step = random.normal(size=C.shape) * random.choice([1e-4, 1e-2])
        step = np.where(random.random() < 0.5, step * (C != 0), step)
        np.fill_diagonal(step, 0.0)
        assert objective(C + step) > objective(C)


def plain_exact_solver(X, n_iter, mu=10.0):
    """Do the published steps for one view rebuilt exactly, with the multiplier of X' = X' A itself."""
    K, n = X @ X.T, len(X)
    A, C1, C2, C3, L2, L3, L4 = (np.zeros((n, n)) for _ in range(7))
    L1 = np.zeros((X.shape[1], n))
    for _ in range(n_iter):
        right = mu * (K + C1 + C2 + C3) - L2 - L3 - L4 + X @ L1
        A = linalg.solve(mu * K + 3 * mu * np.eye(n), right)
        C2 = np.sign(A + L2 / mu) * np.maximum(abs(A + L2 / mu) - 0.7 / mu, 0)
        np.fill_diagonal(C2, 0.0)
        U, s, W = linalg.svd(A + L3 / mu)
        C1 = (U * np.maximum(s - 0.3 / mu, 0)) @ W
        C3 = A + L4 / mu
        L1, L2, L3, L4 = L1 + mu * (X.T - X.T @ A), L2 + mu * (A - C2), L3 + mu * (A - C1), L4 + mu * (A - C3)
        mu = min(1.5 * mu, 1e6)
    return C2.T


def test_exact_rebuilding_follows_the_published_steps():
    X = FIRST[:30] + 0.1 * np.random.default_rng(0).normal(size=(30, 12))
    # On noisy rows this variant does not settle.
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        model = MLRSSC(3, noisy=False, max_iter=15, scale="none", random_state=0).fit([X])
    np.testing.assert_allclose(model.view_coefficients_[0], plain_exact_solver(X, 15), atol=1e-9)


def test_exact_rebuilding_leaves_no_residual():
    X = make_union_of_subspaces(40, n_subspaces=2, dim=2, ambient_dim=10, random_state=0)[0]
    model = MLRSSC(2, noisy=False, scale="none", random_state=0).fit([X])
    np.testing.assert_allclose(model.view_coefficients_[0] @ X, X, atol=1e-2)
    noisy = MLRSSC(2, scale="none", random_state=0).fit([X])
    assert np.abs(noisy.view_coefficients_[0] @ X - X).max() > 0.1


def test_kernels_are_what_they_say():
    distances = squareform(pdist(SECOND))
    median = np.median(pdist(SECOND))
    expected = np.exp(-(distances**2) / (2 * (1.5 * median) ** 2))
    np.testing.assert_allclose(gaussian_kernel(SECOND @ SECOND.T, 1.5), expected, atol=1e-10)
    assert np.isfinite(gaussian_kernel(np.ones((4, 4)), 1.0)).all()
    cubes = np.einsum("ia,ib,ic->iabc", FIRST, FIRST, FIRST).reshape(90, -1)
    settings = {"scale": "none", "random_state": 0}
    found = MLRSSC(3, kernel="polynomial", degree=3, **settings).fit([FIRST]).affinity_
    np.testing.assert_allclose(found, MLRSSC(3, **settings).fit([cubes]).affinity_, atol=1e-10)


def test_accumulated_centre_is_larger_than_the_mean():
    settings = {"consensus": "centroid", "agreement": 0.9, "random_state": 0}
    mean = MLRSSC(3, **settings).fit([FIRST, SECOND]).affinity_
    accumulated = MLRSSC(3, centroid_update="accumulated", **settings).fit([FIRST, SECOND]).affinity_
    assert accumulated.max() > 1.5 * mean.max()


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
def test_exact_rebuilding_is_refused_with_kernels(kernel):
    with pytest.raises(ValueError, match=f"noisy=False .* kernel='{kernel}'"):
        MLRSSC(3, kernel=kernel, noisy=False).fit([FIRST])


def test_embedding_of_a_graph_with_negative_eigenvalues_has_no_vector_twice():
    # Each row joined to all others: the eigenvalues are one and, 29 times, -1/29.
    vectors, values, _ = embed_affinity(np.ones((30, 30)) - np.eye(30), 4)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(values, [1, -1 / 29, -1 / 29, -1 / 29], atol=1e-10)


def test_rows_without_neighbours_embed_at_zero_exactly():
    random = np.random.default_rng(0)
    affinity = random.random((700, 700))
    affinity += affinity.T
    affinity[[5, 600]] = 0.0
    affinity[:, [5, 600]] = 0.0
    assert not embed_affinity(affinity, 3)[0][[5, 600]].any()


def test_too_few_iterations_are_warned_about():
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        MLRSSC(3, max_iter=3, random_state=0).fit([FIRST, SECOND])


@pytest.mark.parametrize("shape", [(30, 30), (30, 12), (12, 30)])
@pytest.mark.parametrize("threshold", [1e-6, 0.5, 100.0])
def test_singular_values_are_lowered_by_the_threshold(shape, threshold):
    matrix = np.random.default_rng(0).normal(size=shape)
    U, s, W = linalg.svd(matrix, full_matrices=False)
    expected = (U * np.maximum(s - threshold, 0)) @ W
    np.testing.assert_allclose(shrink_singular_values(matrix, threshold), expected, atol=1e-11)


def test_rows_and_entries_are_shrunk_towards_zero():
    matrix = np.array([[3.0, -4.0], [0.3, 0.4], [0.0, 0.0]])
    np.testing.assert_allclose(shrink_rows(matrix, 1.0), [[2.4, -3.2], [0, 0], [0, 0]], atol=1e-15)
    shrunk = shrink(matrix, 0.35, np.empty(0, dtype=int))
    np.testing.assert_allclose(shrunk, [[2.65, -3.65], [0, 0.05], [0, 0]], atol=1e-15)
