"""Coefficients in scratch files that vanish with the process, however it ends."""

import errno
import os
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


class BlockPlace(NamedTuple):
    """Where a block stands in its file: first byte, rows, columns, stored weights."""

    offset: int
    n_rows: int
    n_columns: int
    n_weights: int


class BlockFile:
    """CSR blocks one after another: pointers, columns and weights of each.

    Parameters
    ----------
    handle : binary file
        Open for reading and writing, without a buffer; threads take turns at it.
    dtype : dtype
        Of the weights.
    places : list of BlockPlace, default=None
        Of blocks that the file already holds.
    """

    def __init__(self, handle: Any, dtype: Any, places: list[BlockPlace] | None = None) -> None:
        self.handle = handle
        self.dtype = np.dtype(dtype)
        self.places: list[BlockPlace] = list(places or [])
        self._guard = threading.Lock()

    def clear(self) -> None:
        """Forget all blocks and free their space."""
        self.places = []
        self.handle.truncate(0)

    def append(self, coefficients: sparse.csr_array) -> None:
        """Write a block behind the last one."""
        offset = self._end()
        parts = (
            coefficients.indptr.astype(np.int64, copy=False),
            coefficients.indices.astype(np.int32, copy=False),
            coefficients.data.astype(self.dtype, copy=False),
        )
        with self._guard:
            self.handle.seek(offset)
            for part in parts:
                self._write(np.ascontiguousarray(part).data.cast("B"))
        n_rows, n_columns = coefficients.shape
        self.places.append(BlockPlace(offset, int(n_rows), int(n_columns), int(coefficients.nnz)))

    def read(self, number: int) -> sparse.csr_array:
        """Return a block."""
        place = self.places[number]
        with self._guard:
            self.handle.seek(place.offset)
            indptr = self._array(place.n_rows + 1, np.int64)
            indices = self._array(place.n_weights, np.int32)
            data = self._array(place.n_weights, self.dtype)
        return sparse.csr_array((data, indices, indptr), shape=(place.n_rows, place.n_columns))

    def flush(self) -> None:
        """See that what was written is on the disk."""
        os.fsync(self.handle.fileno())

    def close(self) -> None:
        """Close the file, which frees its space if it has no name."""
        self.handle.close()

    def _end(self) -> int:
        if not self.places:
            return 0
        last = self.places[-1]
        return int(last.offset + 8 * (last.n_rows + 1) + (4 + self.dtype.itemsize) * last.n_weights)

    def _array(self, count: int, dtype: Any) -> NDArray[Any]:
        found = np.empty(count, dtype=dtype)
        rest = found.data.cast("B")
        while len(rest):
            got = self.handle.readinto(rest)
            if not got:
                raise OSError("the file of the coefficients is shorter than it was; was it changed?")
            rest = rest[got:]
        return found

    def _write(self, content: memoryview) -> None:
        while len(content):
            content = content[self.handle.write(content) :]


class ScratchStore:
    """Two files in turn: one holds the last pass while the next is written to the other.

    The files have no name in the folder, so that nothing is left behind however the process ends.

    Parameters
    ----------
    folder : path or None
        Where the files are; None means the folder for temporary files.
    dtype : dtype
        Of the coefficients.
    """

    def __init__(self, folder: str | Path | None, dtype: Any) -> None:
        self.folder = Path(tempfile.gettempdir() if folder is None else folder)
        if not self.folder.is_dir():
            raise FileNotFoundError(f"scratch_folder={str(self.folder)!r} is not a folder; make it, or choose another")
        self._dtype = np.dtype(dtype)
        self._files: list[BlockFile] = []
        self._last: BlockFile | None = None
        weakref.finalize(self, close_all, self._files)

    def _told(self) -> AbstractContextManager[None]:
        return disk_errors_explained(f"scratch_folder={str(self.folder)!r}")

    @property
    def _new(self) -> BlockFile:
        return next(file for file in self._files if file is not self._last)

    def begin_pass(self) -> None:
        """Empty the file that is not read; the second is opened only if there is a second pass."""
        if len(self._files) < 2 and all(file is self._last for file in self._files):
            with self._told():
                handle = tempfile.TemporaryFile(dir=self.folder, buffering=0)  # noqa: SIM115 (closed with the store)
                self._files.append(BlockFile(handle, self._dtype))
        self._new.clear()

    def write(self, coefficients: sparse.csr_array) -> None:
        """Append a block."""
        with self._told():
            self._new.append(coefficients)

    def end_pass(self) -> None:
        """Exchange the files and free the space of the older one."""
        last = self._last
        self._last = self._new
        if last is not None:
            last.clear()

    def read(self, number: int) -> sparse.csr_array | None:
        """Return a block of the last pass."""
        return None if self._last is None else self._last.read(number)

    def close(self) -> None:
        """Free the space."""
        close_all(self._files)


def close_all(files: list[BlockFile]) -> None:
    """Close files; those closed already stay so."""
    for file in files:
        file.close()


@contextmanager
def disk_errors_explained(where: str, what_is_left: str = "Nothing was left behind") -> Iterator[None]:
    """Say what a full or failing disk means, where, and what is left on it."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OSError(
                error.errno,
                f"the disk of {where} is full, so the coefficients cannot be kept between passes; free space or choose "
                f"a folder on another disk. {what_is_left}",
            ) from error
        raise OSError(error.errno, f"{where} cannot be written: {error.strerror}") from error
