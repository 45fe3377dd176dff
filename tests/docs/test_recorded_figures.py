"""Figures in the pages come from recorded outputs, and every recorded output says which code printed it and when.

A page puts figures between ``<!-- figures: PATH -->`` and ``<!-- end -->``, PATH below ``benchmarks``.
"""

import json
import re
from pathlib import Path

import pytest

import kedge

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
OUTPUTS = sorted((ROOT / "benchmarks").glob("**/results/*.txt"))
MARKED = re.compile(r"<!-- figures: (\S+) -->(.*?)<!-- end -->", re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])")


def marked_passages():
    return [(page.name, *found) for page in PAGES for found in MARKED.findall(page.read_text(encoding="utf-8"))]


def unknown_numbers(text, printed):
    """Return the numbers of a text that no printed number rounds to."""
    known = [float(one.replace(",", "")) for one in NUMBER.findall(printed)]
    text = re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)  # Commands and links are not figures.

    def is_known(number):
        if "e" in number:
            return float(number) in known
        digits = len(number.partition(".")[2])
        return any(round(one, digits) == float(number.replace(",", "")) for one in known)

    return [one for one in NUMBER.findall(text) if not is_known(one)]


@pytest.mark.parametrize(("page", "path", "text"), marked_passages(), ids=lambda value: value[:40].split("\n")[0])
def test_figures_of_a_page_are_in_the_output_it_names(page, path, text):
    assert unknown_numbers(text, (ROOT / "benchmarks" / path).read_text()) == []


def test_a_wrong_figure_is_noticed():
    assert unknown_numbers("| 1,000 | 3.42 |", "1,000 rows in 3.4159 s") == []
    assert unknown_numbers("| 1,000 | 3.52 |", "1,000 rows in 3.4159 s") == ["3.52"]


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda path: path.stem)
def test_outputs_are_of_this_version_and_name_their_commit(output):
    header = "\n".join(output.read_text().splitlines()[:5])
    assert re.search(r"^date      \d{4}-\d\d-\d\d \d\d:\d\d UTC, commit [0-9a-f]{10}, load", header, re.M)
    assert re.search(rf"^versions  .*kedge {re.escape(kedge.__version__)},", header, re.M)
    assert "QUICK RUN" not in output.read_text()


@pytest.mark.parametrize("name", ["quality", "held_out", "last_version"])
def test_recorded_runs_say_what_made_them(name):
    lines = (ROOT / f"benchmarks/quality/results/{name}.jsonl").read_text().splitlines()
    for run in map(json.loads, lines):
        assert re.fullmatch(r"[0-9a-f]{10}", run["commit"]), run
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", run["when"]), run
        if run["method"].startswith("kedge"):
            assert run["kedge"] == kedge.__version__, run
