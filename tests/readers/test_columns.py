"""Columns: which are features, which name rows, which hold labels, and what is wrong with the others."""

import numpy as np
import pytest

from kedge.readers.columns import FittedColumns
from kedge.readers.contents import DataFileError
from kedge.readers.open import read_data_files


def put(folder, text, name="t.csv"):
    path = folder / name
    path.write_text(text)
    return path


def read(path, **options):
    return read_data_files([path], **options)


def test_names_numbers_and_ranges_choose_columns(tmp_path):
    path = put(tmp_path, "a,b,c,d-e,f\n1,2,3,4,5\n6,7,8,9,10\n")
    for columns, names in (("c,a", ["c", "a"]), ("0,2-3", ["a", "c", "d-e"]), ("d-e", ["d-e"]), ("b,1", ["b"])):
        assert read(path, columns=columns).feature_names == [names]
    assert read(path, drop="a,3-4").feature_names == [["b", "c"]]
    assert read(path, columns="0-3", drop="b").feature_names == [["a", "c", "d-e"]]
    assert read(path, label_column="f").feature_names == [["a", "b", "c", "d-e"]]


def test_a_name_wins_over_a_number(tmp_path):
    path = put(tmp_path, "x,3,1\n1.5,2.5,3.5\n4.5,5.5,6.5\n")
    np.testing.assert_array_equal(read(path, columns="1").matrices[0], [[3.5], [6.5]])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"columns": "a,z"}, "--columns: no data file has a column 'z'; the columns are 'a', 'b'"),
        ({"drop": "9"}, "--drop: no data file has a column '9'"),
        ({"drop": "a,b"}, "no column of 't' is left"),
        ({"label_column": "q"}, "--label-column: no data file has a column or array 'q'"),
    ],
)
def test_columns_that_are_not_there(options, words, tmp_path):
    with pytest.raises(DataFileError, match=words):
        read(put(tmp_path, "a,b\n1,2\n3,4\n"), **options)


def test_lists_with_holes_are_refused(tmp_path):
    with pytest.raises(ValueError, match="--columns must be names or numbers with commas"):
        read(put(tmp_path, "a,b\n1,2\n"), columns="a,,b")


def test_names_of_several_views_are_found_where_they_are(tmp_path):
    one, two = put(tmp_path, "a,b\n1,2\n3,4\n"), put(tmp_path, "b,c\n5,6\n7,8\n", "u.csv")
    assert read_data_files([one, two], drop="b").feature_names == [["a"], ["c"]]
    with pytest.raises(DataFileError, match="no column of 'u' is left"):
        read_data_files([one, two], columns="a")


@pytest.mark.parametrize("name", ["id", "index", "Name", "row", ""])
def test_a_first_column_of_distinct_names_names_the_rows(name, tmp_path):
    files = read(put(tmp_path, f"{name},a,b\nx,1,2\ny,3,4\n"))
    assert files.row_names.tolist() == ["x", "y"]
    np.testing.assert_array_equal(files.matrices[0], [[1, 2], [3, 4]])


def test_the_number_of_a_row_is_no_feature_unless_it_is_asked_for(tmp_path):
    path = put(tmp_path, "id,a\n7,1.5\n8,2.5\n")
    assert read(path).feature_names == [["a"]]
    assert read(path).row_names.tolist() == ["7", "8"]
    files = read(path, columns="id,a")
    assert files.feature_names == [["id", "a"]]
    assert files.row_names is None


def test_names_that_come_twice_name_no_rows(tmp_path):
    with pytest.raises(DataFileError, match="'id', looks like names of the rows, but some are missing or come twice"):
        read(put(tmp_path, "id,a,b\nx,1,2\nx,3,4\n"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,kind\n1,x\n2,y\n", "column 'kind' holds string and not numbers; leave it out with --drop 'kind'"),
        ("a,k,l\n1,x,u\n2,y,v\n", "columns 'k', 'l' hold no numbers; leave them out with --drop 'k,l'"),
        ("a,day\n1,2020-01-01\n2,2020-01-02\n", "column 'day' holds date32"),
        ("a,a\n1,2\n3,4\n", "column 'a' is there more than once"),
        ("a,b\n1,2\n3,\n", "t.csv, row 1, column 'b': NaN"),
        ("a,b\n1,2\n3,inf\n", "t.csv, row 1, column 'b': infinity"),
        ("a,b\n1,2\n3,4,5\n", "Expected 2 columns, got 3"),
        ("a;b;c\n1;2;3\n", "is delimited by ';'"),
        ("a,b\n", "has names of columns but no rows"),
    ],
)
def test_wrong_tables_say_what_is_wrong_where(text, words, tmp_path):
    with pytest.raises(DataFileError, match=words) as caught:
        read(put(tmp_path, text))
    assert "t.csv" in str(caught.value)


