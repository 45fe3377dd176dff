"""What the pages show of speed is what the recorded output gives; before there is one, they show nothing."""

from pathlib import Path

import pytest

from benchmarks.speed import page, picture, recorded, runs
from benchmarks.speed.child import WARM_UP_ROWS
from benchmarks.speed.rivals import COARSE, METHODS, OURS

ROOT = Path(__file__).parents[2]
SHOWN = {
    "docs/speed.md": (page.PAGE_MARKS, page.measured),
    "README.md": (page.README_MARKS, page.in_readme),
}


@pytest.mark.parametrize("name", SHOWN)
def test_pages_show_the_recorded_output(name):
    (begin, end), shown = SHOWN[name]
    between = (ROOT / name).read_text(encoding="utf-8").split(begin)[1].split(end)[0].strip()
    assert between == (shown(recorded.read()) if recorded.RECORD.exists() else "")
    assert picture.PICTURE.exists() == recorded.RECORD.exists()


@pytest.mark.skipif(not recorded.RECORD.exists(), reason="nothing is recorded yet")
def test_the_record_is_whole_and_its_picture_is_small():
    found = recorded.read()
    assert list(found) == list(recorded.TITLES)
    assert all(list(one.cells) == list(METHODS) for one in found.values())
    assert all({OURS, COARSE} <= set(one.points()) for one in found.values())
    assert "FAILED" not in recorded.RECORD.read_text()
    assert picture.PICTURE.stat().st_size < 200_000


def test_settings_on_the_page_are_those_of_the_program():
    text = " ".join((ROOT / "docs/speed.md").read_text(encoding="utf-8").split())
    assert f"a first fit of {WARM_UP_ROWS:,} rows" in text
    assert f"takes more than {runs.ONE_ROUND_FROM:g} seconds" in text
