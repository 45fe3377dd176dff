"""Which components of a graph belong together, told by the rows that they hold."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.utils import gen_batches

from kedge.core.labels import unit_rows

Array = NDArray[np.float64]

# Rows that are compared with each other; of more a part is taken evenly.
MOST_ROWS = 4_000
_BLOCK_ROWS = 500
# Cosines to this power: rows of one subspace stand out from rows of others.
_POWER = 4


def join_components(rows: Any, components: NDArray[np.int64], n_vectors: int) -> Array:
    """Embed rows so that components whose rows are alike lie close together, and all rows of one at the same point.

    A graph in more pieces than there are clusters does not say which of them belong together: every union of pieces is
    an equally good cut. Among these the one is sought that also cuts least of a second graph, with edges cos(x, y)^4
    between all rows: the leading eigenvectors of that graph, with the rows of each component merged into one node.

    Parameters
    ----------
    rows : ndarray or CSR array of shape (n_rows, n_features)
        Rows at unit length.
    components : array of shape (n_rows,)
        Component of every row; -1 for a lone row, which is embedded at zero.
    n_vectors : int
        Number of vectors, less than there are components.

    Returns
    -------
    vectors : array of shape (n_rows, n_vectors)
        Unit rows, but zero for lone rows.

    Notes
    -----
    O(m^2 d) for m rows, at most 4,000 of which are compared, and O(c^3) for c components.
    """
    owned = np.flatnonzero(components >= 0)
    # Evenly over the components, so that each has a row.
    ordered = owned[np.argsort(components[owned], kind="stable")]
    first = np.unique(components[ordered], return_index=True)[1]
    spread = np.linspace(0, len(ordered) - 1, min(len(ordered), MOST_ROWS)).astype(np.intp)
    chosen = ordered[np.union1d(first, spread)]
    count = int(components.max()) + 1
    member = sparse.csr_array(
        (np.ones(len(chosen)), (np.arange(len(chosen)), components[chosen])), (len(chosen), count)
    )
    sample, merged = rows[chosen], np.zeros((count, count))
    for block in gen_batches(len(chosen), _BLOCK_ROWS):
        cosines = sample[block] @ sample.T
        dense = cosines.toarray() if sparse.issparse(cosines) else cosines
        merged += member[block].T @ ((dense**_POWER) @ member)
    degrees = merged.sum(axis=1)
    scale = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    _, vectors = linalg.eigh(scale[:, None] * merged * scale, subset_by_index=[count - n_vectors, count - 1])
    points = unit_rows(vectors[:, ::-1])
    found = np.zeros((len(components), n_vectors))
    found[owned] = points[components[owned]]
    return found
