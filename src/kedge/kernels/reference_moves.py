"""Rows that move between clusters, in plain NumPy: the moves that the compiled kernel must make."""

import numpy as np
from numpy.typing import NDArray

from kedge.kernels.contract import RowMoves


def move_rows(moves: RowMoves, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Move rows one after the other to the cluster that raises modularity most, until hardly any moves.

    A row of degree d gains, in a cluster, its edges into it less d times the cluster's share of all degrees.
    """
    graph, labels = moves.graph, labels.copy()
    totals = np.bincount(labels, moves.degrees, minlength=moves.n_clusters)
    sizes = np.bincount(labels, minlength=moves.n_clusters)
    for _ in range(moves.most_sweeps):
        n_moved = 0
        for row in range(len(labels)):
            own, ends = labels[row], slice(graph.indptr[row], graph.indptr[row + 1])
            if sizes[own] == 1:
                continue
            totals[own] -= moves.degrees[row]
            inside = np.bincount(labels[graph.indices[ends]], graph.data[ends], minlength=moves.n_clusters)
            gains = inside - moves.expected[row] * totals
            best = int(gains.argmax())
            if gains[best] > gains[own] + moves.least_gain:
                sizes[own], sizes[best], labels[row] = sizes[own] - 1, sizes[best] + 1, best
                n_moved += 1
            totals[labels[row]] += moves.degrees[row]
        if n_moved <= moves.settled_rows:
            break
    return labels
