"""Rows of Zarr arrays."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.optional_libraries import load_library
from kedge.sources.banded_rows import BandedRows, chunk_bands
from kedge.sources.row_ranges import check_matrix, check_numeric, float_kind


class ZarrRows(BandedRows):
    """Rows of a 2-D Zarr array; chunks of some 10,000 rows and all columns read fastest.

    Parameters
    ----------
    array : zarr.Array, str or Path
        The array, or the folder of one.
    """

    def __init__(self, array: Any) -> None:
        super().__init__()
        self._array = open_zarr(Path(array)) if isinstance(array, str | Path) else array
        root = getattr(self._array.store, "root", None)
        self.name = "/".join(part for part in ("Zarr array" if root is None else root.name, self._array.path) if part)
        where = self.name if root is None else str(Path(root) / self._array.path)
        check_matrix(self._array.shape, where)
        check_numeric(self._array.dtype, where)
        self.n_rows, self.width = self._array.shape
        self.dtype: np.dtype[Any] = float_kind(self._array.dtype)
        self._edges = chunk_bands(self.n_rows, self._array.chunks[0], self.width * self.dtype.itemsize)

    def _decode(self, band: int) -> NDArray[Any]:
        rows = slice(int(self._edges[band]), int(self._edges[band + 1]))
        return np.ascontiguousarray(self._array[rows], dtype=self.dtype)

    def _choose(self, band: int, numbers: NDArray[np.intp]) -> NDArray[Any]:
        # Only the chunks that are needed, and not of all bands in one call: Zarr would decode many chunks at a time.
        return np.asarray(self._array.oindex[numbers, slice(None)])


def open_zarr(path: Path) -> Any:
    """Return the array in a folder; an error that names what else the folder holds."""
    path = path.absolute()
    zarr = load_library("zarr", "zarr", "reading Zarr arrays")
    if not path.exists():
        raise FileNotFoundError(f"there is no folder {path}")
    try:
        found = zarr.open(path, mode="r")
    except (ValueError, KeyError, OSError) as error:
        raise ValueError(f"{path} is not a Zarr array: {error}") from error
    if isinstance(found, zarr.Array):
        return found
    names = sorted(name for name, _ in found.arrays())
    listed = ", ".join(repr(name) for name in names) if names else "none"
    raise ValueError(
        f"{path} is a Zarr group and not an array; its arrays are {listed}: pass zarr.open({str(path)!r}, mode='r')"
        "['name of the array']"
    )
