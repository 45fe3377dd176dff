"""Every reader gives the rows of the array that was stored."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

rng = np.random.default_rng(0)
# Zeros, so that sparse forms leave entries out.
X = np.where(rng.random((50, 5)) < 0.4, 0, rng.normal(scale=40, size=(50, 5)))


def dense(block):
    return block.toarray() if sparse.issparse(block) else block


SLICES = [
    slice(0, 50),
    slice(0, 0),
    slice(50, 50),
    slice(3, 5),
    slice(6, 12),
    slice(11, 38),
    slice(44, 50),
    slice(48, 60),
]
NUMBERS = [[], [0], [49], [0, 1, 2], [0, 49], [3, 6, 7, 20, 21, 22, 41], list(range(50))]


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.int16, np.uint8])
def test_slices_equal_the_array(stored, kind):
    array = np.abs(X).astype(kind)
    reader = stored(array)
    for rows in SLICES:
        block = reader.read(rows)
        assert block.dtype == reader.dtype
        np.testing.assert_array_equal(dense(block), array[rows].astype(reader.dtype))


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int32])
def test_row_numbers_equal_the_array(stored, kind):
    array = X.astype(kind)
    reader = stored(array)
    for numbers in NUMBERS:
        rows = np.array(numbers, dtype=np.intp)
        block = reader.read(rows)
        assert block.dtype == reader.dtype
        assert block.shape == (len(rows), 5)
        np.testing.assert_array_equal(dense(block), array[rows].astype(reader.dtype))


def test_shape_and_names_are_known_before_reading(stored):
    reader = stored(X)
    assert (reader.n_rows, reader.width) == X.shape
    assert reader.feature_names is None or len(reader.feature_names) == 5
    assert "rows" in reader.name or reader.name == "parts"


@pytest.mark.parametrize(
    ("kind", "read_as"),
    [(np.float32, np.float32), (np.float64, np.float64), (np.int32, np.float64), (bool, np.float64)],
)
def test_only_float32_is_read_as_float32(stored, kind, read_as):
    reader = stored((X > 0).astype(kind))
    assert reader.dtype == read_as
    np.testing.assert_array_equal(dense(reader.read(slice(0, 50))), X > 0)


def test_dense_blocks_are_in_c_order_and_sparse_ones_csr(stored):
    block = stored(X).read(slice(5, 40))
    assert block.format == "csr" if sparse.issparse(block) else block.flags.c_contiguous


def test_writing_to_a_block_does_not_change_the_next_one(stored):
    reader = stored(X)
    block = reader.read(slice(8, 11))
    if not sparse.issparse(block) and block.flags.writeable:
        block[:] = 7
    np.testing.assert_array_equal(dense(reader.read(slice(8, 11))), X[8:11])


def test_pickled_reader_reads_the_same_rows(stored_in_files):
    reader = stored_in_files(X)
    reader.read(slice(3, 9))
    again = pickle.loads(pickle.dumps(reader))
    np.testing.assert_array_equal(dense(again.read(slice(3, 30))), X[3:30])
    assert again.place(4, 1) == reader.place(4, 1)


def test_pickle_does_not_hold_the_rows(stored_in_files):
    array = rng.normal(size=(20_000, 5))
    reader = stored_in_files(array[:2_000])
    reader.read(slice(3, 9))
    assert len(pickle.dumps(reader)) < 2_000 * 5 * 8 / 2


def test_threads_read_at_once(stored):
    reader = stored(X)
    ranges = [slice(start, start + 9) for start in range(41)] * 5
    with ThreadPoolExecutor(4) as pool:
        blocks = list(pool.map(reader.read, ranges))
    for rows, block in zip(ranges, blocks, strict=True):
        np.testing.assert_array_equal(dense(block), X[rows])


def test_place_names_the_row_and_the_column(stored):
    reader = stored(X)
    column = "3" if reader.feature_names is None else repr(reader.feature_names[3])
    assert "row " in reader.place(12, 3)
    assert reader.place(12, 3).endswith(f"column {column}")


def test_nan_is_read_as_it_is(stored):
    array = X.copy()
    array[13, 2] = np.nan
    assert np.argwhere(np.isnan(dense(stored(array).read(slice(0, 50))))).tolist() == [[13, 2]]


def test_rows_out_of_range_are_an_error(stored):
    with pytest.raises(IndexError, match="rows 0 to 49, but row 50 was asked for"):
        stored(X).read(np.array([3, 50]))


def test_unsorted_row_numbers_are_an_error(stored):
    with pytest.raises(ValueError, match="ascending order"):
        stored(X).read(np.array([3, 2]))


def test_a_step_is_an_error(stored):
    with pytest.raises(ValueError, match="consecutive"):
        stored(X).read(slice(0, 10, 2))
