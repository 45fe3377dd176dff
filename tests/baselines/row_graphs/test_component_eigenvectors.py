"""Leading eigenvectors are those of the whole matrix, also where eigenvalues of components coincide."""

import numpy as np
import pytest
from scipy import sparse

from kedge.baselines.amgl import find_components, leading_eigenvectors


def ring(n_rows, reach, random_state):
    """Rows on a ring joined to their neighbours with random weights: symmetric, nonnegative, one component."""
    weights = np.random.default_rng(random_state).uniform(0.5, 1, size=(reach, n_rows))
    graph = sparse.csr_array((n_rows, n_rows))
    for step in range(1, reach + 1):
        columns = (np.arange(n_rows) + step) % n_rows
        graph = graph + sparse.csr_array((weights[step - 1], (np.arange(n_rows), columns)), shape=graph.shape)
    return sparse.csr_array(graph + graph.T)


def shuffled(blocks, random_state):
    joined = sparse.csr_array(sparse.block_diag(blocks))
    order = np.random.default_rng(random_state).permutation(joined.shape[0])
    return sparse.csr_array(joined[order][:, order])


def check(matrix, count):
    values, vectors = leading_eigenvectors(matrix, find_components(matrix), count)
    expected = np.linalg.eigvalsh(matrix.toarray())[::-1][:count]
    np.testing.assert_allclose(values, expected, atol=1e-9)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(count), atol=1e-9)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-8)
    return vectors


@pytest.mark.parametrize("sizes", [(40,), (30, 20, 7, 2, 1, 1), (640,), (610, 520, 30)])
def test_they_are_those_of_a_dense_solver(sizes):
    matrix = shuffled(
        [ring(size, 3, number) if size > 6 else np.ones((size, size)) for number, size in enumerate(sizes)], 0
    )
    check(matrix, 5)


def test_equal_components_that_a_lanczos_method_confuses_are_all_found():
    block = ring(520, 2, 0)
    matrix = shuffled([block, block, block], 1)
    vectors = check(matrix, 4)
    components = find_components(matrix)
    # Three times the same largest eigenvalue, each on a component of its own.
    parts = [vectors[rows, :3] for rows in components]
    np.testing.assert_allclose(np.sort([np.linalg.norm(part, axis=0) for part in parts], axis=0)[:2], 0, atol=1e-12)


def test_of_equal_eigenvalues_those_of_larger_components_come_first():
    blocks = [np.ones((size, size)) / size for size in (3, 9, 5, 7)]
    vectors = check(shuffled(blocks, 2), 3)
    assert [np.count_nonzero(np.abs(vectors[:, column]) > 1e-12) for column in range(3)] == [9, 7, 5]


def test_components_are_sorted_by_size_and_hold_every_row_once():
    components = find_components(shuffled([np.ones((2, 2)), ring(9, 2, 0), np.ones((1, 1))], 4))
    assert [len(rows) for rows in components] == [9, 2, 1]
    np.testing.assert_array_equal(np.sort(np.concatenate(components)), np.arange(12))
