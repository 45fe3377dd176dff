"""The layers of a fit as tables: one column per number of clusters."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from kedge.cli.label_tables import write_columns
from kedge.plots.numbers.layers import Layer


def write_layers(file: BinaryIO, suffix: str, layers: Sequence[Layer], row_names: NDArray[Any] | None) -> None:
    """Write a table with the column row, and one column per layer, finest first."""
    columns = {f"clusters_{layer.n_clusters}": layer.labels for layer in layers}
    write_columns(file, suffix, columns, row_names)


def describe_layers(model: Any, layers: Sequence[Layer]) -> dict[str, Any]:
    """Return the record of the layers: which clusters become one from each layer to the next coarser one."""
    merges = []
    for layer, coarser in pairwise(layers):
        groups = [np.flatnonzero(layer.parents == cluster).tolist() for cluster in range(coarser.n_clusters)]
        joined = [{"clusters": group, "into": cluster} for cluster, group in enumerate(groups) if len(group) > 1]
        merges.append({"from": layer.n_clusters, "to": coarser.n_clusters, "joined": joined, "loss": layer.loss})
    return {"n_communities": int(model.n_communities_), "merges": merges}
