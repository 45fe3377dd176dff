"""structure="exact": exactly k connected components, on any data and for every alpha."""

import numpy as np
import pytest
from conftest import find_data, load_sparse
from fuzzing import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from invariants import assert_on_simplex
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score

from kedge import SGL, simplex_qp
from kedge.core.block_step import RowBlock
from kedge.core.driver_step import graph_components
from kedge.core.exact_structure import connected_groups, group_anchors, pairs_of, solve_within_groups


def assert_exactly_k_components(model, n_clusters):
    """Count with SciPy on the whole graph, rows and anchors, every stored nonzero an edge."""
    graph = model.graph_
    n_rows, n_anchors = graph.shape
    whole = sparse.block_array([[None, graph], [graph.T, None]], format="csr")
    count, numbers = connected_components(whole, directed=False)
    assert count == n_clusters == model.n_components_
    assert adjusted_rand_score(numbers[:n_rows], model.labels_) == 1
    assert set(numbers[n_rows:]) == set(range(count)), "a component without anchors"
    assert set(numbers[:n_rows]) == set(range(count)), "a component without rows"
    assert adjusted_rand_score(numbers[n_rows:], model.anchor_labels_) == 1
    assert set(model.labels_) == set(range(n_clusters))
    assert len(model.anchors_) == len(model.anchor_labels_) == len(model.anchor_embedding_) == n_anchors
    assert_on_simplex(graph.toarray())


@given(
    st.integers(0, 2**31 - 1),
    st.sampled_from([1e-6, 1e-3, 0.1, 1.0, 10.0, 1e4, 1e9]),
    st.integers(1, 6),
    st.sampled_from([{}, {"signed": True}, {"n_init": 3}, {"locality": 1.0}, {"beta": 1.0}, {"scale": "zscore"}]),
)
@settings(max_examples=examples(60))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_fit_has_exactly_k_components(seed, alpha, n_clusters, options):
    X = np.random.default_rng(seed).normal(size=(60, 4))
    model = SGL(n_clusters, n_anchors=14, alpha=alpha, structure="exact", random_state=0, **options).fit(X)
    assert_exactly_k_components(model, n_clusters)


def test_labels_are_those_of_the_soft_graph():
    X = load_digits().data[:800]
    soft = SGL(10, random_state=0).fit(X)
    exact = SGL(10, structure="exact", random_state=0).fit(X)
    np.testing.assert_array_equal(soft.labels_, exact.labels_)
    assert_exactly_k_components(exact, 10)


def test_rows_solve_the_row_problem_of_their_own_cluster():
    X, _ = make_blobs(120, centers=3, n_features=12, cluster_std=3.0, random_state=0)
    options = {"n_init": 1, "locality": 0.0, "scale": "none", "penalty_scale": "absolute", "random_state": 0}
    model = SGL(3, n_anchors=12, structure="exact", alpha=5.0, **options).fit(X)
    for cluster in range(3):
        members = {a.tobytes() for a in model.graph_anchors_[model.anchor_labels_ == cluster]}
        own = np.array([a for a in model.embedding_anchors_ if a.tobytes() in members])
        ridge = 5.0 * model.ridge_factors_[cluster]
        rows = X[model.labels_ == cluster] - X.mean(axis=0)  # as anchors are
        found = simplex_qp(2 * (own @ own.T + ridge * np.eye(len(own))), -2 * rows @ own.T)
        kept = model.graph_[model.labels_ == cluster][:, model.anchor_labels_ == cluster].toarray()
        np.testing.assert_allclose(kept, found, atol=1e-10)


def test_a_cluster_in_pieces_is_connected_by_a_larger_ridge_of_its_own():
    # Three orthogonal rays; rows are longer than the anchors of their ray, so that no other anchor helps.
    ray = np.repeat([0, 1, 2], 30)
    side = np.linspace(-1, 1, 90)
    X = 110.0 * np.eye(6)[ray] + side[:, None] * np.eye(6)[ray + 3]
    anchors = np.vstack([100.0 * np.eye(6)[:3] + np.eye(6)[3:], 100.0 * np.eye(6)[:3] - np.eye(6)[3:]])
    labels, groups = np.minimum(ray, 1), np.array([0, 1, 1, 0, 1, 1])  # the second cluster is two rays

    def solve(problems):
        return solve_within_groups(problems, RowBlock(slice(0, 90), [X]), labels)

    exact = connected_groups(lambda problems: pairs_of(solve(problems)), [anchors], groups, ridge=1.0, weights=[1.0])
    count, rows, _ = graph_components(solve(exact.problems)[:, exact.used_anchors])
    assert count == 2
    np.testing.assert_array_equal(rows == rows[labels == 0][0], labels == 0)
    assert exact.ridge_factors[0] == 1
    assert exact.ridge_factors[1] > 1


def test_stored_zeros_join_no_anchors():
    graph = sparse.csr_array((np.array([1.0, 0.0, 0.5, 0.5]), [0, 1, 1, 2], [0, 2, 4]), shape=(2, 3))
    np.testing.assert_array_equal(pairs_of(graph).counts, [[1, 0, 0], [0, 1, 1], [0, 1, 1]])


def test_every_cluster_gets_an_anchor():
    support = np.array([[9.0, 1.0, 0.0], [8.0, 3.0, 1.0], [7.0, 0.0, 2.0], [6.0, 0.0, 0.0]])
    np.testing.assert_array_equal(group_anchors(support, support.argmax(axis=1)), [0, 1, 2, 0])
    with pytest.raises(ValueError, match="3 components need as many anchors, but there are 2"):
        group_anchors(support[:2], np.zeros(2, dtype=np.int64))


def test_fewer_distinct_rows_than_clusters_is_said():
    X = np.repeat(np.eye(3), 10, axis=0)
    for rows in (X, sparse.csr_array(X)):
        with (
            pytest.warns(UserWarning, match="only 3 of n_clusters=5 clusters hold a row"),
            pytest.raises(ValueError, match="at least n_clusters=5 distinct rows, but X has 3"),
        ):
            SGL(5, structure="exact", random_state=0).fit(rows)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_as_many_distinct_rows_as_clusters_is_enough():
    X = np.repeat(np.eye(5), 10, axis=0)
    model = SGL(5, structure="exact", random_state=0).fit(X)
    assert_exactly_k_components(model, 5)


@pytest.mark.needs("data")
def test_sparse_documents(subtests):
    for name in ("TR11", "TR45"):
        with subtests.test(name=name):
            X, y = load_sparse(find_data(f"{name}.npz"))
            k = len(np.unique(y))
            assert_exactly_k_components(SGL(k, n_anchors=5 * k, structure="exact", random_state=0).fit(X), k)
