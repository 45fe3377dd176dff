"""Kedge files: their content, and files that are damaged, wrong or hostile."""

import dataclasses
import io
import zipfile

import numpy as np
import pytest
from scipy import sparse

from kedge.datasets.catalogue import CATALOGUE
from kedge.datasets.content import check_content, digest_content, read_archive

DENSE = dataclasses.replace(CATALOGUE["orl"], n_rows=6, widths=(3,), n_clusters=2, digest=None)
SPARSE = dataclasses.replace(CATALOGUE["tr11"], n_rows=6, widths=(4,), n_clusters=2, digest=None, most_stored=(8,))
X = np.arange(18).reshape(6, 3)
Y = np.array([1, 2, 1, 2, 1, 2])
CSR = sparse.csr_array(([0.5, 1.5, 2.5], ([0, 2, 5], [3, 0, 1])), shape=(6, 4))


def sparse_parts(**changes):
    parts = {"X_data": CSR.data, "X_indices": CSR.indices, "X_indptr": CSR.indptr, "X_shape": np.array([6, 4]), "y": Y}
    return {**parts, **changes}


def save(path, **arrays):
    np.savez_compressed(path, **arrays)
    return path


@pytest.mark.parametrize("rows", [X.astype(np.uint8), np.asfortranarray(X), X.astype(np.float64), X.astype(">i4")])
def test_dense_file_gives_the_same_content_in_any_storage(rows, tmp_path):
    content = read_archive(save(tmp_path / "a.npz", X=rows, y=Y), DENSE)
    assert digest_content(content) == digest_content(check_content([X], Y, DENSE, "test"))
    assert content.views[0].dtype == np.float32
    assert content.views[0].flags.c_contiguous
    np.testing.assert_array_equal(content.labels, Y - 1)


def test_sparse_file_gives_the_content_of_its_matrix(tmp_path):
    content = read_archive(save(tmp_path / "a.npz", **sparse_parts()), SPARSE)
    assert digest_content(content) == digest_content(check_content([CSR.tocsc()], Y, SPARSE, "test"))
    np.testing.assert_array_equal(content.views[0].toarray(), CSR.toarray())


def test_the_digest_ignores_storage_and_sees_every_value():
    digests = {
        digest_content(check_content([rows], labels, DENSE, "test"))
        for rows in (X, X.astype(np.float64), X.astype(np.uint8), np.asfortranarray(X), X.astype(">i4"))
        for labels in (Y, Y - 1, Y.astype(float))
    }
    assert len(digests) == 1
    changed = X.copy()
    changed[5, 2] += 1
    assert digest_content(check_content([changed], Y, DENSE, "test")) not in digests
    assert digest_content(check_content([X], Y[::-1], DENSE, "test")) not in digests


def test_the_digest_of_leading_rows_ignores_the_rest():
    changed = X.copy()
    changed[5, 2] += 1
    first, second = (check_content([rows], Y, DENSE, "test") for rows in (X, changed))
    assert digest_content(first, 5) == digest_content(second, 5)


def test_numbers_that_float32_cannot_hold_stay_float64():
    large = X + (1 << 24)
    np.testing.assert_array_equal(check_content([large], Y, DENSE, "test").views[0], large)
    np.testing.assert_array_equal(check_content([X / 3], Y, DENSE, "test").views[0], X / 3)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": X[:, :2], "y": Y}, r"X has shape \(6, 2\), expected \(6, 3\)"),
        ({"X": X, "y": Y[:5]}, r"y has shape \(5,\), expected \(6,\)"),
        ({"X": X}, "no array 'y' in it"),
        ({"y": Y}, "no array 'X' in it"),
        ({"X": np.where(X == 4, np.nan, X), "y": Y}, "NaN or infinity"),
        ({"X": X, "y": np.arange(6)}, "labels have 6 classes from 0 to 5"),
        ({"X": X, "y": Y * 2}, "labels have 2 classes from 2 to 4"),
        ({"X": X, "y": Y / 2}, "labels must be whole numbers"),
        ({"X": X, "y": np.where(Y == 1, np.nan, Y)}, "labels must be whole numbers"),
        ({"X": X.astype("U8"), "y": Y}, "not numbers"),
        ({"X": X.astype(complex), "y": Y}, "not numbers"),
    ],
)
def test_wrong_arrays_are_refused_with_the_name_of_the_file(arrays, message, tmp_path):
    with pytest.raises(ValueError, match=rf"bad\.npz.*{message}"):
        read_archive(save(tmp_path / "bad.npz", **arrays), DENSE)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X_data": np.ones(9)}, r"expected at most 8 values"),
        ({"X_data": np.ones((3, 1))}, r"expected at most 8 values"),
        ({"X_indices": np.array([0, 1])}, "X_indices has shape"),
        ({"X_indices": np.array([0, 1, 4])}, "column index|indices"),
        ({"X_indices": np.array([0, 1, -1])}, "column index|indices"),
        ({"X_indices": np.array([0, 1, 1 << 32])}, "column index|indices"),
        ({"X_indptr": np.array([0, 3, 1, 2, 2, 2, 3])}, "indptr|index pointer"),
        ({"X_indptr": np.array([0, 1, 1, 2, 2, 2, 99])}, "indptr|index pointer|pointer"),
        ({"X_indptr": np.zeros(7) + 0.5}, "not whole numbers"),
        ({"X_shape": np.array([6, 40])}, r"X has shape \(6, 40\)"),
        ({"X_data": np.array([1.0, np.inf, 2.0])}, "NaN or infinity"),
    ],
)
def test_wrong_sparse_parts_are_refused(changes, message, tmp_path):
    with pytest.raises(ValueError, match=rf"bad\.npz.*({message})"):
        read_archive(save(tmp_path / "bad.npz", **sparse_parts(**changes)), SPARSE)


