"""The result of a comparison, and its tables as text, Markdown, CSV and HTML."""

import csv
import html
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kedge.metrics import ari, clustering_accuracy, nmi, purity

SCORES: dict[str, Callable[..., float]] = {"accuracy": clustering_accuracy, "nmi": nmi, "ari": ari, "purity": purity}
AGREEMENTS: dict[str, Callable[..., float]] = {"nmi": nmi, "ari": ari}
# Columns of words; all others hold numbers and are aligned to the right.
WORDS = ("method", "notes")


class Table(NamedTuple):
    """A title, the names of the columns, and lines of cells."""

    title: str
    header: list[str]
    lines: list[list[str]]

    def to_text(self) -> str:
        """Return the table in columns of equal width."""
        columns = []
        for cells in zip(self.header, *self.lines, strict=True):
            width = max(map(len, cells))
            columns.append([cell.ljust(width) if cells[0] in WORDS else cell.rjust(width) for cell in cells])
        return "\n".join([self.title, *("  ".join(row).rstrip() for row in zip(*columns, strict=True))])

    def to_markdown(self) -> str:
        """Return a Markdown table under its title."""
        rules = ["---" if name in WORDS else "---:" for name in self.header]
        rows = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in (self.header, *self.lines)]
        lines = [f"| {' | '.join(row)} |" for row in [rows[0], rules, *rows[1:]]]
        return "\n".join([f"**{self.title}**", "", *lines])

    def to_html(self) -> str:
        """Return an HTML table with its title as caption."""
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in self.header)
        body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in line)}</tr>\n" for line in self.lines)
        caption = f"<caption>{html.escape(self.title)}</caption>"
        return f"<table>{caption}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>"


def spell_out(method: str, settings: dict[str, Any]) -> str:
    """Return a method and its settings in one word."""
    listed = ",".join(f"{name}={value}" for name, value in settings.items())
    return f"{method}:{listed}" if listed else method


