"""Labels and layers as tables: CSV and Parquet in pieces, .npy whole."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from kedge.optional_libraries import load_library
from kedge.plots.layers import Layer

LABEL_SUFFIXES = (".csv", ".parquet", ".npy")
_ROWS_AT_ONCE = 1 << 17


def write_labels(
    file: BinaryIO,
    suffix: str,
    labels: NDArray[np.int64],
    row_names: NDArray[Any] | None,
    confidence: NDArray[np.floating[Any]] | None = None,
) -> None:
    """Write a table with the columns row and label, and confidence where there is any; .npy takes the labels alone.

    Without names of the rows, their numbers are written.
    """
    if suffix == ".npy":
        np.save(file, labels)
        return
    columns: dict[str, NDArray[Any]] = {"label": np.asarray(labels, dtype=np.int64)}
    if confidence is not None:
        columns["confidence"] = np.asarray(confidence, dtype=np.float64)
    write_columns(file, suffix, columns, row_names)


def write_columns(
    file: BinaryIO, suffix: str, columns: Mapping[str, NDArray[Any]], row_names: NDArray[Any] | None
) -> None:
    """Write a table with the names of the rows, or their numbers, and one or more columns of numbers."""
    pa = load_library("pyarrow", "cli", "writing labels")
    fields = {"row": pa.int64() if row_names is None else pa.string()}
    fields |= {name: pa.from_numpy_dtype(values.dtype) for name, values in columns.items()}
    schema = pa.schema(fields)
    n_rows = len(next(iter(columns.values())))
    with _writer(suffix)(file, schema) as writer:
        for start in range(0, n_rows, _ROWS_AT_ONCE):
            rows = slice(start, min(start + _ROWS_AT_ONCE, n_rows))
            names: Any = np.arange(rows.start, rows.stop) if row_names is None else row_names[rows].tolist()
            piece = {"row": names} | {name: values[rows] for name, values in columns.items()}
            writer.write_table(pa.table(piece, schema=schema))


def _writer(suffix: str) -> Callable[[BinaryIO, Any], Any]:
    if suffix == ".parquet":
        writer: Callable[[BinaryIO, Any], Any] = load_library("pyarrow.parquet", "cli", "writing labels").ParquetWriter
        return writer
    csv = load_library("pyarrow.csv", "cli", "writing labels")
    plain = csv.WriteOptions(quoting_style="needed")
    return lambda file, schema: csv.CSVWriter(file, schema, write_options=plain)


def label_suffix(path: Path) -> str:
    """Return the format that a name asks for; an error if it is none of those that are written."""
    suffix = path.suffix.lower()
    if suffix not in LABEL_SUFFIXES:
        raise ValueError(f"--out: {path} must end in one of {', '.join(LABEL_SUFFIXES)}")
    if not path.parent.is_dir():
        raise ValueError(f"--out: there is no folder {path.parent.absolute()}; make it first")
    return suffix


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
