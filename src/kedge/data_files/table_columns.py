"""Which column of a table is what: features, names of the rows, known labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.data_files.column_choice import column_place
from kedge.data_files.contents import Labels, Wanted
from kedge.data_files.refusal import DataFileError, shown
from kedge.sources.table_files import load_pyarrow

# What a column of row names is called; "" and the second are what data frames write for an index without a name.
_ROW_NAMES = {"", "unnamed: 0", "id", "index", "name", "row", "row_id", "row_name", "rowname"}


@dataclass(frozen=True)
class TableColumns:
    """Places of the columns of a table."""

    features: list[int]
    row_names: int | None
    label: int | None


def sort_columns(
    view: str, path: Path, names: Sequence[str], kinds: Sequence[Any], wanted: Wanted, *, has_names: bool = True
) -> TableColumns:
    """Say what each column is for; a feature that is not a number is an error.

    Parameters
    ----------
    view : str
        Name of the view.
    path : Path
        The table.
    names : sequence of str
        Names of all columns.
    kinds : sequence of pyarrow.DataType
        Their types.
    wanted : Wanted
        What the user asked for.
    has_names : bool, default=True
        Whether the file itself has the names.
    """
    if has_names:
        _refuse_double(names, path)
    label = None
    if wanted.label_column is not None:
        label = column_place(wanted.label_column, names if has_names else None, len(names))
    row_names = _row_name_column(view, names, kinds, wanted, has_names=has_names)
    if row_names == label:
        row_names = None
    kept_aside = [place for place in (row_names, label) if place is not None]
    chosen = wanted.columns.choose(view, names if has_names else None, len(names), path, kept_aside)
    features = [place for place in chosen if place != label]
    text = [names[place] for place in features if not is_number(kinds[place])]
    if text:
        _refuse_text(text, path, kinds[list(names).index(text[0])])
    if not features:
        raise DataFileError(f"{path} has no column to cluster by")
    return TableColumns(features, row_names if row_names not in features else None, label)


def is_number(kind: Any) -> bool:
    """Whether a type of pyarrow holds numbers; a column without any value may become anything."""
    types = load_pyarrow().types
    tests = (types.is_floating, types.is_integer, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def _row_name_column(
    view: str, names: Sequence[str], kinds: Sequence[Any], wanted: Wanted, *, has_names: bool
) -> int | None:
    types = load_pyarrow().types
    looks_so = has_names and names[0].strip().lower() in _ROW_NAMES and len(names) > 1
    if not looks_so or wanted.columns.names_it(view, names[0]):
        return None
    text = types.is_string(kinds[0]) or types.is_large_string(kinds[0]) or types.is_dictionary(kinds[0])
    return 0 if text or types.is_integer(kinds[0]) else None


def _refuse_double(names: Sequence[str], path: Path) -> None:
    if len(set(names)) < len(names):
        seen: set[str] = set()
        double = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise DataFileError(f"{path}: column {shown(double)} is there more than once; columns need different names")


def _refuse_text(names: list[str], path: Path, kind: Any) -> None:
    listed = ", ".join(shown(name) for name in names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    what = f"column {listed} holds {kind}" if len(names) == 1 else f"columns {listed} hold no numbers"
    drop = ",".join(names[:5])
    raise DataFileError(
        f"{path}: {what} and not numbers; leave out with --drop {drop!r}, or keep one aside with --label-column"
        if len(names) == 1
        else f"{path}: {what}; leave them out with --drop {drop!r}, or keep one aside with --label-column"
    )


def labels_of(chunks: Any, column: str, path: Path) -> Labels:
    """Return the classes in a column, a chunked array of pyarrow; a row without a label is an error."""
    pa = load_pyarrow()
    text = pa.chunked_array([chunk.cast(pa.string()) for chunk in chunks.chunks], type=pa.string())
    if text.null_count:
        row = int(np.argmax(np.asarray(text.is_null())))
        raise DataFileError(f"{path}, row {row}: no label in column {shown(column)}; fill it or leave out the option")
    encoded = text.combine_chunks().dictionary_encode()
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    return Labels(column, np.asarray(encoded.indices).astype(np.int64), encoded.dictionary.to_pylist())


def labels_from_array(values: NDArray[Any], column: str, path: Path) -> Labels:
    """Return the classes in a vector of numbers or text."""
    flat = np.asarray(values).reshape(-1)
    if flat.dtype.kind == "f" and not np.isfinite(flat).all():
        row = int(np.argmin(np.isfinite(flat)))
        raise DataFileError(f"{path}, row {row}: no label in {shown(column)}; fill it or leave out the option")
    if flat.dtype.kind == "f" and bool((flat == np.round(flat)).all()) and bool((np.abs(flat) < 2**53).all()):
        flat = flat.astype(np.int64)
    if flat.dtype.kind not in "biufUST":
        raise DataFileError(f"{path}: {shown(column)} holds {flat.dtype}, which cannot be labels")
    names, codes = np.unique(flat, return_inverse=True)
    texts = [name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name) for name in names.tolist()]
    return Labels(column, codes.reshape(-1).astype(np.int64), texts)


def row_names_of(chunks: Any, column: str, path: Path) -> NDArray[Any]:
    """Return a column as names of the rows; a name that comes twice is an error."""
    pa = load_pyarrow()
    if chunks.null_count or len(chunks.unique()) < len(chunks):
        raise DataFileError(
            f"{path}: the first column, {shown(column)}, looks like names of the rows, but some are missing or come "
            "twice; leave it out with --drop, or name the columns to use with --columns"
        )
    parts = [np.array(chunk.cast(pa.string()).to_pylist(), dtype=np.dtypes.StringDType()) for chunk in chunks.chunks]
    return np.concatenate(parts)
