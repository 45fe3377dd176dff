"""The pages that a reader opens: tables and figures of every experiment, in Markdown and HTML.

Figures are drawn by matplotlib (extra ``plots``), as PNG and SVG.
"""

import html
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paper.plan import CHOOSING, Cut, Experiment, Records, written
from benchmarks.paper.results import Line, summarise
from benchmarks.paper.tables import (
    EXPLANATION,
    Grid,
    as_html,
    as_markdown,
    comparison_grids,
    exponent_grid,
    mean_text,
    objective_grid,
    overview_grid,
)

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
_CUT = "A CUT of the experiment, to see that it runs. No number here is a result."
# Measures that figures show.
SHOWN = {"acc": "ACC", "nmi": "NMI", "inverse_purity": "inverse purity"}


def write_pages(experiments: Sequence[Experiment], records: Records, cut: Cut, folder: Path) -> list[Path]:
    """Write the pages of the experiments into a folder and return their files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for experiment in experiments:
        lines = summarise(experiment, records, cut)
        figures = draw(experiment, lines, folder) if experiment.kind in DRAWERS else []
        pictures = [file.name for file in figures if file.suffix == ".svg"]
        texts = [_CUT] if cut.n_rows is not None else []
        texts += [EXPLANATION] if experiment.kind in CHOOSING else []
        # Tables of scores have the remarks in their captions.
        texts += [] if experiment.kind in CHOOSING else [f"{k}: {text}" for k, text in experiment.remarks.items()]
        if circumstances := _circumstances(lines):
            texts.append(f"Run on: {circumstances}.")
        stem = folder / experiment.name
        files += _write_page(stem, experiment.title, texts, _grids_of(experiment, lines), pictures) + figures
    return files


def write_overview(experiments: Sequence[Experiment], records: Records, cut: Cut, folder: Path) -> list[Path]:
    """Write the page that links the others and says what was run; experiments without any result are left out."""
    texts = ["The paper's tables and figures beside ours. Experiments share units; the last row counts each unit once."]
    texts += [_CUT] if cut.n_rows is not None else []
    grid = overview_grid(experiments, records, cut)
    return _write_page(folder / "index", "Reproduction of the paper", texts, [grid])


def _write_page(
    stem: Path, heading: str, texts: Sequence[str], grids: Sequence[Grid], pictures: Sequence[str] = ()
) -> list[Path]:
    """Write one page in Markdown and in HTML and return both files."""
    parts = [f"# {heading}", *texts, *(as_markdown(grid).strip() for grid in grids)]
    parts += [f"![{heading}]({picture})" for picture in pictures]
    title = html.escape(heading)
    paragraphs = "\n".join(f"<p>{html.escape(text)}</p>" for text in texts)
    # Links of the tables, from Markdown to HTML.
    tables = re.sub(r"\[([^\]]*)\]\(([^)]*)\.md\)", r'<a href="\2.html">\1</a>', "\n".join(map(as_html, grids)))
    images = "\n".join(f'<img src="{html.escape(picture)}" alt="{title}">' for picture in pictures)
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    page = (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head>\n'
        f"<body><h1>{title}</h1>\n{paragraphs}\n{tables}\n{images}\n</body></html>\n"
    )
    files = [stem.with_name(f"{stem.name}.md"), stem.with_name(f"{stem.name}.html")]
    for file, text in zip(files, ("\n\n".join(parts) + "\n", page), strict=True):
        file.write_text(text, encoding="utf-8")
    return files


def _grids_of(experiment: Experiment, lines: list[Line]) -> list[Grid]:
    if experiment.kind in CHOOSING:
        return comparison_grids(experiment, lines)
    if experiment.kind in ("time", "complexity"):
        return [exponent_grid(experiment, lines)]
    if experiment.kind == "objective":
        return [objective_grid(experiment, lines)]
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
    """Say when, on what and with which code the units were run; all machines, versions and commits are named."""
    records = [record for line in lines for record in line.records]
    if not records:
        return ""
    told: dict[str, None] = {}
    for record in records:
        versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
        told[f"{record['machine']}; {record['side_by_side']} units side by side; {versions}"] = None
    days = sorted({record["when"][:10] for record in records})
    commits = ", ".join(
        dict.fromkeys(record.get("commit", "not recorded") for record in sorted(records, key=lambda one: one["when"]))
    )
    return f"{' / '.join(told)}; commit {commits}; {' to '.join(dict.fromkeys([days[0], days[-1]]))}"


def draw(experiment: Experiment, lines: Sequence[Line], folder: Path) -> list[Path]:
    """Draw the figures of an experiment and return their files; one per data set where data sets are apart."""
    drawer = DRAWERS[experiment.kind]
    if experiment.kind in ("objective", "time", "complexity"):
        return _save(drawer, list(lines), experiment.title, folder / experiment.name)
    files = []
    for data in experiment.data:
        own = [line for line in lines if line.data == data and line.means]
        for label in dict.fromkeys(line.label for line in own):
            stem = f"{experiment.name}-{data}" + ("" if label == own[0].label else "-kedge")
            shown = [line for line in own if line.label == label]
            files += _save(drawer, shown, f"{experiment.title}: {data}, {label}", folder / stem)
    return files


def _save(drawer: Callable[[Any, list[Line]], None], lines: list[Line], title: str, stem: Path) -> list[Path]:
    # The object-oriented interface needs no display and leaves no global state.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    drawer(figure, lines)
    figure.suptitle(title)
    stem.parent.mkdir(parents=True, exist_ok=True)
    files = [stem.with_name(f"{stem.name}.{kind}") for kind in ("png", "svg")]
    for file in files:
        figure.savefig(file, dpi=150, metadata={"Date": None} if file.suffix == ".svg" else None)
    return files


def _over_anchors(figure: Any, lines: list[Line]) -> None:
    axes = figure.subplots()
    ordered = sorted(lines, key=lambda line: int(line.settings["n_anchors"]))
    n_anchors = [int(line.settings["n_anchors"]) for line in ordered]
    for measure, name in SHOWN.items():
        means = [line.means[measure] for line in ordered]
        axes.errorbar(n_anchors, [m.value for m in means], [m.spread for m in means], marker="o", capsize=3, label=name)
    axes.set_xlabel("number of anchors")
    axes.set_ylabel("percent, mean and standard deviation over seeds")
    axes.legend()


def _over_alpha_and_beta(figure: Any, lines: list[Line]) -> None:
    alphas = sorted({float(line.settings["alpha"]) for line in lines})
    betas = sorted({float(line.settings["beta"]) for line in lines})
    axes = figure.subplots(1, len(SHOWN), sharey=True)
    for panel, (measure, name) in zip(np.atleast_1d(axes), SHOWN.items(), strict=True):
        table = np.full((len(alphas), len(betas)), np.nan)
        for line in lines:
            place = alphas.index(float(line.settings["alpha"])), betas.index(float(line.settings["beta"]))
            table[place] = line.means[measure].value
        image = panel.imshow(table, origin="lower", aspect="auto", cmap="viridis")
        middle = (np.nanmin(table) + np.nanmax(table)) / 2
        for (row, column), value in np.ndenumerate(table):
            color = "black" if value > middle else "white"
            panel.text(column, row, f"{value:.0f}", ha="center", va="center", color=color, fontsize=7)
        panel.set_xticks(range(len(betas)), [f"{beta:g}" for beta in betas], rotation=45)
        panel.set_yticks(range(len(alphas)), [f"{alpha:g}" for alpha in alphas])
        panel.set_xlabel("beta")
        panel.set_title(name)
        figure.colorbar(image, ax=panel, shrink=0.7)
    np.atleast_1d(axes)[0].set_ylabel("alpha")


def _objectives(figure: Any, lines: list[Line]) -> None:
    axes = figure.subplots()
    for line in lines:
        if line.records:
            values = np.array(line.records[0]["objective"])
            axes.plot(np.arange(1, len(values) + 1), values / values[0], marker="o", label=f"{line.data}, {line.label}")
    axes.set_xlabel("iteration")
    axes.set_ylabel("objective, share of that of the first iteration")
    axes.legend()


def _time_over_rows(figure: Any, lines: list[Line]) -> None:
    axes = figure.subplots()
    for label in dict.fromkeys(line.label for line in lines):
        own = [line for line in lines if line.label == label and line.means]
        axes.loglog([line.n_rows for line in own], [line.means["seconds"].value for line in own], "o-", label=label)
    axes.set_xlabel("rows")
    axes.set_ylabel("seconds")
    axes.legend(fontsize=7, ncols=2)


DRAWERS: dict[str, Callable[[Any, list[Line]], None]] = {
    "anchors": _over_anchors,
    "sensitivity": _over_alpha_and_beta,
    "objective": _objectives,
    "time": _time_over_rows,
    "complexity": _time_over_rows,
}
