"""Blocks that a page says were printed by a benchmark stand in the recorded output, line by line."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"<!-- printed: (\S+) -->\n```text\n(.*?)```\n", re.S)
PAGES = ("how_large", "new_rows", "speed")


@pytest.mark.parametrize("page", PAGES)
def test_blocks_are_those_of_the_recorded_output(page):
    blocks = BLOCK.findall((ROOT / f"docs/{page}.md").read_text(encoding="utf-8"))
    assert blocks
    for name, block in blocks:
        assert block in (ROOT / name).read_text(encoding="utf-8"), block


def test_no_block_of_another_page_is_left_unlooked_at():
    others = [path for path in (ROOT / "docs").glob("*.md") if path.stem not in PAGES]
    assert [path.name for path in others if "<!-- printed:" in path.read_text(encoding="utf-8")] == []
