"""Connected components of the graph between rows and anchors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

Array = NDArray[np.float64]


def anchor_components(gram: Any, column_sums: Array) -> tuple[int, NDArray[np.int64]]:
    """Count the components that hold a data row, from ``Z'Z`` alone, and number them for every anchor.

    Two anchors are joined by a row that has weight on both, which is where the Gram matrix is not zero; every row has
    weight somewhere, so the components of the used anchors are those of the whole graph. Costs O(n_anchors^2) whatever
    the number of rows. Anchors without weight hold no row and get -1.
    """
    used = np.flatnonzero(column_sums > 0)
    labels = np.full(len(column_sums), -1, dtype=np.int64)
    own = gram[used][:, used] if sparse.issparse(gram) else gram[np.ix_(used, used)]
    count, numbers = connected_components(sparse.csr_array(own > 0), directed=False)
    labels[used] = numbers
    return int(count), labels


def graph_components(graph: sparse.csr_array) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of components of the bipartite graph, and their numbers for rows and for anchors.

    Every stored entry that is not zero is an edge; an anchor without edges is a component of its own. Components are
    numbered in the order of the first row that they hold.
    """
    n_rows = graph.shape[0]
    edges = sparse.csr_array(graph != 0)
    count, labels = connected_components(sparse.block_array([[None, edges], [edges.T, None]]), directed=False)
    _, first = np.unique(labels, return_index=True)
    order = np.empty(count, dtype=np.int64)
    order[np.argsort(first)] = np.arange(count)
    return int(count), order[labels[:n_rows]], order[labels[n_rows:]]
