"""What a fit is told, and what it finds."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.engines.checkpoint import Checkpoint
from kedge.estimators.anchor_sets import AnchorPlan
from kedge.estimators.iterations import IterationReport
from kedge.estimators.partitioning import Layers
from kedge.model.structure_penalty import EmbeddingPenalty
from kedge.model.view_weighting import ViewWeighting

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FitPlan:
    """Everything a fit is told, with nothing left to be decided from names of parameters."""

    n_clusters: int | None
    count_range: tuple[int, int] | None
    partition: str
    anchors: AnchorPlan
    alpha: float
    beta: float
    relative_penalties: bool
    penalty: str
    locality: float
    exact: bool
    weighting: Callable[[Array, float], ViewWeighting]
    gamma: float
    view_prior: Array | None
    max_iter: int
    tol: float
    n_threads: int
    published_norm: str | None = None
    first_penalty: Array | None = None
    callback: Callable[[IterationReport], bool | None] | None = None
    scratch_folder: str | Path | None = None
    checkpoint: Checkpoint | None = None

    @property
    def as_published(self) -> bool:
        """Whether the fit follows the authors' release."""
        return self.published_norm is not None


@dataclass(frozen=True)
class FittedGraph:
    """What a fit found; the estimators turn it into attributes."""

    labels: Any
    graph: Any
    anchors: list[NDArray[Any]]
    used_anchors: NDArray[np.intp]
    anchor_labels: NDArray[np.int64]
    embedding: Any
    anchor_embedding: Array
    centers: Array | None
    row_map: Array
    singular_values: Array
    soft_anchors: list[NDArray[Any]]
    set_sizes: list[int]
    n_near: int | None
    ridge: float
    problem_weights: tuple[float, ...]
    view_weights: Array
    view_prior: Array
    penalty: EmbeddingPenalty | None
    objective: list[float]
    n_components: int
    ridge_factors: Array | None
    confidence: Any
    locality: float
    layers: Layers
    cluster_shares: Array
    confidence_shares: Any
