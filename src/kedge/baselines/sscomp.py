"""SSC-OMP: every row rebuilt from a few others by orthogonal matching pursuit, then spectral clustering."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import normalize

from kedge.baselines.base import Array, Indices, SingleViewBaseline, as_dense, baseline, parameter
from kedge.baselines.self_expression import map_row_blocks
from kedge.baselines.spectral_clustering import cluster_affinity, symmetric_graph
from kedge.core.rows import View
from kedge.kernels.selection import default_threads
from kedge.parameters import COUNT, NOT_NEGATIVE, one_of

# Rows of the Gram matrix that one thread forms at a time.
_GRAM_ROWS = 512
# Picks of a row in the authors' program.
_USUAL_PICKS = 10
# Half the gap from 1 to the next number in single precision: the largest relative error of one rounding.
_SINGLE_ROUNDING = 2.0**-24
# Bytes of correlations worked on at a time, so that they stay in the cache of a processor.
_TILE_BYTES, _TILE_BYTES_FROM_GRAM = 1 << 20, 1 << 21
# Rows with more groups to look at again than this are compared with all rows in double precision.
_MOST_GROUPS, _EXACT_BYTES = 8, 1 << 24
# Bytes of the orthonormal bases of a block of rows, and its most rows.
_BASES_BYTES, _MOST_BLOCK_ROWS = 1 << 25, 512
# Up to this many features a row counts as narrow.
_NARROW, _NARROW_GROUP, _WIDE_GROUP = 64, 32, 8
_MOST_GRAM_BYTES = 1 << 31
# A residual this small beside its row is rounding, and so is a correlation this small beside both vectors.
_NOTHING_LEFT = 1e-14


@baseline(
    "sparse subspace clustering by orthogonal matching pursuit",
    cost="n^2 d s",
    grid={"n_nonzero": [3, 5, 10], "threshold": [1e-6, 1e-3]},
    grid_source="around the values of the authors' programs (5 and 10; 1e-5 and 1e-6)",
)
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
    n_nonzero : int or "auto", default="auto"
        Largest number of rows that rebuild a row; the dimension of the subspaces where it is known. "auto" is 10, as in
        the authors' program, but fewer than features: as many rebuild any row, so that the picks would tell nothing.
    threshold : float, default=1e-6
        A row is done when its squared residual is below this multiple of its length, as in the authors' program; for
        unit rows, the share of the squared length that may be left.

    Attributes
    ----------
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

    n_nonzero: int | str = parameter(COUNT, one_of("auto"), default="auto")
    threshold: float = parameter(NOT_NEGATIVE, default=1e-6)
    scale: Any = parameter(default="l2")

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # The picks and the graph or the Lanczos vectors, X scaled and in single precision, one block of rows per
        # thread, and for wide rows the Gram matrix in single precision.
        n_nonzero = min(self._most_picks(n_features), n_samples - 1, n_features)
        per_row = 50 * n_nonzero + 8 * max(4 * self.n_clusters, 40) + 12 * n_features
        gram = 4 * n_samples**2 if wants_gram(n_samples, n_features, False) else 0
        block_rows = rows_per_turn(n_features, max(n_nonzero, 1))
        block = 16 * block_rows * n_nonzero * n_features + block_rows * n_samples // 2 + (1 << 21)
        return n_samples * per_row + gram + default_threads() * block

    def _most_picks(self, n_features: int) -> int:
        return max(1, min(_USUAL_PICKS, n_features - 1)) if isinstance(self.n_nonzero, str) else self.n_nonzero

    def _cluster(self, X: View, random_state: RandomState) -> dict[str, Any]:
        coefficients = pursue_rows(X, self._most_picks(X.shape[1]), self.threshold)
        affinity = symmetric_graph(coefficients, "l2")
        labels, embedding = cluster_affinity(affinity, self.n_clusters, random_state, rows=normalize(X))
        return {"labels_": labels, "coefficients_": coefficients, "embedding_": embedding}


def pursue_rows(X: View, n_nonzero: int, threshold: float, *, n_threads: int | None = None) -> sparse.csr_array:
    """Return the CSR array C with X ~ C X, an empty diagonal and at most ``n_nonzero`` entries per row."""
    n_rows, n_features = X.shape
    n_nonzero = min(n_nonzero, n_rows - 1, n_features)
    atoms = prepare_atoms(X, wants_gram(n_rows, n_features, sparse.issparse(X)))
    if atoms.gram is not None:
        map_row_blocks(partial(fill_gram, atoms), n_rows, _GRAM_ROWS, n_threads=n_threads)
    work = partial(pursue_block, atoms, n_nonzero=n_nonzero, threshold=threshold)
    found = map_row_blocks(work, n_rows, rows_per_turn(n_features, n_nonzero), n_threads=n_threads)
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


@dataclass(frozen=True)
class Atoms:
    """The rows that others are rebuilt from, prepared for the search.

    Group k of K holds the rows k, k + K, k + 2 K and so on; places beyond the last row are zero rows.
    """

    X: View  # Shape (n, d). The rows.
    norms: Array  # Shape (n,). Their lengths.
    # K, and the places per group.
    n_groups: int
    group_size: int
    # Shape (n_places, d). The rows over the largest length: by group, or as they come if there is a Gram matrix.
    single: Any
    # Shape (n, n_places). Their inner products, which :func:`fill_gram` fills; None if they are computed when needed.
    gram: NDArray[np.float32] | None


def wants_gram(n_rows: int, n_features: int, is_sparse: bool) -> bool:
    """Say whether a Gram matrix of single precision is worth its memory, which is held to 2 GiB."""
    return (is_sparse or n_features > _NARROW) and 4 * n_rows * (n_rows + _WIDE_GROUP) <= _MOST_GRAM_BYTES


def prepare_atoms(X: View, with_gram: bool) -> Atoms:
    """Prepare rows for the search."""
    n_rows, n_features = X.shape
    # Groups are computed again in double precision, so groups of wide rows are small.
    group_size = _NARROW_GROUP if n_features <= _NARROW and not sparse.issparse(X) else _WIDE_GROUP
    n_groups = -(-n_rows // group_size)
    n_places = n_groups * group_size
    squares = X.multiply(X).sum(axis=1) if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)
    norms = np.sqrt(np.asarray(squares, dtype=np.float64).ravel())
    # Lengths of at most one, so that single precision cannot overflow.
    single = (X * (1.0 / (norms.max(initial=0.0) or 1.0))).astype(np.float32)
    if sparse.issparse(single):
        single.resize((n_places, n_features))
    else:
        single = np.concatenate([single, np.zeros((n_places - n_rows, n_features), dtype=np.float32)])
    if with_gram:
        return Atoms(X, norms, n_groups, group_size, single, np.empty((n_rows, n_places), dtype=np.float32))
    by_group = np.arange(n_places).reshape(group_size, n_groups).T.ravel()
    return Atoms(X, norms, n_groups, group_size, single[by_group], None)


def fill_gram(atoms: Atoms, rows: slice) -> None:
    """Compute the inner products of a block of rows with itself and all later rows, and mirror them."""
    assert atoms.gram is not None
    products = atoms.single[rows] @ atoms.single[rows.start :].T
    if sparse.issparse(products):
        products = products.toarray()
    atoms.gram[rows, rows.start :] = products
    n_rows, n_own = len(atoms.gram), rows.stop - rows.start
    atoms.gram[rows.stop :, rows] = products[:, n_own : n_rows - rows.start].T


def rows_per_turn(n_features: int, n_nonzero: int) -> int:
    """Return how many rows to work on at a time."""
    return int(np.clip(_BASES_BYTES // (8 * n_features * n_nonzero), 16, _MOST_BLOCK_ROWS))


@dataclass
class Pursuit:
    """Rows under way, and what was picked for them so far.

    With the picked rows A = R' Q for orthonormal rows of Q, least squares is R c = Q x; the basis keeps R well-behaved
    where normal equations would square its condition.
    """

    rows: Indices  # Shape (b,). Row numbers.
    open: Indices  # Shape (n_open,). Places of the rows that are still worked on.
    residuals: Array  # Shape (b, d). What is left of each row.
    bases: Array  # Shape (b, s, d). Q of each row; zero where not yet used.
    triangles: Array  # Shape (b, s, s). R of each row; the identity where not yet used.
    projections: Array  # Shape (b, s). Q x of each row.
    supports: Indices  # Shape (b, s). Picked rows.

    def coefficients(self, places: Indices, n_picks: int) -> Array:
        """Solve R c = Q x from the last coefficient to the first, all rows side by side."""
        values = self.projections[places, :n_picks].copy()
        triangles = self.triangles[places]
        for pick in range(n_picks - 1, -1, -1):
            values[:, pick] /= triangles[:, pick, pick]
            values[:, :pick] -= triangles[:, :pick, pick] * values[:, [pick]]
        return values


def pursue_block(atoms: Atoms, rows: slice, n_nonzero: int, threshold: float) -> tuple[Indices, Array]:
    """Rebuild a block of rows from a few others each."""
    state = _start(atoms, np.arange(rows.start, rows.stop), n_nonzero)
    lengths = atoms.norms[rows]
    for step in range(n_nonzero):
        left = np.linalg.norm(state.residuals[state.open], axis=1)
        is_open = (left**2 >= threshold * lengths[state.open]) & (left > _NOTHING_LEFT * lengths[state.open])
        state.open = state.open[is_open]
        if not len(state.open):
            break
        picks, values = _best_atoms(atoms, state, step, left[is_open])
        is_related = values > _NOTHING_LEFT * atoms.norms[picks] * left[is_open]
        state.open = state.open[is_related]
        _add(atoms.X, state, step, picks[is_related])
    return state.supports, state.coefficients(np.arange(len(state.rows)), n_nonzero)


def _start(atoms: Atoms, rows: Indices, n_nonzero: int) -> Pursuit:
    n_rows, n_features = len(rows), atoms.X.shape[1]
    triangles = np.zeros((n_rows, n_nonzero, n_nonzero))
    triangles[:, np.arange(n_nonzero), np.arange(n_nonzero)] = 1.0
    return Pursuit(
        rows=rows,
        open=np.arange(n_rows),
        residuals=as_dense(atoms.X[rows]),
        bases=np.zeros((n_rows, n_nonzero, n_features)),
        triangles=triangles,
        projections=np.zeros((n_rows, n_nonzero)),
        supports=np.zeros((n_rows, n_nonzero), dtype=np.intp),
    )


def _add(X: View, state: Pursuit, step: int, picks: Indices) -> None:
    """Add a pick to every open row and take its part out of the residual."""
    # All rows as a slice are not copied.
    places = slice(None) if len(state.open) == len(state.rows) else state.open
    directions = as_dense(X[picks])
    basis = state.bases[places, :step]
    # Once is not enough where a pick nearly lies in the span of those before; twice is.
    for _ in range(2):
        parts = np.matmul(basis, directions[:, :, None])[:, :, 0]
        directions -= np.matmul(parts[:, None, :], basis)[:, 0, :]
        state.triangles[places, :step, step] += parts
    lengths = np.linalg.norm(directions, axis=1)
    directions /= lengths[:, None]
    amounts = np.einsum("ij,ij->i", directions, state.residuals[places])
    state.residuals[places] -= amounts[:, None] * directions
    state.bases[places, step] = directions
    state.triangles[places, step, step] = lengths
    state.projections[places, step] = amounts
    state.supports[places, step] = picks


def _best_atoms(atoms: Atoms, state: Pursuit, step: int, lengths: Array) -> tuple[Indices, Array]:
    """Return, for every open row, the row with the largest absolute correlation with its residual, and that value."""
    if atoms.gram is None:
        units = (state.residuals[state.open] / lengths[:, None]).astype(np.float32)
        largest = _group_maxima(atoms, np.ascontiguousarray(units.T), state.rows[state.open])
        # Each of d products and sums and both conversions may be off by one rounding.
        slack = np.full(len(units), (atoms.X.shape[1] + 4) * _SINGLE_ROUNDING)
    else:
        weights = state.coefficients(state.open, step)
        largest = _group_maxima_from_gram(atoms, state, step, weights)
        sizes = 1.0 + np.abs(weights).sum(axis=1)
        slack = (atoms.X.shape[1] + step + 4) * _SINGLE_ROUNDING * sizes
    is_near = largest >= (largest.max(axis=0) - 2.0 * slack).astype(np.float32)
    is_crowded = np.count_nonzero(is_near, axis=0) > _MOST_GROUPS
    picks, values = np.zeros(len(lengths), dtype=np.intp), np.full(len(lengths), -1.0)
    groups, columns = np.nonzero(is_near & ~is_crowded)
    if len(columns):
        _compare_groups(atoms, state, step, columns, groups, picks, values)
    _compare_all(atoms, state, step, np.flatnonzero(is_crowded), picks, values)
    return picks, values


def _group_maxima(atoms: Atoms, units: NDArray[np.float32], own: Indices) -> NDArray[np.float32]:
    """Return the largest absolute correlation in every group with every column of ``units``, own rows left out."""
    n_columns, size = units.shape[1], atoms.group_size
    largest = np.empty((atoms.n_groups, n_columns), dtype=np.float32)
    per_tile = max(1, _TILE_BYTES // (4 * size * n_columns))
    buffer = np.empty((per_tile * size, n_columns), dtype=np.float32)
    own_places = own % atoms.n_groups * size + own // atoms.n_groups
    order = np.argsort(own_places)
    bounds = np.searchsorted(own_places[order], np.arange(0, atoms.n_groups + per_tile, per_tile) * size)
    for start in range(0, atoms.n_groups, per_tile):
        stop = min(start + per_tile, atoms.n_groups)
        tile = atoms.single[start * size : stop * size]
        products = buffer[: tile.shape[0]]
        if sparse.issparse(tile):
            products[:] = tile @ units
        else:
            np.matmul(tile, units, out=products)
        np.abs(products, out=products)
        here = order[bounds[start // per_tile] : bounds[start // per_tile + 1]]
        products[own_places[here] - start * size, here] = 0.0
        products.reshape(stop - start, size, n_columns).max(axis=1, out=largest[start:stop])
    return largest


def _group_maxima_from_gram(atoms: Atoms, state: Pursuit, step: int, weights: Array) -> NDArray[np.float32]:
    """Return the same from inner products: those of a residual are those of its row less those of its picks."""
    gram = atoms.gram
    assert gram is not None
    own, n_places = state.rows[state.open], gram.shape[1]
    largest = np.empty((atoms.n_groups, len(own)), dtype=np.float32)
    per_tile = max(1, _TILE_BYTES_FROM_GRAM // (4 * n_places))
    for start in range(0, len(own), per_tile):
        rows = own[start : start + per_tile]
        picked = np.concatenate([rows[:, None], state.supports[state.open[start : start + per_tile], :step]], axis=1)
        factors = np.ones(picked.shape, dtype=np.float32)
        factors[:, 1:] = -weights[start : start + per_tile]
        pointers = np.arange(0, picked.size + 1, step + 1)
        mixture = sparse.csr_array((factors.ravel(), picked.ravel(), pointers), shape=(len(rows), len(gram)))
        products = mixture @ gram
        np.abs(products, out=products)
        products[np.arange(len(rows)), rows] = 0.0
        grouped = products.reshape(len(rows), atoms.group_size, atoms.n_groups)
        largest[:, start : start + per_tile] = grouped.max(axis=1).T
    return largest


def _compare_groups(
    atoms: Atoms, state: Pursuit, step: int, columns: Indices, groups: Indices, picks: Indices, values: Array
) -> None:
    """Compute groups again; ``columns`` (open rows) and ``groups`` are pairs, picks and values output."""
    members = groups[:, None] + atoms.n_groups * np.arange(atoms.group_size)
    places = state.open[columns]
    is_barred = (members == state.rows[places][:, None]) | (members >= atoms.X.shape[0])
    for pick in range(step):
        is_barred |= members == state.supports[places, pick][:, None]
    members = np.minimum(members, atoms.X.shape[0] - 1)
    correlations = np.abs(_products_by_row(atoms.X, members, state.residuals[places]))
    correlations[is_barred] = -1.0
    best = correlations.max(axis=1)
    # Of equal rows the first one.
    candidates = np.where(correlations == best[:, None], members, atoms.X.shape[0]).min(axis=1)
    order = np.lexsort((candidates, -best, columns))
    first = order[np.unique(columns[order], return_index=True)[1]]
    picks[columns[first]], values[columns[first]] = candidates[first], best[first]


def _compare_all(atoms: Atoms, state: Pursuit, step: int, columns: Indices, picks: Indices, values: Array) -> None:
    """Compare some open rows with all rows in double precision; picks and values are output."""
    per_turn = max(1, _EXACT_BYTES // (8 * atoms.X.shape[0]))
    for start in range(0, len(columns), per_turn):
        turn = columns[start : start + per_turn]
        places = state.open[turn]
        correlations = np.abs(np.asarray(atoms.X @ state.residuals[places].T).T)
        own = np.arange(len(turn))
        correlations[own, state.rows[places]] = -1.0
        correlations[own[:, None], state.supports[places, :step]] = -1.0
        picks[turn] = correlations.argmax(axis=1)
        values[turn] = correlations[own, picks[turn]]


def _products_by_row(X: View, members: Indices, vectors: Array) -> Array:
    """Return the inner products of X[members[p, q]] and vectors[p]."""
    if not sparse.issparse(X):
        return np.asarray(np.matmul(X[members], vectors[:, :, None])[:, :, 0])
    gathered = X[members.ravel()]
    owners = np.repeat(np.arange(members.size), np.diff(gathered.indptr))
    terms = gathered.data * vectors[owners // members.shape[1], gathered.indices]
    sums = np.bincount(owners, weights=terms, minlength=members.size)
    return np.asarray(sums, dtype=np.float64).reshape(members.shape)
