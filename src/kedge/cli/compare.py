"""``kedge compare``: the same data files under several methods, in one table."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from kedge.comparison import Comparison, compare, read_methods
from kedge.comparison.result import Table as PlainTable
from kedge.memory import machine_memory
from kedge.readers.contents import DataFiles, FileView
from kedge.readers.open import read_data_files
from kedge.whole_file import replace_whole

_GIB = 2**30


def _page(comparison: Comparison) -> str:
    return f'<!doctype html>\n<meta charset="utf-8">\n<title>kedge compare</title>\n{comparison.to_html()}'


_FORMS: dict[str, Callable[[Comparison], str]] = {
    ".csv": Comparison.to_csv,
    ".md": Comparison.to_markdown,
    ".html": _page,
}


def compare_files(
    data: list[Path],
    reading: dict[str, Any],
    methods: str | None,
    n_clusters: int | str,
    seed: int,
    *,
    out: Path | None,
    as_json: bool,
) -> int:
    """Read, run every method, show or write the table, and return the exit code: 1 if no method has a result."""
    # What can be wrong without looking at the data is found before anything is read.
    choices = None if methods is None else read_methods(methods)
    form = None if out is None else _form_of(out)
    with Console(stderr=True).status("kedge: reading") as status:
        files = read_data_files(data, **reading)
        comparison = compare(
            _rows(files),
            n_clusters,
            choices or read_methods("sgl,kmeans" if len(files.views) == 1 else "msgl,kmeans"),
            y=None if files.labels is None else files.labels.codes,
            observed=files.observed,
            random_state=seed,
            progress=lambda name: status.update(f"kedge: {name}"),
        )
    if out is not None and form is not None:
        with replace_whole(out) as file:
            file.write(form(comparison).encode())
    if as_json:
        print(json.dumps(comparison.to_dict()))
    else:
        _show(comparison, files.left_out)
        if out is not None:
            print(f"written to {out}")
    return 0 if comparison.finished else 1


def _form_of(out: Path) -> Callable[[Comparison], str]:
    if out.suffix.lower() not in _FORMS:
        raise ValueError(f"--out: the name of {out} must end in one of {', '.join(_FORMS)}")
    if out.is_dir():
        raise ValueError(f"--out: {out} is a folder; give the name of a file")
    if not out.absolute().parent.is_dir():
        raise ValueError(f"--out: there is no folder {out.absolute().parent}; make it first")
    return _FORMS[out.suffix.lower()]


def _rows(files: DataFiles) -> Any:
    """Return one matrix, or several by name; those that were left on disk are read, because most methods need that."""
    matrices = [_in_memory(view) for view in files.views]
    return matrices[0] if len(matrices) == 1 else dict(zip(files.view_names, matrices, strict=True))


def _in_memory(view: FileView) -> Any:
    if view.in_memory:
        return view.rows
    n_bytes = view.n_rows * view.n_columns * view.rows.dtype.itemsize
    # Every method runs in a process of its own, which has the rows a second time.
    if n_bytes > machine_memory() // 4:
        raise ValueError(
            f"{view.path} takes up to {n_bytes / _GIB:,.1f} GiB in memory, where most methods need it, twice; compare "
            "methods on a part of its rows"
        )
    return view.rows.read(slice(0, view.n_rows))


def _show_on_terminal(console: Console, table: PlainTable) -> None:
    """Draw a table; notes are sentences and stand below it."""
    columns = [number for number, name in enumerate(table.header) if name != "notes"]
    drawn = Table(title=table.title, title_justify="left")
    for number in columns:
        drawn.add_column(table.header[number], justify="right" if table.is_number(number) else "left", overflow="fold")
    for line in table.lines:
        drawn.add_row(*(line[number] for number in columns))
    console.print(drawn)
    for line in table.lines:
        if len(columns) < len(line) and line[-1]:
            console.print(f"{line[0]}: {line[-1]}", markup=False, highlight=False)


def _show(comparison: Comparison, left_out: list[str]) -> None:
    console = Console()
    # A pipe or a file gets plain columns, uncut at any width.
    if not console.is_terminal:
        print(comparison, end="")
    else:
        for table in comparison.tables():
            _show_on_terminal(console, table)
    for text in left_out:
        print(f"left out: {text}")