def test_a_word_far_down_is_named_by_row_and_column(tmp_path):
    lines = [f"{number},{number}.5" for number in range(200_000)]
    lines[150_000] = "12,oops"
    path = put(tmp_path, "a,b\n" + "\n".join(lines))
    with pytest.raises(
        DataFileError, match=r"column 'b' has a value that is not a number.*Row #150002.*'oops'.*--drop 'b'"
    ):
        read(path)


def test_whole_numbers_may_become_fractions_far_down(tmp_path):
    lines = ["1,2"] * 400_000 + ["1.5,2.25"]
    rows = read(put(tmp_path, "a,b\n" + "\n".join(lines))).matrices[0]
    assert rows.shape == (400_001, 2)
    assert rows[-1].tolist() == [1.5, 2.25]


@pytest.mark.parametrize(
    ("text", "n_rows"),
    [
        ("1,2,3\n4,5,6\n", 2),
        ("0,1,2\n4.5,5,6\n", 1),
        (",0,1,2\n0,4.5,5,6\n", 1),
        ("x,y,z\n4,5,6\n", 1),
        ("a,5,z\n4,5,6\n", 1),
        ("5.1,3.5,1\n4.9,3.0,0\n", 2),
    ],
)
def test_whether_the_first_line_holds_names(text, n_rows, tmp_path):
    assert read(put(tmp_path, text)).n_rows == n_rows


def test_labels_without_a_header_go_by_number(tmp_path):
    files = read(put(tmp_path, "5.1,3.5,setosa\n4.9,3.0,virginica\n"), label_column="2")
    assert files.n_rows == 2
    assert files.labels.values.tolist() == ["setosa", "virginica"]


def test_a_row_without_a_label_is_named(tmp_path):
    with pytest.raises(DataFileError, match="row 1: no label in 'y'"):
        read(put(tmp_path, "a,b,y\n1,2,u\n3,4,\n"), label_column="y")


def test_truth_values_and_marks_of_order_are_numbers(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbfa,b\r\ntrue,1e3\r\nfalse,-2\r\n")
    files = read(path)
    assert files.feature_names == [["a", "b"]]
    np.testing.assert_array_equal(files.matrices[0], [[1, 1000], [0, -2]])


def test_row_counts_and_row_names_of_views_must_agree(tmp_path):
    one = put(tmp_path, "id,a,b\nx,1,2\ny,3,4\n", "one.csv")
    two = put(tmp_path, "id,c,d\nx,1,2\ny,3,4\nz,5,6\n", "two.csv")
    with pytest.raises(DataFileError, match=r"two.csv has 3 rows in 'two', but .*one.csv has 2"):
        read_data_files([one, two])
    three = put(tmp_path, "id,c,d\ny,1,2\nx,3,4\n", "three.csv")
    with pytest.raises(DataFileError, match=r"row 0 is 'y' in .*three.csv, but 'x' in .*one.csv"):
        read_data_files([one, three])
    with pytest.raises(DataFileError, match="was given twice"):
        read_data_files([one, one])


def test_a_row_may_lack_a_view_but_not_a_part_of_it(tmp_path):
    one = put(tmp_path, "a,b\n1,2\n3,4\n", "one.csv")
    gap = put(tmp_path, "c,d\n,\n3,4\n", "gap.csv")
    assert np.isnan(read_data_files([one, gap]).matrices[1][0]).all()
    part = put(tmp_path, "c,d\n1,\n3,4\n", "part.csv")
    with pytest.raises(DataFileError, match=r"part.csv, view 'part', row 0, column 'd': NaN"):
        read_data_files([one, part])


def test_columns_of_a_fit_are_found_by_name(tmp_path):
    path = put(tmp_path, "id,extra,b,a,kind\nx,9,2,1,u\ny,9,4,3,v\n")
    files = read(path, columns=FittedColumns({"X": ["a", "b"]}))
    np.testing.assert_array_equal(files.matrices[0], [[1, 2], [3, 4]])
    with pytest.raises(DataFileError, match=r"t.csv lacks column 'q' and 1 more, which the model was fitted on"):
        read(path, columns=FittedColumns({"X": ["a", "q", "r"]}))
