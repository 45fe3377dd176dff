"""Rows of Dask arrays: their chunks, their gaps, and what a scaling is learnt from."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from operator import getitem
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.core.block_step import squared_norm
from kedge.core.rows import Rows, split_rows
from kedge.core.scaling import ViewScaling
from kedge.readers.stored_rows import StoredRows


class DaskReader(StoredRows):
    """Reader of a Dask array, dense or CSR, with known chunk sizes and one chunk along the features."""

    name = "Dask array"
    homes: list[str] | None = None  # The worker of every chunk, once the rows have settled.

    def __init__(self, array: Any) -> None:
        if any(np.isnan(size) for sizes in array.chunks for size in sizes):
            advice = "call X.compute_chunk_sizes() first, or to_dask_array(lengths=True)"
            raise ValueError(f"the Dask array has chunks of unknown size; {advice}")
        self.set_matrix(array.shape, array.dtype, self.name)
        parts = len(array.chunks[1])
        if parts > 1:
            raise ValueError(f"the Dask array is cut along its features, into {parts} chunks; use X.rechunk({{1: -1}})")
        self.array = array if array.dtype == self.dtype else array.astype(self.dtype)
        if 0 in array.chunks[0]:  # some reductions of Dask fail on empty chunks
            self.array = self.array.rechunk({0: tuple(size for size in array.chunks[0] if size)})
        self.row_chunks = tuple(int(size) for size in self.array.chunks[0])

    def read(self, rows: Rows) -> Any:
        """Compute these rows; every chunk picks its own where it is, or the scheduler would copy whole chunks."""
        import dask

        numbers = np.arange(*rows.indices(self.n_rows)) if isinstance(rows, slice) else np.asarray(rows)
        starts = np.cumsum([0, *self.row_chunks])
        chunks = self.array.to_delayed(optimize_graph=False).ravel()
        parts = []
        for number, own in split_rows(numbers, starts) if len(numbers) else [(0, numbers)]:
            with at_home(None if self.homes is None else self.homes[number]):
                parts.append(dask.delayed(getitem)(chunks[number], own))
        # Unoptimised graphs keep the names of tasks, which a scheduler must see with one meaning only.
        blocks = _compute(*parts)
        if sparse.issparse(blocks[0]):
            return sparse.csr_array(sparse.vstack(blocks, format="csr"))
        return np.ascontiguousarray(np.concatenate(blocks))

    def zeros_like(self, width: int) -> "DaskReader":
        """Return a reader of as many rows of zeros, in the same chunks."""
        import dask.array

        return DaskReader(dask.array.zeros((self.n_rows, width), chunks=(self.row_chunks, -1), dtype=self.dtype))

    def rows_of_nan(self, columns: NDArray[np.intp] | None) -> NDArray[np.bool_]:
        """Return which rows are NaN throughout; only this mask travels, and only if there is a NaN."""
        part = self.array if columns is None else self.array[:, columns]
        if isinstance(getattr(part, "_meta", None), np.ndarray) and np.isnan(_compute(part.sum())[0]):
            import dask.array

            return np.asarray(_compute(dask.array.isnan(part).all(axis=1))[0])
        return np.zeros(self.n_rows, dtype=bool)


# Rows settle on the workers if they take at most this share of their memory. Dask begins to write to disk at 60 %, and
# weights, which are rarely larger than rows, need as much again.
SHARE_FOR_ROWS = 0.3


def settle_rows(readers: Sequence[DaskReader]) -> None:
    """Cut all views where the first is cut, and give every chunk a home among the workers of a cluster.

    Rows are kept at home if they take at most ``SHARE_FOR_ROWS`` of the memory that the workers have now; a worker
    without a limit has room for anything. Otherwise they are computed there again whenever they are needed, for example
    from files. So are all rows where there is no cluster, or no worker yet. Results are the same. Rows that the user
    keeps on the workers stay there.
    """
    chunks = readers[0].row_chunks
    for reader in readers:
        reader.array, reader.row_chunks = reader.array.rechunk({0: chunks}), chunks
    limits = _memory_limits() if has_cluster() else []
    if not limits:
        return
    import dask

    arrays, homes = place_chunks({reader.array.name: reader.array for reader in readers})
    if not all(limits) or sum(map(_bytes_of, arrays.values())) <= SHARE_FOR_ROWS * sum(limits):
        arrays = dict(zip(arrays, dask.persist(*arrays.values(), optimize_graph=False), strict=True))
    for reader in readers:
        reader.array, reader.homes = arrays[reader.array.name], homes


def place_chunks(arrays: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the arrays with tasks that run at the home of their chunk, and the homes.

    Otherwise the scheduler would read rows anywhere and send them to their coefficients. Tasks that several chunks need
    may run anywhere, and all may if a home is gone.
    """
    from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
    from dask.utils import ensure_dict
    from distributed import futures_of

    row_chunks = next(iter(arrays.values())).chunks[0]
    graph = ensure_dict(HighLevelGraph.merge(*(array.dask for array in arrays.values())))
    chunk_of = _chunks_of_tasks(graph, {(name, i, 0): i for name in arrays for i in range(len(row_chunks))})
    homes = _homes(row_chunks, chunk_of, futures_of(list(arrays.values())))
    home_of = {key: [homes[chunk]] for key, chunk in chunk_of.items() if chunk is not None}
    annotations = {"workers": home_of.__getitem__, "allow_other_workers": True}
    own = MaterializedLayer({key: graph[key] for key in home_of}, annotations=annotations)
    shared = MaterializedLayer({key: graph[key] for key, chunk in chunk_of.items() if chunk is None})
    placed = {}
    for name, array in arrays.items():
        rest = f"shared-{name}"
        layers = HighLevelGraph({name: own, rest: shared}, {name: {rest}, rest: set()})
        placed[name] = type(array)(layers, name, array.chunks, dtype=array.dtype, meta=array._meta)
    return placed, homes


