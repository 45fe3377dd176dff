"""Between two passes: turn the sums over rows into the embedding, and into the penalty of the next pass."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from kedge.core.block_step import ColumnLayout, PassState, PassSummary
from kedge.core.rows import NearProblem
from kedge.core.view_weights import ViewErrors, ViewWeighting

Array = NDArray[np.float64]

# Squared singular values below this are rounding noise of the Gram matrix, and dividing by them would amplify it.
_NOISE = 1e-12
# For larger matrices it is cheaper to compute the leading eigenvectors only.
_LARGE_ORDER = 600
# If eigenvalues are so close that Lanczos needs more restarts than this, the full decomposition is faster.
_MOST_RESTARTS = 50
# Vectors that Lanczos keeps. With 20, as ARPACK itself would have it, eigenvalues that are close to each other may not
# be told apart, as in data without clusters; the full decomposition then takes minutes instead of half a second.
_LANCZOS_VECTORS = 64


@dataclass(frozen=True)
class SpectralMap:
    """Leading singular vectors of Z diag(s)^(-1/2), where s are the column sums and the rows of Z sum to one."""

    singular_values: Array  # In [0, 1], descending; one for each connected component of the graph.
    row_map: Array  # Z @ row_map are the left singular vectors times sqrt(1/2). Shape (n_anchors, n_components).
    anchor_embedding: Array  # The right singular vectors times sqrt(1/2). Shape (n_anchors, n_components).

    def leading(self, count: int) -> "SpectralMap":
        """Return the first triplets."""
        return SpectralMap(self.singular_values[:count], self.row_map[:, :count], self.anchor_embedding[:, :count])


def spectral_map(gram: Any, column_sums: Array, n_components: int) -> SpectralMap:
    """Decompose the graph, given ``gram = Z'Z`` and its column sums; anchors without weight are embedded at zero.

    There are always ``n_components`` triplets; those beyond the number of anchors are zero. Costs O(m^3) for up to 600
    anchors, and O(n_components m^2) per Lanczos round for more.
    """
    n_anchors = len(column_sums)
    used = column_sums > 0
    scale = np.zeros(n_anchors)
    scale[used] = column_sums[used] ** -0.5
    if sparse.issparse(gram):
        matrix: Any = sparse.diags_array(scale) @ gram @ sparse.diags_array(scale)
    else:
        matrix = scale[:, None] * gram * scale
    wanted = min(n_components, n_anchors)
    squares, vectors = _leading_eigenpairs(matrix, gram, column_sums, wanted)
    # The sign of a singular vector is arbitrary: fix it, so that equal graphs get equal embeddings.
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(wanted)])
    vectors = vectors * np.where(signs == 0, 1.0, signs)
    singular_values = np.sqrt(np.clip(squares, 0.0, 1.0))
    inverse = np.where(squares > _NOISE, 1.0 / np.maximum(singular_values, _NOISE), 0.0)
    half = np.sqrt(0.5)
    missing = [(0, 0), (0, n_components - wanted)]
    return SpectralMap(
        np.pad(singular_values, missing[1]),
        np.pad(half * scale[:, None] * vectors * inverse, missing),
        np.pad(half * vectors, missing),
    )


def _leading_eigenpairs(matrix: Any, gram: Any, column_sums: Array, wanted: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues and their vectors.

    Every component has the eigenvalue one. These vectors are built from the components, because a solver would return
    an arbitrary rotation of them.
    """
    order = matrix.shape[0]
    count, labels = anchor_components(gram, column_sums)
    if count >= wanted:
        return _leading_components(column_sums, labels, wanted)
    if order > _LARGE_ORDER and 8 * wanted < order:
        with suppress(ArpackNoConvergence):
            return _deflated_lanczos(matrix, column_sums, labels, count, wanted)
    matrix = matrix.toarray() if sparse.issparse(matrix) else matrix
    known = _leading_components(column_sums, labels, count)[1]
    squares, vectors = linalg.eigh(matrix - known @ known.T, subset_by_index=[order - wanted + count, order - 1])
    return np.concatenate([np.ones(count), squares[::-1]]), np.concatenate([known, vectors[:, ::-1]], axis=1)


def _leading_components(column_sums: Array, labels: NDArray[np.int64], wanted: int) -> tuple[Array, Array]:
    """Return the vectors of the heaviest components, whose eigenvalues are one."""
    used = np.flatnonzero(labels >= 0)
    masses = np.bincount(labels[used], column_sums[used])
    # Masses are numbers of rows: round them, so that rounding errors do not decide between equal ones.
    heaviest = np.argsort(-np.rint(masses), kind="stable")[:wanted]
    vectors = np.zeros((len(column_sums), wanted))
    for place, component in enumerate(heaviest.tolist()):
        own = np.flatnonzero(labels == component)
        vectors[own, place] = np.sqrt(column_sums[own] / masses[component])
    return np.ones(wanted), vectors


