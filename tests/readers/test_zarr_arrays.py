"""Rows of Zarr arrays: objects, groups, what is refused."""

import numpy as np
import pytest

from kedge.readers.hdf5 import ZarrRows
from kedge.readers.open import open_rows

zarr = pytest.importorskip("zarr")
X = np.arange(60.0).reshape(20, 3)


def test_array_object_is_read(tmp_path):
    reader = open_rows(zarr.create_array(tmp_path / "rows.zarr", data=X, chunks=(6, 2)))
    np.testing.assert_array_equal(reader.read(slice(4, 15)), X[4:15])
    assert reader.place(3, 1) == "rows.zarr, row 3, column 1"


def test_array_in_a_group_is_named_with_its_path(tmp_path):
    group = zarr.open_group(tmp_path / "all.zarr", mode="w")
    group.create_array("part", data=X)
    assert ZarrRows(group["part"]).name == "all.zarr/part"


def test_array_in_memory_store_is_read():
    reader = open_rows(zarr.create_array({}, data=X, chunks=(6, 3)))
    np.testing.assert_array_equal(reader.read(np.array([1, 19])), X[[1, 19]])


def test_group_is_refused_with_its_arrays(tmp_path):
    zarr.open_group(tmp_path / "all.zarr", mode="w").create_array("part", data=X)
    with pytest.raises(ValueError, match=r"all\.zarr is a Zarr group.*'part'"):
        open_rows(tmp_path / "all.zarr")


def test_folder_without_an_array_is_refused(tmp_path):
    (tmp_path / "rows.zarr").mkdir()
    with pytest.raises(ValueError, match=r"rows\.zarr is not a Zarr array"):
        open_rows(tmp_path / "rows.zarr")


def test_absent_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.zarr"):
        ZarrRows(tmp_path / "nowhere.zarr")


@pytest.mark.parametrize("array", [np.ones(5), np.ones((2, 2, 2)), np.ones((2, 2), dtype=complex)])
def test_arrays_that_are_no_view_are_refused(tmp_path, array):
    zarr.create_array(tmp_path / "rows.zarr", data=array)
    with pytest.raises(ValueError, match=r"rows\.zarr"):
        open_rows(tmp_path / "rows.zarr")
