"""What a fit depends on, in words: a checkpoint of another fit is told apart by them."""

from hashlib import blake2b
from importlib.metadata import version
from typing import Any

import numpy as np
from scipy import sparse

from kedge.estimators.view_input import Views
from kedge.model.row_problem import View

# Parameters that do not change the result.
_WITHOUT_EFFECT = ("n_jobs", "verbose", "callback", "scratch_folder", "checkpoint")
_ROWS_HASHED = 8192


def fit_identity(estimator: Any, views: Views) -> dict[str, str]:
    """Return every parameter of an estimator and a digest of all rows, as text."""
    parameters = estimator.get_params(deep=False)
    seed = parameters["random_state"]
    if not isinstance(seed, int | np.integer):
        raise ValueError(
            f"checkpoint needs random_state to be an integer, got {seed!r}: a fit that goes on must draw what the "
            "first one drew"
        )
    identity = {"kedge": version("kedge"), "estimator": type(estimator).__name__}
    for name, value in parameters.items():
        if name not in _WITHOUT_EFFECT:
            identity[name] = _in_words(value)
    for name, array in zip(views.names, views.arrays, strict=True):
        shape = f"{array.shape[0]} x {array.shape[1]} {array.dtype}"
        identity[f"rows of {name}"] = f"{shape}, digest {_digest_of_rows(array)}"
    if views.observed is not None:
        identity["observed"] = _digest(views.observed)
    return identity


def _in_words(value: Any) -> str:
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        return f"array of shape {value.shape}, digest {_digest_of_rows(value)}"
    if isinstance(value, list | tuple) and any(isinstance(part, np.ndarray) for part in value):
        return "; ".join(_in_words(part) for part in value)
    return repr(value)


def _digest(array: Any) -> str:
    return blake2b(np.ascontiguousarray(array).data.cast("B"), digest_size=16).hexdigest()


def _digest_of_rows(array: View) -> str:
    """Go over all rows: two data sets that differ in one entry are two."""
    digest = blake2b(digest_size=16)
    for start in range(0, array.shape[0], _ROWS_HASHED):
        block = array[start : min(start + _ROWS_HASHED, array.shape[0])]
        parts = (block.indptr, block.indices, block.data) if sparse.issparse(block) else (block,)
        for part in parts:
            digest.update(np.ascontiguousarray(part).data.cast("B"))
    return digest.hexdigest()
