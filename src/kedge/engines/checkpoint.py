"""Finished passes and the blocks of the one under way on disk, so that a fit can go on after a crash."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from time import perf_counter
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.core.block_step import PassSummary, RowBlock
from kedge.engines.contract import ResumableEngine
from kedge.engines.stores import BlockFile, BlockPlace, ScratchStore, disk_errors_explained
from kedge.engines.sums import Sums, SumTree
from kedge.whole_file import PARTIAL, replace_whole, try_lock

_IDENTITY, _SETTING, _LOCK = "kedge-checkpoint.json", "setting.npz", "lock"
# The files of the coefficients, used in turn: the last finished pass is not touched while the next is written.
_COEFFICIENTS = ("coefficients-0.bin", "coefficients-1.bin")
_WHAT_IS_LEFT = "Finished passes are kept: fit again to go on from there"
# The parts of a sparse Gram matrix.
_GRAM_PARTS = ("gram_data", "gram_indices", "gram_indptr")
# The blocks of a pass under way: what a crash costs at most is the time between two records.
_BEGUN = "begun-pass.npz"
SECONDS_BETWEEN_RECORDS = 10.0
# After a multiple of so many blocks, the tree of sums is short, and so is the record.
BLOCKS_BETWEEN_RECORDS = 16


class CheckpointStore(ScratchStore):
    """Coefficients in the files of a checkpoint, beginning with those that an earlier run left."""

    _parameter, _what_is_left = "checkpoint", _WHAT_IS_LEFT

    def __init__(self, folder: Path, dtype: Any, n_passes: int, places: list[BlockPlace]) -> None:
        super().__init__(folder, dtype)
        self.n_passes = n_passes
        self._begun: list[BlockPlace] = []
        if n_passes:
            self._last = BlockFile(self._path(n_passes).open("r+b", buffering=0), dtype, places)
            self._files.append(self._last)

    @property
    def places(self) -> list[BlockPlace]:
        """Where the blocks of the last pass are."""
        return [] if self._last is None else self._last.places

    def go_on_from(self, places: list[BlockPlace]) -> None:
        """Let the next pass begin behind these blocks, which its file has."""
        self._begun = places

    def settle(self) -> list[BlockPlace]:
        """Make sure that the blocks of the pass so far are on the disk, and return where they are."""
        assert self._new is not None
        with self._disk_errors_explained():
            os.fsync(self._new.handle.fileno())
        self._n_recorded = len(self._new.places)
        return self._new.places

    def end_pass(self) -> None:
        """Make sure that the pass is on the disk before it counts."""
        self.settle()
        super().end_pass()
        self.n_passes += 1
        self._n_recorded = 0

    def _open_next(self) -> BlockFile:
        path, begun = self._path(self.n_passes + 1), self._begun
        file = BlockFile(path.open("r+b" if begun else "w+b", buffering=0), self._dtype, begun)
        if path.stat().st_size < file.n_bytes:
            file.handle.close()
            raise ValueError(f"{path} is shorter than it was; delete the checkpoint folder and start again")
        file.cut(len(begun))  # a block that was being written may be behind them
        self._n_recorded, self._begun = len(begun), []
        return file

    def _path(self, number: int) -> Path:
        return self.folder / _COEFFICIENTS[number % 2]


class Checkpoint:
    """A folder with the state of an unfinished fit.

    It holds what the fit is about (``kedge-checkpoint.json``), what was decided before the first pass, the sums of
    every finished pass, and the coefficients of the last one. Of a pass under way it holds the blocks up to the last
    record, and their sums. No file is ever half written, and coefficients behind the last record do not count. A fit
    that goes on runs through its loop again with the stored sums, which brings it to the state in which it was.

    The folder is made if it does not exist. It must be empty, or hold a checkpoint with the same ``identity``: what the
    fit depends on, parameters and data.
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
        for leftover in self.folder.glob(f".*{PARTIAL}"):
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
        with _reading(path):
            stored = dict(json.loads(path.read_text()).items())
        different = [name for name in {**stored, **identity} if stored.get(name) != identity.get(name)]
        if different:
            listed = "; ".join(f"{name} was {stored.get(name)}, is {identity.get(name)}" for name in different)
            raise ValueError(
                f"checkpoint={str(self.folder)!r} belongs to another fit: {listed}. Fit with what it was made with, or "
                "choose another folder"
            )

    def setting(self) -> dict[str, NDArray[Any]] | None:
        """Return what an earlier run decided before its first pass; None if it did not get that far."""
        return self._read_arrays(_SETTING) if (self.folder / _SETTING).exists() else None

    def keep_setting(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Store what was decided before the first pass."""
        self._write(_SETTING, lambda file: np.savez(file, allow_pickle=False, **arrays))

    def summary(self, number: int) -> PassSummary:
        """Return the sums of a finished pass, counted from one."""
        return _summary_of(self._read_arrays(_pass_name(number)))

    def keep_pass(self, number: int, summary: PassSummary, places: list[BlockPlace]) -> None:
        """Store the sums of a pass whose coefficients are on the disk; with this the pass is finished."""
        kept = _arrays_of(summary) | {"block_places": _table_of(places)}
        self._write(_pass_name(number), lambda file: np.savez(file, allow_pickle=False, **kept))
        (self.folder / _BEGUN).unlink(missing_ok=True)

    def begun_pass(self, number: int) -> tuple[list[BlockPlace], list[tuple[int, PassSummary]]]:
        """Return where the blocks of a pass are that was cut off, and the kept sums of their tree."""
        if not (self.folder / _BEGUN).exists():
            return [], []
        arrays = self._read_arrays(_BEGUN)
        if int(arrays["number"]) != number:  # the pass was finished just before the crash
            return [], []
        heights: list[int] = arrays["heights"].tolist()
        kept = []
        for place, height in enumerate(heights):
            prefix = f"{place}_"
            own = {name.removeprefix(prefix): part for name, part in arrays.items() if name.startswith(prefix)}
            kept.append((height, _summary_of(own)))
        return _places_of(arrays["block_places"]), kept

    def keep_begun(self, number: int, kept: list[tuple[int, PassSummary]], places: list[BlockPlace]) -> None:
        """Store the sums of the blocks of a pass so far, whose coefficients are on the disk."""
        arrays = {"number": np.array(number), "heights": np.array([height for height, _ in kept])}
        for place, (_, summary) in enumerate(kept):
            arrays |= {f"{place}_{name}": part for name, part in _arrays_of(summary).items()}
        arrays["block_places"] = _table_of(places)
        self._write(_BEGUN, lambda file: np.savez(file, allow_pickle=False, **arrays))

    def open_store(self, dtype: Any, block_sizes: list[int]) -> CheckpointStore:
        """Return the store of the coefficients, with those of the last finished pass."""
        number, places = self._count_passes(), list[BlockPlace]()
        for name in (_BEGUN, _pass_name(number)):
            if (self.folder / name).exists():
                places = _places_of(self._read_arrays(name, "block_places")["block_places"])
                if [place.n_rows for place in places] != block_sizes[: len(places)]:
                    raise ValueError(
                        f"checkpoint={str(self.folder)!r} was made with other blocks of rows; set scikit-learn's "
                        "working_memory as it was, or start again in another folder"
                    )
        return CheckpointStore(self.folder, dtype, number, places if number else [])

    def remove(self) -> None:
        """Delete the files of the checkpoint, once the fit is finished; open ones can still be read."""
        passes = [_pass_name(number + 1) for number in range(self._count_passes())]
        # Without its identity a folder is no checkpoint, so that file goes last.
        for name in [*reversed([_IDENTITY, _SETTING, *_COEFFICIENTS, *passes, _BEGUN]), _LOCK]:
            (self.folder / name).unlink(missing_ok=True)
        self._lock.close()

    def close(self) -> None:
        """Let others use the folder; its files stay."""
        self._lock.close()

    def _count_passes(self) -> int:
        number = 0
        while (self.folder / _pass_name(number + 1)).exists():
            number += 1
        return number

    def _locked(self) -> IO[bytes]:
        handle = (self.folder / _LOCK).open("wb")
        if try_lock(handle) is False:
            handle.close()
            raise ValueError(
                f"checkpoint={str(self.folder)!r} is in use by another fit; wait for it or choose another folder"
            )
        return handle

    def _write(self, name: str, write: Callable[[IO[bytes]], Any]) -> None:
        where = f"checkpoint={str(self.folder)!r}"
        with disk_errors_explained(where, _WHAT_IS_LEFT), replace_whole(self.folder / name) as file:
            write(file)

    def _read_arrays(self, name: str, *wanted: str) -> dict[str, NDArray[Any]]:
        path = self.folder / name
        with _reading(path), path.open("rb") as handle, np.load(handle, allow_pickle=False) as file:
            return {name: file[name] for name in wanted or file.files}


def _pass_name(number: int) -> str:
    return f"pass-{number:05d}.npz"


def _arrays_of(summary: PassSummary) -> dict[str, NDArray[Any]]:
    parts = dict(vars(summary))
    if sparse.issparse(summary.gram):
        gram = parts.pop("gram")
        parts |= dict(zip(_GRAM_PARTS, (gram.data, gram.indices, gram.indptr), strict=True))
    return {name: np.asarray(part) for name, part in parts.items() if part is not None}


def _summary_of(arrays: Mapping[str, NDArray[Any]]) -> PassSummary:
    parts: dict[str, Any] = {field.name: arrays[field.name] for field in fields(PassSummary) if field.name in arrays}
    if _GRAM_PARTS[0] in arrays:
        order = len(parts["column_sums"])
        parts["gram"] = sparse.csr_array(tuple(arrays[name] for name in _GRAM_PARTS), shape=(order, order))
    return PassSummary(**(parts | {"n_rows": int(parts["n_rows"])}))


def _table_of(places: list[BlockPlace]) -> NDArray[np.int64]:
    return np.array(places, dtype=np.int64).reshape(len(places), len(BlockPlace._fields))


def _places_of(table: NDArray[np.int64]) -> list[BlockPlace]:
    return [BlockPlace(*row) for row in table.tolist()]


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise ValueError(f"{path} cannot be read ({error}); delete the checkpoint folder and start again") from error


class _RecordedSums(SumTree[PassSummary]):
    """The sums of a pass under way, recorded every few seconds with the coefficients."""

    def __init__(self, number: int, store: CheckpointStore, checkpoint: Checkpoint) -> None:
        places, kept = checkpoint.begun_pass(number)
        super().__init__(kept)
        store.go_on_from(places)
        self._number, self._store, self._checkpoint = number, store, checkpoint
        self._recorded = perf_counter()

    def add(self, sums: PassSummary) -> None:
        """Take the sums of the next block, whose coefficients are in the store."""
        super().add(sums)
        if self.n_blocks % BLOCKS_BETWEEN_RECORDS or perf_counter() - self._recorded < SECONDS_BETWEEN_RECORDS:
            return
        self._checkpoint.keep_begun(self._number, self.kept, self._store.settle())
        self._recorded = perf_counter()


class CheckpointedEngine:
    """An engine whose passes are recorded; what an earlier run finished of them is not run again."""

    def __init__(self, engine: ResumableEngine, store: CheckpointStore, checkpoint: Checkpoint) -> None:
        self._engine, self._store, self._checkpoint = engine, store, checkpoint
        self._number, self._finished = 0, store.n_passes
        self.n_rows = engine.n_rows

    def run_pass(self, solve: Callable[[RowBlock], tuple[sparse.csr_array, Sums]]) -> Sums:
        """Run a pass, or what is left of it, and record it, or return what was recorded."""
        self._number += 1
        if self._number <= self._finished:
            return self._checkpoint.summary(self._number)  # type: ignore[return-value]
        begun: Any = _RecordedSums(self._number, self._store, self._checkpoint)
        summary: Any = self._engine.run_pass(solve, begun)
        self._checkpoint.keep_pass(self._number, summary, self._store.places)
        return summary  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        """Leave everything else to the engine itself."""
        return getattr(self._engine, name)
