"""Files that keep the coefficients between passes when the rows are not in memory."""

import errno
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
    """Where a block is in its file: first byte, rows, columns, stored weights."""

    offset: int
    n_rows: int
    n_columns: int
    n_weights: int


class BlockFile:
    """CSR blocks one after another in an unbuffered file: pointers, columns and weights of each. Threads take turns."""

    def __init__(self, handle: Any, dtype: Any, places: list[BlockPlace] | None = None) -> None:
        self.handle = handle
        self.dtype = np.dtype(dtype)
        self.places: list[BlockPlace] = list(places or [])
        self._guard = threading.Lock()

    @property
    def n_bytes(self) -> int:
        """Where the last block ends."""
        if not self.places:
            return 0
        last = self.places[-1]
        return last.offset + 8 * (last.n_rows + 1) + (4 + int(self.dtype.itemsize)) * last.n_weights

    def cut(self, n_blocks: int) -> None:
        """Keep the first blocks only, and free the space of what is behind them."""
        del self.places[n_blocks:]
        self.handle.truncate(self.n_bytes)

    def append(self, coefficients: sparse.csr_array) -> None:
        """Write a block behind the last one."""
        offset = self.n_bytes
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
    """Coefficients on disk; :class:`kedge.engines.local.MemoryStore` says what a store does.

    Every pass goes to a file of its own, and the last finished pass is kept until the next one is finished. The files
    have no name in the folder, so nothing is left behind however the process ends.
    """

    _parameter, _what_is_left = "scratch_folder", "Nothing was left behind"

    def __init__(self, folder: str | Path | None, dtype: Any) -> None:
        self.folder = Path(tempfile.gettempdir() if folder is None else folder)
        if not self.folder.is_dir():
            raise FileNotFoundError(f"scratch_folder={str(self.folder)!r} is not a folder; make it, or choose another")
        self._dtype = np.dtype(dtype)
        self._last: BlockFile | None = None
        self._new: BlockFile | None = None
        self._n_recorded = 0  # Blocks of the new file that a later run can go on from.
        self._files: list[BlockFile] = []
        weakref.finalize(self, _close_all, self._files)

    def begin_pass(self) -> None:
        """Open the file of the next pass."""
        with self._disk_errors_explained():
            self._new = self._open_next()
        self._files.append(self._new)

    def write(self, coefficients: sparse.csr_array) -> None:
        """Append a block."""
        assert self._new is not None
        with self._disk_errors_explained():
            try:
                self._new.append(coefficients)
            except OSError:
                self._new.cut(self._n_recorded)  # a pass that cannot be finished should not keep the disk full
                raise

    def end_pass(self) -> None:
        """Read from the new file from now on, and free the space of the older one."""
        if self._last is not None:
            self._last.handle.close()
        self._last, self._new = self._new, None

    def read(self, number: int) -> sparse.csr_array | None:
        """Return a block of the last pass."""
        return None if self._last is None else self._last.read(number)

    def _open_next(self) -> BlockFile:
        return BlockFile(tempfile.TemporaryFile(dir=self.folder, buffering=0), self._dtype)

    def _disk_errors_explained(self) -> AbstractContextManager[None]:
        return disk_errors_explained(f"{self._parameter}={str(self.folder)!r}", self._what_is_left)


def _close_all(files: list[BlockFile]) -> None:
    for file in files:
        file.handle.close()


@contextmanager
def disk_errors_explained(where: str, what_is_left: str) -> Iterator[None]:
    """Say what a full or failing disk means, where it is, and what is left on it."""
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
