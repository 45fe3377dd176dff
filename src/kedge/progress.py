"""Progress on the terminal, drawn by rich; nothing if the output is not a terminal."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kedge.user_warnings import warn_user


class Progress:
    """Where a fit reports its progress: on a bar of rich, or nowhere if there is none."""

    def __init__(self, bar: Any = None) -> None:
        self._bar = bar
        self._task: Any = None

    def begin(self, what: str, n_rows: int | None = None) -> None:
        """Start a stage, which replaces the line of the last one; with a number of rows the stage has a bar."""
        if self._task is not None:
            self._bar.remove_task(self._task)
        if self._bar is not None:
            self._task = self._bar.add_task(what, total=n_rows)

    def rows_done(self, count: int) -> None:
        """Report rows of the current stage as done."""
        if self._task is not None:
            self._bar.advance(self._task, count)


@contextmanager
def show_progress(verbose: int) -> Iterator[Progress]:
    """Yield a progress bar if it was asked for and the output is a terminal."""
    is_shown = False
    if verbose:
        try:
            from rich import progress as bars
            from rich.console import Console
            from rich.text import Text

            console = Console(stderr=True)
            is_shown = console.is_terminal or console.is_jupyter
        except ImportError:
            fix = "pip install 'kedge[cli]', or set verbose=0"
            warn_user(f"verbose=1 shows progress with rich, which is not installed: {fix}")
    if not is_shown:
        yield Progress()
        return

    class RowsPerSecond(bars.ProgressColumn):
        """The speed, once there is one."""

        def render(self, task: Any) -> Text:
            return Text("" if not task.speed else f"{task.speed:,.0f} rows/s")

    columns = ("kedge: {task.description}", bars.BarColumn(), RowsPerSecond())
    times = (bars.TimeElapsedColumn(), bars.TimeRemainingColumn())
    with bars.Progress(*columns, *times, console=console, transient=True) as bar:
        yield Progress(bar)
