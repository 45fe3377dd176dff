"""Progress on the terminal: a bar per iteration by rich, nothing when the output is not a terminal."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from kedge.user_warnings import warn_user


class Progress(Protocol):
    """What a fit tells about its work."""

    def begin(self, what: str, n_rows: int | None = None) -> None:
        """Start a stage; with a number of rows the stage has a bar."""
        ...

    def rows_done(self, count: int) -> None:
        """Say that rows of the present stage are done."""
        ...


class Silence:
    """Shows nothing."""

    def begin(self, what: str, n_rows: int | None = None) -> None:
        """Do nothing."""

    def rows_done(self, count: int) -> None:
        """Do nothing."""


class TerminalBar:
    """One line per stage, with rows per second and the time left."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._task: Any = None

    def begin(self, what: str, n_rows: int | None = None) -> None:
        """Start a new line."""
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(what, total=n_rows)

    def rows_done(self, count: int) -> None:
        """Advance the bar."""
        if self._task is not None:
            self._bar.advance(self._task, count)


@contextmanager
def show_progress(verbose: int) -> Iterator[Progress]:
    """Yield where a fit reports its stages: a bar if asked for and someone can see it."""
    if not verbose:
        yield Silence()
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, ProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress
        from rich.text import Text
    except ImportError:
        warn_user(
            "verbose=1 shows progress with rich, which is not installed: pip install 'kedge[cli]', or set verbose=0"
        )
        yield Silence()
        return
    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        yield Silence()
        return

    class RowsPerSecond(ProgressColumn):
        """The speed, once there is one."""

        def render(self, task: Any) -> Text:
            return Text("" if not task.speed else f"{task.speed:,.0f} rows/s")

    columns = (TextColumn("kedge: {task.description}"), BarColumn(), RowsPerSecond())
    times = (TimeElapsedColumn(), TimeRemainingColumn())
    with RichProgress(*columns, *times, console=console, transient=True) as bar:
        yield TerminalBar(bar)
