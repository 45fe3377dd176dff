"""SSC-OMP: every row rebuilt from a few others by orthogonal matching pursuit, then spectral clustering."""

from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from scipy import sparse
from sklearn.preprocessing import normalize

from kedge.baselines.clusterer import SingleViewBaseline
from kedge.baselines.coefficients.matching_pursuit import (
    fill_gram,
    prepare_atoms,
    pursue_block,
    rows_per_block,
    wants_gram,
)
from kedge.baselines.coefficients.self_expression_graph import symmetric_graph
from kedge.baselines.graphs.spectral_clustering import cluster_affinity
from kedge.baselines.self_expression import map_row_blocks
from kedge.core.labels import number_by_first_rows
from kedge.core.rows import View
from kedge.kernels.selection import default_threads
from kedge.parameters import BASELINE_RULES, COUNT, NOT_NEGATIVE, one_of

# Rows of the Gram matrix that one thread forms at a time.
_GRAM_ROWS = 512
# Picks of a row in the authors' program.
_USUAL_PICKS = 10


class SSCOMP(SingleViewBaseline):
    """SSC-OMP: rows rebuilt from a few others by orthogonal matching pursuit, then spectral clustering.

    Row by row the most correlated other row is picked, the row is fitted to all picks by least squares, and so on with
    what is left. Rows of one subspace find each other, because a subspace is rebuilt from as many rows as it has
    dimensions. O(s d n^2) time for s picks of d features, done in blocks on all processors; O(s n) memory beside blocks
    of a fixed size, so that time is the limit: 20,000 rows of 9 features take about two seconds, 20,000 of 784 some
    ten. Rows of more than 64 features, or sparse ones, take n^2 numbers of single precision more while these fit in
    2 GiB, which saves most of the time.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_nonzero : int or "auto", default="auto"
        Largest number of rows that rebuild a row; the dimension of the subspaces where it is known. "auto" is 10, as in
        the authors' program, but fewer than features: as many rebuild any row, so that the picks would tell nothing.
    threshold : float, default=1e-6
        A row is done when its squared residual is below this multiple of its length, as in the authors' program; for
        unit rows, the share of the squared length that may be left.
    scale : {"l2", "none", "zscore", "minmax", "zscore_l2", "auto"}, default="l2"
        How X is scaled before; the method is meant for unit rows.
    memory_limit : float or None, default=None
        Bytes that the fit may use; None means the memory of the machine.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, numbered by their first rows.
    coefficients_ : CSR array of shape (n_samples, n_samples)
        Row i holds the coefficients that rebuild row i; the diagonal is empty.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Leading eigenvectors of the normalised graph.

    Notes
    -----
    Rows that are picked already are not picked again, and a row that correlates with no other, such as a zero row, has
    no coefficients. Of equal rows each picks its twin and is done, so that twins can become components of their own.
    Where the graph has more components than clusters, the published method leaves to chance which belong together; here
    components are joined by how alike their rows are.

    References
    ----------
    You, Robinson and Vidal, "Scalable sparse subspace clustering by orthogonal matching pursuit", CVPR 2016.

    Examples
    --------
    >>> from kedge.baselines import SSCOMP
    >>> from kedge.datasets import make_union_of_subspaces
    >>> X, y = make_union_of_subspaces(100, n_subspaces=2, dim=4, ambient_dim=12, random_state=0)
    >>> sorted(set(SSCOMP(2, random_state=0).fit_predict(X).tolist()))
    [0, 1]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = BASELINE_RULES | {
        "n_nonzero": [COUNT, one_of("auto")],
        "threshold": [NOT_NEGATIVE],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_nonzero: int | str = "auto",
        threshold: float = 1e-6,
        scale: str = "l2",
        memory_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, scale, memory_limit, random_state)
        self.n_nonzero = n_nonzero
        self.threshold = threshold

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # The picks and the graph or the Lanczos vectors, X scaled and in single precision, one block of rows per
        # thread, and for wide rows the Gram matrix in single precision.
        n_nonzero = min(self._most_picks(n_features), n_samples - 1, n_features)
        per_row = 50 * n_nonzero + 8 * max(4 * self.n_clusters, 40) + 12 * n_features
        gram = 4 * n_samples**2 if wants_gram(n_samples, n_features, False) else 0
        block_rows = rows_per_block(n_features, max(n_nonzero, 1))
        block = 16 * block_rows * n_nonzero * n_features + block_rows * n_samples // 2 + (1 << 21)
        return n_samples * per_row + gram + default_threads() * block

    def _most_picks(self, n_features: int) -> int:
        return max(1, min(_USUAL_PICKS, n_features - 1)) if isinstance(self.n_nonzero, str) else self.n_nonzero

    def _cluster(self, X: View, random_state: RandomState) -> dict[str, Any]:
        coefficients = pursue_rows(X, self._most_picks(X.shape[1]), self.threshold)
        affinity = symmetric_graph(coefficients, "l2")
        labels, embedding = cluster_affinity(affinity, self.n_clusters, random_state, rows=normalize(X))
        return {"labels_": number_by_first_rows(labels), "coefficients_": coefficients, "embedding_": embedding}


def pursue_rows(X: View, n_nonzero: int, threshold: float, *, n_threads: int | None = None) -> sparse.csr_array:
    """Return the CSR array C with X ~ C X, an empty diagonal and at most ``n_nonzero`` entries per row.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n, d)
        The rows, float64.
    n_nonzero : int
        Largest number of entries per row. More than d or the other rows have no use.
    threshold : float
        A row is done when its squared residual is below this multiple of its length.
    n_threads : int or None, default=None
        Threads; None means one per processor. The result does not depend on them.
    """
    n_rows, n_features = X.shape
    n_nonzero = min(n_nonzero, n_rows - 1, n_features)
    atoms = prepare_atoms(X, wants_gram(n_rows, n_features, sparse.issparse(X)))
    if atoms.gram is not None:
        map_row_blocks(partial(fill_gram, atoms), n_rows, _GRAM_ROWS, n_threads=n_threads)
    work = partial(pursue_block, atoms, n_nonzero=n_nonzero, threshold=threshold)
    found = map_row_blocks(work, n_rows, rows_per_block(n_features, n_nonzero), n_threads=n_threads)
    supports = np.concatenate([block[0] for block in found])
    weights = np.concatenate([block[1] for block in found])
    is_used = weights != 0
    pointers = np.concatenate([[0], np.cumsum(is_used.sum(axis=1))])
    # Indices of 32 bits, if they suffice: other libraries take no others.
    kind = np.int32 if pointers[-1] < 2**31 else np.int64
    parts = weights[is_used], supports[is_used].astype(kind), pointers.astype(kind)
    coefficients = sparse.csr_array(parts, shape=(n_rows, n_rows))
    coefficients.sort_indices()
    return coefficients
