"""What a graph has to be: square, symmetric, finite, not negative."""

from typing import Any

import numpy as np
from scipy import sparse

# Difference between the two directions of an edge, as a share of the largest weight, that is taken for rounding.
_SYMMETRY_TOLERANCE = 1e-8


def checked_graph(graph: Any) -> sparse.csr_array:
    """Return the graph in CSR form and float64, or say what is wrong with it."""
    if not sparse.issparse(graph):
        graph = np.asarray(graph)
    shape, kind = graph.shape, graph.dtype.kind
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"graph must be square, got shape {shape}; give one row and one column per node")
    if shape[0] == 0:
        raise ValueError("graph has no nodes; give at least one")
    if kind not in "fiub":
        raise TypeError(f"graph must hold real numbers, got dtype {graph.dtype}; convert it to float")
    weights = sparse.csr_array(graph, dtype=np.float64)
    if not weights.has_canonical_format:
        weights = weights.copy()
        weights.sum_duplicates()
    with np.errstate(over="ignore"):
        total = weights.data.sum()
    if not np.isfinite(total):
        raise ValueError("graph must be finite, and so must the sum of its weights; remove NaN and infinite weights")
    if (weights.data < 0).any():
        raise ValueError(f"graph must not be negative, got a weight of {weights.data.min():g}; use similarities from 0")
    difference = abs(weights - weights.T)
    most = float(difference.data.max(initial=0.0))
    if most > _SYMMETRY_TOLERANCE * float(weights.data.max(initial=0.0)):
        raise ValueError(
            f"graph must be symmetric, got weights that differ by up to {most:g} between the two directions of an "
            "edge; use (graph + graph.T) / 2"
        )
    return weights
