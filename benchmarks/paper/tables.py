"""Tables in Markdown and HTML: the paper's value, ours, and the difference; and short forms of them."""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.paper.plan import Cut, Experiment, Records, written
from benchmarks.paper.results import SIZES_OF_GROWTH, Line, Mean, finished_records, growth_exponent, summarise

HEADER = (
    "method",
    "ACC paper",
    "ACC ours",
    "difference",
    "ACC of our best run",
    "NMI paper",
    "NMI ours",
    "difference",
    "“purity” paper",
    "purity ours",
    "inverse purity ours",
    "s paper",
    "s ours",
    "setting",
)
EXPLANATION = (
    "Paper: the printed numbers, tuned with labels; its “purity” is the inverse purity for some methods. Ours: mean "
    "and standard deviation over the seeds given. ★12 marks numbers whose setting was chosen with the labels, as in "
    "the paper, here as the best of 12. The fits of other rows saw no labels, but the defaults of kedge were settled "
    "with the labels of most of these sets. Accuracy is after the best matching, mutual information is divided "
    "by the larger entropy, and both are in percent. Our seconds are processor time on one thread. Our "
    "best run is the best of all settings and seeds, picked with the labels. It is not a result; it shows what picking "
    "gives."
)
DIGEST_NOTE = "ACC / NMI in percent: the paper's → ours. ★12: the best of 12 settings by the labels, as in the paper."
# Points of accuracy or mutual information from which on a difference from the paper is given a sentence.
WORTH_A_SENTENCE = 5.0
# Relative steps of the objective: below the first it has settled, below the second rows are not solved that exactly.
SETTLED, ROUNDING = 1e-3, 1e-6
# Comments under this name hold for a method wherever its numbers are far from the paper's.
EVERY_SET = "every set"
UNEXPLAINED = "we do not know the reason yet"


@dataclass(frozen=True)
class Grid:
    """A table to be written: a caption, a header, rows of text, and sentences below."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    sentences: Sequence[str] = ()


def comparison_grids(experiment: Experiment, lines: Sequence[Line]) -> list[Grid]:
    """Return one table per data set."""
    grids = []
    notes = {column.label: column.note for column in experiment.columns}
    for data in experiment.data:
        own = [line for line in lines if line.data == data]
        remark = experiment.remarks.get(data, "")
        rows = [_comparison_row(line, notes[line.label]) for line in own]
        grids.append(Grid(f"{data}. {remark}".strip(), HEADER, rows, _sentences(experiment, own)))
    return grids


def far_from_paper(line: Line) -> bool:
    """Whether accuracy or mutual information differs from the paper's by so much that a reader will ask why."""
    pairs = [(line.means.get(measure), line.published.get(measure)) for measure in ("acc", "nmi")]
    return any(
        ours is not None and paper is not None and abs(ours.value - paper) > WORTH_A_SENTENCE for ours, paper in pairs
    )


def _sentences(experiment: Experiment, lines: Sequence[Line]) -> list[str]:
    sentences = []
    for line in lines:
        comment = experiment.comments.get(line.data, {}).get(line.label)
        if comment is None and far_from_paper(line):
            comment = experiment.comments.get(EVERY_SET, {}).get(line.label)
        if comment is None and line.data not in experiment.stands_for and far_from_paper(line):
            comment = UNEXPLAINED
        if comment is not None:
            sentences.append(f"{line.label}: {comment}")
    return sentences


def exponent_grid(experiment: Experiment, lines: Sequence[Line]) -> Grid:
    """Return the exponents of time over rows, beside what is stated."""
    rows = []
    all_stated = experiment.published.get("stated", {})
    for column in experiment.columns:
        own = [line for line in lines if line.label == column.label]
        exponent = growth_exponent(own)
        sizes = [line.n_rows for line in own if line.n_rows and line.means]
        stated = all_stated.get(column.published or "", {})
        largest = max(own, key=lambda line: line.n_rows or 0)
        seconds = largest.means.get("seconds")
        rows.append(
            [
                column.label,
                *([str(stated.get("cost", ""))] if all_stated else []),
                "" if exponent is None else f"n^{exponent:.2f}",
                f"{min(sizes):,} to {max(sizes):,}" if sizes else "",
                largest.reason or ("" if seconds is None else f"{seconds.value:.2f}"),
            ]
        )
    told = ("stated in the paper",) if all_stated else ()
    header = ("method", *told, f"measured, last {SIZES_OF_GROWTH} sizes", "rows", "s at the largest")
    return Grid(experiment.title, header, rows)


