"""SSC-OMP: every row rebuilt from a few others by orthogonal matching pursuit, then spectral clustering."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from kedge.baselines.affinity import cluster_affinity, symmetric_graph
from kedge.baselines.base import Array, Indices, RowGraphBaseline, as_dense, baseline, parameter
from kedge.baselines.graphs import rows_as_graph
from kedge.baselines.self_expression import map_row_blocks
from kedge.core.rows import View
from kedge.kernels.selection import default_threads
from kedge.parameters import COUNT, NOT_NEGATIVE, one_of

# Rows of the Gram matrix that one thread forms at a time.
_GRAM_ROWS = 512
# Picks of a row in the authors' program.
_USUAL_PICKS = 10
# Half the gap from 1 to the next number: the largest relative error of one rounding.
_ROUNDING = 2.0**-53
# Bytes of correlations worked on at a time: few enough for the cache, enough for fast products.
_TILE_BYTES = 1 << 24
# Bytes of the orthonormal bases of a block of rows, and its most rows.
_BASES_BYTES, _MOST_BLOCK_ROWS = 1 << 25, 512
# Up to this many features a row counts as narrow.
_NARROW = 64
_MOST_GRAM_BYTES = 1 << 32
# A residual this small relative to its row is rounding, and so is a correlation relative to both vectors.
_NOTHING_LEFT = 1e-14


@baseline(
    "sparse subspace clustering by orthogonal matching pursuit",
    cost="n^2 d s",
    grid={"n_nonzero": [3, 5, 10], "threshold": [1e-6, 1e-3]},
    grid_source="around the values of the authors' programs (5 and 10; 1e-5 and 1e-6)",
)
class SSCOMP(RowGraphBaseline):
    """SSC-OMP: rows rebuilt from a few others by orthogonal matching pursuit, then spectral clustering.

    For each row the most correlated other row is picked, the row is fitted to all picks by least squares, and so on
    with what is left. Rows of one subspace rebuild each other with few picks. O(s d n^2) time for s picks of d
    features: 20,000 rows of 9 features take seconds. O(s n) memory, and n^2 numbers more for rows of more than 64
    features, or sparse ones, while these fit in 4 GiB, which saves most of the time.

    A row is never picked twice, and a row that correlates with no other, such as a zero row, has no coefficients. Equal
    rows pick each other and are done, so they can become components of their own. If the graph has more components than
    clusters, the published method leaves to chance which belong together; here components with similar rows are joined.

    Parameters
    ----------
    n_nonzero : int or "auto", default="auto"
        Largest number of rows that rebuild a row; the dimension of the subspaces if it is known. "auto" is 10, as in
        the authors' program, but fewer than features: as many rows rebuild any row, so the picks would tell nothing.
    threshold : float, default=1e-6
        A row is done when its squared residual is below this multiple of its length, as in the authors' program; for
        unit rows, the share of the squared length that may be left.

    Attributes
    ----------
    coefficients_ : CSR array of shape (n_samples, n_samples)
        Row i holds the coefficients that rebuild row i; the diagonal is empty.

    References
    ----------
    You, Robinson and Vidal, "Scalable sparse subspace clustering by orthogonal matching pursuit", CVPR 2016.
    """

    n_nonzero: int | str = parameter(COUNT, one_of("auto"), default="auto")
    threshold: float = parameter(NOT_NEGATIVE, default=1e-6)

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # The picks and the graph or the Lanczos vectors, X scaled, one block of rows per thread, and for wide rows the
        # Gram matrix.
        n_nonzero = min(self._most_picks(n_features), n_samples - 1, n_features)
        per_row = 50 * n_nonzero + 8 * max(4 * self.n_clusters, 40) + 8 * n_features
        gram = 8 * n_samples**2 if wants_gram(n_samples, n_features, False) else 0
        block_rows = _rows_per_block(n_features, max(n_nonzero, 1))
        block = 16 * block_rows * n_nonzero * n_features + 3 * min(8 * block_rows * n_samples, _TILE_BYTES)
        return n_samples * per_row + gram + default_threads() * block

    def _most_picks(self, n_features: int) -> int:
        return max(1, min(_USUAL_PICKS, n_features - 1)) if isinstance(self.n_nonzero, str) else self.n_nonzero

    def _cluster(self, X: View, random_state: np.random.RandomState) -> dict[str, Any]:
        coefficients = pursue_rows(X, self._most_picks(X.shape[1]), self.threshold)
        affinity = symmetric_graph(coefficients, "l2")
        found = cluster_affinity(affinity, self.n_clusters, random_state, rows=normalize(X))
        return found | {"coefficients_": coefficients}


def pursue_rows(X: View, n_nonzero: int, threshold: float, *, n_threads: int | None = None) -> sparse.csr_array:
    """Return the CSR array C with X ~ C X, an empty diagonal and at most ``n_nonzero`` entries per row."""
    n_rows, n_features = X.shape
    n_nonzero = min(n_nonzero, n_rows - 1, n_features)
    gram = None
    if wants_gram(n_rows, n_features, sparse.issparse(X)):
        gram = products = np.empty((n_rows, n_rows))

        def fill(rows: slice) -> None:
            products[rows] = as_dense(X[rows] @ X.T)

        map_row_blocks(fill, n_rows, _GRAM_ROWS, n_threads=n_threads)
    atoms = _Atoms(X, row_norms(X), gram)
    work = partial(_pursue_block, atoms, n_nonzero=n_nonzero, threshold=threshold)
    found = map_row_blocks(work, n_rows, _rows_per_block(n_features, n_nonzero), n_threads=n_threads)
    coefficients = sparse.vstack([rows_as_graph(*block, n_rows) for block in found], format="csr")
    return sparse.csr_array(coefficients)


def wants_gram(n_rows: int, n_features: int, is_sparse: bool) -> bool:
    """Say whether a Gram matrix is worth its memory, at most 4 GiB."""
    return (is_sparse or n_features > _NARROW) and 8 * n_rows**2 <= _MOST_GRAM_BYTES


def _rows_per_block(n_features: int, n_nonzero: int) -> int:
    return int(np.clip(_BASES_BYTES // (8 * n_features * n_nonzero), 16, _MOST_BLOCK_ROWS))


class _Atoms(NamedTuple):
    """The rows that others are rebuilt from, their lengths, and their inner products unless computed when needed."""

    X: View
    norms: Array
    gram: Array | None


class _Pursuit:
    """A block of rows and what was picked for them so far.

    With the picked rows A = R' Q for orthonormal rows of Q, least squares is R c = Q x. The basis Q keeps R
    well-behaved, while normal equations would square its condition.
    """

    def __init__(self, X: View, rows: slice, n_nonzero: int) -> None:
        self.rows = np.arange(rows.start, rows.stop)
        self.open = np.arange(len(self.rows))  # Places of the rows that are still worked on.
        self.residuals = as_dense(X[self.rows])
        shape = (len(self.rows), n_nonzero)
        self.bases = np.zeros((*shape, X.shape[1]))  # Q of each row; zero where not yet used.
        self.triangles = np.tile(np.eye(n_nonzero), (shape[0], 1, 1))  # R of each row; the identity where not yet used.
        self.projections = np.zeros(shape)  # Q x of each row.
        # Picked rows, in 32 bits because some libraries take no other indices.
        self.supports = np.zeros(shape, dtype=np.int32)

    def coefficients(self, places: Indices, n_picks: int) -> Array:
        """Solve R c = Q x from the last coefficient to the first, all rows side by side."""
        values = self.projections[places, :n_picks].copy()
        triangles = self.triangles[places]
        for pick in range(n_picks - 1, -1, -1):
            values[:, pick] /= triangles[:, pick, pick]
            values[:, :pick] -= triangles[:, :pick, pick] * values[:, [pick]]
        return values

    def add(self, X: View, step: int, picks: Indices) -> None:
        """Add a pick to every open row and take its part out of the residual."""
        # All rows as a slice are not copied.
        places = slice(None) if len(self.open) == len(self.rows) else self.open
        directions = as_dense(X[picks])
        basis = self.bases[places, :step]
        # Once is not enough where a pick nearly lies in the span of those before; twice is.
        for _ in range(2):
            parts = np.matmul(basis, directions[:, :, None])[:, :, 0]
            directions -= np.matmul(parts[:, None, :], basis)[:, 0, :]
            self.triangles[places, :step, step] += parts
        lengths = np.linalg.norm(directions, axis=1)
        directions /= lengths[:, None]
        amounts = np.einsum("ij,ij->i", directions, self.residuals[places])
        self.residuals[places] -= amounts[:, None] * directions
        self.bases[places, step] = directions
        self.triangles[places, step, step] = lengths
        self.projections[places, step] = amounts
        self.supports[places, step] = picks


def _pursue_block(atoms: _Atoms, rows: slice, n_nonzero: int, threshold: float) -> tuple[Any, Array]:
    """Rebuild a block of rows from a few others each; return the picks and their weights."""
    state = _Pursuit(atoms.X, rows, n_nonzero)
    lengths = atoms.norms[rows]
    for step in range(n_nonzero):
        left = np.linalg.norm(state.residuals[state.open], axis=1)
        is_open = (left**2 >= threshold * lengths[state.open]) & (left > _NOTHING_LEFT * lengths[state.open])
        state.open = state.open[is_open]
        if not len(state.open):
            break
        per_tile = max(1, _TILE_BYTES // (8 * atoms.X.shape[0]))
        tiles = [state.open[tile] for tile in gen_batches(len(state.open), per_tile)]
        best = [_best_atoms(atoms, state, places, step) for places in tiles]
        picks, values = (np.concatenate(parts) for parts in zip(*best, strict=True))
        is_related = values > _NOTHING_LEFT * atoms.norms[picks] * left[is_open]
        state.open = state.open[is_related]
        state.add(atoms.X, step, picks[is_related])
    return state.supports, state.coefficients(np.arange(len(state.rows)), n_nonzero)


def _best_atoms(atoms: _Atoms, state: _Pursuit, places: Indices, step: int) -> tuple[Indices, Array]:
    """Return the row with the largest absolute correlation with each residual, and that value; ties go to the first."""
    own, residuals = state.rows[places], state.residuals[places]
    barred = np.concatenate([own[:, None], state.supports[places, :step]], axis=1)
    # A bound on the rounding tells which rows may be the best. Each of d products and sums may be off by one rounding.
    slack = (atoms.X.shape[1] + step + 4) * _ROUNDING * atoms.norms.max()
    if atoms.gram is None:
        sizes = np.asarray(residuals @ atoms.X.T)
        slack = slack * np.linalg.norm(residuals, axis=1)
    else:
        # Products of a residual are those of its row less those of its picks.
        weights = state.coefficients(places, step)
        factors = np.concatenate([np.ones((len(own), 1)), -weights], axis=1)
        pointers = np.arange(0, barred.size + 1, step + 1)
        shape = (len(own), len(atoms.gram))
        sizes = sparse.csr_array((factors.ravel(), barred.ravel(), pointers), shape=shape) @ atoms.gram
        slack = slack * (atoms.norms[own] + np.einsum("ij,ij->i", np.abs(weights), atoms.norms[barred[:, 1:]]))
    np.abs(sizes, out=sizes)
    sizes[np.arange(len(own))[:, None], barred] = -1.0
    picks = (sizes >= (sizes.max(axis=1) - 2.0 * slack)[:, None]).argmax(axis=1)
    chosen = atoms.X[picks]
    return picks, np.abs(np.asarray((chosen * residuals).sum(axis=1)).ravel())
