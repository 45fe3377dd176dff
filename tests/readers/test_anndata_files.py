"""Rows of AnnData files and of backed AnnData objects."""

import numpy as np
import pytest
from scipy import sparse

from kedge.readers.anndata_files import open_anndata
from kedge.readers.open import open_rows

h5py = pytest.importorskip("h5py")
rng = np.random.default_rng(0)
X = rng.poisson(1.0, size=(40, 6)).astype(np.float32)


@pytest.fixture(params=["dense", "csr"])
def annotated(request, tmp_path):
    anndata = pytest.importorskip("anndata")
    matrix = X if request.param == "dense" else sparse.csr_matrix(X)
    cells = anndata.AnnData(matrix)
    cells.var_names = [f"gene{number}" for number in range(6)]
    cells.write_h5ad(tmp_path / "cells.h5ad")
    return tmp_path / "cells.h5ad"


def dense(block):
    return block.toarray() if sparse.issparse(block) else block


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_names_of_variables_are_the_names_of_columns(h5ad, form):
    reader = open_rows(h5ad(X, form))
    assert reader.feature_names == [f"gene{number}" for number in range(6)]
    assert reader.place(7, 2).endswith("row 7, column 'gene2'")
    assert reader.place(7, 2).startswith("rows.h5ad")


def test_file_without_names_is_read(h5ad):
    path = h5ad(X, "csr")
    with h5py.File(path, "r+") as file:
        del file["var"]
    reader = open_rows(path)
    assert reader.feature_names is None
    assert reader.place(7, 2) == "rows.h5ad, row 7, column 2"


def test_columns_stored_first_are_refused(h5ad):
    with pytest.raises(ValueError, match=r"rows\.h5ad, X is stored by columns \(CSC\)"):
        open_rows(h5ad(X, "csc"))


def test_file_without_a_matrix_is_refused(h5ad):
    path = h5ad(X, "csr")
    with h5py.File(path, "r+") as file:
        del file["X"]
    with pytest.raises(ValueError, match=r"rows\.h5ad holds no matrix X"):
        open_anndata(path)


def test_damaged_row_is_named(h5ad):
    path = h5ad(X, "csr")
    with h5py.File(path, "r+") as file:
        file["X/indices"][-1] = 99
    with pytest.raises(ValueError, match=r"rows\.h5ad, X, row 39: an entry is in column 99"):
        open_rows(path).read(slice(30, 40))


def test_file_that_is_not_hdf5_is_named(tmp_path):
    (tmp_path / "rows.h5ad").write_text("nothing")
    with pytest.raises(ValueError, match=r"rows\.h5ad cannot be opened"):
        open_rows(tmp_path / "rows.h5ad")


@pytest.mark.filterwarnings("ignore")
def test_file_written_by_anndata_is_read(annotated):
    reader = open_rows(annotated)
    np.testing.assert_array_equal(dense(reader.read(slice(3, 21))), X[3:21])
    assert reader.dtype == np.float32
    assert reader.feature_names[2] == "gene2"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", ["r", "r+"])
def test_backed_object_is_read(annotated, mode):
    anndata = pytest.importorskip("anndata")
    cells = anndata.read_h5ad(annotated, backed=mode)
    reader = open_rows(cells)
    np.testing.assert_array_equal(dense(reader.read(np.array([0, 5, 39]))), X[[0, 5, 39]])
    assert reader.feature_names[2] == "gene2"
    cells.file.close()


@pytest.mark.filterwarnings("ignore")
def test_view_of_a_backed_object_is_refused(annotated):
    anndata = pytest.importorskip("anndata")
    cells = anndata.read_h5ad(annotated, backed="r")
    with pytest.raises(ValueError, match=r"cells\.h5ad.*view.*to_memory"):
        open_rows(cells[:5])
    cells.file.close()


@pytest.mark.filterwarnings("ignore")
def test_object_in_memory_is_in_memory(annotated):
    anndata = pytest.importorskip("anndata")
    assert open_rows(anndata.read_h5ad(annotated)) is None
