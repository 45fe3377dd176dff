"""Which columns of a file are features."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from kedge.data_files.refusal import DataFileError, shown

_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})")
_NUMBER = re.compile(r"\d{1,9}")


class ColumnChoice(Protocol):
    """What decides between the columns of every view."""

    def names_it(self, view: str, name: str) -> bool:
        """Whether this column is asked for by its name, so that it is a feature whatever it looks like."""
        ...

    def choose(
        self, view: str, names: Sequence[str] | None, width: int, path: Path, kept_aside: Sequence[int] = ()
    ) -> list[int]:
        """Return the places of the chosen columns of a view, in their order.

        Parameters
        ----------
        view : str
            Name of the view.
        names : sequence of str or None
            Names of all columns, where there are names.
        width : int
            Number of all columns.
        path : Path
            The file, for messages.
        kept_aside : sequence of int
            Columns that are not features unless they are named.
        """
        ...

    def check_all_found(self) -> None:
        """Raise an error if something was asked for that no view has; called after all views."""
        ...


class AskedColumns:
    """Columns that a user lists: names, numbers from 0, and ranges such as 3-7, which include both ends.

    Parameters
    ----------
    columns : str or None
        Columns to use, with commas between them; None means all.
    drop : str or None
        Columns to leave out.
    """

    def __init__(self, columns: str | None = None, drop: str | None = None) -> None:
        self._columns = None if columns is None else _items(columns, "columns")
        self._drop = [] if drop is None else _items(drop, "drop")
        self._missing = {("columns", item) for item in self._columns or []} | {("drop", item) for item in self._drop}
        self._seen: list[str] = []

    def names_it(self, view: str, name: str) -> bool:
        """Whether the column is listed by its name."""
        return self._columns is not None and name in self._columns

    def choose(
        self, view: str, names: Sequence[str] | None, width: int, path: Path, kept_aside: Sequence[int] = ()
    ) -> list[int]:
        """Return the listed columns; a view of which nothing is left is an error."""
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
        """Raise an error that names the first column that no view has."""
        for option, item in sorted(self._missing):
            known = ", ".join(shown(name) for name in self._seen[:8])
            known = (
                f"the columns are {known}{' and others' if len(self._seen) > 8 else ''}" if known else "numbers only"
            )
            raise DataFileError(f"--{option}: no data file has a column {shown(item)}; {known}")

    def _places(self, items: Sequence[str], names: Sequence[str] | None, width: int, option: str) -> list[int]:
        by_name = {} if names is None else {name: place for place, name in reversed(list(enumerate(names)))}
        places: list[int] = []
        for item in items:
            found = [by_name[item]] if item in by_name else _numbered(item, width)
            if found:
                self._missing.discard((option, item))
            places += found
        return places


class FittedColumns:
    """The columns that a model was fitted on, by name; files without names give all of their columns.

    Parameters
    ----------
    names : mapping of str to list of str
        Names of the columns of every view, in the order of the views.
    """

    def __init__(self, names: Mapping[str, Sequence[str]]) -> None:
        self._names = {view: list(columns) for view, columns in names.items()}
        self._count = 0

    def names_it(self, view: str, name: str) -> bool:
        """Whether the fit used a column of this name."""
        return any(name in columns for columns in self._names.values())

    def choose(
        self, view: str, names: Sequence[str] | None, width: int, path: Path, kept_aside: Sequence[int] = ()
    ) -> list[int]:
        """Return the columns of the fit, in its order."""
        number, self._count = self._count, self._count + 1
        if names is None:
            return list(range(width))
        # Files in the order of the fit may have other names.
        wanted = self._names.get(view) or (list(self._names.values())[number] if number < len(self._names) else None)
        if wanted is None:
            raise DataFileError(f"{path} is one view too many: the model was fitted on {len(self._names)}")
        places = {name: place for place, name in enumerate(names)}
        lacking = [name for name in wanted if name not in places]
        if lacking:
            others = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            raise DataFileError(
                f"{path} lacks column {shown(lacking[0])}{others}, which the model was fitted on; give the same columns"
            )
        return [places[name] for name in wanted]

    def check_all_found(self) -> None:
        """Do nothing: every view has all of its columns by now."""


def column_place(column: str, names: Sequence[str] | None, width: int) -> int | None:
    """Return the place of one column given by name or number; None if it is not there."""
    if names is not None and column in names:
        return list(names).index(column)
    found = _numbered(column, width) if _NUMBER.fullmatch(column) else []
    return found[0] if found else None


def _items(listed: str, option: str) -> list[str]:
    items = [item.strip() for item in listed.split(",")]
    if not all(items):
        raise ValueError(f"--{option} must be names or numbers with commas between them: {listed!r}")
    return items


def _numbered(item: str, width: int) -> list[int]:
    """Return the places that a number or a range of numbers stands for; none if they are not all there."""
    if _NUMBER.fullmatch(item):
        return [int(item)] if int(item) < width else []
    ends = _RANGE.fullmatch(item)
    if ends is None:
        return []
    first, last = int(ends[1]), int(ends[2])
    return list(range(first, last + 1)) if first <= last < width else []
