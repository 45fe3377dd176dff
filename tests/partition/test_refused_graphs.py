"""What is refused, and that the message names the parameter, what came, and what to do."""

import numpy as np
import pytest
from scipy import sparse

import kedge

SQUARE = np.ones((3, 3))
BAD_GRAPHS = [
    (np.ones((3, 2)), ValueError, r"graph must be square, got shape \(3, 2\); give one row"),
    (np.ones(3), ValueError, r"graph must be square, got shape \(3,\)"),
    (np.empty((0, 0)), ValueError, "graph has no nodes; give at least one"),
    (np.triu(SQUARE), ValueError, r"graph must be symmetric, .* up to 1 .* use \(graph \+ graph.T\) / 2"),
    (-SQUARE, ValueError, "graph must not be negative, got a weight of -1; use similarities"),
    (SQUARE * np.nan, ValueError, "graph must be finite.*remove NaN"),
    (SQUARE * 1e308, ValueError, "graph must be finite, and so must the sum"),
    (SQUARE * 1j, TypeError, "graph must hold real numbers, got dtype complex128; convert"),
    (SQUARE.astype(str), TypeError, "graph must hold real numbers, got dtype <U"),
]


@pytest.mark.parametrize(("graph", "error", "message"), BAD_GRAPHS)
def test_bad_graphs_are_refused(graph, error, message):
    with pytest.raises(error, match=message):
        kedge.communities(graph)


def test_sparse_graphs_are_checked_too():
    with pytest.raises(ValueError, match="graph must be symmetric"):
        kedge.communities(sparse.csr_array(np.triu(SQUARE)))


def test_differences_of_rounding_are_symmetric():
    graph = SQUARE.copy()
    graph[0, 1] += 1e-12
    assert kedge.communities(graph, 1).max() == 0


@pytest.mark.parametrize("n_clusters", [4, 100])
def test_more_clusters_than_nodes_are_refused(n_clusters):
    with pytest.raises(ValueError, match=f"n_clusters={n_clusters} is more than the 3 nodes of graph; ask for fewer"):
        kedge.communities(SQUARE, n_clusters)


@pytest.mark.parametrize("parameters", [{"n_clusters": 0}, {"resolution": 0.0}, {"resolution": -1}])
def test_numbers_out_of_range_are_refused_by_name(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        kedge.communities(SQUARE, **parameters)


@pytest.mark.parametrize("resolution", [np.inf, np.nan])
def test_resolution_must_be_finite(resolution):
    with pytest.raises(ValueError, match="resolution must be finite"):
        kedge.communities(SQUARE, resolution=resolution)


@pytest.mark.parametrize("parameters", [{"n_clusters": 2.5}, {"resolution": "high"}])
def test_wrong_kinds_are_refused_by_name(parameters):
    with pytest.raises(TypeError, match=next(iter(parameters))):
        kedge.communities(SQUARE, **parameters)
