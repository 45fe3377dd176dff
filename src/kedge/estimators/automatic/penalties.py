"""The structure penalty and the weighting of views, where they are left to the data: whole small fits are compared."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.model.neighborhood import modularity

# Tried where the parameter is "auto"; the first is what a fit does without being asked.
BETAS = (0.0, 0.1, 1.0)
GAMMAS = (-5.0, -1.0, -25.0)
# Fits with each value that is better in the first.
FITS = 2
# A value other than the usual one has to be better by this much.
MARGIN = 0.005


def choose_value(
    name: str,
    values: Sequence[float],
    labels_with: Callable[[float, int], NDArray[np.int64]],
    neighbors: sparse.csr_array,
) -> tuple[float, list[dict[str, Any]]]:
    """Return the value whose fits keep near rows together best, and what was tried.

    Parameters
    ----------
    name : str
        Of the parameter, for the report.
    values : sequence of float
        The usual one first; a single one is not tried.
    labels_with : callable
        Takes a value and the number of a fit and returns the labels of the sample.
    neighbors : CSR array
        The graph of near rows.
    """
    if len(values) == 1:
        return values[0], []
    heard = [[modularity(neighbors, labels_with(value, 0))] for value in values]
    promising = [place for place, found in enumerate(heard) if found[0] > heard[0][0] + MARGIN]
    for place in [0, *promising] if promising else []:
        heard[place] += [modularity(neighbors, labels_with(values[place], fit)) for fit in range(1, FITS)]
    means = [float(np.mean(found)) for found in heard]
    chosen = max([0, *promising], key=lambda place: means[place] - MARGIN * (place > 0))
    tried = [{name: value, "modularity": mean} for value, mean in zip(values, means, strict=True)]
    return values[chosen], tried