def _deflated_lanczos(
    matrix: Any, column_sums: Array, labels: NDArray[np.int64], count: int, wanted: int
) -> tuple[Array, Array]:
    """Take the vectors of the eigenvalue one from the components, and the rest from Lanczos, which may miss some."""
    known = np.zeros((len(column_sums), count))
    used = np.flatnonzero(labels >= 0)
    known[used, labels[used]] = np.sqrt(column_sums[used])
    known /= np.linalg.norm(known, axis=0)

    def multiply(vector: Array) -> Array:
        return np.asarray(matrix @ vector - known @ (known.T @ vector))

    operator = LinearOperator(matrix.shape, matvec=multiply, dtype=np.float64)
    start = np.random.RandomState(0).uniform(-1, 1, len(column_sums))
    kept = min(max(_LANCZOS_VECTORS, 2 * (wanted - count) + 1), len(column_sums) - 1)
    squares, vectors = eigsh(operator, wanted - count, which="LA", v0=start, ncv=kept, maxiter=_MOST_RESTARTS)
    descending = np.argsort(squares)[::-1]
    return (
        np.concatenate([np.ones(count), squares[descending]]),
        np.concatenate([known, vectors[:, descending]], axis=1),
    )


def anchor_components(gram: Any, column_sums: Array) -> tuple[int, NDArray[np.int64]]:
    """Count the components that hold a row, from ``Z'Z`` alone, and number them for every anchor.

    Two anchors are joined if a row has weight on both, that is, where the Gram matrix is not zero. Every row has some
    weight, so the components of the used anchors are those of the whole graph. Anchors without weight get -1.
    """
    used = np.flatnonzero(column_sums > 0)
    labels = np.full(len(column_sums), -1, dtype=np.int64)
    own = gram[used][:, used] if sparse.issparse(gram) else gram[np.ix_(used, used)]
    count, numbers = connected_components(sparse.csr_array(own > 0), directed=False)
    labels[used] = numbers
    return int(count), labels


