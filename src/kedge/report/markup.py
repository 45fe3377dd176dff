"""Pieces of HTML; all text that comes from data goes through :func:`escape`."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape as escape_html
from typing import Any

# Names longer than this are cut on the page.
MOST_CHARACTERS = 60


@dataclass(frozen=True)
class Section:
    """A part of the page: its anchor, its heading, its HTML, and the data of its figures by their ids."""

    name: str
    title: str
    body: str
    figures: dict[str, str] = field(default_factory=dict)


def shortened(value: Any, most: int = MOST_CHARACTERS) -> str:
    """Return a value as one short line; control characters, which could hide what follows, become spaces."""
    words = "".join(letter if letter.isprintable() else " " for letter in str(value)[: 4 * most]).strip()
    return words if len(words) <= most else words[: most - 1] + "…"


def escape(value: Any, most: int = MOST_CHARACTERS) -> str:
    """Return a value as short text for HTML, inside or outside of attributes."""
    return escape_html(shortened(value, most), quote=True)


def plotly_text(value: Any, most: int = 28) -> str:
    """Return a value as text for a figure: Plotly reads tags and entities in its texts."""
    return escape_html(shortened(value, most), quote=False)


def as_json(value: Any) -> str:
    """Return JSON that may stand in a script element."""
    return safe_in_script(json.dumps(value, separators=(",", ":"), allow_nan=False))


def safe_in_script(text: str) -> str:
    """Return JSON in which no tag can begin or end."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def paragraph(*sentences: str) -> str:
    """Return a paragraph of sentences that are HTML already."""
    return f"<p>{' '.join(sentence for sentence in sentences if sentence)}</p>"


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[Any]], numbers_from: int = 1) -> str:
    """Return a table of escaped cells, some of them lists; columns from ``numbers_from`` on are set as numbers."""
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
    """Return the text of a cell; the items of a list are not broken where they fit on a line."""
    if not isinstance(content, list):
        return escape(content, 400)
    last = len(content) - 1
    items = (escape(item) + ("," if place < last else "") for place, item in enumerate(content))
    return " ".join(f'<span class="item">{item}</span>' for item in items)


def folded(summary: str, content: str) -> str:
    """Return content that opens on demand."""
    return f"<details><summary>{escape(summary, 200)}</summary>{content}</details>"


def figure(name: str, label: str, caption: str, *, height: int, alternative: str = "") -> str:
    """Return the place of a figure: what it shows in a sentence, and the same as a table where there is one."""
    return (
        f'<figure><div class="plot" id="{name}" role="img" aria-label="{escape(label, 400)}" '
        f'style="min-height:{height}px"></div><figcaption>{caption}</figcaption>{alternative}</figure>'
    )


def percent(share: float, digits: int = 1) -> str:
    """Return a share in percent."""
    return f"{100 * share:.{digits}f} %"


def counted(count: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"
