"""Rows of datasets in HDF5 files and of Zarr arrays; what is safe to read in HDF5 files of unknown origin."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.optional_libraries import load_library
from kedge.readers.columns import Wanted, views_of_arrays
from kedge.readers.contents import DataFileError, DataFiles, FileView, shown
from kedge.readers.stored_rows import BandedRows

HDF5_SUFFIXES = (".h5", ".hdf5")
# Between the file and the dataset in it.
DATASET_MARK = "::"


class Hdf5Object:
    """A dataset or group, opened for each use by the path of its file, so a forked process shares nothing.

    An object that is open for writing, or has no path, is used itself.
    """

    def __init__(self, source: Any, key: str | None = None) -> None:
        self._live = None
        if isinstance(source, str | Path):
            self.path = Path(source).absolute()
            self.key = _only_dataset(self.path) if key is None else key
            return
        self.path, self.key = Path(source.file.filename).absolute(), source.name or ""
        if source.file.mode != "r" or source.name is None or not self.path.is_file():
            self._live = source

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Give the object; what HDF5 cannot read is an error that names the file."""
        if self._live is not None:
            yield self._live
            return
        with open_hdf5(self.path) as file:
            if self.key not in file:
                raise ValueError(f"{self.path} holds no {self.key!r}")
            try:
                yield file[self.key]
            except OSError as error:
                raise ValueError(f"{self.path}, {self.key!r} cannot be read: {error}") from error


class Hdf5Rows(BandedRows):
    """Rows of a 2-D dataset, given open or by its file, with the name of the `dataset` if the file holds several."""

    def __init__(self, source: Any, dataset: str | None = None, feature_names: list[str] | None = None) -> None:
        self.stored = Hdf5Object(source, dataset)
        self.name = f"{self.stored.path.name}{DATASET_MARK}{self.stored.key.strip('/')}"
        self.feature_names = feature_names
        with self.stored.opened() as found:
            where = f"{self.stored.path}, {self.stored.key!r}"
            if not hasattr(found, "dtype"):
                raise ValueError(f"{where} is a group and not a dataset")
            self.set_matrix(found.shape, found.dtype, where)
            # Rows that are not in chunks have nothing to decode.
            if found.chunks:
                self.set_chunks(found.chunks[0])

    def _load(self, start: int, stop: int) -> NDArray[Any]:
        with self.stored.opened() as dataset:
            return np.ascontiguousarray(dataset[start:stop], dtype=self.dtype)

    def _read_numbers(self, numbers: NDArray[np.intp]) -> Any:
        with self.stored.opened():  # kept open for all pieces
            return super()._read_numbers(numbers)


def open_hdf5(path: Path) -> Any:
    """Open a file for reading; an error that names it if it is not HDF5."""
    h5py = load_library("h5py", "hdf5", "reading HDF5 files")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise ValueError(f"{path} cannot be opened as an HDF5 file: {error}") from error


def _only_dataset(path: Path) -> str:
    """Return the name of the one dataset that can be a view."""
    names: list[str] = []
    with open_hdf5(path) as file:
        file.visit(names.append)
        found = [name for name in names if getattr(file[name], "ndim", 0) == 2 and file[name].dtype.kind in "biuf"]
    if len(found) == 1:
        return found[0]
    if not found:
        raise ValueError(f"{path} holds no 2-D dataset of numbers")
    listed = ", ".join(f"'{path.name}{DATASET_MARK}{name}'" for name in sorted(found))
    raise ValueError(f"{path} holds several 2-D datasets; say which one: {listed}")


def read_hdf5(path: Path, wanted: Wanted) -> DataFiles:
    """Read the one matrix of an HDF5 file."""
    reader = Hdf5Rows(path)
    with reader.stored.opened() as dataset:
        check_dataset(dataset, path, wanted)
    return views_of_arrays([FileView(path.stem, path, "hdf5", wanted.limits.small_whole(reader))], {}, path, wanted)


def child_of(group: Any, name: str, path: Path) -> Any:
    """Return a member of a group, or None if there is none; links into other files are refused."""
    h5py = load_library("h5py", "hdf5", "reading HDF5 files")
    link = group.get(name, getlink=True)
    if isinstance(link, h5py.ExternalLink):
        raise DataFileError(f"{path}: {shown(name)} is a link into another file, which is not followed")
    return None if link is None else group[name]


def check_dataset(dataset: Any, path: Path, wanted: Wanted) -> None:
    """Refuse datasets whose numbers are in other files, or whose size is not plausible."""
    if dataset.external is not None or dataset.is_virtual:
        raise DataFileError(f"{path}: {shown(dataset.name)} keeps its numbers in other files, which are not read")
    wanted.limits.check_packed(dataset.nbytes, dataset.id.get_storage_size(), path, shown(dataset.name))
    if dataset.ndim:
        wanted.limits.check_rows(int(dataset.shape[0]), path)
    if dataset.chunks is not None:
        chunk = math.prod(dataset.chunks) * dataset.dtype.itemsize
        wanted.limits.check_whole(chunk, path, f"one chunk of {shown(dataset.name)}")


def read_whole(dataset: Any, path: Path, wanted: Wanted | None) -> NDArray[Any]:
    """Return all of a dataset, text as a vector of strings; with `wanted`, only if it is safe and small enough."""
    if wanted is not None:
        check_dataset(dataset, path, wanted)
        wanted.limits.check_whole(dataset.nbytes, path, shown(dataset.name))
    if dataset.dtype.kind == "O" and dataset.dtype.metadata and "vlen" in dataset.dtype.metadata:
        return np.array(dataset.asstr()[()], dtype=np.dtypes.StringDType())
    return np.asarray(dataset[()])


class ZarrRows(BandedRows):
    """Rows of a 2-D Zarr array, open or by its folder; chunks of some 10,000 rows and all columns read fastest."""

    def __init__(self, array: Any) -> None:
        self._array = _open_zarr(Path(array).absolute()) if isinstance(array, str | Path) else array
        root = getattr(self._array.store, "root", None)
        self.name = "/".join(part for part in ("Zarr array" if root is None else root.name, self._array.path) if part)
        where = self.name if root is None else str(Path(root) / self._array.path)
        self.set_matrix(self._array.shape, self._array.dtype, where)
        self.set_chunks(self._array.chunks[0])

    def _load(self, start: int, stop: int) -> NDArray[Any]:
        return np.ascontiguousarray(self._array[start:stop], dtype=self.dtype)


def _open_zarr(path: Path) -> Any:
    """Return the array in a folder; the error for a group lists its arrays."""
    zarr = load_library("zarr", "zarr", "reading Zarr arrays")
    if not path.exists():
        raise FileNotFoundError(f"there is no folder {path}")
    try:
        found = zarr.open(path, mode="r")
    except (ValueError, KeyError, OSError) as error:
        raise ValueError(f"{path} is not a Zarr array: {error}") from error
    if isinstance(found, zarr.Array):
        return found
    listed = ", ".join(repr(name) for name in sorted(name for name, _ in found.arrays())) or "none"
    opened = f"zarr.open({str(path)!r}, mode='r')['name of the array']"
    raise ValueError(f"{path} is a Zarr group and not an array; its arrays are {listed}: pass {opened}")
