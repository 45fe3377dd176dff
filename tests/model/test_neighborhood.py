"""What near rows say of a clustering."""

import numpy as np
from scipy import sparse

from kedge.model.neighborhood import modularity, near_share

# A triangle and a pair, joined by an edge of half the weight; and a row alone.
EDGES = {(0, 1): 1.0, (0, 2): 1.0, (1, 2): 1.0, (3, 4): 1.0, (2, 3): 0.5}
HALF = sparse.coo_array((list(EDGES.values()), np.array(list(EDGES)).T), shape=(6, 6))
GRAPH = sparse.csr_array(HALF + HALF.T)


def test_near_share_is_the_edge_weight_to_the_own_cluster():
    labels = np.array([0, 0, 0, 1, 1, 1])
    np.testing.assert_allclose(near_share(GRAPH, labels), [1, 1, 2 / 2.5, 1 / 1.5, 1, 0])
    np.testing.assert_allclose(near_share(GRAPH, np.array([0, 0, 1, 1, 1, 0])), [0.5, 0.5, 0.5 / 2.5, 1, 1, 0])


def test_modularity_is_the_share_inside_less_that_of_chance():
    labels = np.array([0, 0, 0, 1, 1, 1])
    inside = (3 + 1) / 4.5
    assert np.isclose(modularity(GRAPH, labels), inside - (6.5 / 9) ** 2 - (2.5 / 9) ** 2)
    assert np.isclose(modularity(GRAPH, np.zeros(6, dtype=int)), 0.0)
