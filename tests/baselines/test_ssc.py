"""SSC by ADMM solves its problem and separates subspaces."""

import numpy as np
import pytest
from conftest import find_published
from invariants import l1_objective
from scipy import sparse

from kedge.baselines import SSC
from kedge.baselines.affinity import symmetric_graph
from kedge.baselines.self_expression import keep_largest_entries, least_coherence, prepare_products
from kedge.datasets import make_union_of_subspaces
from kedge.metrics import clustering_accuracy


def unit_rows(n_rows, n_features, seed=0):
    X = np.random.default_rng(seed).normal(size=(n_rows, n_features))
    return X / np.linalg.norm(X, axis=1)[:, None]


@pytest.mark.parametrize("shape", [(60, 8), (40, 50)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_coefficients_are_optimal(shape, kind):
    X = unit_rows(*shape)
    model = SSC(2, fidelity=8, step=4, tol=1e-9, max_iter=50_000, random_state=0).fit(kind(X))
    found = model.coefficients_.toarray()
    slopes = 8 / least_coherence(prepare_products(X)) * (X - found @ X) @ X.T
    errors = np.where(found != 0, np.abs(slopes - np.sign(found)), np.maximum(np.abs(slopes) - 1, 0))
    np.fill_diagonal(errors, 0)
    assert errors.max() < 1e-5
    assert not found.diagonal().any()


@pytest.mark.needs("published")
@pytest.mark.filterwarnings("ignore:the graph between rows")
def test_default_tolerance_is_near_the_optimum_where_the_authors_program_stops_far_from_it(subtests):
    for case, name in (("lin_l20", "Xlin"), ("lin_l2", "Xlin"), ("linaff_l5", "Xlin")):
        with subtests.test(case=case, name=name):
            with np.load(find_published("essc_synthetic.npz"), allow_pickle=False) as release:
                X, affine = release[name].T, bool(release[f"{case}_affine"])
                fidelity, best = float(release[f"{case}_lambda"]), float(release[f"{case}_objective"])
                theirs = l1_objective(X, release[f"{case}_C_admm_default_stop"].T, fidelity)
            units = fidelity * least_coherence(prepare_products(X))
            model = SSC(2, fidelity=units, affine=affine, scale="none", max_iter=10_000, random_state=0).fit(X)
            sums = np.asarray(model.coefficients_.sum(axis=1))
            if affine:
                np.testing.assert_allclose(sums, 1, atol=2e-2)
            ours = l1_objective(X, model.coefficients_, fidelity)
            assert abs(ours / best - 1) < 2e-3
            assert theirs / best > 1.05


@pytest.mark.filterwarnings("ignore:the graph between rows")
def test_fidelity_of_one_leaves_a_row_without_coefficients():
    X = unit_rows(50, 6)
    counts = [
        np.diff(SSC(2, fidelity=value, tol=1e-6, random_state=0).fit(X).coefficients_.indptr) for value in (0.99, 1.2)
    ]
    assert (counts[0] == 0).any()
    assert counts[1].all()


def test_independent_subspaces_hardly_mix_at_high_fidelity_and_are_separated():
    X, y = make_union_of_subspaces(120, n_subspaces=3, dim=3, ambient_dim=12, random_state=0)
    model = SSC(3, fidelity=800, step=50, max_iter=20_000, random_state=0).fit(X)
    assert np.abs(model.coefficients_.toarray()[y[:, None] != y]).max() < 1e-3
    assert clustering_accuracy(y, model.labels_) == 1


def test_affine_subspaces_off_the_origin_are_separated():
    rng = np.random.default_rng(0)
    lines = [rng.normal(size=(40, 1)) @ rng.normal(size=(1, 6)) + 4 * rng.normal(size=(1, 6)) for _ in range(3)]
    y = np.repeat(np.arange(3), 40)
    model = SSC(3, affine=True, fidelity=50, scale="none", random_state=0, max_iter=20_000).fit(np.concatenate(lines))
    assert clustering_accuracy(y, model.labels_) == 1


def test_share_keeps_the_fewest_largest_entries_that_reach_it():
    rows = np.array([[0.0, 4.0, -3.0, 2.0, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0], [-1.0, 1.0, 0.0, 0.0, 0.0]])
    kept = keep_largest_entries(sparse.csr_array(rows), share=0.7).toarray()
    np.testing.assert_array_equal(kept, [[0, 4, -3, 0, 0], [0, 0, 0, 0, 0], [-1, 1, 0, 0, 0]])
    np.testing.assert_array_equal(keep_largest_entries(sparse.csr_array(rows), share=1.0).toarray(), rows)


def test_kept_share_thins_the_graph_and_not_the_coefficients():
    X, _ = make_union_of_subspaces(90, n_subspaces=3, dim=3, ambient_dim=9, noise=0.05, random_state=0)
    full, thin = (SSC(3, kept_share=share, random_state=0).fit(X) for share in (1.0, 0.7))
    np.testing.assert_array_equal(full.coefficients_.toarray(), thin.coefficients_.toarray())
    assert not np.allclose(full.embedding_ @ full.embedding_.T, thin.embedding_ @ thin.embedding_.T)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_graph_is_symmetric_with_rows_of_unit_size(kind):
    coefficients = np.array([[0.0, -2.0, 1.0], [3.0, 0.0, 4.0], [0.0, 0.0, 0.0]])
    by_largest, by_length = (symmetric_graph(kind(coefficients), norm) for norm in ("max", "l2"))
    dense = [graph.toarray() if sparse.issparse(graph) else graph for graph in (by_largest, by_length)]
    np.testing.assert_allclose(dense[0], [[0, 1.75, 0.5], [1.75, 0, 1], [0.5, 1, 0]])
    root = np.sqrt(5)
    np.testing.assert_allclose(dense[1], [[0, 2 / root + 0.6, 1 / root], [2 / root + 0.6, 0, 0.8], [1 / root, 0.8, 0]])


def test_too_few_steps_are_said_aloud():
    with pytest.warns(UserWarning, match="rows were not solved to the tolerance; raise max_iter or tol"):
        SSC(2, max_iter=3, random_state=0).fit(unit_rows(60, 5))
