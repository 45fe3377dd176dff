"""A block's sums are those of its coefficients, for one set of anchors and for several."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from kedge.core.block_step import PassState, RowBlock, column_layout, solve_block
from kedge.core.driver_step import GivenPenalty, fold_columns
from kedge.core.labels import label_anchors
from kedge.core.rows import build_row_problem

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 6))
SETS = [X[:7], X[10:15], X[20:32]]


def state_of(sets, signed, ridge):
    options = {"weights": [1.0], "ridge": ridge, "signed": signed}
    return PassState(tuple(build_row_problem([one], **options) for one in sets), want_change=True)


@pytest.mark.parametrize("sets", [SETS[:1], SETS], ids=["one set", "three sets"])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("ridge", [0.1, 1000.0], ids=["sparse", "dense"])
def test_sums_are_those_of_the_coefficients(sets, signed, ridge):
    state = state_of(sets, signed, ridge)
    first, before = solve_block(state, RowBlock(slice(0, 80), [X]))
    penalty = GivenPenalty(3.0, rng.uniform(size=(80, state.n_columns)))
    coefficients, summary = solve_block(replace(state, penalty=penalty), RowBlock(slice(0, 80), [X], first))
    Z = coefficients.toarray()
    np.testing.assert_allclose(Z.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(summary.gram, Z.T @ Z, atol=1e-10)
    np.testing.assert_allclose(summary.column_sums, Z.sum(axis=0), atol=1e-10)
    change = Z - first.toarray()
    np.testing.assert_allclose(summary.change_gram, change.T @ change, atol=1e-10)
    uniform = first.toarray() - 1 / state.n_columns
    np.testing.assert_allclose(before.change_gram, uniform.T @ uniform, atol=1e-10)
    for one, columns, value in zip(sets, state.column_ranges(), summary.view_values[:, 0], strict=True):
        anchors = np.vstack([one, -one]) if signed else one
        own = len(sets) * Z[:, columns]
        direct = np.square(X - own @ anchors).sum() - np.square(X).sum()
        np.testing.assert_allclose(value, direct, rtol=1e-9, atol=1e-9)


def test_mirrored_columns_fold_to_the_graph_on_anchors():
    layout = column_layout([3, 2], signed=True)
    Z = rng.dirichlet(np.ones(10), size=20)
    folded = np.column_stack(
        [Z[:, 0] + Z[:, 3], Z[:, 1] + Z[:, 4], Z[:, 2] + Z[:, 5], Z[:, 6] + Z[:, 8], Z[:, 7] + Z[:, 9]]
    )
    gram, sums = fold_columns(Z.T @ Z, Z.sum(axis=0), layout)
    np.testing.assert_allclose(gram, folded.T @ folded)
    np.testing.assert_allclose(sums, folded.sum(axis=0))


def test_an_anchor_without_rows_takes_the_label_of_the_nearest_anchor_or_line():
    support = np.array([[5.0, 1.0], [0.0, 4.0], [0.0, 0.0]])
    anchors = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.1]])
    np.testing.assert_array_equal(label_anchors(support, anchors), [0, 1, 1])
    np.testing.assert_array_equal(label_anchors(support, anchors, signed=True), [0, 1, 0])


def test_sparse_rows_give_the_sums_of_dense_ones():
    state = state_of(SETS, False, 0.1)
    _, dense = solve_block(state, RowBlock(slice(0, 80), [X]))
    _, from_sparse = solve_block(state, RowBlock(slice(0, 80), [sparse.csr_array(X)]))
    np.testing.assert_allclose(from_sparse.gram, dense.gram, atol=1e-10)
    np.testing.assert_allclose(from_sparse.squared_norms, dense.squared_norms, rtol=1e-12)
