"""Rows of memory maps the user made."""

import os
import subprocess
import sys

import numpy as np
import pytest

from kedge.readers.npy import MappedRows

X = np.arange(6_000.0).reshape(1_000, 6)


@pytest.fixture
def path(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    return tmp_path / "rows.npy"


@pytest.mark.parametrize(
    "part",
    [
        (slice(None), slice(None)),
        (slice(100, 900), slice(1, 4)),
        (slice(None, None, 2), slice(None)),
        (slice(None, None, -1), slice(None, None, -2)),
    ],
)
def test_parts_of_a_map_are_read(path, part):
    reader = MappedRows(np.load(path, mmap_mode="r")[part])
    rows = np.array([0, 3, 4, 250, len(X[part]) - 1])
    np.testing.assert_array_equal(reader.read(slice(7, 300)), X[part][7:300])
    np.testing.assert_array_equal(reader.read(rows), X[part][rows])


def test_map_that_starts_inside_the_file_is_read(path):
    with path.open("ab") as file:
        file.write(X.tobytes())
    inner = np.memmap(path, np.float64, "r", offset=path.stat().st_size - X.nbytes, shape=X.shape)
    np.testing.assert_array_equal(MappedRows(inner).read(slice(0, 1_000)), X)


def test_changes_of_a_copy_on_write_map_are_kept(path):
    array = np.load(path, mmap_mode="c")
    array[5] = -1
    reader = MappedRows(array)
    reader.read(slice(0, 1_000))
    np.testing.assert_array_equal(reader.read(slice(5, 6)), np.full((1, 6), -1.0))


def test_changes_of_a_shared_map_are_kept(path):
    array = np.load(path, mmap_mode="r+")
    array[5] = -1
    reader = MappedRows(array)
    reader.read(slice(0, 1_000))
    np.testing.assert_array_equal(reader.read(slice(5, 6)), np.full((1, 6), -1.0))


def test_file_that_gets_shorter_is_an_error_and_not_a_crash(path):
    reader = MappedRows(np.load(path, mmap_mode="r"))
    os.truncate(path, 4096)
    with pytest.raises(ValueError, match=r"rows\.npy became shorter"):
        reader.read(slice(900, 1_000))


@pytest.mark.parametrize("array", [np.ones(5), np.ones((2, 2, 2)), np.ones((2, 2), dtype=complex)])
def test_maps_that_are_no_view_are_refused(tmp_path, array):
    np.save(tmp_path / "other.npy", array)
    with pytest.raises(ValueError, match=r"other\.npy"):
        MappedRows(np.load(tmp_path / "other.npy", mmap_mode="r"))


@pytest.mark.needs("linux")
@pytest.mark.parametrize("how", ["slices", "numbers"])
def test_memory_in_use_stays_bounded(tmp_path, how):
    # 96 MiB are read; a reader that keeps mapped pages would hold them all.
    program = f"""
import numpy as np
from kedge.readers.npy import MappedRows

def resident():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) * 1024

array = np.lib.format.open_memmap({str(tmp_path / "big.npy")!r}, "w+", np.float64, (98_304, 128))
del array
reader = MappedRows(np.load({str(tmp_path / "big.npy")!r}, mmap_mode="r"))
reader.read(slice(0, 10))
before = resident()
for start in range(0, 98_304, 4_096):
    rows = slice(start, start + 4_096) if {how!r} == "slices" else np.arange(start, start + 4_096, 8)
    reader.read(rows)
print(resident() - before)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 32 << 20
