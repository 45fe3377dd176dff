"""Rows of Parquet and Arrow files, and of folders of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.sources.banded_rows import BandedRows
from kedge.sources.row_ranges import name_entry
from kedge.sources.table_files import (
    PARQUET_SUFFIXES,
    TABLE_SUFFIXES,
    TableFile,
    inspect_table,
    load_pyarrow,
    read_footer,
    read_group,
)


class ParquetRows(BandedRows):
    """Rows of a Parquet or Arrow file, or of a folder of such files in the order of their names.

    A row group (record batch) is decoded whole, and the last one is kept, so one of them must fit in memory, and one
    for each thread that reads: write files with row groups of some 10,000 rows. Missing values are read as NaN,
    and numbers as float32 only if all columns are.

    Parameters
    ----------
    path : str or Path
        A file (.parquet, .pq, .arrow, .feather, .ipc) or a folder of them. Names that start with "_" or "." are passed
        over. Partitioned folders ("name=value") are not read.
    columns : sequence of str, default=None
        Columns to read, in this order; None reads all of them in the order of the first file, without the index that
        pandas stores.
    """

    def __init__(self, path: str | Path, columns: Sequence[str] | None = None) -> None:
        super().__init__()
        root = Path(path).absolute()
        self.name = root.name
        files = [inspect_table(file) for file in _table_paths(root)]
        first = files[0]
        self._columns = _feature_columns(first) if columns is None else _distinct(list(columns), first.path)
        self.feature_names = self._columns
        if not self._columns:
            raise ValueError(f"{first.path} has no columns to read")
        for file in files:
            _check_columns(file, self._columns, complete=columns is None, first=first)
        self.width = len(self._columns)
        self.dtype: np.dtype[Any] = _common_float(files, self._columns)
        self._paths = [file.path for file in files]
        self._words = [file.group_word for file in files]
        self._set_groups(files)
        self._footer: tuple[int, Any] | None = None

    def _set_groups(self, files: list[TableFile]) -> None:
        # One row per group that holds rows: number of the file, number of the group in it, its rows.
        groups = [
            (number, group, count)
            for number, file in enumerate(files)
            for group, count in enumerate(file.group_rows)
            if count
        ]
        if not groups:
            raise ValueError(f"{self.name} has no rows")
        table = np.array(groups, dtype=np.intp)
        self._groups = table[:, :2]
        self._edges = np.concatenate([[0], np.cumsum(table[:, 2])]).astype(np.intp)
        self.n_rows = int(self._edges[-1])
        # The number of rows in the files before each file.
        counts = [sum(file.group_rows) for file in files]
        self._file_starts = np.concatenate([[0], np.cumsum(counts)])[:-1]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is read from the file again."""
        return {**super().__getstate__(), "_footer": None}

    def place(self, row: int, column: int) -> str:
        """Return where an entry is: file, row in that file, row group and column."""
        number, group = self._groups[self._band_of(row)].tolist()
        path = self._paths[number]
        file = path.name if path.name == self.name else f"{self.name}/{path.name}"
        where = f"{file}, row {row - int(self._file_starts[number])} ({self._words[number]} {group})"
        return name_entry(where, column, self.feature_names)

    def _decode(self, band: int) -> NDArray[Any]:
        number, group = self._groups[band].tolist()
        path = self._paths[number]
        table = read_group(path, group, self._columns, self._metadata(number))
        n_rows = int(self._edges[band + 1] - self._edges[band])
        if table.num_rows != n_rows:
            raise ValueError(f"{path} has changed: group {group} had {n_rows} rows and has {table.num_rows}; fit again")
        number_type = load_pyarrow().from_numpy_dtype(self.dtype)
        block = np.empty((n_rows, self.width), dtype=self.dtype)
        for place, name in enumerate(self._columns):
            # Not "safe": integers beyond 2^53 are rounded, as NumPy does.
            block[:, place] = table.column(name).cast(number_type, safe=False).to_numpy()
        return block

    def _metadata(self, number: int) -> Any:
        """Return the footer of a Parquet file; that of the last file is kept."""
        path = self._paths[number]
        if path.suffix not in PARQUET_SUFFIXES:
            return None
        footer = self._footer
        if footer is None or footer[0] != number:
            self._footer = footer = (number, read_footer(path))
        return footer[1]


def _table_paths(root: Path) -> list[Path]:
    if not root.exists():
        raise FileNotFoundError(f"there is no file or folder {root}")
    if not root.is_dir():
        if root.suffix not in TABLE_SUFFIXES:
            raise ValueError(f"{root}: the name of a table must end in one of {', '.join(TABLE_SUFFIXES)}")
        return [root]
    inside = sorted(path for path in root.iterdir() if not path.name.startswith(("_", ".")))
    for path in inside:
        if path.is_dir():
            kind = "a partition" if "=" in path.name else "a folder"
            raise ValueError(
                f"{root} holds {kind}, {path.name!r}; only files directly in the folder are read: write the rows to "
                "one folder without partitions"
            )
    tables = [path for path in inside if path.suffix in TABLE_SUFFIXES]
    if not tables:
        raise ValueError(f"{root} holds no table; names must end in one of {', '.join(TABLE_SUFFIXES)}")
    return tables


def _feature_columns(file: TableFile) -> list[str]:
    stored_index = (file.schema.pandas_metadata or {}).get("index_columns", [])
    return _distinct([name for name in file.schema.names if name not in stored_index], file.path)


def _distinct(names: list[str], path: Path) -> list[str]:
    twice = [name for name in names if names.count(name) > 1] if len(set(names)) < len(names) else []
    if twice:
        raise ValueError(f"{path}: column {twice[0]!r} is there more than once; columns need different names")
    return names


def _check_columns(file: TableFile, columns: list[str], complete: bool, first: TableFile) -> None:
    """Raise an error unless a file has these columns, all of numbers, and no others where `complete`."""
    stored = _distinct(list(file.schema.names), file.path)
    present = set(stored)
    for name in columns:
        if name not in present:
            where = "" if file is first else f", which {first.path.name} has"
            raise ValueError(f"{file.path} lacks column {name!r}{where}; its columns are {_short_list(stored)}")
        kind = file.schema.field(name).type
        if not _is_number(kind):
            raise ValueError(
                f"{file.path}: column {name!r} holds {kind} and not numbers; drop it, or select the columns to use "
                "with ParquetRows(path, columns=[...])"
            )
    if complete and file is not first:
        extra = [name for name in _feature_columns(file) if name not in set(columns)]
        if extra:
            raise ValueError(
                f"{file.path} has column {extra[0]!r}, which {first.path.name} lacks; all files need the same columns"
            )


def _is_number(kind: Any) -> bool:
    types = load_pyarrow().types
    tests = (types.is_floating, types.is_integer, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def _common_float(files: list[TableFile], columns: list[str]) -> np.dtype[Any]:
    is_float32 = load_pyarrow().types.is_float32
    single = all(is_float32(file.schema.field(name).type) for file in files for name in columns)
    return np.dtype(np.float32 if single else np.float64)


def _short_list(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"
