"""Parquet and Arrow files."""

from pathlib import Path
from typing import Any

from kedge.data_files.contents import FileContents, FileView, Labels, Wanted
from kedge.data_files.refusal import DataFileError, shown
from kedge.data_files.table_columns import labels_of, row_names_of, sort_columns
from kedge.sources.parquet_files import ParquetRows
from kedge.sources.table_files import (
    PARQUET_SUFFIXES,
    TABLE_SUFFIXES,
    TableFile,
    inspect_table,
    load_pyarrow,
    read_group,
)

__all__ = ["TABLE_SUFFIXES", "read_table"]


def read_table(path: Path, wanted: Wanted) -> FileContents:
    """Read a table: whole if it is small, else one row group at a time."""
    table = inspect_table(path)
    n_rows = sum(table.group_rows)
    if not table.schema.names or not n_rows:
        raise DataFileError(f"{path} is empty: {n_rows} rows, {len(table.schema.names)} columns")
    if min(table.group_rows) < 0:
        raise DataFileError(f"{path} is damaged: it has a {table.group_word} of {min(table.group_rows)} rows")
    wanted.limits.check_rows(n_rows, path)
    names, index = _columns_without_index(table)
    if not names:
        raise DataFileError(f"{path} has no columns besides an index")
    kinds = [table.schema.field(table.schema.get_field_index(name)).type for name in names]
    columns = sort_columns(path.stem, path, names, kinds, wanted)
    features = [names[place] for place in columns.features]
    largest = 8 * len(features) * max(table.group_rows)
    # The decoded columns, and the block made of them.
    wanted.limits.check_whole(2 * largest, path, f"one {table.group_word} of {max(table.group_rows):,} rows")
    reader = ParquetRows(path, features)
    rows: Any = reader
    if reader.dtype.itemsize * reader.width * n_rows <= wanted.limits.whole_bytes:
        rows = reader.read(slice(0, n_rows))
    labels: Labels | None = None
    if columns.label is not None:
        name = names[columns.label]
        labels = labels_of(_read_column(table, name), name, path)
    named_by = names[columns.row_names] if columns.row_names is not None else index
    row_names = None if named_by is None else row_names_of(_read_column(table, named_by), named_by, path)
    kind = "parquet" if path.suffix.lower() in PARQUET_SUFFIXES else "arrow"
    return FileContents([FileView(path.stem, path, kind, rows, features)], row_names, labels)


def _columns_without_index(table: TableFile) -> tuple[list[str], str | None]:
    """Return the columns that are not the index of a data frame, and that index if it can name rows."""
    try:
        stored = (table.schema.pandas_metadata or {}).get("index_columns", [])
    except (ValueError, AttributeError):  # a note of pandas that is no proper JSON says nothing
        stored = []
    index = [name for name in stored if isinstance(name, str) and name in table.schema.names]
    names = [name for name in table.schema.names if name not in index]
    types = load_pyarrow().types
    kinds = [table.schema.field(table.schema.get_field_index(name)).type for name in index]
    is_name = len(index) == 1 and (types.is_string(kinds[0]) or types.is_large_string(kinds[0]))
    return names, index[0] if is_name else None


def _read_column(table: TableFile, name: str) -> Any:
    pa = load_pyarrow()
    chunks = []
    for group, count in enumerate(table.group_rows):
        if not count:
            continue
        column = read_group(table.path, group, [name]).column(name)
        column.validate(full=True)
        if len(column) != count:
            raise DataFileError(f"{table.path}: column {shown(name)} has {len(column)} of {count} rows")
        chunks += [
            chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk for chunk in column.chunks
        ]
    return pa.chunked_array(chunks)
