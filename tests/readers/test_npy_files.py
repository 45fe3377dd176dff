"""Rows of .npy files: what is refused at opening, and files that change."""

import numpy as np
import pytest

from kedge.readers.npy import NpyFile


@pytest.fixture
def save(tmp_path):
    def save_array(array, **how):
        np.save(tmp_path / "rows.npy", array, **how)
        return tmp_path / "rows.npy"

    return save_array


def test_another_file_is_refused(tmp_path):
    (tmp_path / "rows.npy").write_bytes(b"PK not an array")
    with pytest.raises(ValueError, match=r"rows\.npy is not a \.npy file"):
        NpyFile(tmp_path / "rows.npy")


def test_damaged_header_is_refused(save):
    path = save(np.ones((10, 4)))
    path.write_bytes(path.read_bytes().replace(b"}", b"("))
    with pytest.raises(ValueError, match=r"rows\.npy is not a \.npy file"):
        NpyFile(path)


def test_empty_file_is_refused(tmp_path):
    (tmp_path / "rows.npy").touch()
    with pytest.raises(ValueError, match=r"rows\.npy is not a \.npy file"):
        NpyFile(tmp_path / "rows.npy")


def test_fortran_order_is_refused_with_the_remedy(save):
    with pytest.raises(ValueError, match=r"rows\.npy is stored in Fortran order.*np\.ascontiguousarray"):
        NpyFile(save(np.asfortranarray(np.ones((4, 3)))))


@pytest.mark.parametrize("shape", [(), (4,), (4, 3, 2)])
def test_other_dimensions_are_refused(save, shape):
    with pytest.raises(ValueError, match=r"rows\.npy.*shape \("):
        NpyFile(save(np.ones(shape)))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_no_rows_or_columns_are_refused(save, shape):
    with pytest.raises(ValueError, match=r"rows\.npy: there are no rows or no columns"):
        NpyFile(save(np.ones(shape)))


@pytest.mark.parametrize(
    "array",
    [
        np.ones((2, 2), dtype=complex),
        np.array([["a", "b"]]),
        np.zeros((2, 2), dtype="M8[s]"),
        np.zeros((2, 2), dtype=[("a", float)]),
        np.zeros((2, 2), dtype=[("ä", float)]),
    ],
)
@pytest.mark.filterwarnings("ignore:Stored array in format 3.0")
def test_entries_that_are_not_real_numbers_are_refused(save, array):
    with pytest.raises(ValueError, match=r"rows\.npy.*numbers"):
        NpyFile(save(array))


def test_objects_are_refused_without_unpickling(save):
    with pytest.raises(ValueError, match=r"rows\.npy.*stored as object"):
        NpyFile(save(np.array([[print, 1]], dtype=object), allow_pickle=True))


def test_truncated_file_is_refused_with_its_sizes(save):
    path = save(np.ones((10, 4)))
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    expected, found = len(whole), len(whole) - 40
    with pytest.raises(ValueError, match=rf"rows\.npy is cut short.*{expected} bytes.*has {found} bytes.*8 whole rows"):
        NpyFile(path)


def test_file_that_gets_shorter_later_is_an_error(save):
    path = save(np.ones((10, 4)))
    reader = NpyFile(path)
    path.write_bytes(path.read_bytes()[:-40])
    np.testing.assert_array_equal(reader.read(slice(0, 8)), np.ones((8, 4)))
    with pytest.raises(ValueError, match=r"rows\.npy is cut short.*8 whole rows"):
        reader.read(slice(5, 10))


def test_absent_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.npy"):
        NpyFile(tmp_path / "nowhere.npy")


@pytest.mark.parametrize("kind", [">f4", ">f8", ">i4", "<u2", "<f2", "?"])
def test_other_numbers_and_byte_orders_are_read_as_float64(save, kind):
    array = np.arange(12).reshape(4, 3).astype(kind)
    reader = NpyFile(save(array))
    assert reader.read(slice(1, 4)).dtype == np.float64
    np.testing.assert_array_equal(reader.read(slice(1, 4)), array[1:4])


def test_rows_far_apart_are_read_without_what_lies_between(save, monkeypatch):
    array = np.arange(40_000.0).reshape(4_000, 10)
    reader = NpyFile(save(array))
    asked = []
    original = reader._load
    monkeypatch.setattr(reader, "_load", lambda start, stop: asked.append((start, stop)) or original(start, stop))
    rows = np.array([0, 5, 3_990, 3_999])
    np.testing.assert_array_equal(reader.read(rows), array[rows])
    assert asked == [(0, 6), (3_990, 4_000)]


def test_place_names_the_file(save):
    assert NpyFile(save(np.ones((4, 3)))).place(2, 1) == "rows.npy, row 2, column 1"
