"""Text with a delimiter: CSV and TSV, read batch by batch, into memory or into a scratch file."""

import csv
import re
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.readers.columns import Wanted, labels_of, load_pyarrow, row_names_of, sort_columns
from kedge.readers.contents import DataFileError, DataFiles, FileView, one_line, shown
from kedge.readers.npy import MappedRows
from kedge.readers.stored_rows import StoredRows

DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
# The least text of a number: a digit and a delimiter become eight bytes.
_GROWTH = 4
_BLOCK_BYTES, _MOST_BLOCK_BYTES = 2**20, 2**28
_COLUMN_NUMBER = re.compile(r"In CSV column #(\d+): ")


class RepeatedRows(StoredRows):
    """The first rows of a text, over and over, as many as the text has by its size: enough to plan a fit of it."""

    def __init__(self, first: MappedRows, n_rows: int, seconds: float, has_labels: bool) -> None:
        self._first, self.n_rows, self.width, self.dtype = first, n_rows, first.width, first.dtype
        self.name, self.feature_names = first.name, first.feature_names
        self.seconds = seconds  # That the whole text takes until it is in a scratch file.
        self.has_labels = has_labels

    @property
    def scratch_bytes(self) -> int:
        """Size of the scratch file."""
        return self.n_rows * self.width * self.dtype.itemsize

    def _load(self, start: int, stop: int) -> Any:
        rows = np.arange(start, stop) % self._first.n_rows
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
            return self._first.read(slice(int(rows[0]), int(rows[-1]) + 1))
        numbers, places = np.unique(rows, return_inverse=True)
        return self._first.read(numbers)[places]


class _Layout:
    """A text, with what its first two lines say about its columns."""

    def __init__(self, path: Path) -> None:
        self.path, self.delimiter = path, DELIMITERS[path.suffix.lower()]
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            lines = [file.readline(_MOST_BLOCK_BYTES) for _ in range(2)]
        if not lines[0].strip():
            what = "is empty" if not path.stat().st_size else "begins with an empty line"
            raise DataFileError(f"{path} {what}; give a file with one row per line")
        if len(lines[0]) >= _MOST_BLOCK_BYTES or "\0" in lines[0] or "\ufffd" in lines[0]:
            raise DataFileError(f"{path} is not text with lines in UTF-8; is its name right?")
        self.block_bytes = min(max(_BLOCK_BYTES, 4 * len(lines[0])), _MOST_BLOCK_BYTES)
        first, second = (next(csv.reader([line], delimiter=self.delimiter), []) for line in lines)
        self.has_names = _is_header(first, second)
        self.names = [name.strip() if self.has_names else f"column {place}" for place, name in enumerate(first)]
        if len(first) == 1 and self.names[0].count(";") > 1:
            advice = "write it again with ',' between columns and '.' in numbers"
            raise DataFileError(f"{path} is delimited by ';'; {advice}")

    def bytes_of_blocks(self, n_bytes: int | None) -> int:
        """Return the bytes of the whole blocks that hold so many."""
        return -(-(n_bytes or 1) // self.block_bytes) * self.block_bytes

    def open(self, kinds: dict[str, Any] | None = None) -> Any:
        """Return a reader of batches; columns are called f0, f1 and so on, and with `kinds` only those are read."""
        pa_csv = load_pyarrow("pyarrow.csv")
        reading = pa_csv.ReadOptions(
            # One thread, so that errors name the row.
            use_threads=False,
            block_size=self.block_bytes,
            column_names=[f"f{place}" for place in range(len(self.names))],
            skip_rows_after_names=int(self.has_names),
        )
        parsing = pa_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=False)
        converting = pa_csv.ConvertOptions(
            column_types=kinds, include_columns=None if kinds is None else list(kinds), strings_can_be_null=True
        )
        return pa_csv.open_csv(self.path, reading, parsing, converting)


