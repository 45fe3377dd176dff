"""The same rows written in every kind of data file that kedge reads."""

import warnings

import anndata
import h5py
import mudata
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
from scipy import io, sparse

COLUMNS = ["a", "b", "c", "d"]


def table_of(rows, labels=None):
    table = pa.table({name: rows[:, place] for place, name in enumerate(COLUMNS[: rows.shape[1]])})
    return table if labels is None else table.append_column("y", pa.array(labels))


def write_csv(path, rows, labels=None):
    pyarrow.csv.write_csv(table_of(rows, labels), path)


def write_tsv(path, rows, labels=None):
    pyarrow.csv.write_csv(table_of(rows, labels), path, pyarrow.csv.WriteOptions(delimiter="\t"))


def write_parquet(path, rows, labels=None):
    pyarrow.parquet.write_table(table_of(rows, labels), path, row_group_size=16)


def write_arrow(path, rows, labels=None):
    table = table_of(rows, labels)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=16)


def write_feather(path, rows, labels=None):
    pyarrow.feather.write_feather(table_of(rows, labels), path, compression="lz4")


def write_npy(path, rows, labels=None):
    np.save(path, rows if labels is None else np.column_stack([rows, labels]))


def write_npz(path, rows, labels=None):
    np.savez_compressed(path, **({"X": rows} if labels is None else {"X": rows, "y": labels}))


def write_sparse_npz(path, rows, labels=None):
    sparse.save_npz(path, sparse.csr_matrix(rows))


def write_mat(path, rows, labels=None, compressed=False):
    content = {"X": rows} if labels is None else {"X": rows, "y": np.asarray(labels)[:, None]}
    io.savemat(path, content, do_compression=compressed)


def write_packed_mat(path, rows, labels=None):
    write_mat(path, rows, labels, compressed=True)


def write_sparse_mat(path, rows, labels=None):
    io.savemat(path, {"X": sparse.csc_matrix(rows)})


def write_mat73(path, rows, labels=None):
    with h5py.File(path, "w", userblock_size=512) as file:
        file["X"] = np.asarray(rows).T
        file["X"].attrs["MATLAB_class"] = np.bytes_("double")
        if labels is not None:
            file["y"] = np.asarray(labels, dtype=float)[None, :]
            file["y"].attrs["MATLAB_class"] = np.bytes_("double")


def write_hdf5(path, rows, labels=None):
    with h5py.File(path, "w") as file:
        file.create_dataset("group/rows", data=rows, chunks=(16, rows.shape[1]), compression="gzip")


def anndata_of(matrix, labels=None):
    data = anndata.AnnData(matrix)
    data.obs_names = [f"row {number}" for number in range(matrix.shape[0])]
    data.var_names = COLUMNS[: matrix.shape[1]]
    if labels is not None:
        data.obs["y"] = [f"class {label}" for label in labels]
    return data


def write_h5ad(path, rows, labels=None):
    anndata_of(rows, labels).write_h5ad(path)


def write_sparse_h5ad(path, rows, labels=None):
    anndata_of(sparse.csr_matrix(rows), labels).write_h5ad(path)


def write_csc_h5ad(path, rows, labels=None):
    anndata_of(sparse.csc_matrix(rows), labels).write_h5ad(path)


def write_h5mu(path, rows, labels=None):
    write_modalities(path, {"one": anndata_of(rows, labels), "two": anndata_of(sparse.csr_matrix(rows[:, :2]))})


def write_modalities(path, modalities):
    for name, data in modalities.items():
        data.var_names = [f"{name} {column}" for column in data.var_names]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of plans for later versions
        mudata.MuData(modalities).write(path)


# Kind: ending of the name, and what writes it.
WRITERS = {
    "csv": (".csv", write_csv),
    "tsv": (".tsv", write_tsv),
    "parquet": (".parquet", write_parquet),
    "arrow": (".arrow", write_arrow),
    "feather": (".feather", write_feather),
    "npy": (".npy", write_npy),
    "npz": (".npz", write_npz),
    "sparse npz": (".npz", write_sparse_npz),
    "mat": (".mat", write_mat),
    "packed mat": (".mat", write_packed_mat),
    "sparse mat": (".mat", write_sparse_mat),
    "mat 7.3": (".mat", write_mat73),
    "hdf5": (".h5", write_hdf5),
    "h5ad": (".h5ad", write_h5ad),
    "sparse h5ad": (".h5ad", write_sparse_h5ad),
    "csc h5ad": (".h5ad", write_csc_h5ad),
    "h5mu": (".h5mu", write_h5mu),
}
