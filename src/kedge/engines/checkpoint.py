"""Every finished pass on disk, so that a fit can go on after a crash."""

import json
import os
import weakref
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import fields
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.core.block_step import PassSummary, RowBlock
from kedge.engines.contract import Engine, Sums
from kedge.engines.stores import BlockFile, BlockPlace, close_all, disk_errors_explained

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


_IDENTITY, _SETTING, _LOCK = "kedge-checkpoint.json", "setting.npz", "lock"
# The parts of a sparse Gram matrix.
_GRAM_PARTS = ("gram_data", "gram_indices", "gram_indptr")


class Checkpoint:
    """A folder with the state of an unfinished fit.

    It holds what the fit is about (``kedge-checkpoint.json``), what was decided before the first pass, the sums of
    every finished pass, and the coefficients of the last one. A file is there whole or not at all. A fit that goes on
    runs through its loop again with the stored sums, so it comes to the state in which it was.

    Parameters
    ----------
    folder : path
        Made if it is not there. It must be empty, or hold a checkpoint of the same fit.
    identity : mapping of str to str
        What the fit depends on: parameters and data. A checkpoint with another identity is refused.
    """

    def __init__(self, folder: str | Path, identity: Mapping[str, str]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = self._locked()
        try:
            self._begin(dict(identity))
        except BaseException:
            self._lock.close()
            raise

    def _begin(self, identity: dict[str, str]) -> None:
        for leftover in self.folder.glob("*.part"):
            leftover.unlink()
        path = self.folder / _IDENTITY
        if not path.exists():
            others = sorted(entry.name for entry in self.folder.iterdir() if entry.name != _LOCK)
            if others:
                raise ValueError(
                    f"checkpoint={str(self.folder)!r} holds {others[0]!r} and is no checkpoint of kedge; choose an "
                    "empty or new folder"
                )
            self._write(_IDENTITY, lambda file: file.write(json.dumps(identity, indent=1).encode()))
            return
        _compare(self.folder, _read_json(path), identity)

    def setting(self) -> dict[str, NDArray[Any]] | None:
        """Return what an earlier run decided before its first pass, if it came so far."""
        path = self.folder / _SETTING
        return _read_arrays(path) if path.exists() else None

    def keep_setting(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Store what was decided before the first pass."""
        self._write(_SETTING, lambda file: np.savez(file, allow_pickle=False, **arrays))

    def count_passes(self) -> int:
        """Return how many passes were finished."""
        number = 0
        while self._pass_path(number + 1).exists():
            number += 1
        return number

    def summary(self, number: int) -> PassSummary:
        """Return the sums of a finished pass, counted from one."""
        arrays = _read_arrays(self._pass_path(number))
        names = [field.name for field in fields(PassSummary)]
        parts: dict[str, Any] = {name: arrays[name] for name in names if name in arrays}
        if _GRAM_PARTS[0] in arrays:
            order = len(parts["column_sums"])
            parts["gram"] = sparse.csr_array(tuple(arrays[name] for name in _GRAM_PARTS), shape=(order, order))
        return PassSummary(**(parts | {"n_rows": int(parts["n_rows"])}))

    def keep_pass(self, number: int, summary: PassSummary, places: list[BlockPlace]) -> None:
        """Store the sums of a pass whose coefficients are on the disk; with this the pass is finished."""
        parts = {field.name: getattr(summary, field.name) for field in fields(PassSummary)}
        if sparse.issparse(summary.gram):
            gram = parts.pop("gram")
            parts |= dict(zip(_GRAM_PARTS, (gram.data, gram.indices, gram.indptr), strict=True))
        kept = {name: np.asarray(part) for name, part in parts.items() if part is not None}
        table = np.array(places, dtype=np.int64).reshape(len(places), len(BlockPlace._fields))
        self._write(
            self._pass_path(number).name, lambda file: np.savez(file, allow_pickle=False, block_places=table, **kept)
        )

    def open_store(self, dtype: Any, block_sizes: list[int]) -> CheckpointStore:
        """Return the store of the coefficients, with those of the last finished pass."""
        number = self.count_passes()
        if not number:
            return CheckpointStore(self.folder, dtype)
        table = _read_arrays(self._pass_path(number))["block_places"]
        places = [BlockPlace(*map(int, row)) for row in table]
        if [place.n_rows for place in places] != block_sizes:
            raise ValueError(
                f"checkpoint={str(self.folder)!r} was made with other blocks of rows; set scikit-learn's "
                "working_memory as it was, or start anew in another folder"
            )
        return CheckpointStore(self.folder, dtype, number, places)

    def remove(self) -> None:
        """Delete the files of the checkpoint, once the fit is finished; open ones can still be read."""
        kept = [_IDENTITY, _SETTING, *FILE_NAMES, *(self._pass_path(n + 1).name for n in range(self.count_passes()))]
        for name in [*reversed(kept), _LOCK]:
            (self.folder / name).unlink(missing_ok=True)
        self._lock.close()

    def close(self) -> None:
        """Let others use the folder; its files stay."""
        self._lock.close()

    def _pass_path(self, number: int) -> Path:
        return self.folder / f"pass-{number:05d}.npz"

    def _locked(self) -> IO[bytes]:
        handle = (self.folder / _LOCK).open("wb")
        if os.name != "posix":
            return handle
        import fcntl

        try:
            # The lock of a process that dies is released by the system.
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            handle.close()
            raise ValueError(
                f"checkpoint={str(self.folder)!r} is in use by another fit; wait for it or choose another folder"
            ) from None
        return handle

    def _write(self, name: str, write: Callable[[IO[bytes]], Any]) -> None:
        """Write a file under another name and rename it once it is on the disk."""
        path = self.folder / name
        part = path.with_name(path.name + ".part")
        with disk_errors_explained(f"checkpoint={str(self.folder)!r}", WHAT_A_CHECKPOINT_KEEPS):
            with part.open("wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)


class CheckpointedEngine:
    """An engine whose passes are recorded; those that an earlier run finished are not run again."""

    def __init__(self, engine: Engine, store: CheckpointStore, checkpoint: Checkpoint) -> None:
        self._engine, self._store, self._checkpoint = engine, store, checkpoint
        self._number, self._finished = 0, store.n_passes
        self.n_rows = engine.n_rows

    def run_pass(self, solve: Callable[[RowBlock], tuple[sparse.csr_array, Sums]]) -> Sums:
        """Run a pass and record it, or return what was recorded."""
        self._number += 1
        if self._number <= self._finished:
            return self._checkpoint.summary(self._number)  # type: ignore[return-value]
        summary = self._engine.run_pass(solve)
        assert isinstance(summary, PassSummary)
        self._checkpoint.keep_pass(self._number, summary, self._store.places)
        return summary

    def __getattr__(self, name: str) -> Any:
        """Leave everything else to the engine itself."""
        return getattr(self._engine, name)


def _compare(folder: Path, stored: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    different = [name for name in {**stored, **wanted} if stored.get(name) != wanted.get(name)]
    if different:
        listed = "; ".join(f"{name} was {stored.get(name)}, is {wanted.get(name)}" for name in different)
        raise ValueError(
            f"checkpoint={str(folder)!r} belongs to another fit: {listed}. Fit with what it was made with, or choose "
            "another folder"
        )


def _read_json(path: Path) -> dict[str, str]:
    try:
        content = json.loads(path.read_text())
        if not isinstance(content, dict):
            raise ValueError("not a table")
    except ValueError as error:
        raise ValueError(f"{path} cannot be read ({error}); delete the checkpoint folder and start anew") from error
    return content


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with path.open("rb") as handle, np.load(handle, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except Exception as error:
        raise ValueError(f"{path} cannot be read ({error}); delete the checkpoint folder and start anew") from error