@dataclass(frozen=True)
class MethodResult:
    """One method of a comparison.

    Attributes
    ----------
    method : str
        Its name.
    settings : dict
        Parameters that were set.
    status : {"ran", "refused", "failed"}
        Whether there are labels; "refused" means that it did not start.
    reason : str
        Why there are no labels.
    labels : ndarray of shape (n_samples,) or None
        Clusters.
    seconds : float or None
        Time of the fit alone, without reading data or starting a process.
    peak_bytes : int or None
        Peak memory of the fit, beyond the rows and the libraries; None if the system does not report it.
    scores : dict of str to float
        Against the labels given: accuracy, nmi, ari, purity; empty without them.
    notes : tuple of str
        What was done to the data for this method, and warnings of the fit.
    """

    method: str
    settings: dict[str, Any]
    status: str
    reason: str = ""
    labels: NDArray[np.int64] | None = None
    seconds: float | None = None
    peak_bytes: int | None = None
    scores: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Method and settings in one word."""
        return spell_out(self.method, self.settings)

    @property
    def n_clusters(self) -> int | None:
        """Number of clusters found."""
        return None if self.labels is None else len(np.unique(self.labels))


@dataclass(frozen=True)
class Comparison:
    """Several methods on the same rows; prints as a table.

    Attributes
    ----------
    rows : list of MethodResult
        One per method, in the order given; methods without labels say why.
    n_samples : int
        Rows of the data.
    view_names : tuple of str
        Views of the data.
    has_labels : bool
        Whether labels were given to score against.
    """

    rows: list[MethodResult]
    n_samples: int
    view_names: tuple[str, ...]
    has_labels: bool

    @property
    def finished(self) -> list[MethodResult]:
        """The methods that have labels."""
        return [row for row in self.rows if row.labels is not None]

    def agreement(self, measure: str = "nmi") -> NDArray[np.float64]:
        """Return how much the labels of every two methods agree.

        Parameters
        ----------
        measure : {"nmi", "ari"}, default="nmi"
            Normalised mutual information or adjusted Rand index.

        Returns
        -------
        agreement : ndarray of shape (n_finished, n_finished)
            Symmetric, in the order of ``finished``; one on the diagonal.
        """
        if measure not in AGREEMENTS:
            raise ValueError(f"measure={measure!r} should be one of {', '.join(map(repr, AGREEMENTS))}")
        labels = [row.labels for row in self.finished]
        table = np.eye(len(labels))
        for i, first in enumerate(labels):
            for j in range(i):
                table[i, j] = table[j, i] = AGREEMENTS[measure](first, labels[j])
        return table

    def tables(self) -> list[Table]:
        """Return the table of methods, and tables of their agreement if no labels were given."""
        shown = [self._table_of_methods()]
        if not self.has_labels and len(self.finished) > 1:
            names = [row.name for row in self.finished]
            for measure, title in (("nmi", "Agreement, NMI in %"), ("ari", "Agreement, adjusted Rand in %")):
                values = self.agreement(measure)
                cells = [[name, *(f"{100 * v:.1f}" for v in line)] for name, line in zip(names, values, strict=True)]
                shown.append(Table(title, ["method", *names], cells))
        return shown

    def _table_of_methods(self) -> Table:
        scores = list(SCORES) if self.has_labels else []
        header = ["method", "clusters", *(f"{score}, %" for score in scores), "seconds", "peak MiB", "notes"]
        lines = []
        for row in self.rows:
            line = [row.name, _shown(row.n_clusters, "d")]
            line += [_shown(None if row.labels is None else 100 * row.scores[score], ".1f") for score in scores]
            line += [_shown(row.seconds, ".3f"), _shown(row.peak_bytes and row.peak_bytes / 2**20, ",.1f")]
            reason = [f"{row.status}: {row.reason}"] if row.reason else []
            lines.append([*line, "; ".join([*reason, *row.notes])])
        views = "" if len(self.view_names) == 1 else f", views {', '.join(self.view_names)}"
        return Table(f"{self.n_samples:,} rows{views}", header, lines)

    def to_text(self) -> str:
        """Return the tables for a terminal, as ``print`` shows them."""
        return "\n\n".join(table.to_text() for table in self.tables()) + "\n"

    def to_markdown(self) -> str:
        """Return the tables in Markdown."""
        return "\n\n".join(table.to_markdown() for table in self.tables()) + "\n"

    def to_html(self) -> str:
        """Return the tables in HTML."""
        return "\n".join(table.to_html() for table in self.tables()) + "\n"

    def to_csv(self) -> str:
        """Return one line per method, with exact numbers, and scores or the agreement with other methods."""
        names = [row.name for row in self.finished]
        pairs = {measure: self.agreement(measure) for measure in AGREEMENTS} if not self.has_labels else {}
        scores = list(SCORES) if self.has_labels else []
        header = ["method", "settings", "status", "n_clusters", *scores, "seconds", "peak_bytes", "reason", "notes"]
        header += [f"{measure} with {name}" for measure in pairs for name in names]
        lines, n_finished = [], 0
        for row in self.rows:
            line: list[Any] = [row.method, row.name.partition(":")[2], row.status, row.n_clusters]
            line += [row.scores.get(score) for score in scores]
            line += [row.seconds, row.peak_bytes, row.reason, "; ".join(row.notes)]
            for values in pairs.values():
                line += [None] * len(names) if row.labels is None else values[n_finished].tolist()
            n_finished += row.labels is not None
            lines.append(line)
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows([header, *lines])
        return buffer.getvalue()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts and lists, for JSON; ``agreement`` is between finished methods."""
        rows = []
        for row in self.rows:
            labels = None if row.labels is None else row.labels.tolist()
            rows.append(vars(row) | {"n_clusters": row.n_clusters, "notes": list(row.notes), "labels": labels})
        agreement: dict[str, Any] = {"methods": [row.name for row in self.finished]}
        agreement |= {measure: self.agreement(measure).tolist() for measure in AGREEMENTS}
        return {
            "n_samples": self.n_samples,
            "views": list(self.view_names),
            "has_labels": self.has_labels,
            "methods": rows,
            "agreement": agreement,
        }

    __str__ = to_text
    _repr_html_ = to_html


def _shown(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
