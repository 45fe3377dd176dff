"""The page on how it works states the rules that the package has."""

import re
from pathlib import Path

import numpy as np
from scipy import sparse

from kedge import MSGL, SGL
from kedge.anchors import sets as counts
from kedge.core.scaling import MOST_DIRECTIONS, choose_scale

PAGE = " ".join((Path(__file__).parents[2] / "docs/how_it_works.md").read_text(encoding="utf-8").split())


def test_numbers_of_the_page_are_the_constants():
    constants = (MOST_DIRECTIONS, counts.MOST_REBUILT_ANCHORS, counts.MOST_REBUILT_ROWS, counts.FEW_FEATURES)
    assert [number for number in constants if f" {number:,} " not in re.sub(r"[.,;:]? ", " ", PAGE)] == []


def test_docstrings_state_the_constants():
    constants = (counts.MOST_REBUILT_ROWS, counts.MOST_REBUILT_ANCHORS, counts.FINE_ANCHORS)
    for estimator in (SGL, MSGL):
        stated = estimator.__doc__[estimator.__doc__.index("n_anchors : ") :].partition(" : ")[2].partition(" : ")[0]
        assert {int(number.replace(",", "")) for number in re.findall(r"\d,\d{3}", stated)} == set(constants)
        assert f"at most {counts.FEW_FEATURES} features" in " ".join(stated.split())


def test_few_rows_have_several_sets_of_many_anchors_and_many_rows_few_sets():
    assert counts.count_anchors(900, 64, "auto", "auto").sizes == (600,) * 4
    assert len(counts.count_anchors(300, 64, "auto", "auto").sizes) == 8
    assert counts.count_anchors(300, counts.FEW_FEATURES, "auto", "auto").n_near == 5
    fine = [counts.count_anchors(n, 64, "auto", "auto") for n in (10_000, 100_000, 1_000_000, 100_000_000)]
    assert {count.n_near for count in fine} == {3, 5}
    assert max(count.sizes[0] for count in fine) == 3_000
    assert {len(count.sizes) for count in fine} <= {1, 2, 3}


def test_the_table_of_scalings_is_the_rule():
    rng = np.random.default_rng(0)
    same, whole = rng.normal(size=(50, 5)), rng.poisson(0.1, size=(50, 20)).astype(float)
    found = [
        choose_scale(sparse.csr_array(whole)),
        choose_scale(sparse.csr_array(0.5 * whole)),
        choose_scale(same * [1, 1, 1, 1, 100]),
        choose_scale(same),
    ]
    assert found == re.findall(r'\| `"(\w+)"` \|', PAGE)
