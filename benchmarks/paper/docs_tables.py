"""Fills the tables of ``docs/reproducing.md`` from the recorded results, or checks that they agree with them."""

import argparse
import re
from pathlib import Path

from benchmarks.paper.plan import WHOLE, Records, experiments
from benchmarks.paper.results import read_records, summarise
from benchmarks.paper.tables import (
    anchors_grid,
    as_markdown,
    digest_grid,
    exponent_grid,
    objective_grid,
    overview_grid,
    ranges_grid,
)

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parent / "results" / "results.jsonl"
FINDINGS = RESULTS.with_name("disagreements.txt")
PAGE = ROOT / "docs" / "reproducing.md"
_BLOCK = re.compile(r"(<!-- generated: ([a-z0-9-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table_of(name: str, records: Records) -> str:
    """Return the table of one experiment or of all, or the output of the findings, in Markdown."""
    known = experiments()
    if name == "overview":
        text = as_markdown(overview_grid(list(known.values()), records, WHOLE))
        return text.replace("](", "](../benchmarks/paper/results/")
    if name == "findings":
        return f"```text\n{FINDINGS.read_text(encoding='utf-8').strip()}\n```\n"
    experiment = known[name]
    lines = summarise(experiment, records, WHOLE)
    if experiment.kind == "anchors":
        return as_markdown(anchors_grid(lines, summarise(known[f"{name}-ffs"], records, WHOLE)))
    if experiment.kind == "sensitivity":
        return as_markdown(ranges_grid(lines))
    if experiment.kind == "objective":
        return as_markdown(objective_grid(experiment, lines))
    if experiment.kind == "complexity":
        return as_markdown(exponent_grid(experiment, lines))
    return as_markdown(digest_grid(experiment, records, WHOLE))


def filled(text: str, records: Records) -> str:
    """Return the page with its generated blocks written anew."""
    return _BLOCK.sub(lambda block: f"{block[1]}\n{table_of(block[2], records)}\n{block[3]}", text)


def main() -> int:
    """Write the page, or with ``--check`` only say whether it is as recorded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a table is out of date")
    arguments = parser.parse_args()
    before = PAGE.read_text(encoding="utf-8")
    after = filled(before, read_records(RESULTS))
    if not arguments.check:
        PAGE.write_text(after, encoding="utf-8")
    print(f"{PAGE.name}: tables " + ("are as recorded" if before == after else "differed from what is recorded"))
    return int(arguments.check and before != after)


if __name__ == "__main__":
    raise SystemExit(main())
