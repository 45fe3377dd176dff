"""``kedge plan``, and what ``kedge fit`` says before a long fit: time, memory and disk."""

import tempfile
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from sklearn import config_context

from kedge.cli import run_folder
from kedge.cli.fit import model_of, rows_of, working_memory
from kedge.cli.run_folder import Options
from kedge.engines.local import StoredGraph
from kedge.optional_libraries import load_library
from kedge.planning import Around, FitEstimate, plan_fit
from kedge.plots.layer_tree import layers_of
from kedge.probe import Results
from kedge.readers.contents import DataFiles
from kedge.readers.delimited import RepeatedRows
from kedge.readers.open import read_data_files

# How much of a large text file is read: a quarter of a second's work.
_TEXT_BYTES = 1 << 24
STARTING, FILES, WRITING = "starting", "reading files", "writing results"


def plan_files(data: list[Path], reading: Options, parameters: Options, *, as_json: bool) -> int:
    """Print what `kedge fit` would take for these files."""
    for module in ("csv", "parquet"):  # The results are written with these, and the first use takes long.
        load_library(f"pyarrow.{module}", "cli", "writing labels")
    before, clock = {STARTING: process_time()}, perf_counter()
    files = read_data_files(data, **reading, text_bytes=_TEXT_BYTES)
    texts = [view.rows for view in files.views if isinstance(view.rows, RepeatedRows)]
    before[FILES] = sum(text.seconds for text in texts) or perf_counter() - clock
    with config_context(working_memory=working_memory(reading["memory"])):
        estimate = plan_run(files, parameters, before, sum(text.scratch_bytes for text in texts))
    print(run_folder.to_json(estimate.as_dict()) if as_json else estimate)
    return 0


def plan_run(
    files: DataFiles, parameters: Options, before: dict[str, float] | None = None, scratch_bytes: int = 0
) -> FitEstimate:
    """Plan the fit of files, and the folder that its results go to."""

    def write(model: Any) -> Results:
        """Write the results of a sample."""
        names = None if files.row_names is None else files.row_names[: len(model.labels_)]
        layers = layers_of(model)
        with tempfile.TemporaryDirectory() as folder:
            run_folder.write_results(Path(folder), replace(files, row_names=names), model, layers)
            size = sum(file.stat().st_size for file in Path(folder).iterdir())
        memory = sum(layer.labels.nbytes for layer in layers)
        if isinstance(model.graph_, StoredGraph):  # It is saved from memory.
            graph = model.graph_.to_csr()
            memory += 2 * (graph.data.nbytes + graph.indices.nbytes + graph.indptr.nbytes)
            memory += np.asarray(model.embedding_).nbytes
        return Results(memory, size)

    around = Around(before or {}, scratch_bytes, {WRITING: write})
    estimate: FitEstimate = plan_fit(model_of(files, parameters), rows_of(files), files.observed, around)
    return estimate
