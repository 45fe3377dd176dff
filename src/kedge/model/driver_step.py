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
    gram_norm : float
        Largest eigenvalue of ``Z'Z``, the square of the spectral norm of Z.
    change : float or None
        Spectral norm of the change of Z in this pass, where it was asked for.
    """

    spectrum: SpectralMap
    column_sums: Array
    objective: float
    n_components: int
    gram_norm: float
    change: float | None


def digest_summary(state: PassState, summary: PassSummary, layout: ColumnLayout, structure: Structure) -> Digest:
    """Turn the sums of a pass into the embedding and the objective."""
    gram, column_sums = fold_columns(summary.gram, summary.column_sums, layout)
    spectrum = spectral_map(gram, column_sums, structure.n_directions)
    leading = spectrum.singular_values[: structure.n_clusters]
    row_weights = np.mean([problem.row_weights for problem in state.problems], axis=0)
    data_value = float(summary.data_value.mean() + row_weights @ summary.squared_norms)
    objective = data_value + structure.weight * penalty_value(structure.kind, leading)
    change = None if summary.change_gram is None else np.sqrt(_largest_eigenvalue(summary.change_gram))
    gram_norm = _largest_eigenvalue(summary.gram) if state.want_change else float("nan")
    n_components, _ = anchor_components(gram, column_sums)
    return Digest(spectrum, column_sums, objective, n_components, gram_norm, change)


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


def _largest_eigenvalue(matrix: Array) -> float:
    last = len(matrix) - 1
    return max(float(linalg.eigvalsh(matrix, subset_by_index=[last, last])[0]), 0.0)
