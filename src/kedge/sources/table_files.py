"""Single files that hold a table: Parquet, and Arrow files (also called Feather or IPC)."""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from kedge.optional_libraries import load_library

PARQUET_SUFFIXES = (".parquet", ".pq")
ARROW_SUFFIXES = (".arrow", ".feather", ".ipc")
TABLE_SUFFIXES = PARQUET_SUFFIXES + ARROW_SUFFIXES

# Kinds of Arrow messages, and the mark before each.
_RECORD_BATCH = 3
_CONTINUATION = 0xFFFFFFFF


@dataclass(frozen=True)
class TableFile:
    """What a file says about itself, without its rows."""

    path: Path
    schema: Any  # A pyarrow.Schema: names and types of all columns.
    group_rows: list[int]  # Rows of each row group (record batch in Arrow files).

    @property
    def group_word(self) -> str:
        """What a group of rows is called in this format."""
        return "row group" if self.path.suffix in PARQUET_SUFFIXES else "record batch"


def load_pyarrow(module: str = "pyarrow") -> Any:
    """Return pyarrow or one of its modules."""
    return load_library(module, "parquet", "reading Parquet and Arrow files")


def inspect_table(path: Path) -> TableFile:
    """Read schema and row counts, and nothing else."""
    pa = load_pyarrow()
    try:
        _check_first_bytes(path)
        if path.suffix in PARQUET_SUFFIXES:
            metadata = read_footer(path)
            counts = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
            return TableFile(path, metadata.schema.to_arrow_schema(), counts)
        with pa.OSFile(str(path)) as file, load_pyarrow("pyarrow.ipc").open_file(file) as reader:
            schema, n_batches = reader.schema, reader.num_record_batches
        with path.open("rb") as stored:
            counts = _batch_rows(stored, n_batches)
        return TableFile(path, schema, counts)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, struct.error) as error:
        raise ValueError(f"{path} cannot be read as a {_format_name(path)}: {error}") from error


def _check_first_bytes(path: Path) -> None:
    """Refuse a file that does not begin as its format does: Arrow looks at the end only, and would read on."""
    expected = b"PAR1" if path.suffix in PARQUET_SUFFIXES else b"ARROW1"
    with path.open("rb") as file:
        if file.read(len(expected)) != expected:
            raise OSError(f"it does not begin with {expected.decode()}")


def read_footer(path: Path) -> Any:
    """Return the metadata of a Parquet file."""
    return load_pyarrow("pyarrow.parquet").read_metadata(path)


def read_group(path: Path, group: int, columns: list[str], metadata: Any = None) -> Any:
    """Return these columns of one row group or record batch, as a table.

    Parameters
    ----------
    path : Path
        The file.
    group : int
        Number of the group in the file.
    columns : list of str
        Columns to read.
    metadata : pyarrow.parquet.FileMetaData, default=None
        The footer of a Parquet file, where it was read before.
    """
    pa = load_pyarrow()
    try:
        if path.suffix in PARQUET_SUFFIXES:
            with load_pyarrow("pyarrow.parquet").ParquetFile(path, metadata=metadata) as file:
                return file.read_row_group(group, columns=columns)
        return _read_batch(path, group, columns)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, IndexError) as error:
        raise ValueError(f"{path}, group {group}: cannot be read as a {_format_name(path)}: {error}") from error


def _read_batch(path: Path, group: int, columns: list[str]) -> Any:
    pa, ipc = load_pyarrow(), load_pyarrow("pyarrow.ipc")
    with pa.OSFile(str(path)) as file, ipc.open_file(file) as reader:
        places = [reader.schema.get_field_index(name) for name in columns]
    options = ipc.IpcReadOptions(included_fields=sorted(places))
    with pa.OSFile(str(path)) as file, ipc.open_file(file, options=options) as reader:
        table = pa.Table.from_batches([reader.get_batch(group)])
        # A damaged batch may claim more rows than its buffers hold, and nobody else looks.
        table.validate()
        return table


def _batch_rows(file: BinaryIO, n_batches: int) -> list[int]:
    """Return the rows of each record batch, from the heads of the messages.

    pyarrow tells a batch's rows only after it has read, and unpacked, at least one column of it.
    """
    counts: list[int] = []
    file.seek(8)
    while len(counts) < n_batches:
        (size,) = struct.unpack("<I", file.read(4))
        if size == _CONTINUATION:
            (size,) = struct.unpack("<I", file.read(4))
        kind, rows, body = _message_head(file.read(size))
        if body < 0 or rows < 0:
            raise struct.error("a message of negative size")
        if kind == _RECORD_BATCH:
            counts.append(rows)
        file.seek(body, 1)
    return counts


def _message_head(head: bytes) -> tuple[int, int, int]:
    """Return kind, rows (of a record batch) and length of the body of an Arrow message, a FlatBuffers table."""

    def offset_of(table: int, number: int) -> int:
        layout = table - int(struct.unpack_from("<i", head, table)[0])
        entry = 4 + 2 * number
        (layout_size,) = struct.unpack_from("<H", head, layout)
        return int(struct.unpack_from("<H", head, layout + entry)[0]) if entry < layout_size else 0

    def field(table: int, number: int, code: str) -> int:
        offset = offset_of(table, number)
        # A field at its default of zero is left out.
        return int(struct.unpack_from(code, head, table + offset)[0]) if offset else 0

    def child(table: int, number: int) -> int:
        place = table + offset_of(table, number)
        return place + int(struct.unpack_from("<I", head, place)[0])

    (message,) = struct.unpack_from("<I", head, 0)
    kind, body = field(message, 1, "<B"), field(message, 3, "<q")
    rows = field(child(message, 2), 0, "<q") if kind == _RECORD_BATCH else 0
    return kind, rows, body


def _format_name(path: Path) -> str:
    if path.suffix in PARQUET_SUFFIXES:
        return "Parquet file"
    return "file in Arrow format (files in the streaming format, or Feather version 1, must be written again)"
