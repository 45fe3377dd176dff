"""Rows of HDF5 datasets: which dataset, open objects, damaged files."""

import pickle

import numpy as np
import pytest

from kedge.readers.hdf5 import Hdf5Rows
from kedge.readers.open import open_rows

h5py = pytest.importorskip("h5py")
X = np.arange(60.0).reshape(20, 3)


@pytest.fixture
def path(tmp_path):
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["first/rows"] = X
        file["second"] = X + 1
        file["names"] = ["a", "b"]
    return tmp_path / "rows.h5"


def test_several_datasets_are_listed_as_they_are_spelled(path):
    with pytest.raises(ValueError, match=r"rows\.h5 holds several.*'rows\.h5::first/rows', 'rows\.h5::second'"):
        open_rows(path)


def test_the_dataset_named_is_read(path):
    reader = open_rows(f"{path}::first/rows")
    np.testing.assert_array_equal(reader.read(slice(2, 9)), X[2:9])
    assert reader.place(3, 1) == "rows.h5::first/rows, row 3, column 1"


def test_a_dataset_that_is_not_there_is_named(path):
    with pytest.raises(ValueError, match=r"rows\.h5 holds no 'third'"):
        open_rows(f"{path}::third")


def test_a_group_is_refused(path):
    with pytest.raises(ValueError, match=r"rows\.h5, 'first' is a group"):
        open_rows(f"{path}::first")


def test_text_is_refused(path):
    with pytest.raises(ValueError, match=r"rows\.h5, 'names'"):
        Hdf5Rows(path, "names")


def test_file_without_numbers_is_refused(tmp_path):
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["names"] = ["a", "b"]
    with pytest.raises(ValueError, match=r"rows\.h5 holds no 2-D dataset"):
        open_rows(tmp_path / "rows.h5")


@pytest.mark.parametrize("keep", [4, 0.5])
def test_damaged_file_is_named(path, keep):
    content = path.read_bytes()
    path.write_bytes(content[: int(keep if keep > 1 else keep * len(content))])
    with pytest.raises(ValueError, match=r"rows\.h5 cannot be opened as an HDF5 file"):
        Hdf5Rows(path, "second")


def test_open_dataset_is_read_after_its_file_was_closed(path):
    with h5py.File(path, "r") as file:
        reader = open_rows(file["second"])
    again = pickle.loads(pickle.dumps(reader))
    np.testing.assert_array_equal(again.read(slice(0, 20)), X + 1)


def test_dataset_open_for_writing_is_read_as_it_stands(path):
    with h5py.File(path, "r+") as file:
        reader = open_rows(file["second"])
        file["second"][4] = -1
        np.testing.assert_array_equal(reader.read(np.array([4])), np.full((1, 3), -1.0))


def test_dataset_open_for_writing_cannot_be_sent_elsewhere(path):
    with h5py.File(path, "r+") as file, pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(open_rows(file["second"]))


def test_small_slices_decode_each_chunk_once(tmp_path, monkeypatch):
    array = np.arange(400_000.0).reshape(40_000, 10)
    with h5py.File(tmp_path / "big.h5", "w") as file:
        file.create_dataset("rows", data=array, chunks=(20_000, 10), compression="gzip")
    reader = Hdf5Rows(tmp_path / "big.h5")
    decoded = []
    original = reader._load
    monkeypatch.setattr(reader, "_load", lambda start, stop: decoded.append(start) or original(start, stop))
    for start in range(0, 40_000, 4_000):
        np.testing.assert_array_equal(reader.read(slice(start, start + 4_000)), array[start : start + 4_000])
    assert decoded == [0, 20_000]
