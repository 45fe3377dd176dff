"""The page on how it works states the rules that the package has."""

import re
from pathlib import Path

import numpy as np
from scipy import sparse

from kedge.anchors import sets as anchor_counts
from kedge.core.scaling import MOST_DIRECTIONS, SAME_UNITS, choose_scale

PAGE = " ".join((Path(__file__).parents[2] / "docs/how_it_works.md").read_text(encoding="utf-8").split())


def test_numbers_are_the_constants():
    assert f"at most {MOST_DIRECTIONS} principal components" in PAGE
    assert anchor_counts.count_anchors(900, 64, "auto", "auto").sizes == (600,) * 4
    assert f"at most {anchor_counts.MOST_REBUILT_ANCHORS:,}; beyond" in PAGE
    assert f"Up to {anchor_counts.MOST_REBUILT_ROWS:,} rows there are four to eight sets" in PAGE
    assert len(anchor_counts.count_anchors(300, 64, "auto", "auto").sizes) == 8
    assert "two anchors for every three rows" in PAGE
    fine = [anchor_counts.count_anchors(n, 64, "auto", "auto") for n in (10_000, 100_000, 1_000_000, 100_000_000)]
    assert {count.n_near for count in fine} == {3, 5}
    assert max(count.sizes[0] for count in fine) == 3_000
    assert {len(count.sizes) for count in fine} <= {1, 2, 3}
    assert "one to three sets of up to 3,000" in PAGE
    assert anchor_counts.count_anchors(300, anchor_counts.FEW_FEATURES, "auto", "auto").n_near == 5
    assert f"where rows have at most {anchor_counts.FEW_FEATURES} features" in PAGE
    assert SAME_UNITS == 10
    assert "more than ten times as much as the middle one" in PAGE


def test_the_table_of_scalings_is_the_rule():
    rng = np.random.default_rng(0)
    same, counts = rng.normal(size=(50, 5)), rng.poisson(0.1, size=(50, 20)).astype(float)
    found = [
        choose_scale(sparse.csr_array(counts)),
        choose_scale(sparse.csr_array(0.5 * counts)),
        choose_scale(same * [1, 1, 1, 1, 100]),
        choose_scale(same),
    ]
    assert found == re.findall(r'\| `"(\w+)"` \|', PAGE)
