"""Which engine runs a fit: where the rows are decides."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from kedge.engines.block_engine import BlockEngine
from kedge.engines.block_rows import cut_rows, rows_per_block
from kedge.engines.checkpoint import Checkpoint, CheckpointedEngine
from kedge.engines.contract import Engine
from kedge.row_store.contract import RowStore
from kedge.row_store.in_memory import MemoryStore
from kedge.row_store.scratch_file import ScratchStore
from kedge.sources.arrays import ArraySource
from kedge.sources.contract import RowSource


def choose_engine(
    source: RowSource,
    n_columns: int,
    n_threads: int,
    *,
    scratch_folder: str | Path | None = None,
    checkpoint: Checkpoint | None = None,
    on_rows: Callable[[int], None] | None = None,
) -> Engine:
    """Return the engine for these rows: in memory, out of core or Dask; with a checkpoint, it records its passes."""
    step = rows_per_block(n_columns, source.bytes_per_row)
    if source.on_dask:
        return _dask_engine(source, step, checkpoint)
    blocks = cut_rows(source.n_rows, step)

    def new_store() -> RowStore:
        return MemoryStore(len(blocks)) if source.in_memory else ScratchStore(scratch_folder, source.dtype)

    options: dict[str, Any] = {"read_ahead": not source.in_memory, "on_rows": on_rows}
    if checkpoint is None:
        return BlockEngine(source, blocks, new_store, n_threads, **options)
    kept = checkpoint.open_store(source.dtype, [rows.stop - rows.start for rows in blocks])
    engine = BlockEngine(source, blocks, new_store, n_threads, store=kept, **options)
    return CheckpointedEngine(engine, kept, checkpoint)


def _dask_engine(source: RowSource, step: int, checkpoint: Checkpoint | None) -> Engine:
    if checkpoint is not None:
        raise ValueError("checkpoint is for rows on one machine; with Dask arrays, leave it None")
    from kedge.engines.dask_engine import DaskEngine

    assert isinstance(source, ArraySource)
    return DaskEngine(source.views, source.scalings, source.mask, step)
