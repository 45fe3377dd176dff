"""Small tables of the pages have the figures of recorded outputs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def cells_of(page):
    """Return the cells of the first table of a page by their first cell, without emphasis."""
    lines = (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return {row[0]: row[1:] for row in rows}


@pytest.mark.parametrize("share", ["0 %", "10 %", "30 %", "50 %"])
def test_missing_views(share):
    output = (ROOT / "benchmarks/multi_view/results/missing.txt").read_text(encoding="utf-8")
    figure = r"\d+\.\d ± \d\.\d"
    printed = [cell for line in output.splitlines() if line.startswith(share) for cell in re.findall(figure, line)]
    assert [cell for cell in cells_of("missing_views.md")[share] if cell] == printed


@pytest.mark.parametrize("n_anchors", ["100", "300", "1,000"])
def test_linear_subspaces(n_anchors):
    output = (ROOT / "benchmarks/clustering/results/subspaces.txt").read_text(encoding="utf-8")
    digits = n_anchors.replace(",", "")
    names = [f"kedge SGL, signed, spectral, {digits} anchors", f"kedge SGL, signed, {digits} anchors"]
    printed = [re.search(rf"^{name} +\S+ +\S+ +(\S+)", output, re.M)[1] for name in names]
    assert cells_of("signed.md")[n_anchors][:2] == printed


def test_rows_on_disk():
    output = (ROOT / "benchmarks/scale/results/out_of_core.txt").read_text(encoding="utf-8")
    page = (ROOT / "docs/how_large.md").read_text(encoding="utf-8")
    for beta in ("0", "0.2"):
        _, passes, fit, predict, _, peak = re.search(rf"^{beta} +\d.*met", output, re.M)[0].split()[:6]
        assert f"| {beta} | {passes} | {fit} | {predict} | {peak} |" in page
    ratios = re.findall(r"^\S+ +[\d,]+ +[\d,]+ +([\d.]+) +>=", output, re.M)
    assert f"it reaches {ratios[0]} and {ratios[1]} times its rows per second" in " ".join(page.split())
