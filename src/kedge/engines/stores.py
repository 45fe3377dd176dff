"""Where the weights of rows are kept between passes: in memory, or in a scratch file."""

import errno
import os
import tempfile
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


class RowStore(Protocol):
    """Coefficients of blocks of rows, numbered from zero; read from several threads, written from one."""

    def begin_pass(self) -> None:
        """Get ready for the coefficients of a new pass, which come in the order of the blocks."""
        ...

    def write(self, coefficients: sparse.csr_array) -> None:
        """Take the coefficients of the next block; those of the last pass may be gone from then on."""
        ...

    def end_pass(self) -> None:
        """Make the pass that was written the one that is read."""
        ...

    def read(self, number: int) -> sparse.csr_array | None:
        """Return the coefficients of a block in the last pass; None before the first."""
        ...

    def close(self) -> None:
        """Give up what was kept."""
        ...


class MemoryStore:
    """A list of blocks, overwritten in place: a pass writes a block only after it has read it."""

    def __init__(self, n_blocks: int) -> None:
        self._blocks: list[sparse.csr_array | None] = [None] * n_blocks
        self._next = 0

    def begin_pass(self) -> None:
        """Begin again at the first block."""
        self._next = 0

    def write(self, coefficients: sparse.csr_array) -> None:
        """Put the next block in its place."""
        self._blocks[self._next] = coefficients
        self._next += 1

    def end_pass(self) -> None:
        """Do nothing: all blocks are in place."""

    def read(self, number: int) -> sparse.csr_array | None:
        """Return a block."""
        return self._blocks[number]

    def close(self) -> None:
        """Let the blocks go."""
        self._blocks = [None] * len(self._blocks)


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


Rows = Any


class StoredGraph:
    """The bipartite graph on disk; ``graph[rows]`` reads the rows asked for.

    The scratch space is freed when nothing refers to the graph any more, or when the process ends.

    Attributes
    ----------
    shape : tuple of int
        Rows and anchors.
    dtype : dtype
        Of the weights.
    """

    ndim = 2

    def __init__(self, store: RowStore, starts: NDArray[np.intp], columns: sparse.csr_array | None, dtype: Any) -> None:
        self._store, self._starts, self._columns = store, starts, columns
        self.dtype = np.dtype(dtype)
        width = self._block(0).shape[1] if len(starts) > 1 else 0
        self.shape = (int(starts[-1]), int(width))

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def __repr__(self) -> str:
        """Say what it is."""
        return f"<graph of {self.shape[0]} rows and {self.shape[1]} anchors on disk; [rows] reads rows, to_csr() all>"

    def __getitem__(self, rows: Rows) -> sparse.csr_array:
        """Return rows as a CSR array: a slice, a mask, row numbers in any order, or one number."""
        if isinstance(rows, slice):
            return self.take(np.arange(*rows.indices(self.shape[0])))
        numbers = np.atleast_1d(np.asarray(rows))
        if numbers.dtype == bool:
            if numbers.shape != self.shape[:1]:
                raise IndexError(f"a mask of {len(numbers)} rows does not fit a graph of {self.shape[0]} rows")
            return self.take(np.flatnonzero(numbers))
        numbers = numbers.astype(np.intp)
        numbers = np.where(numbers < 0, numbers + self.shape[0], numbers)
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < self.shape[0]:
            raise IndexError(f"row numbers must be below {self.shape[0]}, the number of rows of the graph")
        return self.take(numbers)

    def take(self, rows: NDArray[np.intp]) -> sparse.csr_array:
        """Return these rows; every block is read once."""
        order = np.argsort(rows, kind="stable")
        in_order = rows[order]
        bounds = np.searchsorted(in_order, self._starts)
        parts = [
            self._block(number)[in_order[first:last] - self._starts[number]]
            for number, (first, last) in enumerate(pairwise(bounds))
            if last > first
        ]
        if not parts:
            return sparse.csr_array((0, self.shape[1]), dtype=self.dtype)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return sparse.csr_array(sparse.vstack(parts, format="csr"))[back]

    def blocks(self) -> Iterator[tuple[slice, sparse.csr_array]]:
        """Yield consecutive rows and their part of the graph."""
        for number, (start, stop) in enumerate(pairwise(self._starts)):
            yield slice(int(start), int(stop)), self._block(number)

    def to_csr(self) -> sparse.csr_array:
        """Return the whole graph in memory."""
        return join_blocks([block for _, block in self.blocks()])

    def _block(self, number: int) -> sparse.csr_array:
        block = self._store.read(number)
        assert block is not None
        return mapped_columns(block, self._columns)


class StoredEmbedding:
    """The embedding of the rows of a stored graph, computed when asked for; ``np.asarray`` makes the whole array."""

    ndim = 2

    def __init__(self, graph: StoredGraph, row_map: NDArray[Any]) -> None:
        self._graph, self._row_map = graph, row_map
        self.shape = (graph.shape[0], row_map.shape[1])
        self.dtype = row_map.dtype

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def __getitem__(self, rows: Rows) -> NDArray[Any]:
        """Return the embedding of these rows."""
        return np.asarray(self._graph[rows] @ self._row_map)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the embedding of all rows."""
        parts = [np.asarray(block @ self._row_map) for _, block in self._graph.blocks()]
        return np.concatenate(parts).astype(dtype or self.dtype, copy=False)


def mapped_columns(block: sparse.csr_array, columns: sparse.csr_array | None) -> sparse.csr_array:
    """Add up or select columns: the block times a map of columns, with sorted indices; None leaves it as it is."""
    if columns is None:
        return block
    mapped = sparse.csr_array(block @ columns.astype(block.dtype))
    mapped.sort_indices()
    return mapped


def join_blocks(blocks: Sequence[sparse.csr_array]) -> sparse.csr_array:
    """Put blocks below one another; SciPy's vstack goes through more copies than these three."""
    starts = np.cumsum([0, *(block.nnz for block in blocks)])
    pointers = [block.indptr[1:] + start for block, start in zip(blocks, starts[:-1], strict=True)]
    indptr = np.concatenate([starts[:1], *pointers])
    indices = np.concatenate([block.indices for block in blocks])
    n_rows = sum(block.shape[0] for block in blocks)
    parts = np.concatenate([block.data for block in blocks]), indices, indptr
    return sparse.csr_array(parts, shape=(n_rows, blocks[0].shape[1]))
