"""From the public home into the cache: complete files only, for any number of processes."""

import contextlib
import dataclasses
import errno
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from kedge.datasets.catalogue import Home, PublicFile
from kedge.datasets.download import obtain

pytest.importorskip("pooch")

PROGRAM = """
import pickle, sys
from pathlib import Path
from kedge.datasets.content import digest_content
from kedge.datasets.download import obtain
dataset, cache = pickle.loads(sys.stdin.buffer.read())
print("ready", flush=True)
print(digest_content(obtain(dataset, Path(cache))))
"""


def stored_names(cache):
    return sorted(str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file())


def test_the_public_file_of_a_set_is_stored_once(small_set, small_rows, small_file, server, tmp_path):
    for _ in range(2):
        np.testing.assert_array_equal(obtain(small_set, tmp_path).views[0], small_rows[0])
    assert stored_names(tmp_path) == ["small.data", "small.lock"]
    assert (tmp_path / "small.data").read_bytes() == small_file
    assert len(server.requests) == 1


def test_an_interrupted_set_is_continued_by_the_next_call(small_set, small_rows, server, tmp_path):
    server.cut_after = 300_000
    with pytest.raises(ConnectionError, match=r"data set 'small' could not be downloaded: .* next call continues"):
        obtain(small_set, tmp_path)
    assert "small.data" not in stored_names(tmp_path)
    np.testing.assert_array_equal(obtain(small_set, tmp_path).views[0], small_rows[0])
    assert [wanted is not None for _, wanted in server.requests] == [False, True]


def test_other_content_than_expected_leaves_nothing_behind(small_set, server, small_file, tmp_path):
    server.files["small.data"] = small_file.replace(b"9", b"8")
    with pytest.raises(ValueError, match=r"does not hold small: SHA-256 of the content expected \w{64}, got \w{64}"):
        obtain(small_set, tmp_path)
    assert stored_names(tmp_path) == ["small.lock"]
    server.files["small.data"] = small_file
    obtain(small_set, tmp_path)


def test_the_second_home_serves_when_the_first_is_gone(small_set, small_rows, server, tmp_path):
    gone = Home((PublicFile("gone.mat", (server.url + "gone.mat",)),), "matlab")
    by_hand = Home((PublicFile("by_hand.mat"),), "matlab")
    dataset = dataclasses.replace(small_set, homes=(by_hand, gone, *small_set.homes))
    np.testing.assert_array_equal(obtain(dataset, tmp_path).views[0], small_rows[0])


def test_failure_says_what_where_and_what_to_do(small_set, server, tmp_path):
    server.files.clear()
    dataset = dataclasses.replace(small_set, stand_in="other")
    with pytest.raises(FileNotFoundError) as caught:
        obtain(dataset, tmp_path)
    for part in ("'small'", server.url, "404", "Small.npz", "by hand", str(tmp_path), "'other'"):
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_full_disk_leaves_no_half_file_under_the_name(small_set, tmp_path, monkeypatch):
    @contextlib.contextmanager
    def full_at_once(*arguments):
        def advance(count):
            raise OSError(errno.ENOSPC, "No space left on device")

        yield advance

    monkeypatch.setattr("kedge.datasets.download.show_progress", full_at_once)
    with pytest.raises(OSError, match=r"'small' cannot be stored in .*: disk full; set KEDGE_DATA") as caught:
        obtain(small_set, tmp_path)
    assert caught.value.errno == errno.ENOSPC
    assert stored_names(tmp_path) == ["small.data.part", "small.lock"]


def test_a_cache_that_cannot_be_made_is_one_clear_error(small_set, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match=r"'small' cannot be stored in .*file: File exists"):
        obtain(small_set, tmp_path / "file")


def test_two_processes_at_once_download_once_and_agree(small_set, small_rows, server, tmp_path):
    server.gate = threading.Event()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", PROGRAM], **pipes) as other, ThreadPoolExecutor(1) as here:
        other.stdin.write(pickle.dumps((small_set, str(tmp_path))))
        other.stdin.close()
        other.stdin = None
        assert other.stdout.readline() == b"ready\n"
        content = here.submit(obtain, small_set, tmp_path)
        # One of the two holds the lock and waits for the server, the other waits for the lock.
        server.gate.set()
        np.testing.assert_array_equal(content.result(60).views[0], small_rows[0])
        digest, errors = other.communicate(timeout=60)
    assert (digest.decode().strip(), errors) == (small_set.digest, b"")
    assert len(server.requests) == 1
    assert stored_names(tmp_path) == ["small.data", "small.lock"]


def test_many_threads_at_once_agree(small_set, server, tmp_path):
    found = []
    threads = [threading.Thread(target=lambda: found.append(obtain(small_set, tmp_path))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(server.requests) == 1
    assert all((content.views[0] == found[0].views[0]).all() for content in found)