def test_pickled_objects_are_refused_unread(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    objects = np.full((6, 3), Bomb(), dtype=object)
    with pytest.raises(ValueError, match=r"bad\.npz: X holds object"):
        read_archive(save(tmp_path / "bad.npz", X=objects, y=Y), DENSE)


@pytest.mark.parametrize("kept", [0, 10, 0.5, 0.98])
def test_a_truncated_file_is_one_clear_error(kept, tmp_path):
    path = save(tmp_path / "bad.npz", X=X, y=Y)
    data = path.read_bytes()
    path.write_bytes(data[: kept if kept > 1 else int(kept * len(data))])
    with pytest.raises(ValueError, match=r"bad\.npz cannot be read \(.*\); it is damaged or no npz file"):
        read_archive(path, DENSE)


def test_every_flipped_byte_is_an_error_of_ours_or_harmless(tmp_path):
    path = save(tmp_path / "bad.npz", X=X, y=Y)
    data, digest = path.read_bytes(), digest_content(read_archive(path, DENSE))
    strict = dataclasses.replace(DENSE, digest=digest)
    n_refused = 0
    for place in range(len(data)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
        try:
            assert digest_content(read_archive(path, strict)) == digest
        except ValueError as error:
            assert "bad.npz" in str(error)  # noqa: PT017
            n_refused += 1
    assert n_refused > len(data) / 2


def write_bomb(path, shape, n_bytes):
    """Write a member that declares that shape and unpacks to that many zeros."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("X.npy", "w") as member:
        member.write(header.getvalue())
        for _ in range(n_bytes >> 20):
            member.write(bytes(1 << 20))
    return path


def test_an_archive_that_declares_too_much_is_refused_before_it_is_unpacked(tmp_path):
    path = write_bomb(tmp_path / "bomb.npz", (1 << 20, 64), 64 << 20)
    assert path.stat().st_size < 1 << 17
    with pytest.raises(ValueError, match=r"bomb\.npz: X has shape \(1048576, 64\), expected \(6, 3\)"):
        read_archive(path, DENSE)


def test_an_archive_that_unpacks_to_more_than_it_declares_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"bomb\.npz: X is longer than its header says"):
        read_archive(write_bomb(tmp_path / "bomb.npz", (6, 3), 4 << 20), DENSE)


def test_other_data_under_the_name_are_refused_with_both_digests(tmp_path):
    strict = dataclasses.replace(DENSE, digest="0" * 64)
    with pytest.raises(ValueError, match=r"a\.npz does not hold orl: SHA-256 .* expected 0{64}, got [0-9a-f]{64}"):
        read_archive(save(tmp_path / "a.npz", X=X, y=Y), strict)


def test_class_sizes_are_compared_where_they_are_known(tmp_path):
    strict = dataclasses.replace(DENSE, class_sizes=(2, 4))
    with pytest.raises(ValueError, match=r"class sizes \(3, 3\), expected \(2, 4\)"):
        read_archive(save(tmp_path / "a.npz", X=X, y=Y), strict)
