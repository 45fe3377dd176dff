"""Every kind of data file gives back what was written, as one view and as one of several."""

import h5py
import numpy as np
import pytest
from data_file_writers import COLUMNS, WRITERS, anndata_of, table_of, write_modalities
from scipy import io, sparse

from kedge.readers.arrays import ViewReader
from kedge.readers.contents import DataFileError, Limits
from kedge.readers.open import read_data_files
from kedge.readers.sparse_files import save_csr

ONE_VIEW = [kind for kind in WRITERS if kind != "h5mu"]
WITH_LABELS = [kind for kind in ONE_VIEW if kind not in ("sparse npz", "sparse mat", "hdf5")]
STREAMED = ["csv", "tsv", "parquet", "arrow", "feather", "npy", "hdf5", "h5ad", "sparse h5ad"]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return np.where(rng.random((40, 4)) < 0.5, 0.0, rng.normal(size=(40, 4)))


@pytest.fixture
def labels():
    return np.arange(40) % 3


def write(kind, folder, rows, labels=None, name="data"):
    suffix, writer = WRITERS[kind]
    path = folder / f"{name}{suffix}"
    writer(path, rows, labels)
    return path


def dense(matrix):
    if isinstance(matrix, ViewReader):
        matrix = matrix.read(slice(0, matrix.n_rows))
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@pytest.mark.parametrize("kind", ONE_VIEW)
def test_rows_come_back(kind, rows, tmp_path):
    path = write(kind, tmp_path, rows)
    files = read_data_files([path])
    assert files.view_names == ["data"]
    assert files.n_rows == 40
    assert files.views[0].path == path
    assert sparse.issparse(files.matrices[0]) == ("sparse" in kind or "csc" in kind)
    np.testing.assert_array_equal(dense(files.matrices[0]), rows)
    if kind in ("csv", "tsv", "parquet", "arrow", "feather", "h5ad", "sparse h5ad"):
        assert files.feature_names == [COLUMNS]


@pytest.mark.parametrize("kind", WITH_LABELS)
def test_labels_are_kept_aside(kind, rows, labels, tmp_path):
    path = write(kind, tmp_path, rows, labels)
    files = read_data_files([path], label_column="4" if kind == "npy" else "y")
    np.testing.assert_array_equal(dense(files.matrices[0]), rows)
    assert len(set(files.labels.values)) == 3
    expected = [f"class {label}" if "h5ad" in kind else str(label) for label in labels]
    assert files.labels.values.tolist() == expected


@pytest.mark.parametrize("kind", STREAMED)
def test_large_files_are_read_in_parts(kind, rows, labels, tmp_path, monkeypatch):
    monkeypatch.setattr(Limits, "for_memory", lambda memory: Limits(2**28, 100))
    path = write(kind, tmp_path, rows, None if kind in ("npy", "hdf5") else labels)
    files = read_data_files([path], columns="0,2-3", label_column=None if kind in ("npy", "hdf5") else "y")
    [reader] = files.matrices
    assert isinstance(reader, ViewReader)
    assert not files.views[0].in_memory
    np.testing.assert_array_equal(dense(reader), rows[:, [0, 2, 3]])
    chosen = np.array([0, 7, 8, 31])
    block = reader.read(chosen)
    np.testing.assert_array_equal(block.toarray() if sparse.issparse(block) else block, rows[chosen][:, [0, 2, 3]])
    assert reader.place(5, 1).endswith("column 2" if kind in ("npy", "hdf5") else "column 'c'")
    assert files.labels is None or len(files.labels.codes) == 40


@pytest.mark.parametrize("kind", ONE_VIEW)
def test_two_files_of_a_kind_are_two_views(kind, rows, tmp_path):
    other = np.where(rows == 0.0, 0.0, 1.0 - rows)
    paths = [write(kind, tmp_path, rows, name="first"), write(kind, tmp_path, other, name="second")]
    files = read_data_files(paths)
    assert files.view_names == ["first", "second"]
    for matrix, expected in zip(files.matrices, (rows, other), strict=True):
        np.testing.assert_array_equal(dense(matrix), expected)


def test_several_files_and_a_folder_are_several_views(rows, tmp_path):
    paths = [write("csv", tmp_path, rows, name="first"), write("sparse npz", tmp_path, rows[:, :2], name="second")]
    paths.append(write("mat", tmp_path, 2 * rows, name="third"))
    for given in (paths, [tmp_path]):
        files = read_data_files(given)
        assert files.view_names == ["first", "second", "third"]
        np.testing.assert_array_equal(files.matrices[0], rows)
        np.testing.assert_array_equal(files.matrices[1].toarray(), rows[:, :2])
        np.testing.assert_array_equal(files.matrices[2], 2 * rows)


