"""Which columns of a file are features, which name the rows, and which hold known labels."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.optional_libraries import load_library
from kedge.progress import Progress
from kedge.readers.arrays import ROWS_AT_ONCE, StoredView
from kedge.readers.contents import DataFileError, DataFiles, FileView, Labels, Limits, shown
from kedge.readers.stored_rows import check_matrix, float_kind

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
# What a column of row names is called; "" and the second are what data frames write for an index without a name.
_ROW_NAMES = {"", "unnamed: 0", "id", "index", "name", "row", "row_id", "row_name", "rowname"}
# Names of the columns of a view; None if they have numbers only.
_Names: TypeAlias = Sequence[str] | None


class AskedColumns:
    """Columns to use or to drop: names, numbers from 0 and ranges such as 3-7 (both ends), separated by commas."""

    def __init__(self, columns: str | None = None, drop: str | None = None) -> None:
        self._columns = None if columns is None else _items(columns, "columns")
        # A column that is asked for by its name is a feature whatever it looks like.
        self.named = set(self._columns or [])
        self._drop = [] if drop is None else _items(drop, "drop")
        self._missing = {("columns", item) for item in self._columns or []} | {("drop", item) for item in self._drop}
        self._seen: list[str] = []

    def choose(self, view: str, names: _Names, width: int, path: Path, kept_aside: Sequence[int]) -> list[int]:
        """Return the places of the chosen columns of a view; those kept aside are chosen only if they are listed."""
        self._seen += list(names)[:20] if names is not None else []
        if self._columns is None:
            chosen = [place for place in range(width) if place not in set(kept_aside)]
        else:
            chosen = self._places(self._columns, names, width, "columns")
        dropped = set(self._places(self._drop, names, width, "drop"))
        left = [place for place in dict.fromkeys(chosen) if place not in dropped]
        if not left:
            self.check_all_found()
            raise DataFileError(f"{path}: no column of {view!r} is left to cluster by; change --columns or --drop")
        return left

    def check_all_found(self) -> None:
        """Raise an error that names the first column that no view has; called after all views."""
        for option, item in sorted(self._missing):
            known = ", ".join(shown(name) for name in self._seen[:8])
            others = " and others" if len(self._seen) > 8 else ""
            known = f"the columns are {known}{others}" if known else "columns have numbers only"
            raise DataFileError(f"--{option}: no data file has a column {shown(item)}; {known}")

    def _places(self, items: Sequence[str], names: _Names, width: int, option: str) -> list[int]:
        found = {item: _places_of(item, names, width) for item in items}
        self._missing -= {(option, item) for item, places in found.items() if places}
        return [place for places in found.values() for place in places]


class FittedColumns:
    """The columns of every view that a model was fitted on, by name; files without names give all of their columns."""

    def __init__(self, names: Mapping[str, Sequence[str]]) -> None:
        self._names = {view: list(columns) for view, columns in names.items()}
        self.named = {name for columns in names.values() for name in columns}
        self._count = 0

    def choose(self, view: str, names: _Names, width: int, path: Path, kept_aside: Sequence[int]) -> list[int]:
        """Return the columns of the fit, in its order."""
        self._count += 1
        if names is None:
            return list(range(width))
        # Files in the order of the fit may have other names.
        if view not in self._names and self._count > len(self._names):
            raise DataFileError(f"{path} is one view too many: the model was fitted on {len(self._names)}")
        wanted = self._names.get(view) or list(self._names.values())[self._count - 1]
        places = {name: place for place, name in enumerate(names)}
        lacking = [name for name in wanted if name not in places]
        if lacking:
            more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            lacks = f"lacks column {shown(lacking[0])}{more}"
            raise DataFileError(f"{path} {lacks}, which the model was fitted on; give the same columns")
        return [places[name] for name in wanted]


ColumnChoice: TypeAlias = AskedColumns | FittedColumns


@dataclass(frozen=True)
class Wanted:
    """What is asked of every file."""

    columns: ColumnChoice
    label_column: str | None
    limits: Limits
    progress: Progress
    text_bytes: int | None = None  # How much of a large text file is read; the rest is taken to be like it. None: all.

    def label_place(self, names: _Names, width: int) -> int | None:
        """Return the place of the column of labels; None if it is not there, or not asked for."""
        found = [] if self.label_column is None else _places_of(self.label_column, names, width)
        return found[0] if len(found) == 1 else None

    def features(self, view: str, names: _Names, width: int, path: Path, aside: Sequence[int | None]) -> list[int]:
        """Return the places of the features of a view; the last of those kept aside holds the labels."""
        kept_aside = [place for place in aside if place is not None]
        chosen = [place for place in self.columns.choose(view, names, width, path, kept_aside) if place != aside[-1]]
        if not chosen:
            raise DataFileError(f"{path}: {shown(view)} has no column to cluster by besides the labels")
        return chosen


def _items(listed: str, option: str) -> list[str]:
    items = [item.strip() for item in listed.split(",")]
    if not all(items):
        raise ValueError(f"--{option} must be names or numbers with commas between them: {listed!r}")
    return items


def _places_of(item: str, names: _Names, width: int) -> list[int]:
    """Return the places of a name, a number or a range of numbers; none if they are not all there."""
    if names is not None and item in names:
        return [list(names).index(item)]
    ends = _RANGE.fullmatch(item)
    if ends is None:
        return []
    first, last = int(ends[1]), int(ends[2] or ends[1])
    return list(range(first, last + 1)) if first <= last < width else []


def sort_columns(
    path: Path, names: Sequence[str], kinds: Sequence[Any], wanted: Wanted, *, has_names: bool = True
) -> tuple[list[int], int | None, int | None]:
    """Return the places of features, row names and labels; without `has_names` the names are not in the file."""
    if has_names:
        refuse_double(names, path)
    known = names if has_names else None
    label = wanted.label_place(known, len(names))
    row_names = 0 if has_names and label != 0 and _names_rows(names, kinds[0], wanted) else None
    features = wanted.features(path.stem, known, len(names), path, (row_names, label))
    text = [place for place in features if not is_number(kinds[place])]
    if text:
        some = [names[place] for place in text[:5]]
        listed = ", ".join(map(shown, some)) + (f" and {len(text) - 5} more" if len(text) > 5 else "")
        what = f"columns {listed} hold no numbers; leave them out"
        if len(text) == 1:
            what = f"column {listed} holds {kinds[text[0]]} and not numbers; leave it out"
        raise DataFileError(f"{path}: {what} with --drop {','.join(some)!r}, or keep one aside with --label-column")
    return features, row_names if row_names not in features else None, label


def refuse_double(names: Sequence[str], path: Path) -> None:
    """Raise an error if two columns have one name."""
    double = [name for name in names if names.count(name) > 1] if len(set(names)) < len(names) else []
    if double:
        raise DataFileError(f"{path}: column {shown(double[0])} is there more than once; columns need different names")


def is_number(kind: Any) -> bool:
    """Whether a type of pyarrow holds numbers; a column without any value may become anything."""
    types = load_pyarrow().types
    tests = (types.is_floating, types.is_integer, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def load_pyarrow(module: str = "pyarrow") -> Any:
    """Return pyarrow or one of its modules."""
    return load_library(module, "parquet", "reading Parquet, Arrow and CSV files")


def _names_rows(names: Sequence[str], kind: Any, wanted: Wanted) -> bool:
    """Whether the first column looks like names of the rows."""
    if names[0].strip().lower() not in _ROW_NAMES or len(names) == 1 or names[0] in wanted.columns.named:
        return False
    types = load_pyarrow().types
    return any(test(kind) for test in (types.is_string, types.is_large_string, types.is_dictionary, types.is_integer))


def labels_of(chunks: Any, column: str, path: Path) -> Labels:
    """Return the classes in a column, a chunked array of pyarrow."""
    pa = load_pyarrow()
    encoded = pa.concat_arrays(chunks.cast(pa.string()).chunks).dictionary_encode()
    codes = np.asarray(encoded.indices.fill_null(-1)).astype(np.int64)
    # The last name is that of rows without a label.
    return Labels(column, codes, np.array([*encoded.dictionary.to_pylist(), ""], dtype=object)[codes], path)


def labels_from_array(values: NDArray[Any], column: str, path: Path) -> Labels:
    """Return the classes in a vector of numbers or text."""
    whole = np.asarray(values).reshape(-1)
    is_text, is_float = whole.dtype.kind in "UST", whole.dtype.kind == "f"
    known = np.isfinite(whole) if is_float else whole != whole.dtype.type() if is_text else np.ones(len(whole), bool)
    flat = whole[known]
    if flat.dtype.kind == "f" and bool((flat == np.round(flat)).all()) and bool((np.abs(flat) < 2**53).all()):
        flat = flat.astype(np.int64)
    if flat.dtype.kind not in "biufUST":
        raise DataFileError(f"{path}: {shown(column)} holds {flat.dtype}, which cannot be labels")
    names, numbers = np.unique(flat, return_inverse=True)
    texts = [name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name) for name in names.tolist()]
    codes = np.full(len(whole), -1, dtype=np.int64)
    codes[known] = numbers
    return Labels(column, codes, np.array([*texts, ""], dtype=object)[codes], path)


def row_names_of(chunks: Any, column: str, path: Path) -> NDArray[Any]:
    """Return a column as names of the rows; a repeated name is an error."""
    if chunks.null_count or len(chunks.unique()) < len(chunks):
        advice = "leave it out with --drop, or name the columns to use with --columns"
        looks = f"the first column, {shown(column)}, looks like names of the rows, but some are missing or come twice"
        raise DataFileError(f"{path}: {looks}; {advice}")
    return np.array(chunks.cast(load_pyarrow().string()).to_pylist(), dtype=np.dtypes.StringDType())


def views_of_arrays(found: list[FileView], vectors: Mapping[str, Any], path: Path, wanted: Wanted) -> DataFiles:
    """Return the views in `found` with the columns that are asked for; `vectors` is what else the file holds."""
    asked = wanted.label_column
    labels = labels_from_array(vectors[asked], asked, path) if asked is not None and asked in vectors else None
    if not found:
        listed = ", ".join(shown(name) for name in list(vectors)[:8])
        raise DataFileError(f"{path} holds no matrix with rows and columns, but {listed or 'nothing'}")
    views = []
    for stored in found:
        view, own = _view_of(stored, wanted if labels is None else replace(wanted, label_column=None))
        views.append(view)
        labels = labels if own is None else own
    left_out = [f"{shown(name)} of {path.name}, which is not a matrix" for name in vectors if name != asked]
    return DataFiles(views, None, labels, left_out)


def _view_of(stored: FileView, wanted: Wanted) -> tuple[FileView, Labels | None]:
    """Return a view with the columns that are asked for, and the labels in its column of labels."""
    path, names, image_shape = stored.path, stored.feature_names, None
    if stored.in_memory:
        if stored.rows.ndim == 3:
            image_shape = (int(stored.rows.shape[1]), int(stored.rows.shape[2]))
            stored = replace(stored, rows=stored.rows.reshape(stored.n_rows, -1))
        check_matrix(stored.rows.shape, stored.rows.dtype, f"{path}, {shown(stored.name)}")
    wanted.limits.check_rows(stored.n_rows, path)
    label = wanted.label_place(names, stored.n_columns) if image_shape is None else None
    asked = wanted.label_column
    labels = None if label is None or asked is None else labels_from_array(_column(stored, label), asked, path)
    chosen = wanted.features(stored.name, names, stored.n_columns, path, (label,))
    if chosen != list(range(stored.n_columns)):
        image_shape = None
        places = np.array(chosen, dtype=np.intp)
        rows = stored.rows[:, places] if stored.in_memory else StoredView(stored.rows, places, gaps_allowed=True)
        stored = replace(stored, rows=rows, feature_names=None if names is None else [names[c] for c in chosen])
    if stored.in_memory:
        rows = stored.rows.astype(float_kind(stored.rows.dtype), copy=False)
        stored = replace(stored, rows=rows if sparse.issparse(rows) else np.ascontiguousarray(rows))
    return replace(stored, image_shape=image_shape), labels


def _column(view: FileView, place: int) -> NDArray[Any]:
    """Return one column, read in parts."""
    read = view.rows.__getitem__ if view.in_memory else view.rows.read
    parts = [read(slice(start, start + ROWS_AT_ONCE))[:, [place]] for start in range(0, view.n_rows, ROWS_AT_ONCE)]
    return np.concatenate([part.toarray() if sparse.issparse(part) else part for part in parts])[:, 0]