def graph_components(graph: sparse.csr_array) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of components of the bipartite graph, and the component of every row and of every anchor.

    Every nonzero entry is an edge. Components are numbered by their first rows; an anchor without edges is one of its
    own.
    """
    n_rows = graph.shape[0]
    edges = sparse.csr_array(graph != 0)
    count, labels = connected_components(sparse.block_array([[None, edges], [edges.T, None]]), directed=False)
    _, first = np.unique(labels, return_index=True)
    order = np.empty(count, dtype=np.int64)
    order[np.argsort(first)] = np.arange(count)
    return int(count), order[labels[:n_rows]], order[labels[n_rows:]]


@dataclass(frozen=True)
class EmbeddingPenalty:
    """``beta |u_i - t_j|^2`` for row i and column j, up to a constant of the row."""

    weight: float  # beta in absolute units.
    row_map: Array  # u_i is the row of old coefficients times this matrix of shape (n_columns, n_clusters).
    targets: Array  # t_j: the weighted mean of the rows on anchor j ("centroid"), or its scaled embedding ("degree").
    # Columns without a target, because no row has weight on them. They get the largest penalty of the row.
    unused: NDArray[np.bool_]

    def linear_terms(self, rows: slice, coefficients: sparse.csr_array | None) -> Array:
        """Return ``beta (|t_j|^2 - 2 u_i't_j)``; ``beta |u_i|^2`` would not change the minimiser on the simplex."""
        assert coefficients is not None
        embedded = np.asarray(coefficients @ self.row_map)
        distances = np.einsum("jl,jl->j", self.targets, self.targets) - 2.0 * embedded @ self.targets.T
        if self.unused.any():
            distances[:, self.unused] = distances[:, ~self.unused].max(axis=1, keepdims=True)
        return np.asarray(self.weight * distances)


@dataclass(frozen=True)
class GivenPenalty:
    """A given penalty matrix, for the first iteration of the published algorithm."""

    weight: float
    penalty: Array

    def linear_terms(self, rows: slice, coefficients: sparse.csr_array | None) -> Array:
        """Return ``beta W`` for these rows."""
        return self.weight * self.penalty[rows]


def embedding_penalty(
    kind: str, weight: float, spectrum: SpectralMap, column_sums: Array, previous: EmbeddingPenalty | None
) -> EmbeddingPenalty:
    """Build the penalty of the next pass from the spectral map of this one.

    With ``kind="centroid"`` the target of anchor j is ``sum_i z_ij u_i / s_j = sigma * v_j / sqrt(s_j)``. Every pass is
    then a step of block coordinate descent, so the objective never rises. An anchor without rows keeps its old target.
    With ``kind="degree"``, the published form, the target is ``v_j / sqrt(s_j)``.
    """
    used = column_sums > 0
    scaled = np.zeros_like(spectrum.anchor_embedding)
    scaled[used] = spectrum.anchor_embedding[used] / np.sqrt(column_sums[used])[:, None]
    if kind == "degree":
        return EmbeddingPenalty(weight, spectrum.row_map, scaled, ~used)
    targets = scaled * spectrum.singular_values
    if previous is not None:
        targets[~used] = previous.targets[~used]
        used = used | ~previous.unused
    return EmbeddingPenalty(weight, spectrum.row_map, targets, ~used)


def penalty_value(kind: str, singular_values: Array) -> float:
    """Return the minimum of the penalty over all embeddings, per unit of beta; zero means k components."""
    if kind == "degree":
        return float(len(singular_values) - singular_values.sum())
    return float(len(singular_values) - np.square(singular_values).sum()) / 2.0


def spread_over_columns(penalty: EmbeddingPenalty, anchor_of: NDArray[np.intp]) -> EmbeddingPenalty:
    """Repeat the rows of a penalty on anchors for each of their columns (mirrored anchors have two)."""
    parts: dict[str, Any] = {name: getattr(penalty, name)[anchor_of] for name in ("row_map", "targets", "unused")}
    return EmbeddingPenalty(penalty.weight, **parts)


@dataclass(frozen=True)
class Structure:
    """The structure term: which penalty, its absolute weight, the number of clusters.

    Without a weight the embedding is computed only on request.
    """

    kind: str
    weight: float
    n_clusters: int
    with_embedding: bool = False


@dataclass(frozen=True)
class Digest:
    """What the driver knows of the graph after a pass."""

    spectrum: SpectralMap | None  # Of the graph on anchors, if the structure term needs it.
    column_sums: Array  # Weight on each anchor.
    objective: float  # The full objective at the coefficients of this pass and their best embedding.
    n_components: int  # Components that hold a row.
    view_weights: Array  # The best view weights for these coefficients; the next pass uses them.
    gram: Any  # Z'Z, with the columns of each anchor added up; dense or CSR.
    change_gram: Array | None  # The same for the change of Z in this pass, on request.


def digest_summary(
    state: PassState, summary: PassSummary, layout: ColumnLayout, structure: Structure, weighting: ViewWeighting
) -> Digest:
    """Turn the sums of a pass into the embedding, the view weights and the objective."""
    gram, column_sums = fold_columns(summary.gram, summary.column_sums, layout)
    spectrum = None
    if structure.weight > 0 or structure.with_embedding:
        spectrum = spectral_map(gram, column_sums, structure.n_clusters)
    objective, weights = _data_term(state, summary, weighting)
    if structure.weight > 0 and spectrum is not None:
        objective += structure.weight * penalty_value(structure.kind, spectrum.singular_values)
    return Digest(
        spectrum=spectrum,
        column_sums=column_sums,
        objective=float(objective),
        n_components=anchor_components(gram, column_sums)[0],
        view_weights=weights,
        gram=gram,
        change_gram=summary.change_gram,
    )


def _data_term(state: PassState, summary: PassSummary, weighting: ViewWeighting) -> tuple[float, Array]:
    """Return the objective without the structure term, and the best view weights."""
    problem, values = state.problems[0], summary.view_values.mean(axis=0)
    if isinstance(problem, NearProblem):
        weights = np.array(problem.weights)
        return float(values.sum() + weights @ summary.squared_norms), weights
    values = values + (1.0 + problem.locality) * summary.squared_norms
    errors = ViewErrors(values, summary.squared_norms, summary.row_counts)
    # In the joint graph the coefficients of each set are divided by the number of sets, but each set has its own ridge.
    squares = len(state.problems) * float(summary.gram.diagonal().sum())
    objective = weighting.value(errors, summary.n_rows) + problem.ridge * squares
    return float(objective), weighting.weights(errors, summary.n_rows)


def next_penalty(digest: Digest, structure: Structure, previous: EmbeddingPenalty | None) -> EmbeddingPenalty:
    """Build the penalty of the next pass on anchors; see :func:`on_columns`."""
    assert digest.spectrum is not None
    return embedding_penalty(structure.kind, structure.weight, digest.spectrum, digest.column_sums, previous)


def on_columns(penalty: EmbeddingPenalty, layout: ColumnLayout) -> EmbeddingPenalty:
    """Spread a penalty on anchors over the columns of the coefficients."""
    return penalty if layout.is_plain else spread_over_columns(penalty, layout.anchor_of)


def fold_columns(gram: Any, column_sums: Array, layout: ColumnLayout) -> tuple[Any, Array]:
    """Add up the columns that belong to one anchor."""
    if layout.is_plain:
        return gram, column_sums
    fold = layout.fold()
    folded = fold.T @ gram @ fold
    return (folded if sparse.issparse(gram) else np.asarray(folded)), np.asarray(fold.T @ column_sums)