def read_delimited(path: Path, wanted: Wanted) -> DataFiles:
    """Read a CSV or TSV file: whole, or into a scratch file if it is large."""
    layout = _Layout(path)
    with layout.open() as reader:
        kinds = reader.schema.types
    features, named_by, label = sort_columns(path, layout.names, kinds, wanted, has_names=layout.has_names)
    names = [layout.names[place] for place in features] if layout.has_names else None
    kept = [place for place in (named_by, label) if place is not None]
    blocks: list[NDArray[np.float64]] = []
    rows: Any
    started, size = perf_counter(), path.stat().st_size
    is_cut = wanted.text_bytes is not None and size > max(wanted.text_bytes, wanted.limits.whole_bytes // _GROWTH)
    if _GROWTH * size <= wanted.limits.whole_bytes:
        aside = _convert(layout, kinds, features, kept, blocks.append, wanted)
        rows = np.concatenate(blocks)
    else:
        # Without a name, so it vanishes with the process.
        with tempfile.TemporaryFile(buffering=0) as scratch:
            most = wanted.text_bytes if is_cut else None
            aside = _convert(layout, kinds, features, kept, partial(_append, scratch, path), wanted, most)
            mapped: Any = np.memmap(scratch, np.float64, "r").reshape(-1, len(features))
        rows = MappedRows(mapped)
        rows.name, rows.feature_names = path.name, names
    if is_cut:
        share = max(1.0, size / layout.bytes_of_blocks(wanted.text_bytes))
        seconds = share * (perf_counter() - started)
        rows = RepeatedRows(rows, round(rows.n_rows * share), seconds, has_labels=label is not None)
        named_by = label = None
    return DataFiles(
        [FileView(path.stem, path, "csv" if layout.delimiter == "," else "tsv", rows, names)],
        None if named_by is None else row_names_of(aside[named_by], layout.names[named_by], path),
        None if label is None else labels_of(aside[label], wanted.label_column or "", path),
    )


def _append(scratch: Any, path: Path, rows: NDArray[np.float64]) -> None:
    """Write rows behind the last one."""
    rest = rows.data.cast("B")
    try:
        while len(rest):
            rest = rest[scratch.write(rest) :]
    except OSError as error:
        problem = f"the folder {tempfile.gettempdir()!r} cannot be written ({error.strerror})"
        advice = "free space there, or set TMPDIR to a folder on another disk"
        raise DataFileError(f"{path} cannot be converted: {problem}; {advice}") from error


def _is_header(first: list[str], second: list[str]) -> bool:
    """Whether the first line holds names: words where numbers should be, or the numbers of the columns."""
    numbers = [_is_number(cell) for cell in first]
    if not any(numbers):
        return any(cell.strip() for cell in first)
    if any(below and not above for above, below in zip(numbers, map(_is_number, second), strict=False)):
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


def _convert(
    layout: _Layout,
    kinds: list[Any],
    features: list[int],
    kept: list[int],
    append: Callable[..., None],
    wanted: Wanted,
    most: int | None = None,
) -> dict[int, Any]:
    """Append the features, and return the columns kept aside by their places; ``most`` is how many bytes to read."""
    pa = load_pyarrow()
    number, is_bool = pa.float64(), pa.types.is_boolean
    types = {f"f{place}": pa.bool_() if is_bool(kinds[place]) else number for place in features}
    types |= {f"f{place}": pa.string() for place in kept}
    aside: dict[int, list[Any]] = {place: [] for place in kept}
    n_rows = 0
    wanted.progress.begin(f"reading {layout.path.name}")
    try:
        with layout.open(types) as reader:
            for n_batches, batch in enumerate(reader):
                if most is not None and n_batches * layout.block_bytes >= layout.bytes_of_blocks(most):
                    break
                block = np.empty((batch.num_rows, len(features)))
                for position, place in enumerate(features):
                    block[:, position] = batch.column(f"f{place}").cast(number).to_numpy(zero_copy_only=False)
                append(block)
                for place, chunks in aside.items():
                    chunks.append(batch.column(f"f{place}"))
                n_rows += batch.num_rows
                wanted.limits.check_rows(n_rows, layout.path)
                wanted.progress.rows_done(batch.num_rows)
    except pa.ArrowInvalid as error:
        raise DataFileError(f"{layout.path}: {_explained(str(error), layout.names)}") from error
    if not n_rows:
        raise DataFileError(f"{layout.path} has names of columns but no rows")
    return {place: pa.chunked_array(chunks, type=pa.string()) for place, chunks in aside.items()}


def _explained(message: str, names: list[str]) -> str:
    """Name the column that a message numbers, and say what to do."""
    text = one_line(message)
    found = _COLUMN_NUMBER.search(text)
    if found is None:
        return f"{text}; every line needs the same number of values"
    place = int(found[1])
    name = names[place] if place < len(names) else str(place)
    text = one_line(text[: found.start()] + text[found.end() :])
    return f"column {shown(name)} has a value that is not a number ({text}); correct it, or --drop {name!r}"
