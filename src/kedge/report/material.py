"""What a report is made of, checked."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.plots.numbers.features import FeatureContrasts, contrast_features
from kedge.plots.numbers.fitted_model import confidence_of, count_clusters, labels_of, needed
from kedge.plots.numbers.layers import Layer, layers_of


@dataclass(frozen=True)
class Material:
    """The model and what is known about its rows."""

    model: Any  # SGL or MSGL, fitted.
    views: list[Any] | None  # The rows of the fit.
    view_names: list[str]  # One per view.
    feature_names: list[list[str]] | None  # Per view; None without data.
    row_names: Sequence[Any] | None  # None means numbers.
    true_labels: NDArray[Any] | None  # Known classes.
    image_shapes: list[tuple[int, int] | None]  # Height and width of the rows of every view, or None.
    run: dict[str, Any]  # What ``run.json`` holds, or nothing.

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """Clusters of the rows."""
        return labels_of(self.model)

    @cached_property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return count_clusters(self.model)

    @cached_property
    def confidence(self) -> NDArray[np.float64] | None:
        """How sure each label is."""
        return confidence_of(self.model)

    @cached_property
    def layers(self) -> list[Layer]:
        """The clusters at other numbers of them, finest first."""
        return layers_of(self.model)

    @cached_property
    def contrasts(self) -> list[FeatureContrasts]:
        """What distinguishes clusters in every view; nothing without data."""
        return [contrast_features(view, self.labels, self.n_clusters) for view in self.views or []]

    def row_name(self, row: int) -> str:
        """Return what a row is called."""
        return f"row {row}" if self.row_names is None else str(self.row_names[row])


def check_material(
    model: Any,
    views: Any,
    view_names: Any,
    feature_names: Any,
    row_names: Any,
    true_labels: Any,
    image_shape: Any,
    run: Any,
) -> Material:
    """Check what was given against the model."""
    needed(model, "graph_", "a report needs a fitted SGL or MSGL")
    n_rows = len(labels_of(model))
    names = [str(name) for name in view_names]
    widths = [int(width) for width in getattr(model, "view_widths_", [model.n_features_in_])]
    if len(names) != len(widths):
        raise ValueError(f"view_names has {len(names)} names, but the model has {len(widths)} views: give one per view")
    matrices = None if views is None else [_checked_view(*one, n_rows) for one in _paired(views, names, widths)]
    for given, parameter in ((row_names, "row_names"), (true_labels, "true_labels")):
        if given is not None and len(given) != n_rows:
            raise ValueError(f"{parameter} has {len(given)} entries, but the model has {n_rows} rows: give one per row")
    return Material(
        model=model,
        views=matrices,
        view_names=names,
        feature_names=None if views is None else _feature_names(model, feature_names, names, widths),
        row_names=None if row_names is None else np.asarray(row_names, dtype=object).tolist(),
        true_labels=None if true_labels is None else np.asarray(true_labels),
        image_shapes=_image_shapes(image_shape, names, widths),
        run=dict(run or {}),
    )


def _paired(views: Any, names: list[str], widths: list[int]) -> list[tuple[Any, str, int]]:
    if len(views) != len(widths):
        raise ValueError(f"views has {len(views)} matrices, but the model has {len(widths)} views: give all, or None")
    return list(zip(views, names, widths, strict=True))


def _checked_view(view: Any, name: str, width: int, n_rows: int) -> Any:
    matrix = sparse.csr_array(view) if sparse.issparse(view) else view if hasattr(view, "shape") else np.asarray(view)
    if tuple(matrix.shape) != (n_rows, width):
        raise ValueError(
            f"view {name!r} has shape {tuple(matrix.shape)}, but the model was fitted on {(n_rows, width)}"
        )
    # Data frames are not sliced by rows.
    return matrix if sparse.issparse(matrix) or isinstance(matrix, np.ndarray) else np.asarray(matrix)


def _feature_names(model: Any, given: Any, names: list[str], widths: list[int]) -> list[list[str]]:
    if given is None:
        seen = getattr(model, "feature_names_in_", None)
        if seen is not None and getattr(model, "view_columns_", None) is None and len(seen) == sum(widths):
            ends = np.cumsum(widths)
            return [[str(one) for one in seen[end - width : end]] for end, width in zip(ends, widths, strict=True)]
        given = [None] * len(widths)
    if len(given) != len(widths):
        raise ValueError(
            f"feature_names has {len(given)} lists, but the model has {len(widths)} views: give one per view"
        )
    found = []
    for own, name, width in zip(given, names, widths, strict=True):
        if own is not None and len(own) != width:
            raise ValueError(f"feature_names of view {name!r} has {len(own)} names, but the view has {width} columns")
        found.append([f"feature {column}" for column in range(width)] if own is None else [str(one) for one in own])
    return found


def _image_shapes(given: Any, names: list[str], widths: list[int]) -> list[tuple[int, int] | None]:
    """Return the shape of the images of every view; one shape for all is for those views that have its size."""
    if given is None:
        return [None] * len(widths)
    if all(isinstance(part, int | np.integer) for part in given):
        height, width = _two_sizes(given)
        if height * width not in widths:
            raise ValueError(f"image_shape {(height, width)} fits no view: their widths are {widths}")
        return [(height, width) if one == height * width else None for one in widths]
    if len(given) != len(widths):
        raise ValueError(
            f"image_shape has {len(given)} entries, but the model has {len(widths)} views: give one per view"
        )
    shapes = [None if one is None else _two_sizes(one) for one in given]
    for shape, name, width in zip(shapes, names, widths, strict=True):
        if shape is not None and shape[0] * shape[1] != width:
            raise ValueError(f"image_shape {shape} does not fit view {name!r}, which has {width} columns")
    return shapes


def _two_sizes(given: Any) -> tuple[int, int]:
    if len(given) != 2 or min(given) < 1:
        raise ValueError(f"image_shape must be a height and a width, got {given!r}")
    return int(given[0]), int(given[1])
