"""Saving is done in one step: a failure leaves the old file and nothing else."""

import errno
import os
import stat
import tracemalloc

import numpy as np
import pytest
from numpy.lib import format as npy

import kedge


def fail_with(error):
    def fail(*arguments, **options):
        raise error

    return fail


def fail_at_call(number, error, function):
    """Return the function, which fails the n-th time it is called."""
    calls = iter(range(1, 1_000_000))

    def fail_later(*arguments, **options):
        if next(calls) == number:
            raise error
        return function(*arguments, **options)

    return fail_later


FULL = OSError(errno.ENOSPC, "No space left on device")
HEADER = "numpy.lib.format.write_array_header_1_0"
FAILURES = {
    "at the last step": ("os.replace", lambda: fail_with(PermissionError("in use"))),
    "when the disk is synchronised": ("os.fsync", lambda: fail_with(OSError(errno.EIO, "Input/output error"))),
    "in the middle": (HEADER, lambda: fail_at_call(5, FULL, npy.write_array_header_1_0)),
    "by an interrupt": (HEADER, lambda: fail_at_call(2, KeyboardInterrupt(), npy.write_array_header_1_0)),
    "in the description": ("json.dumps", lambda: fail_with(ValueError("no"))),
}


@pytest.mark.parametrize(("target", "failure"), FAILURES.values(), ids=FAILURES)
def test_failure_leaves_the_old_file_and_nothing_else(path, monkeypatch, target, failure):
    before = path.read_bytes()
    other = kedge.SGL(2, n_anchors=5, random_state=1).fit(np.random.RandomState(0).rand(20, 3))
    with monkeypatch.context() as patch:
        patch.setattr(target, failure())
        with pytest.raises((OSError, ValueError, KeyboardInterrupt)):
            kedge.save(other, path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
    kedge.save(other, path)
    assert kedge.load(path).n_clusters == 2


def test_a_full_disk_is_an_error_that_names_the_file(path, model, monkeypatch):
    monkeypatch.setattr(HEADER, fail_with(FULL))
    with pytest.raises(OSError, match="No space left") as caught:
        kedge.save(model, path)
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(path)


def test_value_that_cannot_be_saved_leaves_the_old_file(path, model):
    before = path.read_bytes()
    with pytest.raises(TypeError, match="'checkpoint' of SGL"):
        kedge.save(kedge.SGL(checkpoint={1, 2}), path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_missing_folder_is_an_error(tmp_path, model):
    with pytest.raises(FileNotFoundError):
        kedge.save(model, tmp_path / "none" / "model.kedge")
    assert list(tmp_path.iterdir()) == []


def test_folder_in_the_way_is_an_error(tmp_path, model):
    (tmp_path / "model.kedge").mkdir()
    with pytest.raises(OSError, match=r"model\.kedge"):
        kedge.save(model, tmp_path / "model.kedge")
    assert list(tmp_path.iterdir()) == [tmp_path / "model.kedge"]


@pytest.mark.needs("linux")
def test_file_has_the_rights_of_any_new_file(path):
    (path.parent / "other").write_text("")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((path.parent / "other").stat().st_mode)


@pytest.mark.needs("linux")
def test_link_stays_and_what_it_points_to_is_replaced(path, tmp_path):
    (tmp_path / "link").symlink_to(path)
    kedge.save(kedge.SGL(7), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert kedge.load(path).n_clusters == 7


def test_loading_writes_nothing(path):
    os.utime(path, ns=(1, 1))
    kedge.load(path)
    assert list(path.parent.iterdir()) == [path]
    assert path.stat().st_mtime_ns == 1


def test_memory_is_that_of_the_arrays(tmp_path):
    # 80 MB; NumPy writes 16 MB at a time, through two copies.
    model = kedge.SGL(3, anchors=np.ones((10_000, 1_000)))
    size = model.anchors.nbytes
    tracemalloc.start()
    try:
        kedge.save(model, tmp_path / "model.kedge")
        assert tracemalloc.get_traced_memory()[1] < 0.6 * size
        tracemalloc.reset_peak()
        copy = kedge.load(tmp_path / "model.kedge")
        assert size < tracemalloc.get_traced_memory()[1] < 1.1 * size
    finally:
        tracemalloc.stop()
    assert (copy.anchors == 1).all()
