"""The tables of docs/quality.md and of the README from the recorded runs: ``python -m benchmarks.quality.page``."""

import argparse
from pathlib import Path

import numpy as np

from benchmarks.quality import data, records, summary

ROOT = Path(__file__).parents[2]
PAGE, README = ROOT / "docs" / "quality.md", ROOT / "README.md"
MARKS = "<!-- tables -->", "<!-- end of tables -->"
HELD_OUT_MARKS = "<!-- held out -->", "<!-- end of held out -->"
# Columns of the README's table: those that get the number of clusters, then those that find it.
GIVEN = {"kedge, k given": "kedge", "k-means": "k-means", "UMAP graph + Leiden at k": "Leiden"}
FOUND = {
    "kedge, nothing given": "kedge, finds k",
    "UMAP + HDBSCAN": "UMAP + HDBSCAN",
    "UMAP graph + Leiden": "Leiden, finds k",
}
SHORT = {
    "kedge, k given": "kedge, k given",
    "kedge, nothing given": "kedge, nothing given",
    "last version, defaults": "0.1.0, defaults",
    "last version, automatic": "0.1.0, automatic",
    "SpectralClustering": "Spectral",
}


def markdown(header, lines):
    """Return a Markdown table, numbers to the right."""
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, rule, *lines))


def score_table(found, score):
    """Return means of a score, a row per set and a column per method, and the mean over the sets that all have."""
    methods = [name for name in summary.ORDER if any(name in by_method for by_method in found.values())]
    lines = []
    for name, by_method in found.items():
        values = [by_method[one].mean(score) if one in by_method else np.nan for one in methods]
        best = np.nanmax(values)
        lines.append([name, *(_cell(value, best) for value in values)])
    complete = [one for one in methods if all(one in by_method for by_method in found.values())]
    means = {one: np.mean([by_method[one].mean(score) for by_method in found.values()]) for one in complete}
    lines.append(["**mean**", *(_cell(means.get(one, np.nan), max(means.values())) for one in methods)])
    return markdown([score.upper(), *(SHORT.get(one, one) for one in methods)], lines)


def _cell(value, best):
    if np.isnan(value):
        return ""
    return f"**{value:.1f}**" if f"{value:.1f}" == f"{best:.1f}" else f"{value:.1f}"


def other_table(found, score, methods, digits):
    """Return means and deviations of a score for some methods."""
    lines = []
    for name, by_method in found.items():
        size = next(iter(by_method.values()))
        own = [by_method[one].words(score, digits) if one in by_method else "" for one in methods]
        lines.append([name, f"{by_method[methods[0]].n_rows:,}", str(size.n_classes), *own])
    return markdown(["", "rows", "classes", *(SHORT.get(one, one) for one in methods)], lines)


def tables(path=records.RECORDS):
    """Return all tables as Markdown."""
    found = summary.summarise(path)
    untold = [name for name in summary.ORDER if not summary.TOLD[name]]
    timed = [name for name in summary.ORDER if name not in summary.LAST_VERSION]
    parts = {
        "NMI": score_table(found, "nmi"),
        "Accuracy": score_table(found, "acc"),
        "Standard deviation over seeds (NMI) where k is given": other_table(found, "nmi", ["kedge, k given"], 1),
        "Number of clusters found, where it is not given": other_table(found, "found", untold, 1),
        "Processor seconds": other_table(found, "cpu_seconds", timed, 1),
    }
    return "\n\n".join(f"## {title}\n\n{table}" for title, table in parts.items())


def held_out_table(path=records.HELD_OUT, others=records.RECORDS):
    """Return NMI on the sets that had no part when the constants of kedge were settled."""
    above = summary.summarise(others, with_last_version=False)
    found = summary.summarise(path, with_last_version=False)
    return score_table(found | {name: above[name] for name in data.HELD_OUT_ABOVE}, "nmi")


def readme_table(path=records.RECORDS):
    """Return NMI and processor seconds as Markdown: kedge, three rivals, and the best of all rivals on each set."""
    found = summary.summarise(path)
    lines = []
    for name, by_method in found.items():
        rival = summary.best_rival(by_method)
        *given, best = _with_seconds(by_method, [*GIVEN, rival])
        size = by_method["kedge, k given"]
        title = (GIVEN | FOUND | SHORT).get(rival, rival)
        own = [name, f"{size.n_rows:,}", str(size.n_classes)]
        lines.append([*own, *given, f"{best} {title}", *_with_seconds(by_method, FOUND)])
    best = np.mean([by_method[summary.best_rival(by_method)].mean("nmi") for by_method in found.values()])
    given, untold = (
        [np.mean([of[one].mean("nmi") for of in found.values()]) for one in group] for group in (GIVEN, FOUND)
    )
    means = [*(_cell(one, max(*given, best)) for one in (*given, best)), *(_cell(one, max(untold)) for one in untold)]
    lines.append(["**mean**", "", "", *means])
    return markdown(["data", "rows", "k", *GIVEN.values(), "best rival", *FOUND.values()], lines)


def _with_seconds(by_method, methods):
    """Return a cell per method with its NMI and its processor seconds, the best NMI in bold."""
    found = [by_method[one] for one in methods]
    best = max(one.mean("nmi") for one in found)
    return [f"{_cell(one.mean('nmi'), best)} / {one.mean('cpu_seconds'):.1f} s" for one in found]


def put_into(page, text, marks=MARKS):
    """Replace what a page has between two marks."""
    begin, end = marks
    before, rest = page.read_text(encoding="utf-8").split(begin)
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{rest.split(end)[1]}", encoding="utf-8")


def main():
    """Print the tables, or write them into the pages."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.page", description=__doc__)
    parser.add_argument("--readme", action="store_true", help="print the table of the README instead")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/quality.md and README.md")
    arguments = parser.parse_args()
    if arguments.write:
        put_into(PAGE, tables())
        put_into(PAGE, held_out_table(), HELD_OUT_MARKS)
        put_into(README, readme_table())
    else:
        print(readme_table() if arguments.readme else tables())


if __name__ == "__main__":
    main()
