"""One file from a server on this machine that cuts, refuses, forgets and lies."""

import contextlib
import dataclasses
import errno
import hashlib
import socket

import pytest

from kedge.datasets import download
from kedge.datasets.catalogue import PublicFile
from kedge.datasets.download import fetch_file

pytest.importorskip("pooch")

BODY = hashlib.shake_256(b"rows").digest(400_000)
SHA256 = hashlib.sha256(BODY).hexdigest()


@pytest.fixture
def public_file(server):
    server.files["rows.bin"] = BODY
    return PublicFile("rows.bin", (server.url + "rows.bin",), SHA256)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_downloaded_whole_and_alone(public_file, server, tmp_path, capfd):
    path = fetch_file(public_file, tmp_path)
    assert path.read_bytes() == BODY
    assert names_in(tmp_path) == ["rows.bin"]
    assert fetch_file(public_file, tmp_path) == path
    assert server.requests == [("rows.bin", None)]
    assert capfd.readouterr() == ("", "")


def interrupt(public_file, server, folder):
    server.cut_after = 250_000
    with pytest.raises(ConnectionError, match=r"broke off after \d+ bytes, which the next call continues"):
        fetch_file(public_file, folder)
    assert names_in(folder) == ["rows.bin.part"]
    part = (folder / "rows.bin.part").read_bytes()
    assert BODY.startswith(part)
    assert 0 < len(part) <= 250_000
    return len(part)


def test_an_interrupted_download_is_continued(public_file, server, tmp_path):
    n_have = interrupt(public_file, server, tmp_path)
    assert fetch_file(public_file, tmp_path).read_bytes() == BODY
    assert server.requests == [("rows.bin", None), ("rows.bin", f"bytes={n_have}-")]
    assert names_in(tmp_path) == ["rows.bin"]


def test_a_server_that_ignores_ranges_sends_the_whole_file_again(public_file, server, tmp_path):
    interrupt(public_file, server, tmp_path)
    server.honours_range = False
    assert fetch_file(public_file, tmp_path).read_bytes() == BODY
    assert server.requests[1][1] is not None


def test_a_server_that_continues_elsewhere_is_not_believed(public_file, server, tmp_path):
    interrupt(public_file, server, tmp_path)
    server.range_shift = 7
    with pytest.raises(ConnectionError, match=r"does not continue rows\.bin\.part at byte \d+; it is deleted"):
        fetch_file(public_file, tmp_path)
    assert fetch_file(public_file, tmp_path).read_bytes() == BODY


def test_a_partial_file_that_is_complete_needs_no_more_bytes(public_file, server, tmp_path):
    (tmp_path / "rows.bin.part").write_bytes(BODY)
    assert fetch_file(public_file, tmp_path).read_bytes() == BODY
    assert server.requests == [("rows.bin", f"bytes={len(BODY)}-")]


def test_a_partial_file_that_is_too_long_is_thrown_away(public_file, server, tmp_path):
    (tmp_path / "rows.bin.part").write_bytes(BODY + b"more")
    with pytest.raises(ConnectionError, match=r"does not continue rows\.bin\.part at byte \d+; it is deleted"):
        fetch_file(public_file, tmp_path)
    assert fetch_file(public_file, tmp_path).read_bytes() == BODY


def test_a_partial_file_of_other_bytes_is_caught_by_the_checksum(public_file, server, tmp_path):
    (tmp_path / "rows.bin.part").write_bytes(b"x" * 1000)
    with pytest.raises(ValueError, match="does not match the known hash"):
        fetch_file(public_file, tmp_path)
    assert fetch_file(public_file, tmp_path).read_bytes() == BODY


def test_a_wrong_checksum_deletes_the_file_and_says_both(public_file, tmp_path):
    wrong = dataclasses.replace(public_file, sha256="0" * 64)
    with pytest.raises(ValueError, match=rf"rows\.bin.* expected 0{{64}} but got {SHA256}"):
        fetch_file(wrong, tmp_path)
    assert names_in(tmp_path) == []


def test_a_file_in_place_with_a_wrong_checksum_is_replaced(public_file, tmp_path):
    (tmp_path / "rows.bin").write_bytes(b"old")
    assert fetch_file(public_file, tmp_path).read_bytes() == BODY


def test_a_missing_file_is_named_with_the_answer(server, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"gone\.bin is not there any more \(404 Not Found\)"):
        fetch_file(PublicFile("gone.bin", (server.url + "gone.bin",)), tmp_path)
    assert names_in(tmp_path) == []


def closed_port():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]


def test_no_network_is_one_line_with_the_cause(tmp_path):
    url = f"http://127.0.0.1:{closed_port()}/rows.bin"
    with pytest.raises(ConnectionError) as caught:
        fetch_file(PublicFile("rows.bin", (url,)), tmp_path)
    assert str(caught.value) == f"{url} could not be reached (Connection refused)"


def test_the_second_address_serves_when_the_first_fails(public_file, tmp_path):
    dead = f"http://127.0.0.1:{closed_port()}/rows.bin"
    mirrored = dataclasses.replace(public_file, urls=(dead, *public_file.urls))
    assert fetch_file(mirrored, tmp_path).read_bytes() == BODY


def test_a_full_disk_is_said_and_the_rest_comes_later(public_file, server, tmp_path, monkeypatch):
    @contextlib.contextmanager
    def full_after_two_chunks(*arguments):
        chunks = iter(range(2))

        def advance(count):
            if next(chunks, None) is None:
                raise OSError(errno.ENOSPC, "No space left on device")

        yield advance

    monkeypatch.setattr(download, "show_progress", full_after_two_chunks)
    with pytest.raises(OSError, match="No space left") as caught:
        fetch_file(public_file, tmp_path)
    assert caught.value.errno == errno.ENOSPC
    assert names_in(tmp_path) == ["rows.bin.part"]
    monkeypatch.undo()
    assert fetch_file(public_file, tmp_path).read_bytes() == BODY
    assert server.requests[1][1] is not None


def test_a_server_that_sends_without_end_is_stopped(public_file, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "MOST_BYTES", 100_000)
    with pytest.raises(ValueError, match="sends more than 100000 bytes"):
        fetch_file(public_file, tmp_path)
    assert names_in(tmp_path) == []


def test_a_progress_bar_is_drawn_on_demand(public_file, tmp_path, capfd):
    pytest.importorskip("rich")
    fetch_file(public_file, tmp_path, progress=True)
    written = capfd.readouterr()
    assert written.out == ""
    assert "rows.bin" in written.err
