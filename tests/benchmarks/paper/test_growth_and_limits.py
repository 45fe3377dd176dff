"""Growth of time is that of large sizes; a unit of several experiments has the longest limit."""

from dataclasses import replace

import pytest
from small_experiment import CUT, EXPERIMENT

from benchmarks.paper.campaign import pending_of_all
from benchmarks.paper.results import Line, Mean, growth_exponent
from benchmarks.paper.tables import far_from_paper


def timed(n_rows, seconds):
    return Line("d", "m", {}, 1, {"seconds": Mean(seconds, 0.0, 1)}, {}, n_rows=n_rows)


def test_small_sizes_do_not_hide_the_growth():
    lines = [timed(n, max(1.0, (n / 1000) ** 2)) for n in (10, 100, 1000, 2000, 4000)]
    assert growth_exponent(lines) == pytest.approx(2.0)


@pytest.mark.parametrize("seconds", [(5.0, 9.0), (9.0, 5.0)])
def test_the_longest_limit_counts(seconds):
    twice = [replace(EXPERIMENT, seconds=limit) for limit in seconds]
    assert set(pending_of_all(twice, {}, CUT).values()) == {9.0}


@pytest.mark.parametrize(("ours", "far"), [(44.0, False), (46.0, True), (34.0, True)])
def test_more_than_five_points_are_worth_a_sentence(ours, far):
    line = Line("d", "m", {}, 1, {"acc": Mean(ours, 0.0, 1)}, {"acc": 40.0})
    assert far_from_paper(line) is far
