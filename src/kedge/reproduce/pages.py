"""The pages that a reader opens: tables and figures of every experiment, in Markdown and HTML."""

import html
from collections.abc import Sequence
from pathlib import Path

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
img { max-width: 100%; background: #fff; }
@media (prefers-color-scheme: dark) { body { background: #16181c; color: #e6e6e6; } a { color: #8ab4f8; } }
"""


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
        texts.append("A CUT of the experiment, to see that it runs; no number here is a result.")
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
    title = html.escape(experiment.title)
    texts = "\n".join(f"<p>{html.escape(text)}</p>" for text in _intro(experiment, circumstances, cut))
    tables = "\n".join(as_html(grid) for grid in grids)
    images = "\n".join(f'<img src="{html.escape(picture)}" alt="{title}">' for picture in pictures)
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head>\n'
        f"<body><h1>{title}</h1>\n{texts}\n{tables}\n{images}\n</body></html>\n"
    )