def objective_grid(experiment: Experiment, lines: Sequence[Line]) -> Grid:
    """Return how the objective moves: its values, how often it rises, and when it hardly moves any more."""
    header = ("data", "method", "setting", "first value", "last value", "iterations", "rises", "settled after")
    rows = []
    for line in lines:
        told = [line.data, line.label, line.reason or written(line.settings)]
        if line.records:
            values = np.array(line.records[0]["objective"])
            steps = np.diff(values) / np.abs(values[:-1])
            moving = np.flatnonzero(np.abs(steps) > SETTLED)
            settled = int(moving[-1]) + 2 if len(moving) else 1
            rises = int(np.count_nonzero(steps > ROUNDING))
            told += [f"{values[0]:.6g}", f"{values[-1]:.6g}", str(len(values))]
            told += [f"{rises} of {len(steps)}", str(settled)]
        rows.append(told + [""] * (len(header) - len(told)))
    note = f"Settled: no later step changes the objective by more than {100 * SETTLED:g} %."
    return Grid(experiment.title, header, rows, [note])


def anchors_grid(by_kmeans: Sequence[Line], by_ffs: Sequence[Line]) -> Grid:
    """Return the scores of anchors by k-means and by FFS side by side."""
    header = (
        "data",
        "method",
        "anchors",
        "seeds",
        "k-means: ACC",
        "NMI",
        "FFS: ACC",
        "NMI",
        "FFS less k-means: ACC",
        "NMI",
    )
    rows = []
    for line, other in zip(by_kmeans, by_ffs, strict=True):
        means = [one.means[measure] for one in (line, other) for measure in ("acc", "nmi") if one.means]
        n_seeds = str(len(line.records))
        told = [line.data, line.label, str(line.settings["n_anchors"]), n_seeds, *map(mean_text, means)]
        if len(means) == 4:
            told += [f"{means[2 + i].value - means[i].value:+.1f}" for i in range(2)]
        rows.append(told + [""] * (len(header) - len(told)))
    return Grid("Anchors by k-means and by FFS: mean and standard deviation, in percent", header, rows)


def ranges_grid(lines: Sequence[Line]) -> Grid:
    """Return how far scores move over alpha, over beta, and over both."""
    header = ("data", "method", "settings", "ACC, least to most", "NMI, least to most", "over alpha", "over beta")
    rows = []
    for data, label in dict.fromkeys((line.data, line.label) for line in lines):
        own = [line for line in lines if (line.data, line.label) == (data, label) and line.means]
        told = [data, label, str(len(own))]
        for measure in ("acc", "nmi"):
            values = [line.means[measure].value for line in own]
            told.append(f"{min(values):.1f} to {max(values):.1f}" if values else "")
        for held in ("beta", "alpha"):
            spans = []
            for value in {line.settings[held] for line in own}:
                found = [line.means["acc"].value for line in own if line.settings[held] == value]
                spans.append(max(found) - min(found))
            told.append(f"{max(spans):.1f}" if spans else "")
        rows.append(told)
    note = "Over alpha: the largest difference of ACC between two values of alpha at the same beta; over beta likewise."
    return Grid("How far scores move over alpha and beta, in percent", header, rows, [note])


def overview_grid(experiments: Sequence[Experiment], records: Records, cut: Cut) -> Grid:
    """Return how many units each experiment took and how long; experiments share units, the last row has each once."""
    found_of: dict[str, dict[str, dict[str, Any]]] = {}
    for experiment in experiments:
        pairs = [(data, column) for data in experiment.data for column in experiment.columns]
        found = [record for pair in pairs for record in finished_records(experiment, records, cut, *pair)]
        if found:
            found_of[f"[{experiment.title}]({experiment.name}.md)"] = {record["key"]: record for record in found}
    found_of["all together"] = {key: record for found in found_of.values() for key, record in found.items()}
    rows = []
    for title, units in found_of.items():
        seconds = sum(record.get("seconds", 0.0) + record.get("fit_seconds", 0.0) for record in units.values())
        failed = sum("failed" in record for record in units.values())
        made_by = ", ".join(sorted({record["versions"]["kedge"] for record in units.values()}))
        rows.append([title, f"{len(units):,}", str(failed), f"{seconds / 3600:.2f}", made_by])
    return Grid("What was run", ("table or figure", "units", "of them failed", "hours of fits", "by kedge"), rows)


