"""Between two passes: from the sums over rows to the penalty of the next pass."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.core.block_step import ColumnLayout, PassState, PassSummary
from kedge.core.penalty import (
    EmbeddingPenalty,
    embedding_penalty,
    penalty_value,
    spread_over_columns,
)
from kedge.core.row_problem import NearProblem
from kedge.core.spectral_map import SpectralMap, anchor_components, spectral_map
from kedge.core.view_weights import ViewErrors, ViewWeighting

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Structure:
    """The structure term: which penalty, how strong in absolute units, towards how many clusters.

    Where the penalty has no weight, and the embedding is not asked for, neither is computed.
    """

    kind: str
    weight: float
    n_clusters: int
    with_embedding: bool = False


@dataclass(frozen=True)
class Digest:
    """The graph after a pass, as far as the driver sees it.

    Attributes
    ----------
    spectrum : SpectralMap or None
        Of the graph on anchors, where the structure term asks for it.
    column_sums : array of shape (n_anchors,)
        Weight on each anchor.
    objective : float
        The full objective at the coefficients of this pass and their best embedding.
    n_components : int
        Components that hold a data row.
    view_weights : array of shape (n_views,)
        The best weights of the views for these coefficients, which the next pass uses.
    gram : array or CSR array of shape (n_anchors, n_anchors)
        ``Z'Z``, columns of one anchor added up.
    change_gram : array of shape (n_columns, n_columns) or None
        The same of the change of Z in this pass, where it was asked for.
    """

    spectrum: SpectralMap | None
    column_sums: Array
    objective: float
    n_components: int
    view_weights: Array
    gram: Any
    change_gram: Array | None


def digest_summary(
    state: PassState, summary: PassSummary, layout: ColumnLayout, structure: Structure, weighting: ViewWeighting
) -> Digest:
    """Turn the sums of a pass into the embedding, the weights of the views and the objective."""
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
    """Return the objective without the structure term, and the best weights of the views."""
    problem, values = state.problems[0], summary.view_values.mean(axis=0)
    if isinstance(problem, NearProblem):
        weights = np.array(problem.weights)
        return float(values.sum() + weights @ summary.squared_norms), weights
    values = values + (1.0 + problem.locality) * summary.squared_norms
    errors = ViewErrors(values, summary.squared_norms, summary.row_counts)
    # Coefficients of several sets stand divided by their number in the joint graph; each set has a ridge of its own.
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
    ones = np.ones(len(layout.anchor_of))
    fold = sparse.csr_array((ones, (layout.anchor_of, np.arange(len(ones)))), shape=(layout.n_anchors, len(ones)))
    folded = fold @ gram @ fold.T
    return (folded if sparse.issparse(gram) else np.asarray(folded)), np.asarray(fold @ column_sums)
