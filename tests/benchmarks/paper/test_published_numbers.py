"""The declared numbers of the paper are those of its source: a second reading, cell by cell in reading order."""

import re
from pathlib import Path

import pytest
from conftest import DATA_FOLDERS

from benchmarks.paper.plan import experiments

MEASURES = ("acc", "nmi", "purity", "seconds")
# Tables of the paper by their label, and the experiments that declare them.
ROW_PER_METHOD = {"outres": "out-of-sample", "cal": "caltech101-7", "hw": "citeseer", "nus": "nus"}
PAPER = [folder.parent / "paper" for folder in DATA_FOLDERS]


def paper_source() -> str:
    """Return the source of the paper without its comments."""
    files = [file for folder in PAPER if folder.is_dir() for file in sorted(folder.iterdir())]
    if not files:
        pytest.skip("needs the source of the paper")
    lines = "\n".join(Path(file).read_text(encoding="utf-8") for file in files).splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith("%"))


def cells_in_reading_order(source: str, label: str) -> list[tuple[float, float | None]]:
    """Return every number of a table with the one in brackets behind it, left to right and top to bottom."""
    body = source.split(rf"\label{{{label}}}")[1].split(r"\end{tabular}")[0].split(r"\hline", 2)[2]
    body = re.sub(r"\\multirow\{\d\}\*|\\cline\{[^}]*\}|\d(?=NN\+)|RCV1-4", " ", body)
    found = re.findall(r"(?<![\w.])(\d+(?:\.\d+)?)(?:\((\d+(?:\.\d+)?)\))?", body)
    return [(float(value), float(spread) if spread else None) for value, spread in found]


def declared(row: dict[str, float], measure: str) -> tuple[float, float | None]:
    return row[measure], row.get(f"{measure}_std")


@pytest.mark.needs("data")
def test_first_table():
    read = cells_in_reading_order(paper_source(), "res1")
    table = experiments()["six-data-sets"].published
    ours = [declared(row, measure) for methods in table.values() for measure in MEASURES for row in methods.values()]
    assert len(read) == 6 * 4 * 6
    assert read == ours


@pytest.mark.needs("data")
def test_tables_with_a_row_per_method(subtests):
    for label in ROW_PER_METHOD:
        with subtests.test(label=label):
            read = cells_in_reading_order(paper_source(), label)
            experiment = experiments()[ROW_PER_METHOD[label]]
            rows = [row for methods in experiment.published.values() for row in methods.values()]
            ours = [declared(row, measure) for row in rows for measure in MEASURES]
            assert read == ours


def test_stand_ins_are_set_beside_the_numbers_of_the_set_they_stand_for():
    poker, caltech = experiments()["out-of-sample"], experiments()["caltech101-7"]
    assert poker.published_row("pokerhand-synthesised", "SLSR")["acc"] == 15.82
    assert caltech.published_row("caltech101-7-reextracted", "MSGL")["nmi"] == 52.47
    # Other images than the paper's: no number of the paper beside them.
    assert not experiments()["nus"].published_row("nus-standin", "MSGL")


@pytest.mark.needs("data")
def test_stated_costs():
    source = paper_source()
    body = source.split(r"\label{comp}")[1].split(r"\end{tabular}")[0]
    stated = experiments()["complexity"].published["stated"]
    for name, cost in re.findall(r"(\w+)&\$\\mathcal\{O\}(.*?)\$", body):
        plain = re.sub(r"\\left|\\right|\\log|[{}\s_]", lambda part: "log" if part[0] == r"\log" else "", cost)
        assert plain.strip("()") == stated.pop(name)["cost"].replace(" ", "").strip("()")
    assert not stated