def digest_grid(experiment: Experiment, records: Records, cut: Cut) -> Grid:
    """Return a table with a row per method and a column per data set of which there are results."""
    lines = summarise(experiment, records, cut)
    # A set that cannot be had has a column, unless another one stands for it.
    replaced = {experiment.stands_for[data] for data in experiment.stands_for}
    shown = [
        data
        for data in experiment.data
        if any(line.means for line in lines if line.data == data)
        or (data in experiment.unavailable and data not in replaced)
    ]
    rows = []
    for column in experiment.columns:
        own = {line.data: line for line in lines if line.label == column.label}
        rows.append([column.label, *(_digest_cell(own[data]) for data in shown)])
    notes = [f"{column.label}: {column.note}." for column in experiment.columns if column.note]
    return Grid(DIGEST_NOTE, ("method", *shown), rows, notes)


def _digest_cell(line: Line) -> str:
    paper = [line.published.get(measure) for measure in ("acc", "nmi")]
    published = " / ".join(f"{value:.1f}" for value in paper if value is not None)
    if not line.means:
        return f"{published} → {line.reason}".strip(" →")
    star = _star(line)
    ours = " / ".join(f"{line.means[measure].value:.1f}" for measure in ("acc", "nmi"))
    return (f"{published} → **{ours}**" if published else f"**{ours}**") + star


def as_markdown(grid: Grid) -> str:
    """Return a table in Markdown under its caption."""
    lines = [f"**{grid.caption}**", "", _markdown_row(grid.header), _markdown_row(["---"] * len(grid.header))]
    lines += [_markdown_row(row) for row in grid.rows]
    if grid.sentences:
        lines += ["", *(f"- {sentence}" for sentence in grid.sentences)]
    return "\n".join(lines) + "\n"


def as_html(grid: Grid) -> str:
    """Return a table in HTML."""
    head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in grid.header)
    body = "\n".join(
        f'<tr><th scope="row">{html.escape(row[0])}</th>'
        + "".join(_html_cell(name, cell) for name, cell in zip(grid.header[1:], row[1:], strict=True))
        + "</tr>"
        for row in grid.rows
    )
    caption = html.escape(grid.caption)
    notes = "".join(f"<li>{html.escape(sentence)}</li>\n" for sentence in grid.sentences)
    return f"<table><caption>{caption}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>\n" + (
        f"<ul>\n{notes}</ul>\n" if notes else ""
    )


def _html_cell(column: str, cell: str) -> str:
    """Return a cell that says by its class whose number it is."""
    whose = next((name for name in ("paper", "ours") if column.endswith(name)), None)
    kind = f' class="{whose}"' if whose else ""
    return f"<td{kind}>{html.escape(cell)}</td>"


def mean_text(mean: Mean | None) -> str:
    """Return a mean with its standard deviation; nothing if there is none."""
    return "" if mean is None else f"{mean.value:.1f} ± {mean.spread:.1f}"


def _comparison_row(line: Line, note: str) -> list[str]:
    star = _star(line)
    cells = [line.label + star]
    for measure in ("acc", "nmi"):
        ours, paper = line.means.get(measure), line.published.get(measure)
        spread = line.published.get(f"{measure}_std")
        cells += [_paper(paper, spread), _ours(ours, star), _difference(ours, paper)]
        if measure == "acc":
            cells.append("" if line.best_accuracy is None else f"{line.best_accuracy:.1f} ★")
    cells.append(_paper(line.published.get("purity"), line.published.get("purity_std")))
    cells += [_ours(line.means.get(measure), star) for measure in ("purity", "inverse_purity")]
    seconds = line.means.get("seconds")
    cells.append(_paper(line.published.get("seconds"), None))
    cells.append("" if seconds is None else f"{seconds.value:.2f}")
    if line.reason is not None:
        cells.append(line.reason)
    else:
        n_seeds = next(iter(line.means.values())).n_seeds
        chosen = f", best of {line.n_tried} by {line.n_choice_seeds} seeds" if line.n_tried > 1 else ""
        cells.append(f"{written(line.settings)}{chosen}; {n_seeds} seeds" + (f"; {note}" if note else ""))
    return cells


def _star(line: Line) -> str:
    """Return the mark of numbers whose setting was chosen with the labels, with the number of settings."""
    return f" ★{line.n_tried}" if line.n_tried > 1 else ""


def _ours(mean: Mean | None, star: str) -> str:
    return "" if mean is None else mean_text(mean) + star


def _paper(value: float | None, spread: float | None) -> str:
    if value is None:
        return ""
    return f"{value:g}" if spread is None else f"{value:g} ± {spread:g}"


def _difference(ours: Mean | None, paper: float | None) -> str:
    return "" if ours is None or paper is None else f"{ours.value - paper:+.1f}"


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
