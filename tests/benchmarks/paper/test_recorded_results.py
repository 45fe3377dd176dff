"""What the documentation shows is what was recorded, and no large difference from the paper goes without a word."""

import re

import pytest

from benchmarks.paper import docs_tables
from benchmarks.paper.pages import write_overview, write_pages
from benchmarks.paper.plan import WHOLE, experiments
from benchmarks.paper.results import read_records
from benchmarks.paper.tables import UNEXPLAINED

PAGES = docs_tables.RESULTS.parent
TEXTS = sorted(PAGES.glob("*.md"))
RECORDS = read_records(docs_tables.RESULTS)


@pytest.fixture(autouse=True)
def no_data(monkeypatch):
    """Pretend that no data is here: what is recorded must be shown all the same."""
    monkeypatch.setattr("benchmarks.paper.plan.why_not_here", lambda data: "not here")


def test_tables_of_the_docs_are_cut_from_the_results():
    text = docs_tables.PAGE.read_text(encoding="utf-8")
    assert text.count("<!-- generated: ") >= 7
    assert docs_tables.filled(text, RECORDS) == text


def test_a_changed_number_is_noticed():
    text = docs_tables.PAGE.read_text(encoding="utf-8")
    changed = re.sub(r"\*\*(\d)\d\.\d / ", r"**\g<1>9.9 / ", text, count=1)
    assert changed != text
    assert docs_tables.filled(changed, RECORDS) == text


@pytest.mark.parametrize("name", [name for name in experiments() if (PAGES / f"{name}.md").exists()])
def test_pages_are_those_of_the_results(name, tmp_path, monkeypatch):
    # Figures are drawn by matplotlib and differ in bytes between its versions; their numbers are in the tables.
    monkeypatch.setattr("benchmarks.paper.pages.draw", lambda experiment, lines, folder: _figures_of(name))
    write_pages([experiments()[name]], RECORDS, WHOLE, tmp_path)
    for suffix in ("md", "html"):
        assert (tmp_path / f"{name}.{suffix}").read_text() == (PAGES / f"{name}.{suffix}").read_text()


def _figures_of(name):
    known = experiments()[name]
    stems = [name] + [f"{name}-{data}" for data in known.data]
    return [PAGES / f"{stem}.svg" for stem in stems if (PAGES / f"{stem}.svg").exists()]


def test_overview_is_that_of_the_results(tmp_path):
    write_overview(list(experiments().values()), RECORDS, WHOLE, tmp_path)
    for name in ("index.md", "index.html"):
        assert (tmp_path / name).read_text() == (PAGES / name).read_text()


def test_every_large_difference_has_its_sentence():
    assert [file.name for file in TEXTS if UNEXPLAINED in file.read_text(encoding="utf-8")] == []


def test_nothing_is_left_to_run_and_no_path_is_told():
    unwanted = re.compile(r"not run yet|/(home|root|tmp|work)/")
    assert [file.name for file in TEXTS if unwanted.search(file.read_text(encoding="utf-8"))] == []
