"""The term that pulls the graph towards k connected components; linear in the coefficients for a fixed embedding."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.core.spectral_map import SpectralMap

Array = NDArray[np.float64]


class StructurePenalty(Protocol):
    """What a pass adds to the linear terms of its rows."""

    def linear_terms(self, rows: slice, coefficients: sparse.csr_array | None) -> Array:
        """Return the addition for these rows, given their coefficients of the last pass."""
        ...


@dataclass(frozen=True)
class EmbeddingPenalty:
    """``beta |u_i - t_j|^2`` for row i and column j, up to a constant of the row.

    Attributes
    ----------
    weight : float
        beta in absolute units.
    row_map : array of shape (n_columns, n_clusters)
        ``u_i`` is the row of old coefficients times this.
    targets : array of shape (n_columns, n_clusters)
        ``t_j``: the weighted mean of the rows on anchor j ("centroid"), or its scaled embedding ("degree").
    unused : array of bool of shape (n_columns,)
        Columns whose target is undefined, because no row has weight on them; they get the largest penalty of the row.
    """

    weight: float
    row_map: Array
    targets: Array
    unused: NDArray[np.bool_]

    def linear_terms(self, rows: slice, coefficients: sparse.csr_array | None) -> Array:
        """Return ``beta (|t_j|^2 - 2 u_i't_j)``; the missing ``beta |u_i|^2`` moves no minimiser on the simplex."""
        assert coefficients is not None
        embedded = np.asarray(coefficients @ self.row_map)
        distances = np.einsum("jl,jl->j", self.targets, self.targets) - 2.0 * embedded @ self.targets.T
        if self.unused.any():
            distances[:, self.unused] = distances[:, ~self.unused].max(axis=1, keepdims=True)
        return np.asarray(self.weight * distances)


@dataclass(frozen=True)
class GivenPenalty:
    """A penalty matrix given row by row, as for the first iteration of the published algorithm."""

    weight: float
    penalty: Array

    def linear_terms(self, rows: slice, coefficients: sparse.csr_array | None) -> Array:
        """Return ``beta W`` for these rows."""
        return self.weight * self.penalty[rows]


def embedding_penalty(
    kind: str, weight: float, spectrum: SpectralMap, column_sums: Array, previous: EmbeddingPenalty | None
) -> EmbeddingPenalty:
    """Build the penalty of the next pass from the spectral map of this one.

    With ``kind="centroid"`` the target of anchor j is ``sum_i z_ij u_i / s_j = sigma * v_j / sqrt(s_j)``: every pass is
    then a step of block coordinate descent, so the objective never rises. An anchor that lost its last row keeps its
    old target. With ``kind="degree"``, the published form, the target is ``v_j / sqrt(s_j)``.
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
    """Return the smallest value of the penalty over all embeddings, per unit of beta; zero means k components."""
    if kind == "degree":
        return float(len(singular_values) - singular_values.sum())
    return float(len(singular_values) - np.square(singular_values).sum()) / 2.0


def spread_over_columns(penalty: EmbeddingPenalty, anchor_of: NDArray[np.intp]) -> EmbeddingPenalty:
    """Repeat the rows of a penalty on anchors for the columns that belong to them (mirrored anchors)."""
    parts: dict[str, Any] = {name: getattr(penalty, name)[anchor_of] for name in ("row_map", "targets", "unused")}
    return EmbeddingPenalty(penalty.weight, **parts)
