"""Spectral embedding of the bipartite graph, from its m x m Gram matrix alone."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

Array = NDArray[np.float64]

# Squared singular values below this are rounding noise of the Gram matrix: dividing by them would amplify it.
_NOISE = 1e-12


@dataclass(frozen=True)
class SpectralMap:
    """Leading singular vectors of Z diag(s)^(-1/2), where s are the column sums and the rows of Z sum to one.

    Attributes
    ----------
    singular_values : array of shape (n_components,)
        In [0, 1], descending; as many ones as the graph has connected components.
    row_map : array of shape (n_anchors, n_components)
        ``Z @ row_map`` are the left singular vectors times sqrt(1/2), one row per data row.
    anchor_embedding : array of shape (n_anchors, n_components)
        The right singular vectors times sqrt(1/2).
    """

    singular_values: Array
    row_map: Array
    anchor_embedding: Array


def spectral_map(gram: Array, column_sums: Array, n_components: int) -> SpectralMap:
    """Decompose the graph given ``gram = Z'Z`` and its column sums; anchors without weight embed at zero."""
    n_anchors = len(column_sums)
    alive = column_sums > 0
    scale = np.zeros(n_anchors)
    scale[alive] = column_sums[alive] ** -0.5
    first = max(n_anchors - n_components, 0)
    squares, vectors = linalg.eigh(scale[:, None] * gram * scale, subset_by_index=[first, n_anchors - 1])
    squares, vectors = squares[::-1], vectors[:, ::-1]
    # The sign of a singular vector is free: fix it, so that equal graphs embed equally.
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])
    vectors = vectors * np.where(signs == 0, 1.0, signs)
    singular_values = np.sqrt(np.clip(squares, 0.0, 1.0))
    inverse = np.where(squares > _NOISE, 1.0 / np.maximum(singular_values, _NOISE), 0.0)
    half = np.sqrt(0.5)
    return SpectralMap(singular_values, half * scale[:, None] * vectors * inverse, half * vectors)
