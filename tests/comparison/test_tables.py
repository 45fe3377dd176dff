"""Tables of a comparison in all their forms hold the same."""

import csv
import io
import json
from html.parser import HTMLParser

import numpy as np
import pytest

from kedge.comparison import Comparison, MethodResult
from kedge.metrics import ari, nmi

FIRST, SECOND = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 1, 1])


def comparison(has_labels):
    scores = {"accuracy": 0.75, "nmi": 0.5, "ari": 0.25, "purity": 1.0} if has_labels else {}
    rows = [
        MethodResult("sgl", {"alpha": 0.1}, "ran", "", FIRST, 1.25, 3 * 2**20, scores),
        MethodResult("lrr", {}, "refused", 'needs <much> | memory, "all" of it'),
        MethodResult("kmeans", {}, "ran", "", SECOND, 0.5, None, scores, ("views side by side",)),
    ]
    return Comparison(rows, 6, ("X",), has_labels)


class Cells(HTMLParser):
    def __init__(self):
        super().__init__()
        self.cells, self.inside = [], False

    def handle_starttag(self, tag, attrs):
        self.inside = tag in ("td", "th")
        if self.inside:
            self.cells.append("")

    def handle_data(self, data):
        if self.inside:
            self.cells[-1] += data

    def handle_endtag(self, tag):
        self.inside = False


def test_agreement_is_that_of_the_labels():
    shown = comparison(has_labels=False)
    assert shown.agreement("nmi") == pytest.approx(np.array([[1, nmi(FIRST, SECOND)], [nmi(FIRST, SECOND), 1]]))
    assert shown.agreement("ari")[0, 1] == pytest.approx(ari(FIRST, SECOND))
    with pytest.raises(ValueError, match="measure='rand' should be one of 'nmi', 'ari'"):
        shown.agreement("rand")


def test_agreement_is_shown_where_there_are_no_labels_to_score():
    assert [table.title for table in comparison(has_labels=True).tables()] == ["6 rows"]
    titles = [table.title for table in comparison(has_labels=False).tables()]
    assert titles == ["6 rows", "Agreement, NMI in %", "Agreement, adjusted Rand in %"]
    assert f"{100 * ari(FIRST, SECOND):.1f}" in comparison(has_labels=False).to_text()


def test_methods_without_a_result_are_in_every_form():
    shown = comparison(has_labels=True)
    for text in (shown.to_text(), shown.to_markdown(), shown.to_html(), shown.to_csv(), json.dumps(shown.to_dict())):
        assert "lrr" in text
        assert "needs" in text
    assert str(shown) == shown.to_text()
    assert shown._repr_html_() == shown.to_html()


def test_text_columns_of_numbers_end_together():
    lines = comparison(has_labels=True).to_text().splitlines()
    assert len({line.index(word) + len(word) for line, word in zip(lines[1:3], ("seconds", "1.250"), strict=True)}) == 1


def test_markdown_has_as_many_cells_in_every_line():
    lines = [line for line in comparison(has_labels=True).to_markdown().splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in lines} == {10}


def test_html_shows_what_was_said_and_nothing_is_taken_for_markup():
    page = Cells()
    page.feed(comparison(has_labels=True).to_html())
    assert 'refused: needs <much> | memory, "all" of it' in page.cells
    assert "sgl:alpha=0.1" in page.cells


def test_csv_has_exact_numbers():
    first, second, third = csv.DictReader(io.StringIO(comparison(has_labels=True).to_csv()))
    assert (first["method"], first["settings"], first["status"]) == ("sgl", "alpha=0.1", "ran")
    assert float(first["accuracy"]) == 0.75
    assert int(first["peak_bytes"]) == 3 * 2**20
    assert (second["status"], second["seconds"], second["accuracy"]) == ("refused", "", "")
    assert third["peak_bytes"] == ""
    assert third["notes"] == "views side by side"
    lines = list(csv.DictReader(io.StringIO(comparison(has_labels=False).to_csv())))
    assert float(lines[0]["ari with kmeans"]) == ari(FIRST, SECOND)
    assert lines[1]["ari with kmeans"] == ""


def test_the_dict_is_plain_enough_for_json():
    told = json.loads(json.dumps(comparison(has_labels=False).to_dict()))
    assert told["methods"][0]["labels"] == FIRST.tolist()
    assert told["methods"][1]["labels"] is None
    assert told["agreement"]["methods"] == ["sgl:alpha=0.1", "kmeans"]
    assert told["agreement"]["ari"][0][1] == ari(FIRST, SECOND)
