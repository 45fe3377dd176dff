"""One fit, as it is handed to a process of its own and as it comes back."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.baselines.memory import refuse
from kedge.comparison.method_names import MethodChoice
from kedge.core.rows import side_by_side
from kedge.inputs import Views
from kedge.readers.arrays import learn_array_scaling
from kedge.readers.contents import machine_memory

# Ward's method keeps the distances of all pairs twice while it joins them.
_BYTES_PER_PAIR_OF_ROWS = 8


@dataclass(frozen=True)
class FitTask:
    """What a process is asked to fit."""

    choice: MethodChoice
    views: Views
    n_clusters: int | str
    random_state: Any
    memory_limit: float | None


@dataclass(frozen=True)
class FitRecord:
    """What came of it."""

    labels: NDArray[np.int64] | None = None  # Shape (n_samples,). Clusters; None if there are none.
    reason: str = ""  # Why there are none.
    refused: bool = False  # Whether the method was not begun, rather than begun and failed.
    seconds: float | None = None  # Time of the fit alone.
    # Most memory that the process held during the fit, beyond what it held before; None where that is unknown.
    peak_bytes: int | None = None
    notes: tuple[str, ...] = field(default=())  # Warnings of the fit.


def why_not(choice: MethodChoice, views: Views, n_clusters: int | str, memory_limit: float | None) -> str | None:
    """Return why a method cannot run on these rows, in a sentence; None if nothing is known against it."""
    n_views = len(views.arrays)
    if choice.settings.get("n_clusters", n_clusters) == "auto" and not choice.finds_count:
        return "needs a number of clusters, and no method of this comparison found one"
    if views.observed is not None and choice.name != "msgl":
        if n_views == 1:
            return "some rows are NaN"
        return "some rows lack views, and only msgl takes such rows"
    if choice.name != "agglomerative":
        return None
    if all(sparse.issparse(array) for array in views.arrays):
        return "takes dense rows only, and these are sparse"
    needed = _BYTES_PER_PAIR_OF_ROWS * views.n_rows**2
    limit = machine_memory() if memory_limit is None else memory_limit
    if needed > limit:
        try:
            largest = int((limit / _BYTES_PER_PAIR_OF_ROWS) ** 0.5)
            refuse(choice.name, views.n_rows, needed, largest, limit, is_own=memory_limit is not None)
        except MemoryError as error:
            return str(error)
    return None


def input_for(choice: MethodChoice, views: Views) -> tuple[Any, dict[str, Any]]:
    """Return what the method's ``fit`` is given: X and further arguments."""
    if len(views.arrays) == 1:
        return views.arrays[0], {}
    if choice.takes_views:
        named = dict(zip(views.names, views.arrays, strict=True))
        return named, {} if views.observed is None else {"observed": views.observed}
    scaled = [
        learn_array_scaling("auto", array, name, to_unit_rows=True).apply(array)
        for name, array in zip(views.names, views.arrays, strict=True)
    ]
    return side_by_side(scaled), {}
