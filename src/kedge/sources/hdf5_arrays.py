"""Rows of datasets in HDF5 files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.optional_libraries import load_library
from kedge.sources.banded_rows import BandedRows, chunk_bands
from kedge.sources.row_ranges import (
    GAP_BYTES,
    PIECE_BYTES,
    check_matrix,
    check_numeric,
    float_kind,
    nearby_groups,
    rows_of_bytes,
)

HDF5_SUFFIXES = (".h5", ".hdf5")
# Between the file and the dataset in it.
_SEPARATOR = "::"


class Hdf5Object:
    """A dataset or group, opened for each use by the path of its file.

    So nothing is shared with a process that was forked, and the file is not held. Only where it is open for writing,
    or has no path, is the open object used itself.

    Parameters
    ----------
    path : str or Path
        The file.
    key : str
        Name of the object in it.
    live : h5py.Dataset or h5py.Group, default=None
        The object to use in place of the path.
    """

    def __init__(self, path: str | Path, key: str, live: Any = None) -> None:
        self.path = Path(path).absolute()
        self.key = key
        self._live = live
        self._lock = RLock()

    @classmethod
    def of(cls, thing: Any) -> "Hdf5Object":
        """Return the holder of an object that is open."""
        path = Path(thing.file.filename)
        by_path = thing.file.mode == "r" and thing.name is not None and path.is_file()
        return cls(path, thing.name or "", None if by_path else thing)

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Give the object; what HDF5 cannot read is an error that names the file."""
        if self._live is not None:
            with self._lock:
                yield self._live
            return
        with open_hdf5(self.path) as file:
            if self.key not in file:
                raise ValueError(f"{self.path} holds no {self.key!r}")
            try:
                yield file[self.key]
            except OSError as error:
                raise ValueError(f"{self.path}, {self.key!r} cannot be read: {error}") from error

    def __getstate__(self) -> dict[str, Any]:
        """Keep the path."""
        if self._live is not None:
            raise TypeError(
                f"{self.path} is open for writing, or not a file on disk, so its rows cannot be sent to another "
                "process; close it and pass its path"
            )
        return {"path": self.path, "key": self.key}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Open by the path when asked."""
        self.__dict__.update(state, _live=None, _lock=RLock())


class Hdf5Rows(BandedRows):
    """Rows of a 2-D dataset.

    Parameters
    ----------
    source : str, Path or h5py.Dataset
        The file, or an open dataset.
    dataset : str, default=None
        Name of the dataset; None takes the only one of numbers in two dimensions.
    feature_names : list of str, default=None
        Names of the columns.
    """

    def __init__(self, source: Any, dataset: str | None = None, feature_names: list[str] | None = None) -> None:
        super().__init__()
        if isinstance(source, str | Path):
            key = _only_dataset(Path(source).absolute()) if dataset is None else dataset
            self._stored = Hdf5Object(source, key)
        else:
            self._stored = Hdf5Object.of(source)
        self.name = f"{self._stored.path.name}{_SEPARATOR}{self._stored.key.strip('/')}"
        self.feature_names = feature_names
        with self._stored.opened() as stored:
            where = f"{self._stored.path}, {self._stored.key!r}"
            if not hasattr(stored, "dtype"):
                raise ValueError(f"{where} is a group and not a dataset")
            check_matrix(stored.shape, where)
            check_numeric(stored.dtype, where)
            self.n_rows, self.width = stored.shape
            self.dtype: np.dtype[Any] = float_kind(stored.dtype)
            self._chunk_rows: int | None = stored.chunks[0] if stored.chunks else None
        self._edges = chunk_bands(self.n_rows, self._chunk_rows or 1, self.width * self.dtype.itemsize)

    def _decode(self, band: int) -> NDArray[Any]:
        return self._read_stored(int(self._edges[band]), int(self._edges[band + 1]))

    def _read_stored(self, start: int, stop: int) -> NDArray[Any]:
        with self._stored.opened() as stored:
            return np.ascontiguousarray(stored[start:stop], dtype=self.dtype)

    def _read_range(self, start: int, stop: int) -> NDArray[Any]:
        # Rows that are not in chunks have nothing to decode.
        return self._read_stored(start, stop) if self._chunk_rows is None else super()._read_range(start, stop)

    def _read_numbers(self, numbers: NDArray[np.intp]) -> NDArray[Any]:
        row_bytes = self.width * self.dtype.itemsize
        # Rows further apart than a chunk is long are in different chunks.
        gap = self._chunk_rows or rows_of_bytes(GAP_BYTES, row_bytes)
        limit = max(rows_of_bytes(PIECE_BYTES, row_bytes), int(self._edges[1]))
        block = np.empty((len(numbers), self.width), dtype=self.dtype)
        with self._stored.opened() as stored:
            for group in nearby_groups(numbers, gap, limit):
                chosen = numbers[group]
                # h5py takes row numbers one by one, which is slow; ranges are not.
                block[group] = stored[int(chosen[0]) : int(chosen[-1]) + 1][chosen - chosen[0]]
        return block


def open_hdf5(path: Path) -> Any:
    """Open a file for reading; an error that names it if it is not HDF5."""
    h5py = load_library("h5py", "hdf5", "reading HDF5 files")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise ValueError(f"{path} cannot be opened as an HDF5 file: {error}") from error


def split_dataset(path: str | Path) -> tuple[Path, str | None]:
    """Return file and dataset of "file.h5::group/dataset"; None for the dataset if it is not named."""
    file, _, dataset = str(path).partition(_SEPARATOR)
    return Path(file), dataset or None


def _only_dataset(path: Path) -> str:
    """Return the name of the one dataset that can be a view."""
    found: list[str] = []

    def note(name: str, thing: Any) -> None:
        if getattr(thing, "ndim", None) == 2 and thing.dtype.kind in "biuf":
            found.append(name)

    with open_hdf5(path) as file:
        file.visititems(note)
    if len(found) == 1:
        return found[0]
    if not found:
        raise ValueError(f"{path} holds no 2-D dataset of numbers")
    listed = ", ".join(f"'{path.name}{_SEPARATOR}{name}'" for name in sorted(found))
    raise ValueError(f"{path} holds several 2-D datasets; say which one: {listed}")
