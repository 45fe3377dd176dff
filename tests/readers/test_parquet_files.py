"""Rows of Parquet and Arrow files and folders: columns, missing values, row groups, damaged files."""

import decimal

import numpy as np
import pandas as pd
import pytest

from kedge.readers.open import open_rows
from kedge.readers.tables import ParquetRows

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
feather = pytest.importorskip("pyarrow.feather")


@pytest.fixture(params=["parquet", "feather"])
def write(request, tmp_path):
    def write_table(columns, name="rows", group=4, folder=tmp_path):
        folder.mkdir(exist_ok=True)
        path = folder / f"{name}.{request.param}"
        table = columns if isinstance(columns, pa.Table) else pa.table(columns)
        if request.param == "parquet":
            parquet.write_table(table, path, row_group_size=group)
        else:
            feather.write_feather(table, path, chunksize=group)
        return path

    return write_table


def test_columns_keep_their_order_and_names(write):
    reader = ParquetRows(write({"b": [1.0, 2.0], "a": [3, 4], "x": [1, 2], "x.1": [5.0, 6.0]}))
    assert reader.feature_names == ["b", "a", "x", "x.1"]
    np.testing.assert_array_equal(reader.read(slice(0, 2)), [[1, 3, 1, 5], [2, 4, 2, 6]])


def test_selected_columns_are_read_in_the_order_given(write):
    reader = ParquetRows(write({"a": [1.0, 2.0], "name": ["p", "q"], "b": [3.0, 4.0]}), columns=["b", "a"])
    np.testing.assert_array_equal(reader.read(slice(0, 2)), [[3, 1], [4, 2]])


def test_missing_values_are_nan_in_every_type(write):
    columns = {
        "float": pa.array([1.5, None]),
        "int": pa.array([1, None]),
        "bool": pa.array([True, None]),
        "decimal": pa.array([decimal.Decimal("1.5"), None]),
        "single": pa.array([1.5, None], pa.float32()),
    }
    block = ParquetRows(write(columns)).read(slice(0, 2))
    np.testing.assert_array_equal(block, [[1.5, 1, 1, 1.5, 1.5], [np.nan] * 5])


def test_integers_beyond_exact_floats_are_rounded(write):
    large = np.array([[2**60 + 1], [3]])
    np.testing.assert_array_equal(ParquetRows(write({"a": large[:, 0]})).read(slice(0, 2)), large.astype(float))


def test_dtype_is_float32_only_if_all_columns_are(write):
    single = np.ones(3, dtype=np.float32)
    assert ParquetRows(write({"a": single, "b": single}, "one")).dtype == np.float32
    assert ParquetRows(write({"a": single, "b": np.ones(3)}, "two")).dtype == np.float64


def test_a_column_of_text_is_refused_by_name(write):
    with pytest.raises(ValueError, match=r"rows\.\w+: column 'name' holds string.*drop it.*columns=\["):
        ParquetRows(write({"a": [1.0], "name": ["p"]}))


def test_index_of_pandas_is_not_a_feature(tmp_path):
    pd.DataFrame({"a": [1.0, 2.0]}, index=[7, 9]).to_parquet(tmp_path / "rows.parquet")
    assert ParquetRows(tmp_path / "rows.parquet").feature_names == ["a"]


def test_a_column_that_is_not_there_is_named(write):
    with pytest.raises(ValueError, match=r"rows\.\w+ lacks column 'c'; its columns are 'a', 'b'"):
        ParquetRows(write({"a": [1.0], "b": [1.0]}), columns=["c"])


def test_a_column_asked_for_twice_is_refused(write):
    with pytest.raises(ValueError, match="column 'a' is there more than once"):
        ParquetRows(write({"a": [1.0]}), columns=["a", "a"])


def test_place_names_row_group_and_column(write):
    path = write({"x0": np.arange(10.0), "x7": np.arange(10.0)})
    word = "row group" if path.suffix == ".parquet" else "record batch"
    assert ParquetRows(path).place(9, 1) == f"{path.name}, row 9 ({word} 2), column 'x7'"


def test_folder_is_read_in_the_order_of_names_with_columns_by_name(write, tmp_path):
    folder = tmp_path / "parts"
    write({"b": [5.0, 6.0], "a": [7, 8]}, "part-1", folder=folder)
    write({"a": [1.0, 2.0, 9.0], "b": [3.0, 4.0, 9.0]}, "part-0", folder=folder)
    (folder / "_SUCCESS").touch()
    reader = open_rows(folder)
    np.testing.assert_array_equal(reader.read(slice(0, 5)), [[1, 3], [2, 4], [9, 9], [7, 5], [8, 6]])


