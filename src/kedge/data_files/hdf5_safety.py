"""HDF5 files of unknown origin: nothing outside the file is followed, and sizes are looked at first."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.data_files.contents import Wanted
from kedge.data_files.refusal import DataFileError, shown
from kedge.optional_libraries import load_library


def child_of(group: Any, name: str, path: Path) -> Any:
    """Return a member of a group, or None if there is none; links into other files are refused."""
    h5py = load_library("h5py", "hdf5", "reading HDF5 files")
    if name not in group and group.get(name, getlink=True, default=None) is None:
        return None
    link = group.get(name, getlink=True)
    if isinstance(link, h5py.ExternalLink):
        raise DataFileError(f"{path}: {shown(name)} is a link into another file, which is not followed")
    return group[name]


def check_dataset(dataset: Any, path: Path, wanted: Wanted) -> None:
    """Refuse datasets whose numbers are in other files, or whose size cannot be."""
    if dataset.external is not None or dataset.is_virtual:
        raise DataFileError(f"{path}: {shown(dataset.name)} keeps its numbers in other files, which are not read")
    n_bytes = math.prod(dataset.shape or (0,)) * dataset.dtype.itemsize
    wanted.limits.check_packed(n_bytes, dataset.id.get_storage_size(), path, shown(dataset.name))
    if dataset.ndim:
        wanted.limits.check_rows(int(dataset.shape[0]), path)
    if dataset.chunks is not None:
        chunk = math.prod(dataset.chunks) * dataset.dtype.itemsize
        wanted.limits.check_whole(chunk, path, f"one chunk of {shown(dataset.name)}")


def read_whole(dataset: Any, path: Path, wanted: Wanted) -> NDArray[Any]:
    """Return all of a dataset; text as a vector of strings."""
    check_dataset(dataset, path, wanted)
    wanted.limits.check_whole(math.prod(dataset.shape or (0,)) * dataset.dtype.itemsize, path, shown(dataset.name))
    if dataset.dtype.kind == "O" and dataset.dtype.metadata and "vlen" in dataset.dtype.metadata:
        return np.array(dataset.asstr()[()], dtype=np.dtypes.StringDType())
    return np.asarray(dataset[()])
