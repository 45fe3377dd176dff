"""ESSC solves the l1 problem to its optimality condition, its steps are exact, and it separates subspaces."""

from itertools import combinations, product

import numpy as np
import pytest
from conftest import find_published
from invariants import l1_objective
from scipy import sparse

from kedge.baselines import ESSC, essc
from kedge.baselines.essc import (
    ProximalSolver,
    keep_largest,
    keep_largest_of_sum_one,
    largest_eigenvalue,
    shrink_to_sum_one,
)
from kedge.baselines.self_expression import AdmmSolver, center_products, least_coherence, prepare_products, shrink
from kedge.datasets import make_union_of_subspaces
from kedge.metrics import clustering_accuracy


def unit_rows(n_rows, n_features, seed=0):
    X = np.random.default_rng(seed).normal(size=(n_rows, n_features))
    return X / np.linalg.norm(X, axis=1)[:, None]


def violation(X, C, fidelity, affine=False):
    """Largest distance of a subgradient from zero; with sums of one, up to one shift per row."""
    slopes = fidelity * (X - C @ X) @ X.T
    off = ~np.eye(len(X), dtype=bool)
    worst = 0.0
    for row in range(len(X)):
        slope, values = slopes[row][off[row]], C[row][off[row]]
        used = values != 0
        shift = np.median(slope[used] - np.sign(values[used])) if affine else 0.0
        errors = np.where(used, np.abs(slope - shift - np.sign(values)), np.maximum(np.abs(slope - shift) - 1, 0))
        worst = max(worst, errors.max())
    return worst


@pytest.fixture(scope="module")
def release():
    with np.load(find_published("essc_synthetic.npz"), allow_pickle=False) as file:
        return dict(file)


def solve_recorded(release, case, kind, solver, max_iter=4000):
    X = np.ascontiguousarray(release["Xaff" if case.startswith("aff") else "Xlin"].T)
    affine, fidelity = bool(release[f"{case}_affine"]), float(release[f"{case}_lambda"])
    products = prepare_products(kind(X))
    if affine:
        products = center_products(products)
    if solver == "admm":
        found = AdmmSolver(products, fidelity, 5.0, affine, max_iter, 1e-8).solve(slice(0, len(X)))
    else:
        steps = ProximalSolver(products, largest_eigenvalue(products), affine, max_iter, 1e-10)
        if solver == "steps":
            found = (sparse.csr_array(steps.approach_l1(slice(0, len(X)), fidelity)[0]),)
        else:
            found = steps.solve_l1(slice(0, len(X)), fidelity)
    return found[0].toarray(), l1_objective(X, found[0], fidelity)


# ADMM and proximal steps alone creep where the solution is hardly unique.
CASES = [(case, solver) for case in ("lin_l20", "lin_l2", "linaff_l5") for solver in ("exact", "steps", "admm")]


@pytest.mark.needs("published")
def test_coefficients_equal_the_recorded_exact_ones(subtests, release):
    for (case, solver), kind in product([*CASES, ("aff_l20", "exact")], [np.asarray, sparse.csr_array]):
        with subtests.test(case=case, solver=solver, kind=kind.__name__):
            coefficients, objective = solve_recorded(release, case, kind, solver)
            np.testing.assert_allclose(coefficients, release[f"{case}_C_exact"].T, rtol=0, atol=1e-5)
            assert objective == pytest.approx(float(release[f"{case}_objective"]), rel=1e-7)


@pytest.mark.needs("published")
def test_objective_of_steps_alone_is_right_even_where_the_solution_is_hardly_unique(release):
    _, objective = solve_recorded(release, "aff_l20", np.asarray, "steps", max_iter=15_000)
    assert objective == pytest.approx(float(release["aff_l20_objective"]), rel=1e-7)


@pytest.mark.needs("published")
def test_fidelity_is_in_the_authors_unit(release):
    coherence = least_coherence(prepare_products(release["Xlin"].T.copy()))
    assert 20 / coherence == pytest.approx(float(release["lin_l20_lambda"]), rel=1e-12)


