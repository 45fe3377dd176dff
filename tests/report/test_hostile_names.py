"""Names that try to be code stay text."""

import json

import numpy as np
import pytest
from report.page_structure import check_page

from kedge import MSGL
from kedge.report import write_report
from kedge.report.markup import as_json

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    '"><img src=x onerror=alert(3)>',
    "' onmouseover='alert(4)",
    "<!--",
    "]]>",
    "&lt;b&gt;",
    "a\u2028b\u202ec\x00d",
    "\ud800 half a letter",
    "%{y} {0} ${x}",
    "<a href='https://example.org'>here</a>",
    "long " * 4000,
]


@pytest.fixture(scope="module")
def page_text(tmp_path_factory):
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(90, len(HOSTILE))) + 5 * (np.arange(90) % 3)[:, None] for _ in range(2)]
    model = MSGL(3, beta=0.1, random_state=0).fit(views)
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    write_report(
        path,
        model,
        views,
        view_names=HOSTILE[:2],
        feature_names=[HOSTILE, HOSTILE[::-1]],
        row_names=[HOSTILE[row % len(HOSTILE)] for row in range(90)],
        true_labels=[HOSTILE[row % 3] for row in range(90)],
        run={
            "versions": {HOSTILE[0]: HOSTILE[2]},
            "started": HOSTILE[3],
            "data": [{"name": HOSTILE[1], "path": "<p>"}],
        },
    )
    return path.read_text(encoding="utf-8")


def test_names_add_no_elements_and_no_attributes(page_text):
    page = check_page(page_text)
    scripts = [given for tag, given in page.tags if tag == "script"]
    assert [given for given in scripts if given.get("type") != "application/json"] == [{}, {}]
    assert "alert(1)" in page.words


def test_names_in_figures_are_escaped_for_plotly(page_text):
    page = check_page(page_text)
    texts = [trace["name"] for trace in page.data["views-figure"]["data"]]
    texts += page.data["scores-figure"]["layout"]["yaxis"]["ticktext"]
    texts += page.data["features-figure-0"]["layout"]["xaxis"]["ticktext"]
    texts += page.data["map-hover"]["names"] + page.data["map-hover"]["views"][0]["names"]
    assert any("&lt;" in text for text in texts)
    assert not any("<" in text or ">" in text for text in texts)


def test_no_name_is_as_long_as_it_wants_to_be(page_text):
    page = check_page(page_text)
    assert "long long" in page.words
    assert "long " * 100 not in page.words


@pytest.mark.parametrize("name", HOSTILE[:7])
def test_no_tag_can_begin_in_the_data_of_figures(name):
    written = as_json({name: [name]})
    assert not set(written) & set("<>&")
    assert json.loads(written) == {name: [name]}
