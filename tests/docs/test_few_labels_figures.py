"""The figures on few labels and on pairs are those of recorded outputs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks/few_labels/results"
SETS = {
    "MNIST": "mnist",
    "digits": "digits",
    "TR45": "tr45",
    "Citeseer": "citeseer",
    "TR11": "tr11",
    "ORL": "orl",
    "TDT2": "tdt2",
    "Caltech101-7, re-extracted": "caltech101-7-reextracted",
    "wine": "wine",
    "breast-cancer": "breast-cancer",
}


def rows_of_tables(page):
    """Return the cells of all tables of a page, without emphasis."""
    lines = (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
    return [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]


def printed(name):
    return (RESULTS / f"{name}.txt").read_text(encoding="utf-8")


def printed_of_set(name, program="accuracy"):
    """Return what a program prints on a data set."""
    return re.search(rf"^{name}: .*?(?=\n\n|\Z)", printed(program), re.M | re.S)[0]


def test_every_method_on_mnist():
    lines = printed_of_set("mnist").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("labels per class"))
    on_page = {cells[0]: cells[1:] for cells in rows_of_tables("few_labels.md")}
    for line in lines[start + 1 :]:
        if line.startswith("kedge less"):
            break
        name, *cells = re.split(r" {2,}", line)
        means = [cell.split(" ±")[0].rstrip("*") + ("†" if cell.endswith("*") else "") for cell in cells[:-1]]
        assert on_page[name] == [*means, cells[-1]], name


@pytest.mark.parametrize("title", SETS)
def test_kedge_and_the_best_of_the_others(title):
    text = printed_of_set(SETS[title])
    cells = next(cells[1:] for cells in rows_of_tables("few_labels.md") if cells[0] == title)
    means = re.findall(r"(\d+\.\d) ±", re.search(r"^kedge  .*", text, re.M)[0])
    ahead = re.search(r"^kedge less the best .*: (.*)", text, re.M)[1].split()
    assert cells == [f"{mean} ({difference})" for mean, difference in zip(means, ahead, strict=True)]


@pytest.mark.parametrize("title", SETS)
def test_umap(title):
    text = printed_of_set(SETS[title], "accuracy_umap")
    means = re.findall(r"(\d+\.\d) ±", re.search(r"^UMAP \+ LogisticRegression  .*", text, re.M)[0])
    ahead = re.search(r"^kedge less the best .*: (.*)", text, re.M)[1].split()
    row = [f"{title} by UMAP", *(f"{mean} ({one})" for mean, one in zip(means, ahead, strict=True))]
    assert row in rows_of_tables("few_labels.md")


@pytest.mark.parametrize("title", ["MNIST", "digits", "TR45", "Citeseer", "blobs that overlap"])
def test_calibration(title):
    text = printed_of_set(SETS.get(title, title), "calibration")
    cells = [" / ".join(re.search(rf"^{count} +(\S+) +(\S+)", text, re.M).groups()) for count in ("1", "5", "50")]
    assert [title, *cells] in rows_of_tables("few_labels.md")


def test_questions():
    text, page = printed("questions"), " ".join((ROOT / "docs/few_labels.md").read_text(encoding="utf-8").split())
    lost, found, precise = (
        re.findall(pattern, text)
        for pattern in (r"lost (\S+) points", r"wrong ones named (\S+) %", r"among those named (\S+) %")
    )
    sentence = f"{lost[0]} points of accuracy on MNIST and {lost[1]} on digits"
    assert sentence in page
    assert f"{found[0]} % and {found[1]} % of them are named" in page
    assert f"{precise[0]} % and {precise[1]} % of the names are right" in page
    for title, block in zip(("MNIST", "digits"), re.split(r"^digits, ", text, flags=re.M), strict=True):
        for count in ("10", "20", "50", "100"):
            asked, random, twice = re.search(rf"^{count} +(\S+) +(\S+) +(\S+)", block, re.M).groups()
            row = [title, count, asked, random, twice]
            assert row in rows_of_tables("few_labels.md"), row
    new = re.findall(r"no label for .*; accuracy (\S+), of 3, 6, 7 alone (\S+),", text)
    assert f"{new[0][0]} % of all rows and {new[0][1]} % of those of the new classes on MNIST" in page
    assert f"{new[1][0]} % and {new[1][1]} % on digits" in page


def test_pairs():
    for cells in rows_of_tables("pairs.md"):
        if cells[0] in ("data", "---"):
            continue
        line = re.search(rf"^{cells[0]}(?: \(new\))? +NMI +\d+ +(.*)", printed("pairs"), re.M)
        figures = line[1].split()
        assert cells[1:] == [figures[0], figures[1], figures[3]], cells