def test_arrays_of_one_file_are_several_views(rows, labels, tmp_path):
    np.savez(tmp_path / "several.npz", one=rows, two=rows[:, :2], y=labels, extra=np.arange(3))
    files = read_data_files([tmp_path / "several.npz"], label_column="y")
    assert files.view_names == ["one", "two"]
    assert files.labels.values.tolist() == [str(label) for label in labels]
    assert files.left_out == ["'extra' of several.npz, which is not a matrix"]
    cells = np.empty((1, 2), dtype=object)
    cells[0, 0], cells[0, 1] = rows, sparse.csc_matrix(rows[:, :2])
    io.savemat(tmp_path / "cells.mat", {"X": cells, "Y": labels[:, None]})
    files = read_data_files([tmp_path / "cells.mat"], label_column="Y")
    assert files.view_names == ["X1", "X2"]
    np.testing.assert_array_equal(files.matrices[0], rows)
    np.testing.assert_array_equal(files.matrices[1].toarray(), rows[:, :2])


def test_cells_and_sparse_matrices_of_new_matlab_files(rows, tmp_path):
    stored = sparse.csc_matrix(rows)
    with h5py.File(tmp_path / "new.mat", "w", userblock_size=512) as file:
        file["#refs#/a"] = rows.T
        file["#refs#/a"].attrs["MATLAB_class"] = np.bytes_("double")
        file["X"] = np.array([[file["#refs#/a"].ref]], dtype=h5py.ref_dtype)
        file["X"].attrs["MATLAB_class"] = np.bytes_("cell")
        group = file.create_group("S")
        group.attrs["MATLAB_sparse"], group.attrs["MATLAB_class"] = np.uint64(40), np.bytes_("double")
        group["data"], group["ir"], group["jc"] = stored.data, stored.indices, stored.indptr
    files = read_data_files([tmp_path / "new.mat"])
    assert files.view_names == ["S", "X1"]
    for matrix in files.matrices:
        np.testing.assert_array_equal(dense(matrix), rows)


def test_modalities_are_views_and_may_lack_rows(rows, labels, tmp_path):
    path = write("h5mu", tmp_path, rows, labels)
    files = read_data_files([path], label_column="y")
    assert files.view_names == ["one", "two"]
    assert files.observed is None
    np.testing.assert_array_equal(files.matrices[1].toarray(), rows[:, :2])
    assert files.labels.values[0] == "class 0"
    one, two = anndata_of(rows), anndata_of(rows[:30, :2])
    write_modalities(tmp_path / "gaps.h5mu", {"one": one, "two": two})
    files = read_data_files([tmp_path / "gaps.h5mu"])
    assert files.n_rows == 40
    assert files.observed.sum(axis=0).tolist() == [40, 30]
    place = files.row_names.tolist().index("row 7")
    np.testing.assert_array_equal(files.matrices[1][place], rows[7, :2])


def test_other_forms_of_arrays(rows, tmp_path):
    np.save(tmp_path / "columns.npy", np.asfortranarray(rows))
    np.testing.assert_array_equal(read_data_files([tmp_path / "columns.npy"]).matrices[0], rows)
    np.save(tmp_path / "pictures.npy", np.arange(60, dtype=np.uint8).reshape(5, 3, 4))
    [view] = read_data_files([tmp_path / "pictures.npy"]).views
    assert view.image_shape == (3, 4)
    np.testing.assert_array_equal(view.rows, np.arange(60.0).reshape(5, 12))
    np.save(tmp_path / "single.npy", rows.astype(np.float32))
    assert read_data_files([tmp_path / "single.npy"]).matrices[0].dtype == np.float32
    save_csr(tmp_path / "parts", sparse.csr_array(rows))
    np.testing.assert_array_equal(dense(read_data_files([tmp_path / "parts"]).matrices[0]), rows)
    for form in ("csc", "coo"):
        sparse.save_npz(tmp_path / f"{form}.npz", sparse.csr_matrix(rows).asformat(form))
        np.testing.assert_array_equal(dense(read_data_files([tmp_path / f"{form}.npz"]).matrices[0]), rows)


def test_the_index_of_a_data_frame_names_the_rows(rows, tmp_path):
    names = [f"n{number}" for number in range(40)]
    frame = table_of(rows).to_pandas().set_index(np.array(names))
    frame.to_parquet(tmp_path / "frame.parquet")
    files = read_data_files([tmp_path / "frame.parquet"])
    assert files.row_names.tolist() == names
    assert files.feature_names == [COLUMNS]
    frame.to_csv(tmp_path / "frame.csv")
    files = read_data_files([tmp_path / "frame.csv"])
    assert files.row_names.tolist() == names
    np.testing.assert_array_equal(files.matrices[0], rows)


@pytest.mark.parametrize("memory", [0.0, -1.0, float("nan")])
def test_a_wrong_budget_is_refused(memory, tmp_path):
    with pytest.raises(ValueError, match="memory must be a positive number"):
        read_data_files([tmp_path / "x.csv"], memory=memory)


def test_what_cannot_be_read_is_one_kind_of_error(tmp_path):
    for given, words in (([], "no data file was given"), ([tmp_path / "absent.csv"], "there is no file")):
        with pytest.raises(DataFileError, match=words):
            read_data_files(given)
    with pytest.raises(DataFileError, match="holds no data file"):
        read_data_files([tmp_path])
