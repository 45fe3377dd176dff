"""Which rows to read together, and what stored rows may be."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Below this distance in bytes it is faster to read what lies between two rows than to read twice.
GAP_BYTES = 1 << 16
# Bytes read in one go for rows chosen by number.
PIECE_BYTES = 1 << 23


def checked_range(rows: slice, n_rows: int) -> tuple[int, int]:
    """Return start and stop of consecutive rows, cut at the ends as in NumPy."""
    if rows.step not in (None, 1):
        raise ValueError(f"rows must be consecutive, without a step: {rows}")
    start, stop, _ = rows.indices(n_rows)
    return start, max(start, stop)


def checked_numbers(rows: NDArray[np.intp], n_rows: int, name: str) -> NDArray[np.intp]:
    """Return row numbers; an error if they are not in ascending order or not rows of the view."""
    given = np.asarray(rows)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise TypeError(f"rows must be a slice or a vector of row numbers: {given.dtype} of shape {given.shape}")
    numbers = given.astype(np.intp, copy=False)
    if (np.diff(numbers) < 0).any():
        raise ValueError(f"{name}: row numbers must be in ascending order; sort them")
    if len(numbers) and (numbers[0] < 0 or numbers[-1] >= n_rows):
        wrong = numbers[0] if numbers[0] < 0 else numbers[-1]
        raise IndexError(f"{name} has rows 0 to {n_rows - 1}, but row {wrong} was asked for")
    return numbers


def nearby_groups(numbers: NDArray[np.intp], gap: int, limit: int) -> Iterator[slice]:
    """Yield which of the numbers to read together.

    Parameters
    ----------
    numbers : array of int
        Row numbers in ascending order.
    gap : int
        Neighbours further apart than this are read apart.
    limit : int
        Most rows from the first to the last of a group.

    Yields
    ------
    group : slice
        Positions in `numbers`.
    """
    if not len(numbers):
        return
    ends = np.append(np.flatnonzero(np.diff(numbers) > gap) + 1, len(numbers))
    start = 0
    for end in ends.tolist():
        while start < end:
            reach = int(np.searchsorted(numbers[start:end], numbers[start] + limit))
            yield slice(start, start + reach)
            start += reach


def rows_of_bytes(n_bytes: int, row_bytes: float) -> int:
    """Return how many rows fit, at least one."""
    return max(1, int(n_bytes // max(row_bytes, 1)))


def float_kind(stored: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which stored numbers are read."""
    return np.dtype(np.float32) if stored == np.float32 else np.dtype(np.float64)


def check_numeric(stored: np.dtype[Any], where: str) -> None:
    """Raise an error unless the entries are real numbers or truth values."""
    if stored.kind not in "biuf":
        raise ValueError(f"{where}: entries must be real numbers, but they are stored as {stored}; convert them first")


def check_matrix(shape: tuple[int, ...], where: str) -> None:
    """Raise an error unless this is the shape of a matrix with rows and columns."""
    if len(shape) != 2:
        raise ValueError(f"{where}: a view has rows and columns, but the array has shape {shape}; store it as 2-D")
    if min(shape) == 0:
        raise ValueError(f"{where}: there are no rows or no columns: shape {shape}")


def name_entry(where: str, column: int, feature_names: list[str] | None) -> str:
    """Return a place in words, with the name of the column where it has one."""
    return f"{where}, column {column if feature_names is None else repr(feature_names[column])}"
