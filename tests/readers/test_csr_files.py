"""Rows of CSR folders: writing, and parts that do not fit."""

import numpy as np
import pytest
from scipy import sparse

from kedge.readers.open import open_rows
from kedge.readers.sparse_files import open_csr, save_csr

X = sparse.random_array((30, 8), density=0.3, format="csr", rng=np.random.default_rng(0))


@pytest.fixture
def folder(tmp_path):
    save_csr(tmp_path / "rows", X)
    return tmp_path / "rows"


def change(folder, part, **places):
    values = np.load(folder / f"{part}.npy")
    for place, value in places.items():
        values[int(place.removeprefix("at"))] = value
    np.save(folder / f"{part}.npy", values)


@pytest.mark.parametrize("form", ["csr_matrix", "csc_array", "coo_array"])
def test_any_sparse_form_is_written(tmp_path, form):
    save_csr(tmp_path / "rows", getattr(sparse, form)(X))
    np.testing.assert_array_equal(open_csr(tmp_path / "rows").read(slice(0, 30)).toarray(), X.toarray())


def test_entries_given_twice_are_added_up_and_the_matrix_left_alone(tmp_path):
    matrix = sparse.csr_array((np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    save_csr(tmp_path / "rows", matrix)
    assert open_csr(tmp_path / "rows").read(slice(0, 1)).data.tolist() == [3.0]
    assert matrix.nnz == 2


def test_matrix_without_entries_is_read(tmp_path):
    save_csr(tmp_path / "rows", sparse.csr_array((4, 3)))
    assert open_csr(tmp_path / "rows").read(slice(1, 3)).shape == (2, 3)
    assert open_csr(tmp_path / "rows").read(np.array([0, 3])).nnz == 0


def test_existing_folder_is_not_overwritten(folder):
    with pytest.raises(FileExistsError, match="rows exists"):
        save_csr(folder, X)


def test_failed_writing_leaves_nothing(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(np, "save", fail)
    with pytest.raises(OSError, match="disk full"):
        save_csr(tmp_path / "rows", X)
    assert list(tmp_path.iterdir()) == []


def test_npz_is_refused_with_the_remedy(tmp_path):
    sparse.save_npz(tmp_path / "rows.npz", X)
    with pytest.raises(ValueError, match=r"rows\.npz.*load_npz.*save_csr"):
        open_rows(tmp_path / "rows.npz")


def test_a_missing_part_is_named(folder):
    (folder / "shape.npy").unlink()
    with pytest.raises(ValueError, match=r"rows lacks shape\.npy"):
        open_csr(folder)


def test_index_pointer_of_another_length_is_an_error(folder):
    np.save(folder / "shape.npy", [31, 8])
    with pytest.raises(ValueError, match="rows: indptr has 31 entries, but 31 rows need 32"):
        open_csr(folder)


def test_fewer_columns_numbers_than_entries_are_an_error(folder):
    np.save(folder / "indices.npy", np.load(folder / "indices.npy")[:-1])
    with pytest.raises(ValueError, match=f"rows: data has {X.nnz} entries, but indices has {X.nnz - 1}"):
        open_csr(folder)


@pytest.mark.parametrize("places", [{"at0": 1}, {"at30": 5}])
def test_index_pointer_with_other_ends_is_an_error(folder, places):
    change(folder, "indptr", **places)
    with pytest.raises(ValueError, match=f"rows: indptr must go from 0 to {X.nnz}"):
        open_csr(folder)


@pytest.mark.parametrize("value", [-5, 10_000])
def test_row_with_a_wrong_start_is_named_when_it_is_read(folder, value):
    change(folder, "indptr", at12=value)
    reader = open_csr(folder)
    reader.read(slice(0, 10))
    with pytest.raises(ValueError, match=r"rows, row 1[12]: indptr says"):
        reader.read(slice(5, 20))


@pytest.mark.parametrize("column", [-1, 8])
def test_row_with_a_wrong_column_is_named_when_it_is_read(folder, column):
    row = int(np.flatnonzero(np.diff(X.indptr))[9])
    change(folder, "indices", **{f"at{X.indptr[row]}": column})
    with pytest.raises(ValueError, match=f"rows, row {row}: an entry is in column {column}, but there are 8"):
        open_csr(folder).read(slice(row - 1, row + 2))


def test_columns_that_are_no_integers_are_an_error(folder):
    np.save(folder / "indices.npy", np.load(folder / "indices.npy").astype(float))
    with pytest.raises(ValueError, match=r"indices\.npy: entries must be integers"):
        open_csr(folder)


def test_truncated_part_is_named(folder):
    content = (folder / "data.npy").read_bytes()
    (folder / "data.npy").write_bytes(content[:-9])
    with pytest.raises(ValueError, match=r"data\.npy is cut short"):
        open_csr(folder)


def test_place_names_the_folder(folder):
    assert open_csr(folder).place(2, 1) == "rows, row 2, column 1"
