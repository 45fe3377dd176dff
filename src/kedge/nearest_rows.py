"""The nearest rows of few sparse rows, over all their features.

Sparse rows are compared with anchors in a few directions, which show their topics. What two documents have in common
beyond these, such as a rare word, only the rows themselves can tell.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches

from kedge.anchors.sets import MOST_REBUILT_ROWS
from kedge.core.block_step import RowBlock
from kedge.core.rows import View, canonical_rows, join_sets
from kedge.core.scaling import ViewScaling
from kedge.fitted import RowEmbedder
from kedge.kernels.selection import smallest_columns
from kedge.readers.arrays import ArraySource

# How many nearest rows a row is joined to, all with the same weight. Settled with the labels of TR45 and Citeseer,
# where 10 to 20 do as well.
N_NEAREST = 10
# Distances held at a time.
_DISTANCES_HELD = 1 << 22


def with_all_features(scalings: Sequence[ViewScaling]) -> list[ViewScaling]:
    """Return the scalings without the projection of sparse rows; dense rows keep theirs."""
    return [replace(one, directions=None) if _of_sparse_rows(one) else one for one in scalings]


def _of_sparse_rows(scaling: ViewScaling) -> bool:
    """Tell whether a scaling is that of sparse rows, which alone are not centred."""
    return scaling.center is None and scaling.directions is not None


@dataclass(frozen=True)
class NearestRows:
    """Joins rows to their nearest ones among those of a fit, and to anchors in few directions."""

    rows: Sequence[View]  # Of the fit, with all features, per view.
    weights: Sequence[float]  # Of the views in squared distances.
    scalings: Sequence[ViewScaling]

    @classmethod
    def of_fit(cls, source: ArraySource, weights: Sequence[float], scalings: Sequence[ViewScaling]) -> Self | None:
        """Return the search among the rows of a fit; None if they are many, not sparse, or lack views.

        ``source`` gives rows with all features.
        """
        if source.n_rows > MOST_REBUILT_ROWS or source.mask is not None or not any(map(_of_sparse_rows, scalings)):
            return None
        return cls([canonical_rows(view) for view in source.read(slice(0, source.n_rows))], weights, scalings)

    def find(self, views: Sequence[View], observed: NDArray[np.bool_] | None) -> sparse.csr_array:
        """Return the weights of rows on the rows of the fit, as one CSR array."""
        n_fitted, n_rows = self.rows[0].shape[0], views[0].shape[0]
        count = min(N_NEAREST, n_fitted)
        columns = np.empty((n_rows, count), dtype=np.int32)
        for batch in gen_batches(n_rows, max(1, _DISTANCES_HELD // n_fitted)):
            own = None if observed is None else observed[batch]
            columns[batch] = smallest_columns(self._distances([view[batch] for view in views], own), count)[0]
        columns.sort(axis=1)
        parts = (np.full(columns.size, 1.0 / count, self.rows[0].dtype), columns.ravel())
        return sparse.csr_array((*parts, np.arange(n_rows + 1) * count), shape=(n_rows, n_fitted))

    def _distances(self, views: list[View], observed: NDArray[np.bool_] | None) -> NDArray[Any]:
        """Return squared distances over the views that each row has, less the squared length of the row itself."""
        total = np.zeros((views[0].shape[0], self.rows[0].shape[0]), dtype=self.rows[0].dtype)
        for number, (view, fitted, weight) in enumerate(zip(views, self.rows, self.weights, strict=True)):
            product = view @ fitted.T
            lengths = np.asarray((fitted * fitted).sum(axis=1)).ravel()
            distances = lengths - 2.0 * (product.toarray() if sparse.issparse(product) else product)
            total += weight * (distances if observed is None else np.where(observed[:, [number]], distances, 0.0))
        return total

    def with_anchors(self, embedder: RowEmbedder, block: RowBlock) -> sparse.csr_array:
        """Return the weights of rows on anchors and on the rows of the fit, half each."""
        few = [
            scaling.project(view) if _of_sparse_rows(scaling) else view
            for view, scaling in zip(block.views, self.scalings, strict=True)
        ]
        return join_sets([embedder.weights(replace(block, views=few)), self.find(block.views, block.observed)])