@pytest.mark.parametrize("shape", [(60, 8), (40, 50)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("affine", [False, True])
def test_coefficients_are_optimal_hollow_and_sum_to_one_if_affine(shape, kind, affine):
    X = unit_rows(*shape)
    model = ESSC(2, fidelity=10, affine=affine, tol=1e-9, max_iter=20_000, random_state=0).fit(kind(X))
    found = model.coefficients_.toarray()
    fidelity = 10 / least_coherence(prepare_products(X))
    assert violation(X, found, fidelity, affine) < 1e-7
    assert not found.diagonal().any()
    if affine:
        np.testing.assert_allclose(found.sum(axis=1), 1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("affine", [False, True])
def test_the_authors_large_fidelity_is_solved_with_default_steps(affine):
    X, _ = make_union_of_subspaces(300, n_subspaces=5, dim=4, ambient_dim=30, noise=0.05, random_state=0)
    X = X / np.linalg.norm(X, axis=1)[:, None]
    model = ESSC(5, fidelity=800, affine=affine, tol=1e-6, random_state=0).fit(X)
    fidelity = 800 / least_coherence(prepare_products(X))
    assert violation(X, model.coefficients_.toarray(), fidelity, affine) < 4e-6
    assert model.n_iter_ < 600


@pytest.mark.parametrize("affine", [False, True])
def test_both_solvers_reach_the_same_objective(affine):
    X, _ = make_union_of_subspaces(90, n_subspaces=3, dim=3, ambient_dim=7, noise=0.02, random_state=0)
    X = X / np.linalg.norm(X, axis=1)[:, None]
    fidelity = 20 / least_coherence(prepare_products(X))
    objectives = []
    for solver, tol in (("proximal", 1e-5), ("admm", 1e-6)):
        model = ESSC(3, solver=solver, affine=affine, tol=tol, max_iter=20_000, random_state=0).fit(X)
        objectives.append(l1_objective(X, model.coefficients_, fidelity))
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-4)


@pytest.mark.filterwarnings("ignore:the graph between rows")
def test_fidelity_above_one_leaves_no_row_without_coefficients_and_one_does():
    X = unit_rows(50, 6)
    above = ESSC(2, fidelity=1.01, tol=1e-8, random_state=0).fit(X).coefficients_
    assert np.diff(above.indptr).all()
    at_one = ESSC(2, fidelity=1.0, tol=1e-8, random_state=0).fit(X).coefficients_
    assert np.count_nonzero(np.diff(at_one.indptr) == 0) == 1


@pytest.mark.parametrize("penalty", ["l1", "l0"])
def test_orthogonal_subspaces_are_separated(penalty):
    X, y = make_union_of_subspaces(120, n_subspaces=3, dim=3, ambient_dim=9, orthogonal=True, random_state=0)
    model = ESSC(3, penalty=penalty, n_nonzero=4, max_iter=2000, random_state=0).fit(X)
    assert np.abs(model.coefficients_.toarray()[y[:, None] != y]).max() < 1e-10
    assert clustering_accuracy(y, model.labels_) == 1


@pytest.mark.parametrize("affine", [False, True])
def test_l0_keeps_so_many_and_ends_where_its_step_ends(affine):
    X = unit_rows(80, 10)
    model = ESSC(2, penalty="l0", n_nonzero=4, affine=affine, tol=1e-10, max_iter=5000, random_state=0).fit(X)
    found = model.coefficients_.toarray()
    assert np.count_nonzero(found, axis=1).max() <= 4
    assert not found.diagonal().any()
    # On its support a fixed point has the least error.
    for row in range(80):
        used = found[row] != 0
        slopes = X[used] @ (X[row] - found[row] @ X)
        np.testing.assert_allclose(slopes, slopes.mean() if affine else 0.0, atol=1e-6)
    if affine:
        np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)


def test_blocks_give_the_same_coefficients_as_one_block(monkeypatch):
    X = unit_rows(70, 8)
    models = []
    for rows in (32, 100):
        monkeypatch.setattr("kedge.baselines.self_expression.rows_per_block", lambda _, rows=rows: rows)
        models.append(ESSC(2, affine=True, tol=1e-9, max_iter=20_000, random_state=0).fit(X))
    np.testing.assert_allclose(models[0].coefficients_.toarray(), models[1].coefficients_.toarray(), atol=1e-7)


def test_too_few_steps_are_said_aloud():
    with pytest.warns(UserWarning, match="60 of 60 rows were not solved to the tolerance; raise max_iter"):
        ESSC(2, max_iter=2, random_state=0).fit(unit_rows(60, 5))


def test_admm_is_refused_for_l0():
    with pytest.raises(ValueError, match="solver='admm' is for penalty='l1' only"):
        ESSC(2, penalty="l0", solver="admm").fit(unit_rows(20, 5))


def test_constant_rows_sum_to_one_without_a_crash():
    found = ESSC(1, affine=True, scale="none", random_state=0).fit(np.ones((6, 3))).coefficients_
    assert np.isfinite(found.data).all()


def test_largest_eigenvalue_is_never_below_and_hardly_above(monkeypatch):
    for X in (unit_rows(50, 8), unit_rows(30, 90)):
        exact = np.linalg.norm(X, 2) ** 2
        for order in (1000, 3):
            monkeypatch.setattr(essc, "_SMALL_ORDER", order)
            assert exact * (1 - 1e-13) <= largest_eigenvalue(prepare_products(X)) <= 1.011 * exact


@pytest.mark.parametrize("threshold", [0.0, 0.3, 5.0])
def test_shrinking_beats_all_perturbations_that_keep_the_sum(threshold):
    rng = np.random.default_rng(0)
    vectors, own = 3 * rng.normal(size=(20, 12)), rng.integers(12, size=20)

    def cost(points):
        return threshold * np.abs(points).sum(axis=1) + 0.5 * ((points - vectors) ** 2).sum(axis=1)

    free = shrink(vectors, threshold, own)
    summed, shifts = shrink_to_sum_one(vectors, threshold, own, None)
    again, _ = shrink_to_sum_one(vectors, threshold, own, shifts + rng.normal(size=20))
    np.testing.assert_allclose(again, summed, atol=1e-12)
    np.testing.assert_allclose(summed.sum(axis=1), 1, rtol=0, atol=1e-13)
    for points in (free, summed):
        assert not points[np.arange(20), own].any()
        for size in (1e-4, 1e-2, 1.0):
            moves = size * rng.normal(size=(200, 20, 12))
            moves[:, np.arange(20), own] = 0.0
            if points is summed:
                moves -= moves.sum(axis=2, keepdims=True) / 11
                moves[:, np.arange(20), own] = 0.0
            assert all((cost(points + move) >= cost(points) - 1e-12).all() for move in moves)


def test_sums_of_one_from_huge_and_tiny_values():
    vectors = np.array([[1e8, -1e8, 3.0, 2.0], [1e-12, 0.0, 0.0, 0.0], [5.0, 5.0, 5.0, 5.0]])
    found, _ = shrink_to_sum_one(vectors, 0.5, np.array([3, 0, 1]), None)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-7)
    np.testing.assert_allclose(found[2], [1 / 3, 0, 1 / 3, 1 / 3], atol=1e-12)


def test_keeping_the_largest_of_sum_one_is_the_best_of_all_supports():
    rng = np.random.default_rng(1)
    vectors, own = rng.normal(size=(25, 7)), rng.integers(7, size=25)
    found = keep_largest_of_sum_one(vectors, 3, own)
    plain = keep_largest(vectors, 3, own)
    for row in range(25):
        costs, plain_costs = [], []
        for support in combinations([j for j in range(7) if j != own[row]], 3):
            point, part = np.zeros(7), vectors[row, list(support)]
            point[list(support)] = part
            plain_costs.append(np.linalg.norm(point - vectors[row]))
            point[list(support)] = part - (part.sum() - 1) / 3
            costs.append(np.linalg.norm(point - vectors[row]))
        assert np.linalg.norm(found[row] - vectors[row]) == pytest.approx(min(costs), rel=1e-12)
        assert np.linalg.norm(plain[row] - vectors[row]) == pytest.approx(min(plain_costs), rel=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-13)
