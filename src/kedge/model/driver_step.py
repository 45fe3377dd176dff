"""What the driver makes of the sums of a pass: the embedding, the objective, and whether to go on."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from kedge.model.components import anchor_components
from kedge.model.pass_state import ColumnLayout, PassState
from kedge.model.pass_summary import PassSummary
from kedge.model.spectral_map import SpectralMap, spectral_map
from kedge.model.structure_penalty import EmbeddingPenalty, embedding_penalty, penalty_value, spread_over_columns
from kedge.model.view_weighting import ViewErrors, ViewWeighting

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Structure:
    """The structure term: which penalty, how strong in absolute units, towards how many clusters.

    ``n_directions`` singular vectors are kept for labelling; the penalty sees the first ``n_clusters`` of them.
    """

    kind: str
    weight: float
    n_clusters: int
    n_directions: int


@dataclass(frozen=True)
class Digest:
    """The graph after a pass, as far as the driver sees it.

    Attributes
    ----------
    spectrum : SpectralMap
        Of the graph on anchors.
    column_sums : array of shape (n_anchors,)
        Weight on each anchor.
    objective : float
        The full objective at the coefficients of this pass and their best embedding.
    n_components : int
        Components that hold a data row.
    view_weights : array of shape (n_views,)
        The best weights of the views for these coefficients, which the next pass uses.
    gram : array of shape (n_columns, n_columns)
        ``Z'Z``.
    change_gram : array of shape (n_columns, n_columns) or None
        The same of the change of Z in this pass, where it was asked for.
    """

    spectrum: SpectralMap
    column_sums: Array
    objective: float
    n_components: int
    view_weights: Array
    gram: Array
    change_gram: Array | None


def digest_summary(
    state: PassState, summary: PassSummary, layout: ColumnLayout, structure: Structure, weighting: ViewWeighting
) -> Digest:
    """Turn the sums of a pass into the embedding, the weights of the views and the objective."""
    gram, column_sums = fold_columns(summary.gram, summary.column_sums, layout)
    spectrum = spectral_map(gram, column_sums, structure.n_directions)
    leading = spectrum.singular_values[: structure.n_clusters]
    problem = state.problems[0]
    values = summary.view_values.mean(axis=0) + (1.0 + problem.locality) * summary.squared_norms
    errors = ViewErrors(values, summary.squared_norms, summary.row_counts)
    # Coefficients of several sets stand divided by their number in the joint graph; each set has a ridge of its own.
    squares = len(state.problems) * float(np.trace(summary.gram))
    objective = weighting.value(errors, summary.n_rows) + problem.ridge * squares
    objective += structure.weight * penalty_value(structure.kind, leading)
    return Digest(
        spectrum=spectrum,
        column_sums=column_sums,
        objective=float(objective),
        n_components=anchor_components(gram, column_sums)[0],
        view_weights=weighting.weights(errors, summary.n_rows),
        gram=summary.gram,
        change_gram=summary.change_gram,
    )


def next_penalty(digest: Digest, structure: Structure, previous: EmbeddingPenalty | None) -> EmbeddingPenalty:
    """Build the penalty of the next pass on anchors; see :func:`on_columns`."""
    leading = digest.spectrum.leading(structure.n_clusters)
    return embedding_penalty(structure.kind, structure.weight, leading, digest.column_sums, previous)


def on_columns(penalty: EmbeddingPenalty, layout: ColumnLayout) -> EmbeddingPenalty:
    """Spread a penalty on anchors over the columns of the coefficients."""
    return penalty if layout.is_plain else spread_over_columns(penalty, layout.anchor_of)


def fold_columns(gram: Array, column_sums: Array, layout: ColumnLayout) -> tuple[Array, Array]:
    """Add up the columns that belong to one anchor."""
    if layout.is_plain:
        return gram, column_sums
    size = layout.n_anchors
    by_row = np.zeros((size, gram.shape[1]))
    np.add.at(by_row, layout.anchor_of, gram)
    folded = np.zeros((size, size))
    np.add.at(folded.T, layout.anchor_of, by_row.T)
    sums = np.zeros(size)
    np.add.at(sums, layout.anchor_of, column_sums)
    return folded, sums


def spectral_norm_squared(gram: Array) -> float:
    """Return the largest eigenvalue of ``Z'Z``."""
    last = len(gram) - 1
    return max(float(linalg.eigvalsh(gram, subset_by_index=[last, last])[0]), 0.0)
