"""A table of words, as text, Markdown, CSV or HTML."""

import csv
import html
import io
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A title, the names of the columns, and lines of cells."""

    title: str
    header: list[str]
    lines: list[list[str]]

    def is_number(self, column: int) -> bool:
        """Whether every cell of a column is a number or empty, so that it stands to the right."""
        cells = [line[column] for line in self.lines]
        return any(cells) and all(not cell or _is_number(cell) for cell in cells)


def text_of(table: Table) -> str:
    """Return the table in columns of equal width."""
    rows = [table.header, *table.lines]
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.header))]
    shown = [table.title] if table.title else []
    for row in rows:
        cells = [
            cell.rjust(width) if table.is_number(column) else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        shown.append("  ".join(cells).rstrip())
    return "\n".join(shown)


def markdown_of(table: Table) -> str:
    """Return a Markdown table under its title."""
    rules = ["---:" if table.is_number(column) else "---" for column in range(len(table.header))]
    rows = [[_markdown_cell(cell) for cell in row] for row in (table.header, *table.lines)]
    lines = [f"| {' | '.join(row)} |" for row in [rows[0], rules, *rows[1:]]]
    return "\n".join([f"**{table.title}**", "", *lines] if table.title else lines)


def html_of(table: Table) -> str:
    """Return an HTML table with its title as caption."""
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in table.header)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in line)}</tr>\n" for line in table.lines)
    caption = f"<caption>{html.escape(table.title)}</caption>" if table.title else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>"


def csv_of(table: Table) -> str:
    """Return comma-separated lines, quoted where needed."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([table.header, *table.lines])
    return buffer.getvalue()


def _markdown_cell(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", ""))
    except ValueError:
        return False
    return True
