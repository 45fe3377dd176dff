"""Text with a delimiter: CSV and TSV, read batch by batch."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.data_files.contents import FileContents, FileView, Wanted
from kedge.data_files.refusal import DataFileError, one_line, shown
from kedge.data_files.row_readers import ConvertedRows
from kedge.data_files.table_columns import TableColumns, labels_of, row_names_of, sort_columns
from kedge.optional_libraries import load_library

DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
# The least text of a number: a digit and a delimiter become eight bytes.
_GROWTH = 4
_BLOCK_BYTES, _MOST_BLOCK_BYTES = 2**20, 2**28
_COLUMN_NUMBER = re.compile(r"In CSV column #(\d+): ")


@dataclass(frozen=True)
class _Layout:
    """What the start of a text says about the whole."""

    path: Path
    delimiter: str
    block_bytes: int
    names: list[str]
    has_names: bool
    kinds: list[Any]


def read_delimited(path: Path, wanted: Wanted) -> FileContents:
    """Read a CSV or TSV file: whole, or into a scratch file if it is large."""
    layout = _look_at(path, DELIMITERS[path.suffix.lower()])
    view = path.stem
    columns = sort_columns(view, path, layout.names, layout.kinds, wanted, has_names=layout.has_names)
    names = [layout.names[place] for place in columns.features] if layout.has_names else None
    size = path.stat().st_size
    is_large = _GROWTH * size > wanted.limits.whole_bytes
    sink: _MemoryRows | ConvertedRows = (
        ConvertedRows(path.name, names, len(columns.features), wanted.scratch_folder)
        if is_large
        else _MemoryRows(len(columns.features))
    )
    try:
        aside = _convert(layout, columns, sink, wanted)
    except BaseException:
        sink.close()
        raise
    if not sink.n_rows:
        raise DataFileError(f"{path} has names of columns but no rows")
    rows: Any = sink if isinstance(sink, ConvertedRows) else sink.joined()
    kind = "csv" if layout.delimiter == "," else "tsv"
    contents = FileContents([FileView(view, path, kind, rows, names)])
    if columns.label is not None:
        column = wanted.label_column or ""
        contents = replace(contents, labels=labels_of(aside[columns.label], column, path))
    if columns.row_names is not None:
        row_names = row_names_of(aside[columns.row_names], layout.names[columns.row_names], path)
        contents = replace(contents, row_names=row_names)
    return contents


class _MemoryRows:
    """Rows collected in memory."""

    def __init__(self, width: int) -> None:
        self.n_rows = 0
        self._parts: list[NDArray[np.float64]] = [np.empty((0, width))]

    def append(self, rows: NDArray[np.float64]) -> None:
        self._parts.append(rows)
        self.n_rows += len(rows)

    def joined(self) -> NDArray[np.float64]:
        return np.concatenate(self._parts)

    def close(self) -> None:
        self._parts = []


def _look_at(path: Path, delimiter: str) -> _Layout:
    """Find names and types of the columns from the first block."""
    with path.open("rb") as file:
        first = file.readline(_MOST_BLOCK_BYTES)
    if not first.strip():
        what = "is empty" if not path.stat().st_size else "begins with an empty line"
        raise DataFileError(f"{path} {what}; give a file with one row per line")
    if len(first) >= _MOST_BLOCK_BYTES or b"\0" in first:
        raise DataFileError(f"{path} is no text with lines; is its name right?")
    block_bytes = min(max(_BLOCK_BYTES, 4 * len(first)), _MOST_BLOCK_BYTES)
    draft = _Layout(path, delimiter, block_bytes, [], False, [])
    pa = load_library("pyarrow", "cli", "reading CSV files")
    # As text first, to see whether the first line holds names.
    top = _first_batch(draft, {}, as_text=True)
    lines = [[str(value.as_py() or "") for value in row] for row in zip(*(c.slice(0, 2) for c in top), strict=True)]
    has_names = _is_header(lines[0], lines[1] if len(lines) > 1 else None)
    width = len(lines[0])
    names = [name.strip() for name in lines[0]] if has_names else [f"column {place}" for place in range(width)]
    layout = replace(draft, names=names, has_names=has_names)
    batch = _first_batch(layout, {})
    kinds = [pa.float64()] * width if batch is None else [column.type for column in batch]
    if width == 1 and names[0].count(";") > 1:
        raise DataFileError(f"{path} is delimited by ';'; write it again with ',' between columns and '.' in numbers")
    return replace(layout, kinds=kinds)


def _first_batch(layout: _Layout, kinds: dict[str, Any], *, as_text: bool = False) -> Any:
    pa = load_library("pyarrow", "cli", "reading CSV files")
    with _opened(layout, kinds, generate=as_text) as reader:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return None
    columns = batch.columns
    return [column.cast(pa.string()) for column in columns] if as_text else columns


def _opened(layout: _Layout, kinds: dict[str, Any], *, generate: bool = False, included: Any = None) -> Any:
    csv = load_library("pyarrow.csv", "cli", "reading CSV files")
    keys = [f"f{place}" for place in range(len(layout.names))]
    reading = csv.ReadOptions(
        # One thread, so that errors name the row.
        use_threads=False,
        block_size=layout.block_bytes,
        column_names=None if generate else keys,
        autogenerate_column_names=generate,
        skip_rows_after_names=int(layout.has_names and not generate),
    )
    parsing = csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=False)
    converting = csv.ConvertOptions(column_types=kinds, include_columns=included, strings_can_be_null=True)
    return csv.open_csv(layout.path, reading, parsing, converting)


def _is_header(first: list[str], second: list[str] | None) -> bool:
    """Whether the first line holds names: words where numbers should be, or the numbers of the columns."""
    numbers = [_is_number(cell) for cell in first]
    if not any(numbers):
        return any(cell.strip() for cell in first)
    if second is not None and any(
        not is_one and not_empty for is_one, not_empty in zip(numbers, map(_is_number, second), strict=False)
    ):
        return True
    # Data frames without names are written with the numbers of their columns.
    counted = [cell.strip() for cell, is_one in zip(first, numbers, strict=True) if is_one]
    starts = (0,) if all(numbers) else (0, 1)
    return len(counted) > 2 and any(counted == [str(start + i) for i in range(len(counted))] for start in starts)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _convert(layout: _Layout, columns: TableColumns, sink: Any, wanted: Wanted) -> dict[int, Any]:
    """Put the features into the sink; return what is kept aside by its place."""
    pa = load_library("pyarrow", "cli", "reading CSV files")
    aside = [place for place in (columns.row_names, columns.label) if place is not None]
    kinds = {
        f"f{place}": pa.bool_() if pa.types.is_boolean(layout.kinds[place]) else pa.float64()
        for place in columns.features
    }
    kinds |= {f"f{place}": pa.string() for place in aside}
    kept: dict[int, list[Any]] = {place: [] for place in aside}
    wanted.progress.begin(f"reading {layout.path.name}")
    try:
        with _opened(layout, kinds, included=list(kinds)) as reader:
            for batch in reader:
                block = np.empty((batch.num_rows, len(columns.features)))
                for number, place in enumerate(columns.features):
                    block[:, number] = batch.column(f"f{place}").cast(pa.float64()).to_numpy(zero_copy_only=False)
                sink.append(block)
                for place in aside:
                    kept[place].append(batch.column(f"f{place}"))
                wanted.limits.check_rows(sink.n_rows, layout.path)
                wanted.progress.rows_done(batch.num_rows)
    except pa.ArrowInvalid as error:
        raise DataFileError(f"{layout.path}: {_explained(str(error), layout.names)}") from error
    return {place: pa.chunked_array(chunks, type=pa.string()) for place, chunks in kept.items()}


def _explained(message: str, names: list[str]) -> str:
    """Name the column that a message numbers, and say what to do."""
    text = one_line(message)
    found = _COLUMN_NUMBER.search(text)
    if found is None:
        return f"{text}; every line needs the same number of values"
    place = int(found[1])
    name = names[place] if place < len(names) else str(place)
    text = one_line(text[: found.start()] + text[found.end() :])
    return f"column {shown(name)} has a value that is no number ({text}); correct it, or --drop {name!r}"
