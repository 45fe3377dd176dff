"""The pieces of the page: text, tables and figures. Text from data goes through :func:`escape`."""

import json
from collections.abc import Iterable, Sequence
from html import escape as escape_html
from typing import Any, Self, TypeAlias

from kedge.optional_libraries import load_library

Rows: TypeAlias = Iterable[Sequence[Any]]
# Longer names are cut on the page.
MOST_CHARACTERS = 60
# Axes of heat maps have no lines, which would show between the cells.
CELLS = {"showgrid": False, "zeroline": False, "ticks": ""}


class Section:
    """A part of the page: its id, its heading, its HTML, and the data of its figures by their ids."""

    def __init__(self, name: str, title: str) -> None:
        self.name, self.title, self.body = name, title, ""
        self.figures: dict[str, str] = {}

    def say(self, html: str) -> Self:
        """Add a paragraph; return the section, as the other methods do."""
        self.body += f"<p>{html}</p>"
        return self

    def tabulate(
        self, caption: str, header: Sequence[str], rows: Rows, *, numbers_from: int = 1, opened_by: str = ""
    ) -> Self:
        """Add a table; see :func:`_table`. With ``opened_by``, only these words show until one clicks on them."""
        html = _table(caption, header, rows, numbers_from)
        self.body += f"<details><summary>{escape(opened_by, 200)}</summary>{html}</details>" if opened_by else html
        return self

    def draw(
        self,
        traces: Sequence[dict[str, Any]],
        layout: dict[str, Any],
        height: int = 300,
        *,
        label: str,
        caption: str,
        listed: tuple[str, str, Sequence[str], Rows] | None = None,
        part: str = "",
    ) -> Self:
        """Add a figure, with a description for screen readers, a caption, and a table that opens on demand.

        ``listed`` holds the words that open the table, its caption, its header and its rows; ``part`` tells the figures
        of one section apart.
        """
        # The page sets the colours that follow the theme, as a trace says in ``meta``: "sequential" or "diverging" for
        # a colour scale, "outlined" for an outline in the colour of text.
        graph_objects = load_library("plotly.graph_objects", "report", "a report")
        margin, template = {"l": 10, "r": 10, "t": 20, "b": 10}, graph_objects.layout.Template()
        whole = {"height": height, "autosize": True, "margin": margin, "template": template} | layout
        figure = graph_objects.Figure(data=list(traces), layout=whole)
        name = f"{self.name}-figure{part}"
        self.figures[name] = _safe_in_script(str(figure.to_json()))
        self.body += (
            f'<figure><div class="plot" id="{name}" role="img" aria-label="{escape(label, 400)}" '
            f'style="min-height:{height}px"></div><figcaption>{caption}</figcaption>'
        )
        if listed is not None:
            self.tabulate(*listed[1:], opened_by=listed[0])
        self.body += "</figure>"
        return self


def shortened(value: Any, most: int = MOST_CHARACTERS) -> str:
    """Return a value as one short line; control characters, which could hide what follows, become spaces."""
    words = "".join(letter if letter.isprintable() else " " for letter in str(value)[: 4 * most]).strip()
    return words if len(words) <= most else words[: most - 1] + "…"


def escape(value: Any, most: int = MOST_CHARACTERS) -> str:
    """Return a value as short text for HTML, inside or outside of attributes."""
    return escape_html(shortened(value, most), quote=True)


def plotly_text(value: Any, most: int = 28) -> str:
    """Return a value as text for a figure; Plotly reads tags and entities in its texts."""
    return escape_html(shortened(value, most), quote=False)


def as_json(value: Any) -> str:
    """Return JSON that may stand in a script element."""
    return _safe_in_script(json.dumps(value, separators=(",", ":"), allow_nan=False))


def _safe_in_script(text: str) -> str:
    """Return JSON in which no tag can begin or end."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _table(caption: str, header: Sequence[str], rows: Rows, numbers_from: int = 1) -> str:
    """Return a table of escaped cells, which may be lists; columns from ``numbers_from`` on are aligned as numbers."""
    classes = [' class="number"' if place >= numbers_from else "" for place in range(len(header))]
    head = "".join(f'<th scope="col"{kind}>{escape(cell)}</th>' for cell, kind in zip(header, classes, strict=True))
    lines = []
    for row in rows:
        first, *rest = (_cell(cell) for cell in row)
        cells = "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(rest, classes[1:], strict=True))
        lines.append(f'<tr><th scope="row"{classes[0]}>{first}</th>{cells}</tr>')
    name = escape(caption, 200)
    return (
        f'<div class="wide" role="region" aria-label="{name}" tabindex="0"><table><caption>{name}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _cell(content: Any) -> str:
    """Return the HTML of a cell; lines break between the items of a list, not inside them."""
    if not isinstance(content, list):
        return escape(content, 400)
    return ",</span> ".join(f'<span class="item">{escape(item)}' for item in content) + "</span>"


def percent(share: float, digits: int = 1) -> str:
    """Return a share in percent."""
    return f"{100 * share:.{digits}f} %"


def counted(count: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def axis(title: str, **more: Any) -> dict[str, Any]:
    """Return an axis with room for its labels."""
    return {"title": {"text": title, "standoff": 12}, "automargin": True, **more}


def named_axis(title: str, names: Sequence[str], **more: Any) -> dict[str, Any]:
    """Return an axis whose whole numbers have names."""
    return axis(title, tickvals=list(range(len(names))), ticktext=list(names), **more)


def bars(x: Any, y: Any, hover: str, *, colours: Sequence[str], patterns: Sequence[str] = (), **more: Any) -> Any:
    """Return outlined bars, hatched with the patterns given."""
    pattern = {"pattern": {"shape": patterns, "size": 6}} if patterns else {}
    trace = {"type": "bar", "x": x, "y": y, "meta": "outlined", "marker": {"color": colours} | pattern}
    return trace | {"hovertemplate": f"{hover}<extra></extra>"} | more


def heat_map(z: Any, scale: str, title: str, hover: str, *, gap: int = 1, **more: Any) -> dict[str, Any]:
    """Return a heat map with its colour bar above, where it also fits on narrow screens."""
    bar = {"orientation": "h", "x": 0.5, "y": 1.0, "yanchor": "bottom", "thickness": 10, "len": 1.0}
    bar |= {"title": {"text": title, "side": "top"}, "ypad": 4, "outlinewidth": 0}
    trace = {"type": "heatmap", "meta": scale, "z": z, "colorbar": bar, "xgap": gap, "ygap": gap}
    return trace | {"hovertemplate": f"{hover}<extra></extra>"} | more
