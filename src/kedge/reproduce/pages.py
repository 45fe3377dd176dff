"""The pages that a reader opens: tables and figures of every experiment, in Markdown and HTML."""

import html
import re
from collections.abc import Sequence
from pathlib import Path

from kedge.reproduce.digest import overview_grid
from kedge.reproduce.figures import DRAWERS, draw
from kedge.reproduce.plan import Experiment
from kedge.reproduce.stages import CHOOSING, Cut, Records
from kedge.reproduce.summary import Line, summarise
from kedge.reproduce.tables import EXPLANATION, Grid, as_html, as_markdown, comparison_grids, exponent_grid, mean_text
from kedge.reproduce.units import written

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1.5rem 0; display: block; overflow-x: auto; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { border-bottom: 1px solid #8886; padding: .25rem .6rem; text-align: right; white-space: nowrap; }
th[scope=row], td:last-child { text-align: left; }
td.paper { color: #8a4b00; font-style: italic; }
td.ours { font-weight: 600; }
img { max-width: 100%; background: #fff; }
@media (prefers-color-scheme: dark) {
  body { background: #16181c; color: #e6e6e6; } a { color: #8ab4f8; } td.paper { color: #f0b060; } }
"""


_CUT = "A CUT of the experiment, to see that it runs; no number here is a result."
_OVERVIEW = "Reproduction of the paper"


def write_pages(experiments: Sequence[Experiment], records: Records, cut: Cut, folder: Path) -> list[Path]:
    """Write the pages of the experiments into a folder and return their files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for experiment in experiments:
        lines = summarise(experiment, records, cut)
        grids = _grids_of(experiment, lines)
        figures = draw(experiment, lines, folder) if experiment.kind in DRAWERS else []
        pictures = [file.name for file in figures if file.suffix == ".svg"]
        markdown = _markdown(experiment, grids, pictures, _circumstances(lines), cut)
        page = _html(experiment, grids, pictures, _circumstances(lines), cut)
        for suffix, text in (("md", markdown), ("html", page)):
            file = folder / f"{experiment.name}.{suffix}"
            file.write_text(text, encoding="utf-8")
            files.append(file)
        files += figures
    return files


def write_overview(experiments: Sequence[Experiment], records: Records, cut: Cut, folder: Path) -> list[Path]:
    """Write the page that links the others and says what was run; experiments without any result are left out."""
    grid = overview_grid(experiments, records, cut)
    texts = ["The paper's tables and figures beside ours. Experiments share units; the last row counts each once."]
    if cut.n_rows is not None:
        texts.append(_CUT)
    markdown, page = folder / "index.md", folder / "index.html"
    body = [f"# {_OVERVIEW}", *texts, as_markdown(grid).strip()]
    markdown.write_text("\n\n".join(body) + "\n", encoding="utf-8")
    page.write_text(_html_page(_OVERVIEW, texts, _with_html_links(as_html(grid))), encoding="utf-8")
    return [markdown, page]


def _with_html_links(table: str) -> str:
    """Turn the links of a table from Markdown to HTML."""
    return re.sub(r"\[([^\]]*)\]\(([^)]*)\.md\)", r'<a href="\2.html">\1</a>', table)


def _grids_of(experiment: Experiment, lines: list[Line]) -> list[Grid]:
    if experiment.kind in CHOOSING:
        return comparison_grids(experiment, lines)
    if experiment.kind in ("time", "complexity"):
        return [exponent_grid(experiment, lines)]
    if experiment.kind == "objective":
        return []
    header = ("data", "method", "setting", "ACC", "NMI", "purity", "inverse purity")
    measures = ("acc", "nmi", "purity", "inverse_purity")
    rows = [
        [
            line.data,
            line.label,
            line.reason or written(line.settings),
            *(mean_text(line.means.get(m)) for m in measures),
        ]
        for line in lines
    ]
    return [Grid(experiment.title, header, rows)]


def _circumstances(lines: list[Line]) -> str:
    """Say on what the units were run; the records of several machines are all named."""
    told: dict[str, None] = {}
    for line in lines:
        for record in line.records:
            versions = ", ".join(f"{name} {number}" for name, number in record.get("versions", {}).items())
            told[f"{record.get('machine')}; {record.get('side_by_side')} units side by side; {versions}"] = None
    return " / ".join(told)


def _intro(experiment: Experiment, circumstances: str, cut: Cut) -> list[str]:
    texts = []
    if cut.n_rows is not None:
        texts.append(_CUT)
    if experiment.kind in CHOOSING:
        texts.append(EXPLANATION)
    if circumstances:
        texts.append(f"Run on: {circumstances}.")
    return texts


def _markdown(experiment: Experiment, grids: list[Grid], pictures: list[str], circumstances: str, cut: Cut) -> str:
    parts = [f"# {experiment.title}", *_intro(experiment, circumstances, cut)]
    parts += [as_markdown(grid) for grid in grids]
    parts += [f"![{experiment.title}]({picture})" for picture in pictures]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _html(experiment: Experiment, grids: list[Grid], pictures: list[str], circumstances: str, cut: Cut) -> str:
    tables = "\n".join(as_html(grid) for grid in grids)
    alt = html.escape(experiment.title)
    images = "\n".join(f'<img src="{html.escape(picture)}" alt="{alt}">' for picture in pictures)
    return _html_page(experiment.title, _intro(experiment, circumstances, cut), f"{tables}\n{images}")


def _html_page(heading: str, texts: Sequence[str], body: str) -> str:
    title = html.escape(heading)
    paragraphs = "\n".join(f"<p>{html.escape(text)}</p>" for text in texts)
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head>\n'
        f"<body><h1>{title}</h1>\n{paragraphs}\n{body}\n</body></html>\n"
    )
