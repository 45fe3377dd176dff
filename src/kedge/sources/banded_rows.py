"""Rows stored in bands that are decoded whole: row groups of tables, chunks of arrays."""

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.sources.row_ranges import checked_numbers, checked_range, name_entry, rows_of_bytes
from kedge.sources.view_reader import SortedRows

# Chunks are read together up to this many bytes, and apart, at the cost of decoding them again, above the other.
_SMALL_BAND = 1 << 20
_LARGE_BAND = 1 << 28


class BandedRows:
    """Base of readers whose rows come in bands; the band decoded last is kept, so small blocks do not decode it again.

    A subclass sets the attributes of a `ViewReader` and `_edges`, and decodes one band in `_decode`.
    """

    n_rows: int
    width: int
    dtype: np.dtype[Any]
    name: str
    feature_names: list[str] | None = None
    # The first row of every band, then the number of rows.
    _edges: NDArray[np.intp]

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: tuple[int, NDArray[Any]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock and the band in memory."""
        return {key: value for key, value in self.__dict__.items() if key not in ("_lock", "_kept")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Start with no band in memory."""
        self.__dict__.update(state)
        self._lock = Lock()
        self._kept = None

    def read(self, rows: SortedRows) -> NDArray[Any]:
        """Return these rows as an array in C order."""
        if isinstance(rows, slice):
            return self._read_range(*checked_range(rows, self.n_rows))
        return self._read_numbers(checked_numbers(rows, self.n_rows, self.name))

    def place(self, row: int, column: int) -> str:
        """Return where an entry is, for messages."""
        return name_entry(f"{self.name}, row {row}", column, self.feature_names)

    def _decode(self, band: int) -> NDArray[Any]:
        """Return all rows of one band."""
        raise NotImplementedError

    def _read_range(self, start: int, stop: int) -> NDArray[Any]:
        block = np.empty((stop - start, self.width), dtype=self.dtype)
        here = start
        while here < stop:
            band = self._band_of(here)
            low, high = int(self._edges[band]), int(self._edges[band + 1])
            end = min(stop, high)
            in_part = here > low or end < high
            block[here - start : end - start] = self._band(band, keep=in_part)[here - low : end - low]
            here = end
        return block

    def _read_numbers(self, numbers: NDArray[np.intp]) -> NDArray[Any]:
        block = np.empty((len(numbers), self.width), dtype=self.dtype)
        done = 0
        while done < len(numbers):
            band = self._band_of(int(numbers[done]))
            end = int(np.searchsorted(numbers, self._edges[band + 1]))
            block[done:end] = self._choose(band, numbers[done:end])
            done = end
        return block

    def _choose(self, band: int, numbers: NDArray[np.intp]) -> NDArray[Any]:
        """Return some rows of one band."""
        rows: NDArray[Any] = self._band(band, keep=False)[numbers - self._edges[band]]
        return rows

    def _band_of(self, row: int) -> int:
        return int(np.searchsorted(self._edges, row, side="right")) - 1

    def _band(self, band: int, keep: bool) -> NDArray[Any]:
        kept = self._kept
        if kept is not None and kept[0] == band:
            return kept[1]
        if not keep:
            return self._decode(band)
        with self._lock:
            if self._kept is None or self._kept[0] != band:
                # Dropped first, so that two bands are not in memory together.
                kept = self._kept = None
                self._kept = (band, self._decode(band))
            return self._kept[1]


def chunk_bands(n_rows: int, chunk_rows: int, row_bytes: int) -> NDArray[np.intp]:
    """Return the edges of bands of whole chunks, or of parts of a chunk where chunks are very large."""
    together = max(1, _SMALL_BAND // max(1, chunk_rows * row_bytes))
    band_rows = min(chunk_rows * together, rows_of_bytes(_LARGE_BAND, row_bytes))
    return np.append(np.arange(0, n_rows, band_rows, dtype=np.intp), np.intp(n_rows))
