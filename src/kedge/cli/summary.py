"""The lines that end ``kedge fit``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kedge.cli.run_record import REPORT_FILE

_MOST_SIZES = 20
_MOST_LINES = 6


def print_summary(run: Mapping[str, Any], sizes: Sequence[int], left_out: Sequence[str], out: Path) -> None:
    """Print rows, views, clusters, scores and where the results are."""
    lines = [("rows", f"{run['n_rows']:,}")]
    lines += _shortened([("view", _view_words(view)) for view in run["data"]], "views")
    shown = ", ".join(f"{size:,}" for size in sizes[:_MOST_SIZES])
    more = f" and {len(sizes) - _MOST_SIZES} more" if len(sizes) > _MOST_SIZES else ""
    lines += [("clusters", str(run["n_clusters"])), ("sizes", f"{shown}{more}")]
    if run["labels_given"] is not None:
        scores = run["labels_given"]["scores"].items()
        words = ", ".join(f"{name} {value:.3f}" for name, value in scores)
        lines.append((f"against {run['labels_given']['column']}", words))
    lines += _shortened([("left out", text) for text in left_out], "things left out")
    seconds = run["seconds"]
    lines.append(("seconds", ", ".join(f"{name} {value:.1f}" for name, value in seconds.items())))
    lines.append(("written to", str(out)))
    if (out / REPORT_FILE).exists():
        lines.append(("report", str(out / REPORT_FILE)))
    _print_lines(lines)


def _print_lines(lines: Sequence[tuple[str, str]]) -> None:
    """Print a name and a text per line; folded on a terminal, in one piece where a program reads them."""
    console = Console(highlight=False)
    if not console.is_terminal:
        width = max(len(name) for name, _ in lines)
        for name, text in lines:
            print(f"{name:<{width}}  {text}")
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, text in lines:
        table.add_row(escape(name), escape(text))
    console.print(table)


def _view_words(view: Mapping[str, Any]) -> str:
    return f"{view['name']}, {view['n_columns']:,} columns, from {Path(view['path']).name}"


def _shortened(lines: list[tuple[str, str]], what: str) -> list[tuple[str, str]]:
    if len(lines) <= _MOST_LINES:
        return lines
    return [*lines[:_MOST_LINES], ("", f"and {len(lines) - _MOST_LINES} more {what}")]