def test_place_in_a_folder_names_the_file_and_the_row_in_it(write, tmp_path):
    folder = tmp_path / "parts"
    first = write({"a": np.arange(5.0)}, "p0", folder=folder)
    second = write({"a": [1.0, 2.0, 3.0, 4.0, 5.0, np.nan]}, "p1", folder=folder)
    reader = ParquetRows(folder)
    row = int(np.flatnonzero(np.isnan(reader.read(slice(0, 11))[:, 0]))[0])
    assert reader.place(row, 0).startswith(f"parts/{second.name}, row 5 (")
    assert reader.place(4, 0).startswith(f"parts/{first.name}, row 4 (")


def test_a_file_of_the_folder_that_lacks_a_column_is_named(write, tmp_path):
    write({"a": [1.0], "b": [1.0]}, "p0", folder=tmp_path / "parts")
    write({"a": [1.0]}, "p1", folder=tmp_path / "parts")
    with pytest.raises(ValueError, match=r"p1\.\w+ lacks column 'b', which p0"):
        ParquetRows(tmp_path / "parts")


def test_a_file_of_the_folder_with_one_column_more_is_named(write, tmp_path):
    write({"a": [1.0]}, "p0", folder=tmp_path / "parts")
    write({"a": [1.0], "b": [1.0]}, "p1", folder=tmp_path / "parts")
    with pytest.raises(ValueError, match=r"p1\.\w+ has column 'b', which p0\.\w+ lacks"):
        ParquetRows(tmp_path / "parts")


def test_a_column_that_becomes_text_in_a_later_file_is_named(write, tmp_path):
    write({"a": [1.0]}, "p0", folder=tmp_path / "parts")
    write({"a": ["p"]}, "p1", folder=tmp_path / "parts")
    with pytest.raises(ValueError, match=r"p1\.\w+: column 'a' holds string"):
        ParquetRows(tmp_path / "parts")


def test_partitioned_folder_is_refused(write, tmp_path):
    (tmp_path / "parts").mkdir()
    write({"a": [1.0]}, folder=tmp_path / "parts" / "year=2020")
    with pytest.raises(ValueError, match=r"parts holds a partition, 'year=2020'"):
        open_rows(tmp_path / "parts")


def test_no_rows_are_refused(write):
    with pytest.raises(ValueError, match=r"rows\.\w+ has no rows"):
        ParquetRows(write({"a": pa.array([], pa.float64())}))


@pytest.mark.parametrize("keep", [3, 0.5])
def test_damaged_file_is_named(write, keep):
    path = write({"a": np.arange(100.0)})
    content = path.read_bytes()
    path.write_bytes(content[: int(keep if keep > 1 else keep * len(content))])
    with pytest.raises(ValueError, match=r"rows\.\w+ cannot be read as a"):
        ParquetRows(path)


def test_a_file_replaced_by_a_shorter_one_is_an_error(write):
    path = write({"a": np.arange(100.0)}, group=50)
    reader = ParquetRows(path)
    write({"a": np.arange(10.0)}, group=50)
    with pytest.raises(ValueError, match=r"rows\.\w+"):
        reader.read(slice(0, 100))


def test_batches_of_uneven_lengths_are_counted(tmp_path):
    path = tmp_path / "rows.arrow"
    schema = pa.schema([("a", pa.float64())])
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for values in ([0.0, 1.0], [], [2.0], [3.0, 4.0, 5.0]):
            writer.write_batch(pa.record_batch([pa.array(values, pa.float64())], schema=schema))
    reader = ParquetRows(path)
    np.testing.assert_array_equal(reader.read(slice(1, 6))[:, 0], [1, 2, 3, 4, 5])
    assert reader.place(3, 0) == "rows.arrow, row 3 (record batch 3), column 'a'"


def count_decodings(monkeypatch, reader):
    decoded = []
    original = reader._load
    monkeypatch.setattr(reader, "_load", lambda start, stop: decoded.append(start) or original(start, stop))
    return decoded


def test_small_slices_decode_each_row_group_once(write, monkeypatch):
    reader = ParquetRows(write({"a": np.arange(100.0)}, group=25))
    decoded = count_decodings(monkeypatch, reader)
    for start in range(0, 100, 10):
        np.testing.assert_array_equal(reader.read(slice(start, start + 10))[:, 0], np.arange(start, start + 10))
    assert decoded == [0, 25, 50, 75]


def test_row_numbers_decode_only_the_row_groups_they_touch(write, monkeypatch):
    reader = ParquetRows(write({"a": np.arange(100.0)}, group=25))
    decoded = count_decodings(monkeypatch, reader)
    reader.read(np.array([1, 2, 24, 80, 99]))
    assert decoded == [0, 75]
