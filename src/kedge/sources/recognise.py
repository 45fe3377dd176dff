"""From what a user gives to a reader of its rows."""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from kedge.sources.anndata_files import open_anndata
from kedge.sources.csr_files import CsrFiles, is_csr_folder
from kedge.sources.hdf5_arrays import HDF5_SUFFIXES, Hdf5Rows, split_dataset
from kedge.sources.npy_files import MappedRows, NpyFile, find_map
from kedge.sources.parquet_files import ParquetRows
from kedge.sources.table_files import TABLE_SUFFIXES
from kedge.sources.view_reader import ViewReader
from kedge.sources.zarr_arrays import ZarrRows

_ACCEPTED = (
    "a file .npy, .parquet, .pq, .arrow, .feather, .ipc, .h5 or .hdf5 (with '::group/dataset' if it holds several), "
    ".h5ad, a .zarr folder, a folder of Parquet or Arrow files, or a folder written by save_csr"
)


def open_view(thing: Any) -> ViewReader | None:
    """Return a reader of rows that are not in memory, or None if they are.

    Libraries are imported only if a file needs them: an object of a library cannot exist before its import.

    Parameters
    ----------
    thing : object
        A path as str or Path, a reader, a memory map, a Zarr array, an HDF5 dataset, an AnnData object; anything else
        counts as in memory.

    Returns
    -------
    reader : ViewReader or None
        What reads the rows.
    """
    if isinstance(thing, str | Path):
        return _open_path(thing)
    if isinstance(thing, ViewReader):
        return thing
    if isinstance(thing, np.memmap):
        # A copy of a map is of this class too, but has no file.
        return None if find_map(thing) is None else MappedRows(thing)
    if _is_a(thing, "zarr", "Array"):
        return ZarrRows(thing)
    if _is_a(thing, "h5py", "Dataset"):
        return Hdf5Rows(thing)
    if _is_a(thing, "anndata", "AnnData") and thing.isbacked:
        return open_anndata(thing)
    return None


def _is_a(thing: Any, library: str, kind: str) -> bool:
    """Return whether a thing is of a class of a library, which is not imported for the question."""
    found = getattr(sys.modules.get(library), kind, None)
    return isinstance(found, type) and isinstance(thing, found)


def _open_path(given: str | Path) -> ViewReader:
    path, dataset = split_dataset(given)
    if dataset is not None and path.suffix in HDF5_SUFFIXES:
        return Hdf5Rows(path, dataset)
    path = Path(given)
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {str(path.absolute())!r}")
    if path.suffix == ".npz":
        return CsrFiles(path)
    if path.suffix == ".zarr":
        return ZarrRows(path)
    if path.is_dir():
        return _open_folder(path)
    if path.suffix == ".npy":
        return NpyFile(path)
    if path.suffix in TABLE_SUFFIXES:
        return ParquetRows(path)
    if path.suffix in HDF5_SUFFIXES:
        return Hdf5Rows(path)
    if path.suffix == ".h5ad":
        return open_anndata(path)
    raise ValueError(f"{str(path)!r} is of an unknown kind; accepted are {_ACCEPTED}")


def _open_folder(folder: Path) -> ViewReader:
    if is_csr_folder(folder):
        return CsrFiles(folder)
    if (folder / "zarr.json").is_file() or (folder / ".zarray").is_file():
        return ZarrRows(folder)
    inside = list(folder.iterdir())
    if any(path.suffix in TABLE_SUFFIXES or (path.is_dir() and "=" in path.name) for path in inside):
        return ParquetRows(folder)
    raise ValueError(f"the folder {str(folder)!r} holds nothing that is known; accepted are {_ACCEPTED}")
