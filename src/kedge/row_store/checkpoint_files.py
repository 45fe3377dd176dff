"""Coefficients in two named files of a checkpoint folder, so that a fit that died can go on."""

import weakref
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kedge.row_store.scratch_file import BlockFile, BlockPlace, close_all, disk_errors_explained

FILE_NAMES = ("coefficients-0.bin", "coefficients-1.bin")
WHAT_A_CHECKPOINT_KEEPS = "Finished passes are kept: fit again to go on from there"


class CheckpointStore:
    """Passes go to two files in turn; the last finished pass is never touched while the next is written.

    Parameters
    ----------
    folder : Path
        The checkpoint folder.
    dtype : dtype
        Of the coefficients.
    n_passes : int, default=0
        Passes that an earlier run finished.
    places : list of BlockPlace, default=None
        Where the blocks of the last of them stand.
    """

    def __init__(self, folder: Path, dtype: Any, n_passes: int = 0, places: list[BlockPlace] | None = None) -> None:
        self._folder, self._dtype = folder, np.dtype(dtype)
        self.n_passes = n_passes
        self._last: BlockFile | None = None
        self._new: BlockFile | None = None
        self._files: list[BlockFile] = []
        weakref.finalize(self, close_all, self._files)
        if n_passes:
            self._last = self._opened(n_passes, "r+b", places)

    @property
    def places(self) -> list[BlockPlace]:
        """Where the blocks of the last pass stand."""
        return [] if self._last is None else self._last.places

    def begin_pass(self) -> None:
        """Begin the file of the next pass anew."""
        with self._told():
            self._new = self._opened(self.n_passes + 1, "w+b")

    def write(self, coefficients: sparse.csr_array) -> None:
        """Append a block."""
        assert self._new is not None
        with self._told():
            try:
                self._new.append(coefficients)
            except OSError:
                self._new.clear()  # a pass that cannot be finished should not keep the disk full
                raise

    def end_pass(self) -> None:
        """See that the pass is on the disk and read from it from now on."""
        assert self._new is not None
        with self._told():
            self._new.flush()
        if self._last is not None:
            self._last.close()
        self._last, self._new = self._new, None
        self.n_passes += 1

    def read(self, number: int) -> sparse.csr_array | None:
        """Return a block of the last pass."""
        return None if self._last is None else self._last.read(number)

    def close(self) -> None:
        """Close the files; they stay in the folder."""
        close_all(self._files)

    def _told(self) -> AbstractContextManager[None]:
        return disk_errors_explained(f"checkpoint={str(self._folder)!r}", WHAT_A_CHECKPOINT_KEEPS)

    def _opened(self, number: int, mode: str, places: list[BlockPlace] | None = None) -> BlockFile:
        handle = (self._folder / FILE_NAMES[number % 2]).open(mode, buffering=0)
        file = BlockFile(handle, self._dtype, places)
        self._files.append(file)
        return file
