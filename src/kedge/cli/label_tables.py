"""Labels as tables: CSV and Parquet in pieces, .npy whole."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from kedge.optional_libraries import load_library

LABEL_SUFFIXES = (".csv", ".parquet", ".npy")
_ROWS_AT_ONCE = 1 << 17


def write_labels(
    file: BinaryIO,
    suffix: str,
    labels: NDArray[np.int64],
    row_names: NDArray[Any] | None,
    confidence: NDArray[np.floating[Any]] | None = None,
) -> None:
    """Write a table with the columns row and label, and confidence where there is any.

    Parameters
    ----------
    file : binary file
        Where to.
    suffix : {".csv", ".parquet", ".npy"}
        The format; .npy takes the labels alone.
    labels : array of int of shape (n_rows,)
        The labels.
    row_names : array of str or None
        Names of the rows; None means their numbers.
    confidence : array of float or None
        How stable each label is.
    """
    if suffix == ".npy":
        np.save(file, labels)
        return
    pa = load_library("pyarrow", "cli", "writing labels")
    fields = {"row": pa.int64() if row_names is None else pa.string(), "label": pa.int64()}
    if confidence is not None:
        fields["confidence"] = pa.float64()
    schema = pa.schema(fields)
    with _writer(suffix)(file, schema) as writer:
        for piece in _pieces(labels, row_names, confidence):
            writer.write_table(pa.table(piece, schema=schema))


def _writer(suffix: str) -> Callable[[BinaryIO, Any], Any]:
    if suffix == ".parquet":
        writer: Callable[[BinaryIO, Any], Any] = load_library("pyarrow.parquet", "cli", "writing labels").ParquetWriter
        return writer
    csv = load_library("pyarrow.csv", "cli", "writing labels")
    plain = csv.WriteOptions(quoting_style="needed")
    return lambda file, schema: csv.CSVWriter(file, schema, write_options=plain)


def _pieces(
    labels: NDArray[np.int64], row_names: NDArray[Any] | None, confidence: NDArray[Any] | None
) -> Iterator[dict[str, Any]]:
    for start in range(0, len(labels), _ROWS_AT_ONCE):
        rows = slice(start, min(start + _ROWS_AT_ONCE, len(labels)))
        names: Any = np.arange(rows.start, rows.stop) if row_names is None else row_names[rows].tolist()
        piece: dict[str, Any] = {"row": names, "label": np.asarray(labels[rows], dtype=np.int64)}
        if confidence is not None:
            piece["confidence"] = np.asarray(confidence[rows], dtype=np.float64)
        yield piece


def label_suffix(path: Path) -> str:
    """Return the format that a name asks for; an error if it is none of those that are written."""
    suffix = path.suffix.lower()
    if suffix not in LABEL_SUFFIXES:
        raise ValueError(f"--out: {path} must end in one of {', '.join(LABEL_SUFFIXES)}")
    if not path.parent.is_dir():
        raise ValueError(f"--out: there is no folder {path.parent.absolute()}; make it first")
    return suffix
