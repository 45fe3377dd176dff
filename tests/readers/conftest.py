"""Ways to store an array and read it back, one per kind of file; a kind whose library is absent is skipped."""

import numpy as np
import pytest
from scipy import sparse

from kedge.readers.open import open_rows
from kedge.readers.sparse_files import save_csr


def store_npy(folder, array):
    np.save(folder / "rows.npy", array)
    return folder / "rows.npy"


def store_map(folder, array):
    np.save(folder / "rows.npy", array)
    return np.load(folder / "rows.npy", mmap_mode="r")


def store_fortran_map(folder, array):
    np.save(folder / "rows.npy", np.asfortranarray(array))
    return np.load(folder / "rows.npy", mmap_mode="r")


def as_table(array):
    pa = pytest.importorskip("pyarrow")
    return pa.table({f"x{number}": column for number, column in enumerate(array.T)})


def store_parquet(folder, array):
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(as_table(array), folder / "rows.parquet", row_group_size=7)
    return folder / "rows.parquet"


def store_feather(folder, array):
    feather = pytest.importorskip("pyarrow.feather")
    feather.write_feather(as_table(array), folder / "rows.feather", chunksize=7)
    return folder / "rows.feather"


def store_parquet_folder(folder, array):
    parquet = pytest.importorskip("pyarrow.parquet")
    (folder / "parts").mkdir()
    for number, start in enumerate(range(0, len(array), 15)):
        table = as_table(array[start : start + 15])
        parquet.write_table(table, folder / "parts" / f"part-{number}.parquet", row_group_size=4)
    (folder / "parts" / "_SUCCESS").touch()
    return folder / "parts"


def store_zarr(folder, array):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(folder / "rows.zarr", data=array, chunks=(6, 2))
    return folder / "rows.zarr"


def store_hdf5(folder, array):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "rows.h5", "w") as file:
        file.create_dataset("group/rows", data=array, chunks=(6, array.shape[1]), compression="gzip")
    return folder / "rows.h5"


def store_plain_hdf5(folder, array):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "rows.hdf5", "w") as file:
        file["rows"] = array
        file["labels"] = np.arange(len(array))
    return f"{folder / 'rows.hdf5'}::rows"


def store_csr(folder, array):
    save_csr(folder / "rows_csr", sparse.csr_array(array))
    return folder / "rows_csr"


def write_h5ad(path, array, form):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        names = file.create_dataset("var/_index", data=[f"gene{number}" for number in range(array.shape[1])])
        names.parent.attrs["_index"] = "_index"
        if form == "dense":
            file["X"] = array
            return
        matrix = {"csr": sparse.csr_array, "csc": sparse.csc_array}[form](array)
        group = file.create_group("X")
        group.attrs.update({"encoding-type": f"{form}_matrix", "shape": matrix.shape})
        for part in ("data", "indices", "indptr"):
            group[part] = getattr(matrix, part)


def store_dense_h5ad(folder, array):
    write_h5ad(folder / "rows.h5ad", array, "dense")
    return folder / "rows.h5ad"


def store_csr_h5ad(folder, array):
    write_h5ad(folder / "rows.h5ad", array, "csr")
    return folder / "rows.h5ad"


STORES = {name.removeprefix("store_"): store for name, store in list(globals().items()) if name.startswith("store_")}


@pytest.fixture(params=list(STORES))
def stored(request, tmp_path):
    """Store an array in one of the ways; the value is a function that returns its reader."""
    return lambda array: open_rows(STORES[request.param](tmp_path, array))


@pytest.fixture(params=[name for name in STORES if not name.endswith("map")])
def stored_in_files(request, tmp_path):
    """Store an array like `stored`, but not as a map, whose reader only `fit` makes."""
    return lambda array: open_rows(STORES[request.param](tmp_path, array))


@pytest.fixture
def h5ad(tmp_path):
    """Write an .h5ad file with X of a form; the value is a function that returns its path."""

    def write(array, form):
        write_h5ad(tmp_path / "rows.h5ad", array, form)
        return tmp_path / "rows.h5ad"

    return write
