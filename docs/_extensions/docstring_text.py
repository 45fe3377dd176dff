"""Escape signs in docstrings that reStructuredText would take for markup. Docstrings are plain text with formulas.

For example, ``n_iter_`` in the shape of an array is not a link, and ``|x|`` is not a substitution.
"""

import re
from typing import Any

from sphinx.application import Sphinx

_TYPE = re.compile(r"^(\s*\*{0,2}[\w, *]+ : )(.+)$")
_TRAILING_UNDERSCORE = re.compile(r"(?<=\w)_(?=[\s,)]|$)")
_LITERAL = re.compile(r"(``.*?``|`[^`]*`)")


def escape_markup(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Escape one docstring in place, outside of literals, examples and preformatted text."""
    in_literal = False
    for number, line in enumerate(lines):
        # A literal may go on over the end of a line.
        if line.count("``") % 2:
            in_literal = not in_literal
            continue
        if in_literal or line.lstrip().startswith((">>>", "...")):
            continue
        match = _TYPE.match(line)
        if match:
            line = match[1] + _outside_literals(match[2], lambda text: _TRAILING_UNDERSCORE.sub(r"\\_", text))
        lines[number] = _outside_literals(line, lambda text: text.replace("|", r"\|"))


def _outside_literals(line: str, change: Any) -> str:
    parts = _LITERAL.split(line)
    return "".join(part if place % 2 else change(part) for place, part in enumerate(parts))


def setup(app: Sphinx) -> dict[str, bool]:
    """Come before numpydoc, which splits the text into sections."""
    app.connect("autodoc-process-docstring", escape_markup, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
