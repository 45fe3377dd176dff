"""Archives that were made to do harm are refused, each for its own reason, and cost no memory."""

import io
import os
import pickle
import stat
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from model_file_checks import RunsCode, as_npy, read_parts, refused, write_parts

import kedge
from kedge.model_files import ModelFileError


def test_rewritten_file_that_is_right_loads(path, model, rows):
    # Without this, the refusals below could all be for a reason they do not name.
    np.testing.assert_array_equal(kedge.load(write_parts(path, *read_parts(path))).predict(rows), model.predict(rows))


def test_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        kedge.load(tmp_path / "nothing.kedge")


@pytest.mark.needs("linux")
@pytest.mark.parametrize("make", [lambda path: path.mkdir(), lambda path: os.mkfifo(path)], ids=["folder", "pipe"])
def test_what_is_no_file_is_refused(tmp_path, make):
    make(tmp_path / "thing")
    with pytest.raises(ModelFileError, match="is no file"):
        kedge.load(tmp_path / "thing")


@pytest.mark.parametrize("content", [b"", b"PK", b"\x93NUMPY\x01\x00", pickle.dumps(RunsCode()), bytes(100_000)])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "model.kedge").write_bytes(content)
    refused(tmp_path / "model.kedge", "not a zip file")


def test_archive_of_arrays_is_no_model(tmp_path):
    np.savez(tmp_path / "a.npz", array_0=np.ones(3))
    refused(tmp_path / "a.npz", "has no model.json")


def test_wrong_checksum_of_an_array_is_refused(path):
    description, parts = read_parts(path)
    name = description["attributes"]["labels_"]["member"]
    parts[name] = as_npy(np.ones(30, dtype=int))
    refused(write_parts(path, description, parts, sealed=False), f"{name} does not match its size and checksum")


def test_wrong_checksum_of_the_description_is_refused(path):
    description, parts = read_parts(path)
    refused(write_parts(path, description, parts, comment=b""), "model.json does not match its checksum")


def test_wrong_size_in_the_description_is_refused(path):
    description, parts = read_parts(path)
    description["members"]["array_0.npy"]["bytes"] += 1
    refused(write_parts(path, description, parts, sealed=False), "array_0.npy does not match its size and checksum")


NAMES = ["../evil.npy", "/etc/evil.npy", "..\\evil.npy", "array_0.npy/../../x", "array_00.npy", "C:evil.npy", "sub/"]


@pytest.mark.parametrize("name", NAMES)
def test_member_name_that_leads_elsewhere_is_refused(path, name):
    description, parts = read_parts(path)
    refused(write_parts(path, description, parts | {name: b""}), "has a member .* which kedge does not write")


def test_name_cut_by_a_null_character_is_refused(path):
    description, parts = read_parts(path)
    write_parts(path, description, parts | {"array_77.npy_evil": b""})
    path.write_bytes(path.read_bytes().replace(b"array_77.npy_evil", b"array_77.npy\0evil"))
    refused(path, "has a member .* which kedge does not write")


def test_member_that_the_description_does_not_list_is_refused(path):
    description, parts = read_parts(path)
    refused(write_parts(path, description, parts | {"array_99.npy": b""}, sealed=False), "not those that its")


def test_member_that_nothing_uses_is_refused(path):
    description, parts = read_parts(path)
    refused(write_parts(path, description, parts | {"array_99.npy": as_npy(np.ones(3))}), "belongs to no attribute")


def test_member_that_is_listed_but_absent_is_refused(path):
    description, parts = read_parts(path)
    del parts["array_0.npy"]
    refused(write_parts(path, description, parts, sealed=False), "not those that its description lists")


def test_two_members_of_one_name_are_refused(path):
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("array_0.npy", as_npy(np.ones(3)))
    refused(path, "two members 'array_0.npy'")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFDIR, stat.S_IFCHR])
def test_link_or_folder_as_a_member_is_refused(path, kind):
    description, parts = read_parts(path)
    info = zipfile.ZipInfo("array_99.npy")
    info.external_attr = (kind | 0o777) << 16
    write_parts(path, description, parts)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(info, b"/etc/passwd")
    refused(path, "array_99.npy is .* or a special file")


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_compressed_bomb_is_refused_without_memory(path, method):
    description, parts = read_parts(path)
    write_parts(path, description, parts | {"array_99.npy": bytes(50_000_000)}, compression=method)
    assert path.stat().st_size < 100_000
    tracemalloc.start()
    try:
        refused(path, "array_0.npy is compressed, .* which kedge does not write")
        assert tracemalloc.get_traced_memory()[1] < 2e6
    finally:
        tracemalloc.stop()


def with_directory_field(path, name, offset, form, value):
    """Overwrite a field of a member in the list of contents."""
    content = bytearray(path.read_bytes())
    at = content.rindex(name) - 46
    assert content[at : at + 4] == b"PK\x01\x02"
    struct.pack_into(form, content, at + offset, value)
    path.write_bytes(content)


def test_encrypted_member_is_refused(path):
    with_directory_field(path, b"array_0.npy", 8, "<H", 1)
    refused(path, "array_0.npy is compressed, encrypted")


def test_members_that_overlap_are_refused(path):
    description, parts = read_parts(path)
    write_parts(path, description, parts | {"array_99.npy": b"x" * 50_000})
    for offset in (20, 24):
        with_directory_field(path, b"array_0.npy", offset, "<I", 60_000)
    refused(path, "its members have .* bytes, the file has")


def test_more_than_max_bytes_is_refused(path):
    with pytest.raises(ModelFileError, match="more than max_bytes=1000; raise max_bytes"):
        kedge.load(path, max_bytes=1000)


def test_too_many_members_are_refused(path):
    description, parts = read_parts(path)
    refused(write_parts(path, description, parts | {f"array_{n}.npy": b"" for n in range(10_001)}), "members, at most")


def test_long_list_of_contents_is_refused_without_memory(tmp_path):
    entry = b"PK\x01\x02" + bytes(24) + struct.pack("<H", 5) + bytes(16) + b"abcde"
    directory = entry * 100_000
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 9, 9, len(directory), 0, 0)
    (tmp_path / "model.kedge").write_bytes(directory + end)
    tracemalloc.start()
    try:
        refused(tmp_path / "model.kedge", "its list of contents or model.json has more than 4194304 bytes")
        assert tracemalloc.get_traced_memory()[1] < 1e6
    finally:
        tracemalloc.stop()


def test_pickle_is_never_called(path, monkeypatch):
    def fail(*arguments, **options):
        raise AssertionError("pickle was called")

    for name in ("load", "loads", "dump", "dumps"):
        monkeypatch.setattr(pickle, name, fail)
    model = kedge.load(path)
    kedge.save(model, path)
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            assert name == "model.json" or np.load(io.BytesIO(archive.read(name)), allow_pickle=False).dtype != object
