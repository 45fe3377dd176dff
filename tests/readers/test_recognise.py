"""What is opened as stored rows, what counts as in memory, and what is refused."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from kedge import optional_libraries
from kedge.readers import open as open_module
from kedge.readers.npy import MappedRows, NpyFile
from kedge.readers.open import open_rows

X = np.ones((4, 3))


@pytest.mark.parametrize(
    "thing", [X, [[1, 2], [3, 4]], pd.DataFrame(X), sparse.csr_array(X), sparse.coo_matrix(X), None, 5], ids=type
)
def test_what_is_in_memory_has_no_reader(thing):
    assert open_rows(thing) is None


def test_copy_of_a_map_is_in_memory(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    array = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert open_rows(array + 1) is None
    assert open_rows(array.copy()) is None
    assert open_rows(array.copy()[1:]) is None


def test_paths_are_read_as_text_and_as_path(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    assert isinstance(open_rows(tmp_path / "rows.npy"), NpyFile)
    assert isinstance(open_rows(str(tmp_path / "rows.npy")), NpyFile)


def test_endings_of_names_may_be_capital(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    (tmp_path / "rows.npy").rename(tmp_path / "rows.NPY")
    assert isinstance(open_rows(tmp_path / "rows.NPY"), NpyFile)


def test_endings_of_names_in_a_folder_may_be_capital(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    parquet.write_table(table, tmp_path / "PART.PARQUET")
    assert open_rows(tmp_path).n_rows == 2


def test_the_command_line_page_lists_every_ending():
    page = (Path(__file__).parents[2] / "docs/command_line.md").read_text(encoding="utf-8")
    endings = [ending for ending, (_, reads) in open_module._FORMATS.items() if reads]
    assert [ending for ending in endings if f"`{ending}`" not in page] == []


def test_map_has_a_reader(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    assert isinstance(open_rows(np.load(tmp_path / "rows.npy", mmap_mode="r")), MappedRows)


@pytest.mark.parametrize(
    "name", ["rows.npy", "rows.parquet", "rows.h5", "rows.h5::data", "rows.zarr", "folder", "auto"]
)
def test_absent_path_is_named(tmp_path, name):
    with pytest.raises(FileNotFoundError, match=name.partition("::")[0]):
        open_rows(str(tmp_path / name))


def test_unknown_kind_of_file_lists_what_is_accepted(tmp_path):
    (tmp_path / "rows.csv").write_text("1,2")
    with pytest.raises(ValueError, match=r"rows\.csv' is of an unknown kind; accepted are a file \.npy, \.parquet"):
        open_rows(tmp_path / "rows.csv")


def test_folder_of_unknown_files_lists_what_is_accepted(tmp_path):
    (tmp_path / "rows.csv").write_text("1,2")
    with pytest.raises(ValueError, match="holds nothing that is known; accepted are"):
        open_rows(tmp_path)


@pytest.mark.parametrize(
    ("name", "extra"), [("rows.parquet", "parquet"), ("rows.zarr", "zarr"), ("rows.h5", "hdf5"), ("rows.h5ad", "hdf5")]
)
def test_missing_library_names_the_extra(tmp_path, monkeypatch, name, extra):
    def refuse(module):
        raise ImportError(module)

    (tmp_path / name).touch()
    monkeypatch.setattr(optional_libraries.importlib, "import_module", refuse)
    with pytest.raises(ImportError, match=rf"pip install 'kedge\[{extra}\]'"):
        open_rows(tmp_path / name)


def test_objects_are_recognised_without_importing_libraries(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    program = f"""
import sys
import numpy as np
import sklearn.utils  # which imports some of them itself
before = set(sys.modules)
from kedge.readers.open import open_rows
open_rows(np.ones((2, 2)))
open_rows({str(tmp_path / "rows.npy")!r})
print([name for name in ("pyarrow", "zarr", "h5py", "anndata", "dask", "pandas") if name in set(sys.modules) - before])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_reader_of_ones_own_is_taken_as_it_is(tmp_path):
    np.save(tmp_path / "rows.npy", np.arange(12.0).reshape(4, 3))
    reader = open_rows(tmp_path / "rows.npy")
    assert open_rows(reader) is reader
