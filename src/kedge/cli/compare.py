"""``kedge compare``: several methods on the same data files, in one table."""

import json
from pathlib import Path
from typing import Any

from rich.console import Console

from kedge.cli.run_folder import Options, checked_suffix
from kedge.comparison import Comparison, compare, read_methods
from kedge.memory import machine_memory
from kedge.readers.contents import FileView
from kedge.readers.open import read_data_files
from kedge.whole_file import replace_whole


def _page(comparison: Comparison) -> str:
    return f'<!doctype html>\n<meta charset="utf-8">\n<title>kedge compare</title>\n{comparison.to_html()}'


_FORMS = {".csv": Comparison.to_csv, ".md": Comparison.to_markdown, ".html": _page}


def compare_files(
    data: list[Path], reading: Options, parameters: Options, methods: str | None, out: Path | None, as_json: bool
) -> int:
    """Read, run every method, show or write the table, and return the exit code: 1 if no method has a result."""
    # Everything that can be checked without the data is checked first.
    choices = None if methods is None else read_methods(methods)
    form = None if out is None else _FORMS[checked_suffix(out, tuple(_FORMS))]
    with Console(stderr=True).status("kedge: reading") as status:
        files = read_data_files(data, **reading)
        matrices = {view.name: _in_memory(view) for view in files.views}
        comparison = compare(
            matrices if len(matrices) > 1 else next(iter(matrices.values())),
            methods=choices or read_methods("sgl,kmeans" if len(files.views) == 1 else "msgl,kmeans"),
            y=None if files.labels is None else files.labels.codes,
            observed=files.observed,
            **parameters,
            progress=lambda name: status.update(f"kedge: {name}"),
        )
    if out is not None and form is not None:
        with replace_whole(out) as file:
            file.write(form(comparison).encode())
    if as_json:
        print(json.dumps(comparison.to_dict()))
    else:
        told = [f"left out: {text}" for text in files.left_out] + ([f"written to {out}"] if out else [])
        print(comparison.to_text().rstrip(), *told, sep="\n")
    return 0 if comparison.finished else 1


def _in_memory(view: FileView) -> Any:
    """Return the rows of a view, read from disk if necessary, because most methods need them in memory."""
    if view.in_memory:
        return view.rows
    n_bytes = view.n_rows * view.n_columns * view.rows.dtype.itemsize
    # Every method runs in its own process, which holds the rows a second time.
    if n_bytes > machine_memory() // 4:
        raise ValueError(
            f"{view.path} takes up to {n_bytes / 2**30:,.1f} GiB in memory, and a comparison needs that twice; compare "
            "methods on a part of its rows"
        )
    return view.rows.read(slice(0, view.n_rows))