def _chunks_of_tasks(graph: dict[Any, Any], chunks: dict[Any, int]) -> dict[Any, int | None]:
    """Return the chunk that every task is for: the one that needs it in the fewest steps, None if several do."""
    from dask.core import get_dependencies

    found: dict[Any, int | None] = dict(chunks)
    last = dict(found)
    while last:
        reached: dict[Any, int | None] = {}
        for key, chunk in last.items():
            for needed in get_dependencies(graph, key):
                if needed in graph and needed not in found:
                    reached[needed] = chunk if reached.get(needed, chunk) == chunk else None
        found.update(reached)
        last = reached
    return found


def _homes(row_chunks: Sequence[int], chunk_of: dict[Any, int | None], futures: Sequence[Any]) -> list[str]:
    """Return a worker for every chunk: the one that has it, or else its share in the order of the rows.

    Sums of neighbours are merged first, so neighbours should be at one place.
    """
    from distributed import default_client, wait

    threads = default_client().nthreads()
    ends = np.cumsum(list(threads.values())) / sum(threads.values()) * sum(row_chunks)
    middles = np.cumsum(row_chunks) - np.array(row_chunks) / 2
    workers = list(threads)
    homes = [workers[place] for place in np.searchsorted(ends, middles)]
    wait(futures)
    for key, holders in (default_client().who_has(futures) if futures else {}).items():
        chunk = chunk_of.get(key)
        if holders and chunk is not None:
            homes[chunk] = next(iter(holders))
    return homes


def at_home(home: str | None) -> AbstractContextManager[Any]:
    """Have the tasks that are made in this context run on a worker, if it is still there."""
    import dask

    return nullcontext() if home is None else dask.annotate(workers=[home], allow_other_workers=True)


def has_cluster() -> bool:
    """Whether computations go to a cluster: the scheduler that Dask would use is then a method of its client."""
    from dask.base import get_scheduler
    from distributed import Client

    return isinstance(getattr(get_scheduler(), "__self__", None), Client)


