"""Public files in the formats of their homes, written small."""

import dataclasses
import gzip

import numpy as np
import pytest
from conftest import find_data, load_sparse
from scipy import io, sparse

from kedge.datasets.catalogue import CATALOGUE
from kedge.datasets.content import convert_files

RNG = np.random.default_rng(0)


def cut(name, n_rows, widths, n_clusters):
    """Return an entry of the catalogue for fewer rows."""
    sizes = {"n_rows": n_rows, "widths": widths, "n_clusters": n_clusters}
    return dataclasses.replace(CATALOGUE[name], **sizes, digest=None, leading_digest=None, class_sizes=())


def cells(*matrices):
    array = np.empty((1, len(matrices)), dtype=object)
    array[0] = [*matrices]
    return array


@pytest.mark.parametrize("names", [("X", "y"), ("fea", "gnd")])
@pytest.mark.parametrize("compressed", [False, True])
def test_matlab_file_of_tfidf_keeps_its_values(names, compressed, tmp_path):
    X = sparse.random_array((12, 7), density=0.4, rng=RNG, format="csc")
    y = np.arange(12.0)[:, None] % 3 + 1
    io.savemat(tmp_path / "a.mat", dict(zip(names, (X, y), strict=True)), do_compression=compressed)
    content = convert_files([tmp_path / "a.mat"], "matlab", cut("tr11", 12, (7,), 3))
    np.testing.assert_array_equal(content.views[0].toarray(), X.toarray())
    assert content.views[0].dtype == np.float64
    np.testing.assert_array_equal(content.labels, np.arange(12) % 3)


def test_matlab_file_with_samples_in_columns_is_turned(tmp_path):
    X = RNG.integers(0, 9, (12, 7))
    io.savemat(tmp_path / "a.mat", {"X": X.T, "labels": np.arange(12) % 3, "extra": np.zeros(12)})
    content = convert_files([tmp_path / "a.mat"], "matlab", cut("orl", 12, (7,), 3))
    np.testing.assert_array_equal(content.views[0], X)


def test_matlab_cells_are_matched_to_views_by_width(tmp_path):
    content_view, citation = RNG.integers(0, 2, (9, 5)), sparse.eye_array(9, format="csc")
    io.savemat(tmp_path / "a.mat", {"data": cells(citation, content_view), "gt": np.arange(9) % 3})
    content = convert_files([tmp_path / "a.mat"], "matlab", cut("citeseer", 9, (5, 9), 3))
    np.testing.assert_array_equal(content.views[0].toarray(), content_view)
    np.testing.assert_array_equal(content.views[1].toarray(), np.eye(9))


def test_matlab_file_without_the_matrix_says_what_it_has(tmp_path):
    io.savemat(tmp_path / "a.mat", {"X": np.zeros((5, 4)), "y": np.arange(12)})
    with pytest.raises(ValueError, match=r"a\.mat cannot be read as orl \(no single matrix .*\(12, 7\).*X \(5, 4\)"):
        convert_files([tmp_path / "a.mat"], "matlab", cut("orl", 12, (7,), 3))


def test_matlab_file_with_two_candidates_for_labels_is_refused(tmp_path):
    io.savemat(tmp_path / "a.mat", {"X": np.ones((12, 7)), "a": np.arange(12), "b": np.arange(12)})
    with pytest.raises(ValueError, match="2 vectors of 12 labels"):
        convert_files([tmp_path / "a.mat"], "matlab", cut("orl", 12, (7,), 3))


@pytest.mark.parametrize("kept", [0, 60, 200, 0.7])
def test_damaged_matlab_file_is_one_clear_error(kept, tmp_path):
    path = tmp_path / "a.mat"
    io.savemat(path, {"X": RNG.random((12, 7)), "y": np.arange(12) % 3}, do_compression=True)
    data = path.read_bytes()
    path.write_bytes(data[: kept if kept > 1 else int(kept * len(data))])
    with pytest.raises(ValueError, match=r"a\.mat cannot be read as orl") as caught:
        convert_files([path], "matlab", cut("orl", 12, (7,), 3))
    assert "\n" not in str(caught.value)


def test_alphadigits_are_unrolled_column_by_column_class_after_class(tmp_path):
    images = RNG.integers(0, 2, (3, 4, 5, 2)).astype(np.uint8)
    dat = np.empty((3, 4), dtype=object)
    for place in np.ndindex(3, 4):
        dat[place] = images[place]
    io.savemat(tmp_path / "a.mat", {"dat": dat, "numclasses": 3})
    content = convert_files([tmp_path / "a.mat"], "alphadigits", cut("ba", 12, (10,), 3))
    np.testing.assert_array_equal(content.views[0][4 * 1 + 2], images[1, 2].T.ravel())
    np.testing.assert_array_equal(content.labels, np.repeat([0, 1, 2], 4))


def idx_bytes(array):
    header = bytes([0, 0, 8, array.ndim]) + b"".join(size.to_bytes(4) for size in array.shape)
    return header + array.astype(np.uint8).tobytes()


@pytest.fixture
def idx_files(tmp_path):
    images, labels = RNG.integers(0, 256, (10, 2, 3)), np.arange(10) % 5
    paths = []
    for part, rows in (("train", slice(0, 7)), ("t10k", slice(7, 10))):
        for kind, values in (("images", images), ("labels", labels)):
            paths.append(tmp_path / f"{part}-{kind}.gz")
            paths[-1].write_bytes(gzip.compress(idx_bytes(values[rows])))
    return paths, images, labels


