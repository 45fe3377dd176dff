"""Rows of Parquet and Arrow files (also called Feather or IPC), and of folders of them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.readers.columns import Wanted, is_number, labels_of, load_pyarrow, refuse_double, row_names_of, sort_columns
from kedge.readers.contents import DataFileError, DataFiles, FileView, shown
from kedge.readers.stored_rows import BandedRows, name_entry

PARQUET_SUFFIXES = (".parquet", ".pq")
TABLE_SUFFIXES = (*PARQUET_SUFFIXES, ".arrow", ".feather", ".ipc")


class TableFile:
    """A file, the schema of its columns, and the rows of each row group (Parquet) or record batch (Arrow)."""

    def __init__(self, path: Path) -> None:
        self.path, self.is_parquet = path, path.suffix.lower() in PARQUET_SUFFIXES
        self.group_word = "row group" if self.is_parquet else "record batch"
        with self._errors_named(str(path)):
            # Arrow looks at the end only, and would read on.
            expected = b"PAR1" if self.is_parquet else b"ARROW1"
            with path.open("rb") as file:
                if file.read(len(expected)) != expected:
                    raise OSError(f"it does not begin with {expected.decode()}")
            if self.is_parquet:
                footer = _read_footer(path, path.stat().st_mtime_ns)
                self.schema = footer.schema.to_arrow_schema()
                self.group_rows = [footer.row_group(group).num_rows for group in range(footer.num_row_groups)]
                return
            with load_pyarrow().OSFile(str(path)) as file, load_pyarrow("pyarrow.ipc").open_file(file) as reader:
                self.schema, n_batches = reader.schema, reader.num_record_batches
            # Arrow knows the rows of a batch only after it has read at least one column of it.
            one = next((place for place, field in enumerate(self.schema) if is_number(field.type)), 0)
            self.group_rows = [self._read_batch(group, [one]).num_rows for group in range(n_batches)]

    def read_group(self, group: int, columns: list[str]) -> Any:
        """Return these columns of one group, as a table."""
        with self._errors_named(f"{self.path}, {self.group_word} {group}:"):
            if not self.is_parquet:
                return self._read_batch(group, [self.schema.get_field_index(name) for name in columns])
            footer = _read_footer(self.path, self.path.stat().st_mtime_ns)
            with load_pyarrow("pyarrow.parquet").ParquetFile(self.path, metadata=footer) as file:
                return file.read_row_group(group, columns=columns)

    def split_index(self) -> tuple[list[str], list[str]]:
        """Return the columns that are not the index of a data frame, and those that are."""
        try:
            stored = (self.schema.pandas_metadata or {}).get("index_columns", [])
        except (ValueError, AttributeError):  # metadata of pandas that are not valid JSON are left alone
            stored = []
        index = [name for name in stored if isinstance(name, str) and name in self.schema.names]
        return [name for name in self.schema.names if name not in index], index

    def _read_batch(self, group: int, places: list[int]) -> Any:
        pa, ipc = load_pyarrow(), load_pyarrow("pyarrow.ipc")
        options = ipc.IpcReadOptions(included_fields=sorted(places))
        with pa.OSFile(str(self.path)) as file, ipc.open_file(file, options=options) as reader:
            table = pa.Table.from_batches([reader.get_batch(group)])
        # A damaged batch may claim more rows than its buffers hold.
        table.validate()
        return table

    @contextmanager
    def _errors_named(self, where: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except (load_pyarrow().ArrowException, OSError, IndexError) as error:
            kind = "Parquet file" if self.is_parquet else "file in Arrow format"
            advice = "" if self.is_parquet else "; write streams, or Feather version 1, again as Arrow files"
            raise ValueError(f"{where} cannot be read as a {kind}: {error}{advice}") from error


@lru_cache(maxsize=1)
def _read_footer(path: Path, changed_at: int) -> Any:
    """Return the metadata of a Parquet file; the last is kept, because large ones take long to parse."""
    return load_pyarrow("pyarrow.parquet").read_metadata(path)


class ParquetRows(BandedRows):
    """Rows of a Parquet or Arrow file, or of a folder of such files in the order of their names.

    A row group (record batch) is decoded whole, and each thread that reads holds one in memory: write files with row
    groups of some 10,000 rows. Missing values are read as NaN, and numbers as float32 only if all columns are.

    Parameters
    ----------
    path : str or Path
        A file (.parquet, .pq, .arrow, .feather, .ipc) or a folder of them, without partitions ("name=value"). Names
        that start with "_" or "." are skipped.
    columns : sequence of str, default=None
        Columns to read, in this order; None reads all of them in the order of the first file, without the index that
        pandas stores.
    """

    def __init__(self, path: "str | Path | TableFile", columns: Sequence[str] | None = None) -> None:
        root = path.path if isinstance(path, TableFile) else Path(path).absolute()
        files = [path] if isinstance(path, TableFile) else [TableFile(file) for file in _table_paths(root)]
        self.name, first = root.name, files[0]
        self._columns = self.feature_names = list(first.split_index()[0] if columns is None else columns)
        refuse_double(self._columns, first.path)
        if not self._columns:
            raise ValueError(f"{first.path} has no columns to read")
        for file in files:
            _check_columns(file, self._columns, complete=columns is None, first=first)
        self.width = len(self._columns)
        is_float32 = load_pyarrow().types.is_float32
        single = all(is_float32(file.schema.field(name).type) for file in files for name in self._columns)
        self.dtype = np.dtype(np.float32 if single else np.float64)
        # Every band is a group that holds rows: its file, and its number there.
        self._groups = [(file, group) for file in files for group, count in enumerate(file.group_rows) if count]
        if not self._groups:
            raise ValueError(f"{self.name} has no rows")
        self._edges = np.cumsum([0, *(file.group_rows[group] for file, group in self._groups)], dtype=np.intp)
        self.n_rows = int(self._edges[-1])

    def place(self, row: int, column: int) -> str:
        """Return where an entry is: file, row in that file, row group and column."""
        band = self._band_of(row)
        file, group = self._groups[band]
        name = file.path.name if file.path.name == self.name else f"{self.name}/{file.path.name}"
        row += sum(file.group_rows[:group]) - int(self._edges[band])
        return name_entry(f"{name}, row {row} ({file.group_word} {group})", column, self.feature_names)

    def _load(self, start: int, stop: int) -> NDArray[Any]:
        file, group = self._groups[self._band_of(start)]
        n_rows = stop - start
        table = file.read_group(group, self._columns)
        if table.num_rows != n_rows:
            raise ValueError(f"{file.path} changed: group {group} had {n_rows} rows, now {table.num_rows}; fit again")
        number_type = load_pyarrow().from_numpy_dtype(self.dtype)
        block = np.empty((n_rows, self.width), dtype=self.dtype)
        for place, name in enumerate(self._columns):
            # Not "safe": integers beyond 2^53 are rounded, as NumPy does.
            block[:, place] = table.column(name).cast(number_type, safe=False).to_numpy()
        return block


def _table_paths(root: Path) -> list[Path]:
    if not root.exists():
        raise FileNotFoundError(f"there is no file or folder {root}")
    if not root.is_dir():
        if root.suffix.lower() not in TABLE_SUFFIXES:
            raise ValueError(f"{root}: the name of a table must end in one of {', '.join(TABLE_SUFFIXES)}")
        return [root]
    inside = sorted(path for path in root.iterdir() if not path.name.startswith(("_", ".")))
    for path in inside:
        if path.is_dir():
            kind = "a partition" if "=" in path.name else "a folder"
            raise ValueError(f"{root} holds {kind}, {path.name!r}; write all rows to files directly in the folder")
    tables = [path for path in inside if path.suffix.lower() in TABLE_SUFFIXES]
    if not tables:
        raise ValueError(f"{root} holds no table; names must end in one of {', '.join(TABLE_SUFFIXES)}")
    return tables


def _check_columns(file: TableFile, columns: list[str], complete: bool, first: TableFile) -> None:
    """Raise an error unless a file has these columns, all of numbers, and no others where `complete`."""
    stored = list(file.schema.names)
    refuse_double(stored, file.path)
    for name in columns:
        if name not in set(stored):
            where = "" if file is first else f", which {first.path.name} has"
            known = ", ".join(repr(name) for name in stored[:8])
            more = f" and {len(stored) - 8} more" if len(stored) > 8 else ""
            raise ValueError(f"{file.path} lacks column {name!r}{where}; its columns are {known}{more}")
        kind = file.schema.field(name).type
        if not is_number(kind):
            advice = "drop it, or select the columns to use with ParquetRows(path, columns=[...])"
            raise ValueError(f"{file.path}: column {name!r} holds {kind} and not numbers; {advice}")
    extra = [name for name in file.split_index()[0] if name not in set(columns)] if complete else []
    if extra:
        raise ValueError(f"{file.path} has column {extra[0]!r}, which {first.path.name} lacks; give all files the same")


def read_table(path: Path, wanted: Wanted) -> DataFiles:
    """Read a table: whole if it is small, else one row group at a time."""
    table = TableFile(path)
    n_rows = sum(table.group_rows)
    names, index = table.split_index()
    if not names or not n_rows:
        raise DataFileError(f"{path} is empty: {n_rows} rows, {len(names)} columns besides an index")
    if min(table.group_rows) < 0:
        raise DataFileError(f"{path} is damaged: it has a {table.group_word} of {min(table.group_rows)} rows")
    wanted.limits.check_rows(n_rows, path)
    kinds = dict(zip(table.schema.names, table.schema.types, strict=True))
    chosen, *aside = sort_columns(path, names, [kinds[name] for name in names], wanted)
    features = [names[place] for place in chosen]
    named_by, label = (None if place is None else names[place] for place in aside)
    # The decoded columns, and the block made of them.
    largest = 2 * 8 * len(features) * max(table.group_rows)
    wanted.limits.check_whole(largest, path, f"one {table.group_word} of {max(table.group_rows):,} rows")
    rows = wanted.limits.small_whole(ParquetRows(table, features))
    types = load_pyarrow().types
    if named_by is None and len(index) == 1:
        kind = kinds[index[0]]
        named_by = index[0] if types.is_string(kind) or types.is_large_string(kind) else None
    return DataFiles(
        [FileView(path.stem, path, "parquet" if table.is_parquet else "arrow", rows, features)],
        None if named_by is None else row_names_of(_read_column(table, named_by), named_by, path),
        None if label is None else labels_of(_read_column(table, label), label, path),
    )


def _read_column(table: TableFile, name: str) -> Any:
    pa = load_pyarrow()
    chunks = []
    for group, count in enumerate(table.group_rows):
        column = table.read_group(group, [name]).column(name)
        column.validate(full=True)
        if len(column) != count:
            raise DataFileError(f"{table.path}: column {shown(name)} has {len(column)} of {count} rows")
        is_coded = pa.types.is_dictionary(column.type)
        chunks += [chunk.dictionary_decode() if is_coded else chunk for chunk in column.chunks]
    return pa.chunked_array(chunks)