def _memory_limits() -> list[int]:
    """Return the memory of every worker; zero for those without a limit."""
    from distributed import default_client

    return [limit or 0 for limit in default_client().run(_memory_limit).values()]


def _memory_limit(dask_worker: Any) -> int | None:
    limit: int | None = dask_worker.memory_manager.memory_limit
    return limit


def _bytes_of(array: Any) -> int:
    """Return the bytes of an array; sparse chunks are taken to be as full as the first."""
    if isinstance(array._meta, np.ndarray):
        return int(array.nbytes)
    import dask

    first = array.to_delayed(optimize_graph=False).ravel()[0]
    return int(_compute(dask.delayed(_bytes_of_block)(first))[0] / array.chunks[0][0] * array.shape[0])


def _bytes_of_block(block: Any) -> int:
    parts = (block.data, block.indices, block.indptr) if sparse.issparse(block) else (block,)
    return sum(int(part.nbytes) for part in parts)


@dataclass(frozen=True)
class DaskStatistics:
    """Statistics of a Dask array by its own reductions; see :class:`kedge.core.scaling.ViewStatistics`."""

    reader: DaskReader
    columns_of_view: NDArray[np.intp] | None  # Columns that belong to the view.
    observed: NDArray[np.bool_] | None  # Shape (n_rows,). Rows that have the view.

    def is_sparse(self) -> bool:
        """Look at what the chunks are made of."""
        return not isinstance(self.reader.array._meta, np.ndarray)

    def rows_per_column(self) -> tuple[int, NDArray[np.float64]]:
        """Count over the chunks, where they are."""
        counted = _compute(*self._per_chunk(_rows_per_column))
        return self._n_rows(), np.asarray(np.sum(counted, axis=0), dtype=np.float64)

    def columns(self, kind: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
        """Return mean and deviation, or least entry and range, of every column."""
        rows = self._rows().astype(np.float64)
        least, most = rows.min(axis=0), rows.max(axis=0)
        if kind == "minmax":
            least, most = _compute(least, most)
            return least, most - least, most == least
        mean, deviation, least, most = _compute(rows.mean(axis=0), rows.std(axis=0), least, most)
        return mean, deviation, most == least

    def mean_squared_norm(self, scaling: ViewScaling) -> float:
        """Scale every chunk where it is."""
        return float(_compute(sum(self._per_chunk(_squared_norm_scaled, scaling)))[0]) / self._n_rows()

    def _n_rows(self) -> int:
        return self.reader.n_rows if self.observed is None else int(self.observed.sum())

    def _per_chunk(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return the calls of a function on every chunk as tasks."""
        import dask

        chunks = self._rows().to_delayed(optimize_graph=False).ravel()
        return [dask.delayed(function)(chunk, *arguments) for chunk in chunks]

    def _rows(self) -> Any:
        rows = self.reader.array if self.columns_of_view is None else self.reader.array[:, self.columns_of_view]
        return rows if self.observed is None else rows[np.flatnonzero(self.observed)]


def _rows_per_column(block: Any) -> NDArray[np.float64]:
    return np.asarray((block != 0).sum(axis=0), dtype=np.float64).ravel()


def _squared_norm_scaled(block: Any, scaling: ViewScaling) -> float:
    rows = sparse.csr_array(block) if sparse.issparse(block) else block
    return squared_norm(scaling.scale(rows))


def _compute(*lazy: Any) -> Any:
    """Compute several results in one go."""
    import dask

    return dask.compute(*lazy, optimize_graph=False)


def blocks_of(readers: Sequence[DaskReader]) -> tuple[list[slice], list[list[Any]]]:
    """Return the rows of every chunk, and the delayed chunks of all views; the first view decides where to cut."""
    chunks = readers[0].row_chunks
    ends = np.cumsum(chunks)
    rows = [slice(int(end) - size, int(end)) for end, size in zip(ends, chunks, strict=True)]
    views = [reader.array.rechunk({0: chunks}).to_delayed(optimize_graph=False).ravel().tolist() for reader in readers]
    return rows, [list(parts) for parts in zip(*views, strict=True)]