def test_idx_files_are_put_one_below_the_other(idx_files):
    paths, images, labels = idx_files
    paths[0].write_bytes(gzip.decompress(paths[0].read_bytes()))
    content = convert_files(paths, "idx", cut("mnist", 10, (6,), 5))
    np.testing.assert_array_equal(content.views[0], images.reshape(10, 6))
    np.testing.assert_array_equal(content.labels, labels)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (gzip.compress(idx_bytes(np.zeros((7, 2, 3)))[:-1]), "holds 41 of 42 values"),
        (gzip.compress(idx_bytes(np.zeros((7, 2, 3))) + b"x"), "more than it declares"),
        (gzip.compress(idx_bytes(np.zeros((7, 2, 3))))[:-12], "train-images.gz is damaged"),
        (gzip.compress(bytes([0, 0, 8, 3]) + b"\xff" * 12), "more than the set has"),
        (gzip.compress(bytes([0, 0, 13, 3]) + bytes(12)), "no idx file of bytes"),
        (b"", "cannot be read"),
        (gzip.compress(idx_bytes(np.zeros((6, 2, 3)))), r"shape \(9, 6\)"),
    ],
    ids=["one value short", "one byte more", "cut off", "too many rows", "other type", "empty", "too few rows"],
)
def test_damaged_idx_file_is_one_clear_error(data, message, idx_files):
    paths, _, _ = idx_files
    paths[0].write_bytes(data)
    with pytest.raises(ValueError, match=rf"train-images\.gz.*{message}"):
        convert_files(paths, "idx", cut("mnist", 10, (6,), 5))


def table_text(rows):
    return "".join(",".join(map(str, row)) + "\n" for row in rows.tolist()).encode()


def test_table_has_its_labels_last(tmp_path):
    rows = np.column_stack([RNG.integers(-173, 7173, (12, 5)), np.arange(12) % 7 + 1])
    (tmp_path / "a.data.gz").write_bytes(gzip.compress(table_text(rows)))
    content = convert_files([tmp_path / "a.data.gz"], "table", cut("covertype", 12, (5,), 7))
    np.testing.assert_array_equal(content.views[0], rows[:, :5])
    np.testing.assert_array_equal(content.labels, np.arange(12) % 7)


@pytest.mark.parametrize("n_rows", [11, 13])
def test_table_of_another_length_is_refused(n_rows, tmp_path):
    rows = np.column_stack([RNG.integers(0, 9, (n_rows, 5)), np.arange(n_rows) % 7 + 1])
    (tmp_path / "a.data").write_bytes(table_text(rows))
    with pytest.raises(ValueError, match=rf"a\.data: X has shape \({n_rows}, 5\)"):
        convert_files([tmp_path / "a.data"], "table", cut("covertype", 12, (5,), 7))


def test_leading_rows_of_several_tables_are_taken(tmp_path):
    rows = np.column_stack([RNG.integers(1, 14, (20, 5)), np.arange(20) % 3])
    (tmp_path / "a.data").write_bytes(table_text(rows[:8]))
    (tmp_path / "b.data").write_bytes(table_text(rows[8:]))
    paths = [tmp_path / "a.data", tmp_path / "b.data"]
    content = convert_files(paths, "leading rows", cut("pokerhand-partial", 12, (5,), 3))
    np.testing.assert_array_equal(content.views[0], rows[:12, :5])


@pytest.mark.parametrize("text", [b"", b"<html>not found</html>", b"1,2,3\n4,5\n", b"1,2,99999\n", b"\xff\xfe\x00"])
def test_text_that_is_no_table_is_one_clear_error(text, tmp_path):
    (tmp_path / "a.data").write_bytes(text)
    with pytest.raises(ValueError, match=r"a\.data"):
        convert_files([tmp_path / "a.data"], "table", cut("covertype", 12, (5,), 7))


def stored(name):
    with np.load(find_data(name)) as file:
        return file["X"], file["y"]


@pytest.mark.needs("data")
def test_faces_in_their_public_form_have_the_digest_of_the_catalogue(tmp_path):
    X, y = stored("ORL.npz")
    io.savemat(tmp_path / "a.mat", {"X": X.astype(float), "y": y[:, None].astype(float)}, do_compression=True)
    convert_files([tmp_path / "a.mat"], "matlab", CATALOGUE["orl"])


@pytest.mark.needs("data")
def test_documents_in_their_public_form_have_the_digest_of_the_catalogue(tmp_path):
    X, y = load_sparse(find_data("TR45.npz"))
    io.savemat(tmp_path / "a.mat", {"X": X.tocsc(), "y": y[:, None].astype(float)}, do_compression=True)
    convert_files([tmp_path / "a.mat"], "matlab", CATALOGUE["tr45"])


@pytest.mark.needs("data")
def test_alphadigits_in_their_public_form_have_the_digest_of_the_catalogue(tmp_path):
    X, _ = stored("BA.npz")
    dat = np.empty((36, 39), dtype=object)
    for row, place in zip(X, np.ndindex(36, 39), strict=True):
        dat[place] = row.reshape(20, 16, order="F")
    io.savemat(tmp_path / "a.mat", {"dat": dat})
    convert_files([tmp_path / "a.mat"], "alphadigits", CATALOGUE["ba"])


@pytest.mark.needs("data")
def test_poker_hands_in_their_public_form_have_the_digest_of_the_catalogue(tmp_path):
    table = np.column_stack(stored("Pokerhand_real43k.npz"))
    paths = [tmp_path / "training.data", tmp_path / "testing.data"]
    paths[0].write_bytes(table_text(table[:25010]))
    paths[1].write_bytes(table_text(np.concatenate([table[25010:], table[:100]])))
    convert_files(paths, "leading rows", CATALOGUE["pokerhand-partial"])
    with pytest.raises(ValueError, match="does not hold pokerhand-partial"):
        convert_files(paths[::-1], "leading rows", CATALOGUE["pokerhand-partial"])
