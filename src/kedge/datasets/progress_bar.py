"""A bar for the progress of a download, on terminals only."""

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def show_progress(title: str, total: int | None, done: int, wanted: bool | None) -> Iterator[Callable[[int], None]]:
    """Give a function that is told how many bytes have come.

    Parameters
    ----------
    title : str
        What is downloaded.
    total : int or None
        Bytes in all, where known.
    done : int
        Bytes that are there already.
    wanted : bool or None
        None shows the bar if standard error is a terminal and rich is installed.
    """
    rich_progress = _load_bar() if wanted or (wanted is None and sys.stderr.isatty()) else None
    if rich_progress is None and wanted:
        raise ImportError("a progress bar needs rich, which is not here: pip install 'kedge[cli]', or progress=False")
    if rich_progress is None:
        yield lambda count: None
        return
    console = importlib.import_module("rich.console").Console(stderr=True)
    columns = ("{task.description}", rich_progress.BarColumn(), rich_progress.DownloadColumn())
    with rich_progress.Progress(*columns, rich_progress.TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task(title, total=total, completed=done)
        yield lambda count: bar.update(task, advance=count)


def _load_bar() -> Any:
    try:
        return importlib.import_module("rich.progress")
    except ImportError:
        return None
