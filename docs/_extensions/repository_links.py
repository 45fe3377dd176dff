"""Turn links from pages to files of the repository into links of the site.

You can read the pages in the repository and on the site. What a page links to outside of ``docs`` comes along if the
site can show it: pages of the reproduced tables are copied to ``paper``, programs of ``examples`` are in the gallery,
and files of printed output can be downloaded. A link to a folder becomes plain text.
"""

import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

_LINK = re.compile(r"\[([^\]]*)\]\((\.\./[^)\s]+)\)", re.DOTALL)
_PAPER = "../benchmarks/paper/results/"
_SHOWN = (".md", ".svg")


def bring_paper_pages(app: Sphinx) -> None:
    """Copy the pages and figures of the reproduced tables beside the other pages."""
    recorded = (Path(app.srcdir) / _PAPER).resolve()
    copies = Path(app.srcdir) / "paper"
    copies.mkdir(exist_ok=True)
    for path in recorded.iterdir():
        copy = copies / path.name
        if path.suffix in _SHOWN and not (copy.exists() and copy.read_bytes() == path.read_bytes()):
            shutil.copyfile(path, copy)


def rewrite_links(app: Sphinx, page: str, source: list[str]) -> None:
    """Rewrite the links of one page, as it is read."""
    folder = (Path(app.srcdir) / page).parent

    def rewritten(match: re.Match[str]) -> str:
        text, target = match.groups()
        if target.startswith(_PAPER) and target.endswith(".md"):
            return f"[{text}](paper/{target.removeprefix(_PAPER)})"
        if target.startswith("../examples/"):
            return f"[{text}](gallery/{Path(target).stem}.rst)"
        if (folder / target).is_dir():
            return text
        return match.group(0)

    if not page.startswith("gallery/"):
        source[0] = _LINK.sub(rewritten, source[0])
    if page == "paper/index":
        others = sorted(path.stem for path in folder.glob("*.md") if path.stem != "index")
        source[0] += "\n".join(["", "```{toctree}", ":hidden:", "", *others, "```", ""])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register both steps."""
    app.connect("builder-inited", bring_paper_pages, priority=100)
    app.connect("source-read", rewrite_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
