"""What a report is made of, checked."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from kedge.plots.fitted_model import FeatureContrasts, contrast_features, count_clusters, labels_of, needed
from kedge.plots.layer_tree import layers_of


@dataclass
class Material:
    """A fitted SGL or MSGL and what is known about its rows; see :func:`kedge.report.write_report`."""

    model: Any
    views: Any
    view_names: Any
    feature_names: Any
    row_names: Any
    true_labels: Any
    image_shapes: Any
    run: Any

    def __post_init__(self) -> None:
        """Check everything against the model."""
        model = self.model
        needed(model, "graph_", "a report needs a fitted SGL or MSGL")
        self.labels, self.n_clusters, self.layers = labels_of(model), count_clusters(model), layers_of(model)
        confidence = getattr(model, "confidence_", None)
        self.confidence = None if confidence is None else np.asarray(confidence, dtype=np.float64)
        self.widths = [int(width) for width in getattr(model, "view_widths_", [model.n_features_in_])]
        self.view_names = [str(name) for name in self.view_names]
        self._check_count("view_names", self.view_names, "names")
        for parameter in ("row_names", "true_labels"):
            given = getattr(self, parameter)
            if given is not None and len(given) != len(self.labels):
                counts = f"{len(given)} entries, but the model has {len(self.labels)} rows"
                raise ValueError(f"{parameter} has {counts}: give one per row")
        self.views = None if self.views is None else self._checked_views(self.views)
        self.feature_names = [] if self.views is None else self._checked_feature_names(self.feature_names)
        self.row_names = None if self.row_names is None else list(self.row_names)
        self.image_shapes = self._checked_image_shapes(self.image_shapes)
        self.run = self.run or {}

    @cached_property
    def contrasts(self) -> list[FeatureContrasts]:
        """What distinguishes clusters in every view; empty without data."""
        return [contrast_features(view, self.labels, self.n_clusters) for view in self.views or []]

    def row_name(self, row: int) -> str:
        """Return what a row is called."""
        return f"row {row}" if self.row_names is None else str(self.row_names[row])

    def _check_count(self, parameter: str, given: Any, noun: str, remedy: str = "give one per view") -> None:
        if len(given) != len(self.widths):
            counts = f"{len(given)} {noun}, but the model has {len(self.widths)} views"
            raise ValueError(f"{parameter} has {counts}: {remedy}")

    def _checked_views(self, views: Any) -> list[Any]:
        self._check_count("views", views, "matrices", "give all, or None")
        # As arrays, because data frames cannot be sliced by rows.
        matrices = [sparse.csr_array(view) if sparse.issparse(view) else np.asarray(view) for view in views]
        for matrix, name, width in zip(matrices, self.view_names, self.widths, strict=True):
            expected = (len(self.labels), width)
            if matrix.shape != expected:
                raise ValueError(f"view {name!r} has shape {matrix.shape}, but the model was fitted on {expected}")
        return matrices

    def _checked_feature_names(self, given: Any) -> list[list[str]]:
        """Return the names of the columns: those given, those that the model has seen, or numbers."""
        if given is None:
            given = [None] * len(self.widths)
            seen = getattr(self.model, "feature_names_in_", None)
            columns_are_given = getattr(self.model, "view_columns_", None) is not None
            if seen is not None and not columns_are_given and len(seen) == sum(self.widths):
                given = np.split(seen, np.cumsum(self.widths)[:-1])
        self._check_count("feature_names", given, "lists")
        found = []
        for own, name, width in zip(given, self.view_names, self.widths, strict=True):
            names = [f"feature {column}" for column in range(width)] if own is None else [str(one) for one in own]
            if len(names) != width:
                counts = f"{len(names)} names, but the view has {width} columns"
                raise ValueError(f"feature_names of view {name!r} has {counts}")
            found.append(names)
        return found

    def _checked_image_shapes(self, given: Any) -> list[tuple[int, int] | None]:
        """Return the shape of the images of every view; a single shape is for the views that have its size."""
        if given is None:
            return [None] * len(self.widths)
        if all(isinstance(part, int | np.integer) for part in given):
            height, width = _two_sizes(given)
            if height * width not in self.widths:
                raise ValueError(f"image_shape {(height, width)} fits no view: their widths are {self.widths}")
            return [(height, width) if one == height * width else None for one in self.widths]
        self._check_count("image_shape", given, "entries")
        shapes = [None if one is None else _two_sizes(one) for one in given]
        for shape, name, width in zip(shapes, self.view_names, self.widths, strict=True):
            if shape is not None and shape[0] * shape[1] != width:
                raise ValueError(f"image_shape {shape} does not fit view {name!r}, which has {width} columns")
        return shapes


def _two_sizes(given: Any) -> tuple[int, int]:
    if len(given) != 2 or min(given) < 1:
        raise ValueError(f"image_shape must be a height and a width, got {given!r}")
    return int(given[0]), int(given[1])
