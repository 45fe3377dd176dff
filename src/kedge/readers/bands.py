"""Rows stored in bands that are decoded whole, such as the chunks of HDF5 and the row groups of Parquet."""

from collections.abc import Iterator
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.core.rows import Rows
from kedge.readers.arrays import StoredRows, checked_range, rows_of_bytes

# Chunks are read together up to this many bytes. Above the other, they are read in parts and decoded again.
_SMALL_BAND = 1 << 20
_LARGE_BAND = 1 << 28


class BandedRows(StoredRows):
    """Base of readers with bands: a subclass sets `_edges`, and `_load` is then called for whole bands only.

    The last band that was read in part is kept, so small blocks do not decode it again.
    """

    # The first row of every band, then the number of rows; empty if there are no bands.
    _edges: NDArray[np.intp] = np.empty(0, dtype=np.intp)
    _kept: tuple[int, NDArray[Any]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock and the band in memory."""
        return {key: value for key, value in self.__dict__.items() if key not in ("_lock", "_kept")}

    def set_chunks(self, chunk_rows: int) -> None:
        """Make bands of whole chunks, or of parts of a chunk where chunks are very large."""
        row_bytes = self._row_bytes()
        together = max(1, int(_SMALL_BAND // max(1, chunk_rows * row_bytes)))
        band_rows = min(chunk_rows * together, rows_of_bytes(_LARGE_BAND, row_bytes))
        self._edges = np.append(np.arange(0, self.n_rows, band_rows, dtype=np.intp), np.intp(self.n_rows))

    def read(self, rows: Rows) -> Any:
        """Return these rows as an array in C order."""
        if not len(self._edges) or not isinstance(rows, slice):
            return super().read(rows)
        start, stop = checked_range(rows, self.n_rows)
        block = np.empty((stop - start, self.width), dtype=self.dtype)
        here = start
        while here < stop:
            low, high = self._band_around(here)
            end = min(stop, high)
            in_part = here > low or end < high
            block[here - start : end - start] = self._band(low, high, keep=in_part)[here - low : end - low]
            here = end
        return block

    def _pieces(self, numbers: NDArray[np.intp]) -> Iterator[tuple[slice, int, Any]]:
        if not len(self._edges):
            yield from super()._pieces(numbers)
            return
        done = 0
        while done < len(numbers):
            low, high = self._band_around(int(numbers[done]))
            group = slice(done, int(np.searchsorted(numbers, high)))
            yield group, low, self._band(low, high, keep=False)
            done = group.stop

    def _band_of(self, row: int) -> int:
        return int(np.searchsorted(self._edges, row, side="right")) - 1

    def _band_around(self, row: int) -> tuple[int, int]:
        band = self._band_of(row)
        return int(self._edges[band]), int(self._edges[band + 1])

    def _band(self, low: int, high: int, keep: bool) -> NDArray[Any]:
        kept = self._kept
        if kept is not None and kept[0] == low:
            return kept[1]
        if not keep:
            return self._load(low, high)  # type: ignore[no-any-return]
        with self.__dict__.setdefault("_lock", Lock()):
            if self._kept is None or self._kept[0] != low:
                # Dropped first, so that two bands are not in memory together.
                kept = self._kept = None
                self._kept = (low, self._load(low, high))
            return self._kept[1]
