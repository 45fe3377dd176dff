"""What docs/speed.md and the README show of the recorded output: ``python -m benchmarks.speed.page [--write]``."""

import argparse
from pathlib import Path

from benchmarks.quality.page import markdown, put_into
from benchmarks.speed import picture, recorded
from benchmarks.speed.rivals import COARSE, METHODS, OURS
from benchmarks.speed.table import ABSENT

ROOT = Path(__file__).parents[2]
PAGE, README = ROOT / "docs" / "speed.md", ROOT / "README.md"
PAGE_MARKS = "<!-- measured -->", "<!-- end of measured -->"
README_MARKS = "<!-- speed -->", "<!-- end of speed -->"
ALT = "Seconds of a fit and NMI of every method on five data sets"


def score_table(found, score, with_seconds):
    """Return a score in percent, a row per method and a column per data set, with the seconds if wanted."""
    lines = []
    for method in METHODS:
        cells = [_cell(one.cells.get(method), score, with_seconds) for one in found.values()]
        if any(cells):
            lines.append([f"**{method}**" if method in (OURS, COARSE) else method, *cells])
    return markdown([score, *(recorded.TITLES[name] for name in found)], lines)


def _cell(row, score, with_seconds):
    if row is None:
        return ""
    if row[score] == ABSENT:
        return f"{row['seconds']} s" if with_seconds else ""
    seconds = f" / {_seconds(row['seconds'])} s" if with_seconds else ""
    return f"{100 * float(row[score]):.1f}{seconds}" + ("†" if row["rounds"] == "1" else "")


def _seconds(printed):
    """Return seconds with two decimals below ten."""
    return f"{float(printed):.2f}" if float(printed) < 10 else f"{float(printed):.0f}"


def ratio_table(found):
    """Return how long kedge takes beside k-means and beside bare products."""
    columns = ("to KMeans", "to fastest", "bare products")
    lines = []
    for name, one in found.items():
        for method in (OURS, COARSE):
            if method in one.cells:
                lines.append([f"{recorded.TITLES[name]}, {method}", *(one.cells[method][column] for column in columns)])
    return markdown(["seconds of kedge over those of", "KMeans", "the fastest k-means", "a bare product"], lines)


def verdict(found, score="NMI"):
    """Return in sentences on which sets no rival is ahead of kedge, and who is on the others."""
    free = [recorded.TITLES[name] for name, one in found.items() if not one.ahead(score)]
    words = []
    if free:
        none = f"no rival reaches kedge's front: each is slower or has a lower {score} than every point on it"
        words.append(f"On {_listed(free)}, {none}.")
    for name, one in found.items():
        if one.ahead(score):
            rivals = _listed(one.ahead(score), "; ")
            reached = f"these reach kedge's front, no slower and with no lower {score} than a point on it"
            words.append(f"On {recorded.TITLES[name]}, {reached}: {rivals}.")
    return " ".join(words)


def _listed(words, separator=", "):
    return f"{separator.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def measured(found):
    """Return what the page shows: the picture, who is ahead, and the tables."""
    parts = [f"![{ALT}](speed_front.png)", verdict(found), verdict(found, "ACC")]
    parts += [score_table(found, "NMI", True), score_table(found, "ACC", False), ratio_table(found)]
    return "\n\n".join(parts)


def in_readme(found):
    """Return what the README shows."""
    rivals = "k-means of scikit-learn, scikit-learn-intelex and faiss, UMAP with k-means, and Leiden"
    told = f"This is the quality of clusters against the seconds of a fit, beside {rivals}"
    return f"![{ALT}](docs/speed_front.png)\n\n{told} ([how it was measured](docs/speed.md)). {verdict(found)}"


def main():
    """Print what the pages show, or write it into them and draw the picture."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.page", description=__doc__)
    parser.add_argument(
        "--write", action="store_true", help="put it into docs/speed.md and README.md, with the picture"
    )
    arguments = parser.parse_args()
    found = recorded.read()
    if not arguments.write:
        print(measured(found) + "\n\n" + in_readme(found))
        return
    put_into(PAGE, measured(found), PAGE_MARKS)
    put_into(README, in_readme(found), README_MARKS)
    picture.save()


if __name__ == "__main__":
    main()
